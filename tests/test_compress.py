"""Straight lines instead of samples: the printed procedure, what goes beyond it, and its peers."""

import copy
import gzip
import math

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmlib import perf
from cmlib.compress import (
    BoundedRegression,
    OnlineRegression,
    at_equal_size,
    bottom_up,
    compress,
    fit_quality,
    of_event,
    reconstruct,
    survey,
    swinging_door,
    zstd_samples,
)
from cmlib.places import recordings_dir
from tests.naive import compression as naive

COMPRESSORS = {
    "printed": OnlineRegression,
    "drift": lambda events=None: OnlineRegression(events, drift=5.0),
    "bounded": lambda events=None: BoundedRegression(4.0, events),
}


@st.composite
def counters(draw, max_size=40, n_events=None):
    """Cumulated counts: x grows with every sample, y may stand still and may start at zero."""
    n = draw(st.integers(1, max_size))
    unit = draw(st.sampled_from([1, 7, 1_000_000]))
    largest = draw(st.sampled_from([1, 3, 100, 10**6]))
    x = np.cumsum(draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))) * unit
    shape = (n, n_events or 1)
    steps = draw(st.lists(st.integers(0, largest), min_size=math.prod(shape), max_size=math.prod(shape)))
    y = np.cumsum(np.reshape(steps, shape), axis=0)
    return x, y if n_events else y[:, 0]


def starts(lines, x):
    return np.searchsorted(x, lines["x_start"]).tolist()


def members(line, x):
    return (x >= line.x_start) & (x <= line.x_end)


# --- the procedure as printed -------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(counters())
def test_the_lines_are_those_of_the_printed_procedure_in_exact_arithmetic(samples):
    x, y = samples
    lines = compress(x, y)
    expected = naive.online_lines(x, y)
    assert starts(lines, x) == [start for start, _, _ in expected] == naive.online_starts(x, y)
    npt.assert_allclose(lines["slope"], [k for _, k, _ in expected], rtol=1e-9, atol=1e-12)
    scale = 1e-12 * (1 + y.max())
    npt.assert_allclose(lines["intercept"], [b for _, _, b in expected], rtol=1e-9, atol=scale)


