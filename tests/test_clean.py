"""Cleaning of single series against the paper's definition, its laws and planted truth."""

import math

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from cmlib.clean import (
    METHODS,
    clean_run,
    clean_series,
    fill_missing,
    replace_outliers,
)
from cmlib.clean.distribution import gaussian_statistic
from cmlib.clean.methods import DISTINCT_METHODS, REGISTERED
from cmlib.clean.missing import interpolate, missing_samples
from cmlib.intervals import whole_intervals, zeros_without_turn
from tests.naive import cleaning as naive
from tests.notebook_functions import functions_of
from tests.planted_series import multiplexed_run, multiplexed_series

SERIES_METHODS = [name for name in DISTINCT_METHODS if not REGISTERED[name].whole_run]
counts = st.one_of(st.just(0.0), st.floats(1, 1e6), st.floats(1e7, 1e9), st.just(math.nan))
SEEDS = range(10)


@st.composite
def counter_series(draw, elements=counts, shortest=5):
    values = draw(hnp.arrays(np.float64, st.integers(shortest, 60), elements=elements))
    assume(np.isfinite(values).sum() >= 3)
    return values


@st.composite
def multiplexed(draw):
    values = draw(counter_series())
    shares = st.sampled_from([0.0, 0.1, 0.24, 0.5, 1.0])
    running = draw(hnp.arrays(np.float64, len(values), elements=shares))
    running[(running == 0) & (values > 0)] = 0.24
    running[np.isnan(values)] = 0
    assume((running > 0).any())
    return values, running


@given(counter_series(), st.sampled_from([0.7, 2.3, 3.0, 5.0]))
def test_replace_outliers_is_its_definition(values, n_std):
    before = values.copy()
    cleaned, replaced = replace_outliers(values, n_std=n_std)
    npt.assert_allclose(cleaned, naive.replace_outliers(values, n_std), rtol=1e-12)
    npt.assert_array_equal(cleaned[~replaced], values[~replaced])
    npt.assert_array_equal(values, before)


@given(counter_series(), st.integers(1, 8), st.randoms(use_true_random=False))
def test_fill_missing_is_its_definition(values, k, random):
    missing = np.array([math.isnan(v) or random.random() < 0.3 for v in values])
    assume(not missing.all())
    filled = fill_missing(values, missing, k=k)
    npt.assert_allclose(filled, naive.fill_missing(values, missing, k), rtol=1e-12)
    npt.assert_array_equal(filled[~missing], values[~missing])


def test_of_two_neighbours_at_the_same_distance_the_earlier_is_nearer():
    values = np.array([1.0, 10.0, 100.0, 0.0, 1000.0, 10000.0, 100000.0])
    missing = values == 0
    assert fill_missing(values, missing, k=1)[3] == 100
    assert fill_missing(values, missing, k=5)[3] == (1 + 10 + 100 + 1000 + 10000) / 5


@given(counter_series())
def test_counterminer_without_shares_is_the_paper(values):
    cleaned, changed = clean_series(values)
    npt.assert_allclose(cleaned, naive.counterminer(values), rtol=1e-12)
    npt.assert_array_equal(cleaned[~changed], values[~changed])
    assert np.isfinite(cleaned).all()


@pytest.mark.slow
@given(multiplexed())
def test_counterminer_as_printed_knows_no_shares(series):
    values, running = series
    cleaned, _ = clean_series(values, running, method="counterminer-printed")
    npt.assert_allclose(cleaned, naive.counterminer(values), rtol=1e-12)
    whole, _ = clean_run(
        pd.DataFrame({"a": values}), pd.DataFrame({"a": running}), method="counterminer-printed"
    )
    npt.assert_array_equal(whole["a"], cleaned)


@pytest.mark.slow
@given(multiplexed())
def test_interpolation_is_the_area_below_the_lines(series):
    values, running = series
    npt.assert_allclose(
        interpolate(values, running), naive.interpolate(values, running), rtol=1e-6, atol=1e-3
    )


@given(multiplexed(), st.sampled_from(SERIES_METHODS))
def test_what_was_counted_all_the_time_stays(series, method):
    values, running = series
    assume((running > 0).sum() >= 3)
    cleaned, changed = clean_series(values, running, method=method)
    exact = running == 1
    npt.assert_array_equal(cleaned[exact], values[exact])
    assert not changed[exact].any()


@given(multiplexed(), st.sampled_from(SERIES_METHODS), st.sampled_from([1e-3, 1000.0]))
def test_changing_the_unit_changes_no_decision(series, method, factor):
    values, running = series
    assume((running > 0).sum() >= 3)
    cleaned, _ = clean_series(values, running, method=method)
    scaled, _ = clean_series(values * factor, running, method=method)
    npt.assert_allclose(scaled, cleaned * factor, rtol=1e-6)


@pytest.mark.parametrize("method", SERIES_METHODS)
def test_input_is_never_modified_and_lists_are_taken(method):
    values, running = [5.0, math.nan, 0.0, 7.0, 900.0], [0.2, 0.0, 0.3, 0.2, 0.2]
    cleaned, changed = clean_series(values, running, method=method)
    assert values[2:] == [0.0, 7.0, 900.0] and math.isnan(values[1])
    assert changed.dtype == bool and cleaned.shape == changed.shape == (5,)


