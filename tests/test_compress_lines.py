"""Straight lines instead of samples: the printed procedure, what goes beyond it, and reading back."""

import math

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmlib.compress import compress, fit_quality, reconstruct
from tests.naive import compression as naive
from tests.planted_counters import COMPRESSORS, counters, members, phases, starts

# --- the procedure as printed -----------------------------------------------------------------


@pytest.mark.slow
@given(counters())
def test_the_lines_are_those_of_the_printed_procedure_in_exact_arithmetic(samples):
    x, y = samples
    lines = compress(x, y)
    expected = naive.online_lines(x, y)
    assert starts(lines, x) == [start for start, _, _ in expected] == naive.online_starts(x, y)
    npt.assert_allclose(lines["slope"], [k for _, k, _ in expected], rtol=1e-9, atol=1e-12)
    scale = 1e-12 * (1 + y.max())
    npt.assert_allclose(lines["intercept"], [b for _, _, b in expected], rtol=1e-9, atol=scale)


@pytest.mark.slow
def test_breaks_late_in_a_run_of_a_million_samples_are_found_where_sums_about_zero_lose_them():
    x, y = phases(1_000_000, seed=0)
    exact = naive.online_starts(x.tolist(), y.tolist())
    assert starts(compress(x, y), x) == exact
    n = 100_000
    about_zero = naive.online_starts(x[:n].tolist(), y[:n].tolist(), number=float)
    assert about_zero != [start for start in exact if start < n - 1]


def test_each_line_is_the_least_squares_line_of_its_samples():
    rng = np.random.default_rng(1)
    x = np.cumsum(rng.integers(900, 1100, 3000)).astype(float)
    y = np.cumsum(rng.poisson(np.repeat([5, 50, 20], 1000))).astype(float)
    for line in compress(x, y).itertuples():
        own = members(line, x)
        assert own.sum() == line.n
        k, b = np.polyfit(x[own] - line.x_start, y[own], 1)
        off = y[own] - (line.slope * x[own] + line.intercept)
        npt.assert_allclose(line.slope, k, rtol=1e-8, atol=1e-12)
        npt.assert_allclose(line.slope * line.x_start + line.intercept, b, rtol=1e-8, atol=1e-6)
        sigma = math.sqrt((off**2).sum() / (line.n - 2)) if line.n > 2 else 0.0
        npt.assert_allclose(line.sigma, sigma, rtol=1e-6, atol=1e-7)


@given(counters(), st.integers(-20, 20), st.integers(-20, 20))
def test_units_change_no_decision(samples, x_power, y_power):
    x, y = samples
    lines, scaled = compress(x, y), compress(x * 2.0**x_power, y * 2.0**y_power)
    npt.assert_array_equal(scaled["n"], lines["n"])
    npt.assert_array_equal(scaled["slope"], lines["slope"] * 2.0 ** (y_power - x_power))
    npt.assert_array_equal(scaled["sigma"], lines["sigma"] * 2.0**y_power)


@given(counters(), st.sampled_from(sorted(COMPRESSORS)))
def test_lines_follow_each_other_and_hold_every_sample(samples, name):
    x, y = samples
    stream = COMPRESSORS[name]()
    lines = pd.concat([stream.extend(x, y), stream.finish()])
    shared = 0 if name == "bounded" else len(lines) - 1
    assert lines["n"].sum() == len(x) + shared
    assert lines["x_start"].iloc[0] == x[0] and lines["x_end"].iloc[-1] == x[-1]
    assert (np.diff(lines["x_end"]) > 0).all()


# --- several events ---------------------------------------------------------------------------


@given(counters(max_size=25, n_events=3))
def test_the_first_event_to_depart_ends_the_line_of_all(samples):
    x, y = samples
    frame = pd.DataFrame(y, columns=["a", "b", "c"])
    lines = compress(x, frame)
    begin = 0
    for line in lines.itertuples():
        alone = [compress(x[begin:], y[begin:, j])["x_end"].iloc[0] for j in range(3)]
        assert line.x_end == min(alone)
        begin = np.searchsorted(x, line.x_end)
    for event in frame:
        own = lines.rename(columns={f"{what}:{event}": what for what in ("slope", "intercept", "sigma")})
        npt.assert_array_equal(reconstruct(own, x), reconstruct(lines, x)[event])


def test_an_event_and_its_double_share_every_line():
    x, y = phases(5000, seed=3)
    lines = compress(x, pd.DataFrame({"once": y, "twice": 2 * y}))
    assert starts(lines, x) == starts(compress(x, y), x)
    npt.assert_array_equal(lines["slope:twice"], 2 * lines["slope:once"])


# --- drift ------------------------------------------------------------------------------------