def phases(n, seed):
    """Constant rates that change at known samples, with a little jitter on each count."""
    rng = np.random.default_rng(seed)
    rates = rng.permutation(np.arange(1000, 1000 + 40 * 157, 40))
    x = np.arange(1, n + 1) * 1_000_000
    return x, np.cumsum(np.repeat(rates, n // 157 + 1)[:n]) + rng.integers(-3, 4, n)


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


@settings(deadline=None, max_examples=50)
@given(counters(), st.integers(-20, 20), st.integers(-20, 20))
def test_units_change_no_decision(samples, x_power, y_power):
    x, y = samples
    lines, scaled = compress(x, y), compress(x * 2.0**x_power, y * 2.0**y_power)
    npt.assert_array_equal(scaled["n"], lines["n"])
    npt.assert_array_equal(scaled["slope"], lines["slope"] * 2.0 ** (y_power - x_power))
    npt.assert_array_equal(scaled["sigma"], lines["sigma"] * 2.0**y_power)


@settings(deadline=None, max_examples=50)
@given(counters(), st.sampled_from(sorted(COMPRESSORS)))
def test_lines_follow_each_other_and_hold_every_sample(samples, name):
    x, y = samples
    stream = COMPRESSORS[name]()
    lines = pd.concat([stream.extend(x, y), stream.finish()])
    shared = 0 if name == "bounded" else len(lines) - 1
    assert lines["n"].sum() == len(x) + shared
    assert lines["x_start"].iloc[0] == x[0] and lines["x_end"].iloc[-1] == x[-1]
    assert (np.diff(lines["x_end"]) > 0).all()


@pytest.mark.parametrize("name", COMPRESSORS)
@settings(deadline=None, max_examples=40)
@given(samples=counters(n_events=2), cuts=st.lists(st.integers(0, 40), max_size=4))
def test_one_at_a_time_or_in_blocks_is_all_the_same(name, samples, cuts):
    x, y = samples
    events = ["loads", "stores"]
    whole = COMPRESSORS[name](events)
    expected = pd.concat([whole.extend(x, y), whole.finish()], ignore_index=True)

    blocks = COMPRESSORS[name](events)
    edges = [0, *sorted(min(cut, len(x)) for cut in cuts), len(x)]
    frames = [blocks.extend(x[a:b], y[a:b]) for a, b in zip(edges, edges[1:], strict=False)]
    pd.testing.assert_frame_equal(pd.concat([*frames, blocks.finish()], ignore_index=True), expected)

    single = COMPRESSORS[name](events)
    added = [line for a, b in zip(x, y, strict=True) if (line := single.add(a, b))]
    assert len(added) == len(expected) - 1
    for line, row in zip(added, expected.to_dict("records"), strict=False):
        assert (line.x_start, line.x_end, line.n) == (row["x_start"], row["x_end"], row["n"])
        assert line.slope == (row["slope:loads"], row["slope:stores"])


@pytest.mark.parametrize("name", COMPRESSORS)
def test_memory_does_not_grow_with_the_run(name):
    stream = COMPRESSORS[name]()
    small = sum(part.nbytes for part in vars(stream).values() if hasattr(part, "nbytes"))
    stream.extend(*phases(50_000, seed=2))
    assert sum(part.nbytes for part in vars(stream).values() if hasattr(part, "nbytes")) == small < 100_000


# --- several events -----------------------------------------------------------------------------


@settings(deadline=None, max_examples=20)
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
        own = of_event(lines, event)
        assert list(own) == ["x_start", "x_end", "slope", "intercept", "sigma", "n"]
        npt.assert_array_equal(reconstruct(own, x), reconstruct(lines, x)[event])


def test_an_event_and_its_double_share_every_line():
    x, y = phases(5000, seed=3)
    lines = compress(x, pd.DataFrame({"once": y, "twice": 2 * y}))
    assert starts(lines, x) == starts(compress(x, y), x)
    npt.assert_array_equal(lines["slope:twice"], 2 * lines["slope:once"])


# --- drift --------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
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


# --- a bound on the distance --------------------------------------------------------------------


@settings(deadline=None, max_examples=100)
@given(counters(max_size=14), st.sampled_from([1, 4, 1000]))
def test_a_line_ends_only_where_no_line_keeps_the_bound(samples, bound):
    x, y = samples
    assert starts(compress(x, y, bound=bound), x) == naive.bounded_starts(x, y, bound)


@settings(deadline=None, max_examples=100)
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


# --- reading back -------------------------------------------------------------------------------


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


# --- streams that are not as they should be -----------------------------------------------------


@pytest.mark.parametrize("name", COMPRESSORS)
def test_a_counter_that_stays_at_zero_is_one_line(name):
    stream = COMPRESSORS[name]()
    assert stream.extend(np.arange(500.0), np.zeros(500)).empty
    (line,) = stream.finish().itertuples()
    assert (line.x_start, line.slope, line.intercept, line.sigma, line.n) == (0, 0, 0, 0, 500)


def test_a_counter_may_start_at_zero():
    x, y = np.arange(1000), 3 * np.arange(1000)
    assert starts(compress(x, y), x) == [0] == naive.online_starts(x, y)


@pytest.mark.parametrize("name", COMPRESSORS)
def test_an_x_that_does_not_grow_is_refused_and_the_stream_goes_on(name):
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 9.0]), np.array([1.0, 2.0, 3.0, 4.0, 50.0])
    stream, untroubled = COMPRESSORS[name](), COMPRESSORS[name]()
    untroubled.extend(x[:3], y[:3])
    stream.extend(x[:3], y[:3])
    for wrong in (3.0, 1.0):
        with pytest.raises(ValueError, match=f"at position 0 it is {wrong:g} after 3"):
            stream.add(wrong, 7.0)
    with pytest.raises(ValueError, match="at position 2 it is 5 after 6"):
        stream.extend([5.0, 6.0, 5.0], [5.0, 6.0, 7.0])
    pd.testing.assert_frame_equal(stream.extend(x[3:], y[3:]), untroubled.extend(x[3:], y[3:]))
    pd.testing.assert_frame_equal(stream.finish(), untroubled.finish())