@pytest.mark.parametrize("seed", SEEDS)
def test_finds_exactly_what_was_planted(seed):
    planted = multiplexed_series(seed=seed)
    cleaned, changed = clean_series(planted.values, planted.running)
    npt.assert_array_equal(changed, planted.spikes | planted.gaps)
    assert (cleaned[planted.zeros] == 0).all(), "measured zeros are no gaps"
    spoilt = planted.spikes | planted.gaps
    assert np.abs(cleaned - planted.truth)[spoilt].mean() < 0.15e6


@pytest.mark.parametrize("seed", SEEDS)
def test_finds_gaps_that_read_zero_as_in_the_paper(seed):
    planted = multiplexed_series(n_zeros=0, in_gaps=0.0, seed=seed)
    _, changed = clean_series(planted.values)
    npt.assert_array_equal(changed, planted.spikes | planted.gaps)


def test_zero_is_what_was_measured_and_nan_what_was_not():
    values = np.array([4.0, 0.0, 0.0, math.nan, 5.0, 4.0])
    running = np.array([0.2, 0.2, 0.0, 0.0, 0.2, 0.2])
    assert missing_samples(values, running).tolist() == [False, False, True, True, False, False]
    assert missing_samples(values).tolist() == [False, True, True, True, False, False]
    assert missing_samples(values / 1000).tolist() == [False, False, False, True, False, False]
    assert clean_series(values, running)[0].tolist() == [4, 0, 13 / 4, 13 / 4, 5, 4]
    scaling, changed = clean_series(values, running, method="scaling")
    assert math.isnan(scaling[3]) and not changed.any()
    assert clean_series(values, running, method="interpolate")[0][1] > 0, (
        "half an interval lies beside a neighbour"
    )


def test_thresholds_follow_the_distribution():
    rng = np.random.default_rng(0)
    gaussian, tail = rng.normal(100, 5, 300), rng.gumbel(100, 20, 300)
    gaussian[7], tail[7] = 122, tail.mean() + 4 * tail.std()
    assert clean_series(gaussian)[1][7] and not clean_series(gaussian, n_gaussian=5)[1][7]
    assert not clean_series(tail)[1].any() and clean_series(tail, n_long_tail=3)[1][7]


def test_an_outlier_alone_in_its_interval_takes_the_median_of_all():
    cleaned, replaced = replace_outliers(np.array([1.0, 2.0, 50.0, math.nan]), n_std=1.0)
    assert replaced.tolist() == [False, False, True, False]
    assert cleaned[2] == 1.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": [1.0, math.nan, 2.0]}, "event 'x' has 2 finite samples of 3; cleaning needs at least 3"),
        ({"values": [math.nan] * 4}, "event 'x' has 0 finite samples of 4"),
        ({"values": [1.0, 2.0, 3.0], "method": "magic"}, "'magic'; clean_series knows .*interpolate"),
        ({"values": [1.0, 2.0, 3.0], "running": [1.0, 1.0]}, r"running has shape \(2,\)"),
        ({"values": [1.0, 2.0, 3.0], "running": [1.0, 24.0, 1.0]}, "a running share is 24.0"),
        ({"values": [1.0, 2.0, 3.0], "n_long_tail": 0.0, "n_gaussian": 0.0}, "n_std is 0.0"),
        ({"values": [1.0, 2.0, 3.0], "k": 0}, "k is 0"),
        ({"values": [0.0, 0.0, 0.0], "running": [0.0, 0.0, 0.0]}, "all 3 samples are missing"),
        (
            {"values": [0.0, 0.0, 0.0], "running": [0.0] * 3, "method": "interpolate"},
            "none of 3 samples was counted",
        ),
    ],
)
def test_errors_say_what_and_where(arguments, message):
    with pytest.raises(ValueError, match=message):
        clean_series(**arguments, name="event 'x'")


def test_run_cleans_event_by_event_and_leaves_the_uncounted():
    planted = multiplexed_series(seed=3)
    frame = pd.DataFrame({"a": planted.values, "never": np.nan, "b": planted.truth})
    running = pd.DataFrame({"a": planted.running, "never": 0.0, "b": 1.0})
    cleaned, changed = clean_run(frame, running, method="counterminer")
    npt.assert_array_equal(cleaned["a"], clean_series(planted.values, planted.running)[0])
    assert cleaned["never"].isna().all() and not changed["never"].any()
    assert cleaned["b"].equals(frame["b"])
    assert list(cleaned) == list(frame) and changed["a"].sum() == 16


@pytest.mark.parametrize("method", METHODS)
def test_run_knows_which_event_and_run_it_cannot_clean(method):
    frame = multiplexed_run(20, seed=0).counts.copy()
    frame.iloc[2:, 4] = np.nan
    running = frame.notna() * 0.25
    with pytest.raises(ValueError, match=r"run 'x-03': event 'group_0_event_2' has 2 finite samples of 20"):
        clean_run(frame, running, method=method, run="run 'x-03'")