@given(counters(max_size=25), st.sampled_from([1.0, 2.5, 6.0]))
def test_the_drift_test_is_its_definition(samples, limit):
    x, y = samples
    assert starts(compress(x, y, drift=limit), x) == naive.drifting_starts(x, y, limit)


def test_a_line_that_bends_away_is_ended():
    x = np.arange(1, 20_001) * 1e6
    bent = (np.arange(1, 20_001) ** 1.5).round()
    printed, tested = (fit_quality(compress(x, bent, drift=drift), x, bent) for drift in (None, 20))
    assert printed["largest"] > 0.1 and printed["reduction"] > 500
    assert tested["largest"] < 1e-3 and tested["mnesd"] < 1e-3 and tested["reduction"] > 20


def test_without_drift_the_test_ends_few_lines():
    x, y = phases(100_000, seed=4)
    assert len(compress(x, y, drift=40)) <= 1.1 * len(compress(x, y))


# --- a bound on the distance ------------------------------------------------------------------


@given(counters(max_size=14), st.sampled_from([1, 4, 1000]))
def test_a_line_ends_only_where_no_line_keeps_the_bound(samples, bound):
    x, y = samples
    assert starts(compress(x, y, bound=bound), x) == naive.bounded_starts(x, y, bound)


@pytest.mark.slow
@given(counters(max_size=60), st.sampled_from([0.5, 2.0, 50.0]))
def test_no_sample_lies_beyond_the_bound(samples, bound):
    x, y = samples
    lines = compress(x, y, bound=bound)
    off = y - reconstruct(lines, x)
    assert off.abs().max() <= bound + 1e-9 * (1 + y.max())
    for line in lines.itertuples():
        own = off[members(line, x)]
        sigma = math.sqrt((own**2).sum() / (line.n - 2)) if line.n > 2 else 0.0
        npt.assert_allclose(line.sigma, sigma, rtol=1e-6, atol=1e-8 * (1 + y.max()))


def test_within_the_bound_the_least_squares_line_is_kept():
    rng = np.random.default_rng(5)
    x = np.arange(1.0, 501.0)
    y = 3 * x + rng.uniform(-1, 1, 500)
    (line,) = compress(x, y, bound=10.0).itertuples()
    npt.assert_allclose([line.slope, line.intercept], np.polyfit(x, y, 1), rtol=1e-9)


def test_each_event_may_have_its_own_bound():
    rng = np.random.default_rng(6)
    x = np.arange(1.0, 2001.0)
    frame = pd.DataFrame(rng.poisson([10, 1000], (2000, 2)).cumsum(axis=0), columns=["few", "many"])
    lines = compress(x, frame, bound=[5, 500])
    off = (frame.to_numpy() - reconstruct(lines, x)).abs().max()
    assert 4 < off["few"] <= 5 + 1e-6 and 100 < off["many"] <= 500 + 1e-6


def test_a_bend_with_more_corners_than_are_kept_ends_the_line_within_its_bound():
    x = np.arange(1.0, 20_001.0)
    bent = x**1.5
    lines = compress(x, bent, bound=5e4)
    assert np.abs(bent - reconstruct(lines, x).to_numpy()).max() <= 5e4 * (1 + 1e-9)
    assert 2 < len(lines) <= 20


def test_a_step_costs_one_line():
    x = np.arange(1, 301)
    y = np.repeat([0, 500, 700], 100) + x
    assert compress(x, y, bound=1)["n"].tolist() == [100, 100, 100]


# --- reading back -----------------------------------------------------------------------------


def test_what_is_straight_comes_back_whole():
    x = np.cumsum(np.random.default_rng(7).integers(1, 9, 1000))
    lines = compress(x, 12 * x + 5)
    assert len(lines) == 1
    npt.assert_allclose(reconstruct(lines, x), 12 * x + 5, rtol=1e-12)


def test_a_shared_sample_is_read_from_the_line_that_ends_there():
    x = np.arange(1.0, 21.0)
    y = np.concatenate([np.arange(10.0), 9 + 50 * np.arange(1.0, 11.0)])
    lines = compress(x, y)
    assert lines["x_end"].iloc[0] == lines["x_start"].iloc[1] == 10
    npt.assert_allclose(reconstruct(lines, [9.5, 10.0]), [8.5, 9.0])


@pytest.mark.parametrize("outside", [0.5, 20.5, np.nan])
def test_there_is_nothing_to_read_beside_the_lines(outside):
    lines = compress(np.arange(1.0, 21.0), np.arange(20.0))
    with pytest.raises(ValueError, match="the lines reach from 1 to 20"):
        reconstruct(lines, [3.0, outside])