@settings(deadline=None, max_examples=40)
@given(counters(n_events=2), st.data())
def test_a_sample_that_is_not_finite_is_left_out(samples, data):
    x, y = samples[0].astype(float), samples[1].astype(float)
    holes = data.draw(st.lists(st.booleans(), min_size=len(x), max_size=len(x)))
    kept = ~np.array(holes)
    broken_x, broken_y = x.copy(), y.copy()
    broken_x[np.flatnonzero(holes)[::2]] = np.inf
    broken_y[np.flatnonzero(holes)[1::2], 1] = np.nan
    lines = compress(broken_x, pd.DataFrame(broken_y))
    pd.testing.assert_frame_equal(lines, compress(x[kept], pd.DataFrame(y[kept])))


def test_a_count_that_falls_is_a_sample_like_any_other():
    x = np.arange(1, 41)
    y = np.concatenate([100 * x[:20], 100 * x[:20]])
    lines = compress(x, y)
    assert starts(lines, x) == naive.online_starts(x, y)
    assert lines["slope"].iloc[0] == pytest.approx(100) and lines["slope"].min() < 0


def test_no_sample_gives_no_line_and_one_sample_a_flat_one():
    stream = OnlineRegression()
    assert stream.finish().empty
    assert stream.add(5.0, 70.0) is None
    (line,) = stream.finish().itertuples()
    assert (line.x_start, line.x_end, line.slope, line.intercept, line.n) == (5, 5, 0, 70, 1)
    assert stream.add(1.0, 1.0) is None, "after finish() a new stream may begin anywhere"


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (lambda: compress([1, 2, 3], [1, 2]), r"got x of shape \(3,\) and y of shape \(2,\)"),
        (lambda: OnlineRegression(alpha=-0.1), "alpha must not be negative; got -0.1"),
        (lambda: OnlineRegression(n_sigma=math.nan), "n_sigma must not be negative; got nan"),
        (lambda: OnlineRegression(drift=-1), "drift must not be negative; got -1"),
        (lambda: BoundedRegression(0), "bound must be positive"),
        (lambda: BoundedRegression([1, 2, 3], ["a", "b"]), "one for each of 2 event"),
        (lambda: OnlineRegression(["a", "a"]), "events must be different names"),
        (lambda: OnlineRegression([]), "events must be different names, at least one"),
        (lambda: OnlineRegression(["a", "b"]).add(1.0, 2.0), r"samples of 2 event\(s\); got"),
        (lambda: at_equal_size([1, 2, 3], [1, 2, 3], 16), "nothing to compare in 16 bytes"),
        (lambda: at_equal_size([1, 2, 3], [4, 4, 4], 64), "when y moves by 0"),
    ],
)
def test_wrong_input_is_named(attempt, said):
    with pytest.raises(ValueError, match=said):
        attempt()


@settings(deadline=None, max_examples=20)
@given(counters())
def test_no_input_is_changed(samples):
    before = copy.deepcopy(samples)
    compress(*samples)
    compress(*samples, bound=2.0)
    swinging_door(*samples, 1.0)
    for now, then in zip(samples, before, strict=True):
        npt.assert_array_equal(now, then)


# --- accuracy and peers -------------------------------------------------------------------------


def test_quality_is_reckoned_as_printed():
    x = np.arange(1.0, 101.0)
    y = np.where(x <= 50, x, 50 + 10 * (x - 50)) + np.where(np.arange(100) % 2, 0.2, -0.2)
    lines = compress(x, y)
    quality = fit_quality(lines, x, y)
    off = y - reconstruct(lines, x).to_numpy()
    assert quality["reduction"] == 100 / len(lines) and quality["n_bytes"] == 24 * len(lines)
    assert quality["mnesd"] == pytest.approx(lines["sigma"].max() / np.ptp(y))
    assert quality["largest"] == pytest.approx(np.abs(off).max() / np.ptp(y))
    assert quality["rms"] == pytest.approx(math.sqrt(np.mean(off**2)) / np.ptp(y))