def test_run_refuses_what_does_not_fit():
    frame = multiplexed_run(20, seed=0).counts
    with pytest.raises(ValueError, match="'magic'; clean_run knows "):
        clean_run(frame, frame, method="magic")
    with pytest.raises(ValueError, match="differ in rows or events"):
        clean_run(frame, frame.iloc[:-1] * 0 + 1)
    with pytest.raises(ValueError, match="'shrinkage' needs the running shares"):
        clean_run(frame)


@given(counter_series(elements=st.floats(1, 1e3), shortest=8))
def test_gaussian_statistic_is_its_definition_and_scipys(values):
    assume(np.ptp(values) > 1)
    n = len(values)
    assert gaussian_statistic(values) == pytest.approx(naive.gaussian_statistic(values), rel=1e-6)
    plain = stats.anderson(values, "norm", method="interpolate").statistic
    assert gaussian_statistic(values) == pytest.approx(plain * (1 + 0.75 / n + 2.25 / n**2), rel=1e-6)


@pytest.fixture(scope="module")
def outliers():
    """What notebook studies/outliers defines."""
    return functions_of("outliers")


@pytest.mark.parametrize(
    ("family", "drawn"),
    [
        ("Gumbel", stats.gumbel_r(5, 2)),
        ("logistic", stats.logistic(5, 2)),
        ("GEV", stats.genextreme(-0.4, 5, 2)),
        ("GEV", stats.genextreme(0.3, 5, 2)),
    ],
)
def test_families_are_fitted_to_what_was_drawn_from_them(outliers, family, drawn):
    values = np.sort(drawn.rvs(2000, random_state=np.random.default_rng(1)))
    fitted, parameters = outliers["fits"](values)[family]
    npt.assert_allclose(fitted.cdf(values, *parameters), drawn.cdf(values), atol=0.03)


def test_the_fit_of_gev_is_never_worse_than_scipys_from_its_default(outliers):
    worse = 0
    for seed in range(20):
        values = np.sort(stats.genextreme(-0.8, 10, 1).rvs(150, random_state=np.random.default_rng(seed)))
        ours = stats.genextreme.logpdf(values, *outliers["fits"](values)["GEV"][1]).sum()
        theirs = stats.genextreme.logpdf(values, *stats.genextreme.fit(values)).sum()
        worse += ours < theirs - 0.05
    assert worse == 0


def test_kinds_of_distributions(outliers):
    rng = np.random.default_rng(2)
    drawn = {
        "gaussian": rng.normal(1e6, 1e4, 400),
        "long tail, best GEV": stats.genextreme(-0.3, 1e6, 1e5).rvs(400, random_state=rng),
        "constant": np.full(400, 7.0),
    }
    for kind, values in drawn.items():
        assert outliers["kind_of"](pd.Series(values)) == kind


def test_kinds_do_not_depend_on_unit_order_or_gaps(outliers):
    kind_of, rng = outliers["kind_of"], np.random.default_rng(3)
    for values in (pd.Series(rng.gumbel(10, 1, 150)), pd.Series(rng.normal(10, 1, 150))):
        other = pd.concat([values.sample(frac=1, random_state=1) * 1e6, pd.Series([np.nan])])
        assert kind_of(other) == kind_of(values)


def test_coverage_counts_what_lies_within(outliers):
    coverage = outliers["coverage"]
    values = np.append(np.ones(98), [2.0, 40.0])
    counts = pd.DataFrame({"all": np.append(values, 1.0), "gap": np.append(values, np.nan)})
    assert coverage(counts, 3)["gap"] == 99 and coverage(counts, 30)["gap"] == 100
    assert coverage(counts, 3)["all"] == pytest.approx(100 * 100 / 101)


def test_only_a_last_interval_that_was_cut_short_is_not_whole():
    assert whole_intervals([0.1, 0.04, 0.1, 0.1, 0.049]).tolist() == [True, True, True, True, False]
    assert whole_intervals([0.1, 0.1, 0.05]).all() and whole_intervals([0.01]).all()


@given(hnp.arrays(np.int64, 40, elements=st.integers(1, 7)))
def test_zeros_without_a_turn_run_to_the_end_of_the_list(first):
    assume(len({at for at in first if at < 7}) >= 3 and (first < 7).sum() >= 10)
    truth = pd.DataFrame(np.arange(1.0, 281).reshape(40, 7), columns=list("abcdefg"))
    hidden = np.arange(7) >= first[:, None]
    printed = truth.mask(hidden, 0.0)
    npt.assert_array_equal(zeros_without_turn(printed), hidden)
    assert not zeros_without_turn(truth).to_numpy().any()
    assert not zeros_without_turn(printed[list("gfedcba")]).to_numpy().any() or hidden.all(axis=1).any()
    printed.loc[printed["g"].idxmax(), "b"] = 0.0  # a zero that happened
    assert not zeros_without_turn(printed).to_numpy().any() or (first == 7).sum() == 0