@settings(deadline=None, max_examples=60)
@given(counters(), st.sampled_from([0.5, 3.0, 1000.0]))
def test_the_swinging_door_is_its_definition_and_keeps_its_promise(samples, deviation):
    x, y = samples
    kept = swinging_door(x, y, deviation)
    assert kept.tolist() == naive.swinging_door(x, y, deviation)
    assert np.abs(np.interp(x, x[kept], y[kept]) - y).max() <= deviation * (1 + 1e-9)


def test_bottom_up_finds_planted_breaks():
    x = np.arange(1, 301) * 1e6
    y = np.cumsum(np.repeat([100.0, 900.0, 20.0], 100))
    ends = bottom_up(x, y, 3)
    assert len(ends) == 3 and np.abs(ends - [100, 200, 300]).max() <= 1


@settings(deadline=None, max_examples=30)
@given(counters(), st.integers(1, 5))
def test_packed_samples_come_back(samples, every):
    import zstandard

    x, y = samples
    packed, kept = zstd_samples(x, y, every=every)
    steps = np.frombuffer(zstandard.ZstdDecompressor().decompress(packed), np.int64).reshape(2, -1)
    npt.assert_array_equal(steps.cumsum(axis=1), [x[kept], y[kept]])
    assert kept[0] == 0 and kept[-1] == len(x) - 1 and (np.diff(kept) <= every).all()


def recorded_counts(programs):
    """Counts per interval of every one-counter-one-event run of these programs."""
    for program in programs:
        for path in sorted((recordings_dir() / program).glob("ocoe-p*.csv.gz")):
            yield perf.series(perf.parse_stat(gzip.decompress(path.read_bytes()).decode()))[0]


def test_recorded_counts_fit_their_lines_as_well_as_the_paper_asks():
    qualities = []
    for counts in recorded_counts(["bzip2", "gcc", "kmeans", "wordcount"]):
        totals = counts.dropna().cumsum()
        lines = compress(totals["cycles"], totals.drop(columns="cycles"))
        qualities += [
            fit_quality(of_event(lines, e), totals["cycles"], totals[e]) for e in totals if e != "cycles"
        ]
    qualities = pd.DataFrame(qualities)
    assert len(qualities) >= 100 and (qualities["n_samples"] > 50).all()
    assert qualities["mnesd"].max() < 0.1
    assert qualities["reduction"].median() > 1.5


def test_on_recorded_counts_lines_with_a_bound_beat_the_swinging_door_at_equal_size():
    runs = list(recorded_counts(["gcc", "wordcount"]))[::2]
    result = pd.concat({i: survey(counts, "cycles") for i, counts in enumerate(runs)}).dropna(
        subset="largest"
    )
    errors = result[["largest", "rms"]].unstack("method")
    assert len(errors) >= 15
    for error in ("largest", "rms"):
        assert (errors[error, "bounded"] <= errors[error, "swinging door"]).mean() > 0.8
        assert errors[error, "drift"].median() <= errors[error, "printed"].median()


def test_a_survey_leaves_out_what_never_happens_and_samples_that_were_not_counted():
    rng = np.random.default_rng(8)
    counts = pd.DataFrame(
        rng.poisson([1000, 30, 5], (60, 3)).astype(float), columns=["cycles", "loads", "stalls"]
    )
    counts["never"] = 0.0
    counts.loc[[3, 17], "stalls"] = np.nan
    result = survey(counts, "cycles")
    assert result.index.unique("event").tolist() == ["loads", "stalls"]
    whole = counts[["cycles", "stalls"]].dropna().cumsum()
    expected = fit_quality(compress(whole["cycles"], whole["stalls"]), whole["cycles"], whole["stalls"])
    npt.assert_array_equal(result.loc[("stalls", "printed"), expected.index], expected)
    peers = result.loc["loads"].drop(["printed", "drift"])
    assert (peers["n_bytes"] <= result.loc[("loads", "printed"), "n_bytes"]).all()
    with pytest.raises(ValueError, match="no event but 'cycles' ever happens"):
        survey(counts[["cycles", "never"]], "cycles")
