"""Shrinkage towards neighbours, late readings and sums, on planted runs and on a recorded one."""

import gzip

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cmlib.clean import clean_run, estimate_counts, replay
from cmlib.clean.delayed import redistribute_delayed_counts
from cmlib.clean.shrinkage import clean_by_shrinkage
from cmlib.clean.sums import reconcile_sums
from cmlib.io.perf import parse_stat, series
from cmlib.places import recordings_dir
from tests.planted_series import multiplexed_run

METHODS = ("shrinkage", "scaling", "interpolate", "counterminer", "counterminer-printed")


@pytest.fixture(scope="module")
def recorded():
    file = recordings_dir() / "kmeans" / "mlpx12-p1-00.csv.gz"
    return series(parse_stat(gzip.decompress(file.read_bytes()).decode()))


@pytest.fixture(scope="module")
def cleaned():
    """Planted runs, and each of them cleaned by each of METHODS."""
    return [
        (
            planted,
            {method: clean_run(planted.counts, planted.running, method=method)[0] for method in METHODS},
        )
        for planted in (multiplexed_run(seed=seed) for seed in range(3))
    ]


def test_comes_closer_to_the_truth_than_what_perf_prints_and_the_papers_way(cleaned):
    def error(frame, truth):
        return (((frame - truth) ** 2).mean() ** 0.5 / truth.std()).mean()

    errors = pd.DataFrame(
        [{name: error(frame, planted.truth) for name, frame in by.items()} for planted, by in cleaned]
    )
    assert errors.mean().idxmin() == "shrinkage"
    assert (errors["shrinkage"] < 0.9 * errors["scaling"]).all()


def test_varies_less_than_what_perf_prints_and_not_less_than_the_truth(cleaned):
    planted, by = cleaned[1]

    def restless(frame):
        steps = frame.diff().abs().mean() / planted.truth.diff().abs().mean()
        return steps[planted.counts.columns[2:]].mean()

    assert restless(planted.counts) > 1.5
    assert 1 <= restless(by["shrinkage"]) < 0.9 * restless(planted.counts)


def test_exact_samples_stay_and_nothing_is_negative():
    planted = multiplexed_run(seed=2)
    running = planted.running.copy()
    running.iloc[10:20] = 1.0
    cleaned, errors = estimate_counts(planted.counts, running)
    npt.assert_array_equal(cleaned.iloc[10:20], planted.counts.iloc[10:20])
    npt.assert_array_equal(cleaned[["instructions", "cycles"]], planted.counts[["instructions", "cycles"]])
    assert (errors.iloc[10:20] == 0).all().all() and (errors[["instructions", "cycles"]] == 0).all().all()
    assert (cleaned >= 0).all().all() and (errors >= 0).all().all()


def test_nine_tenths_of_the_truth_lie_within_the_intervals_of_nine_tenths():
    inside = []
    for seed in range(3):
        planted = multiplexed_run(seed=seed)
        estimates, errors = estimate_counts(planted.counts, planted.running)
        multiplexed = planted.counts.columns[2:]
        off = (estimates - planted.truth).abs()[multiplexed]
        inside.append((off <= 1.645 * errors[multiplexed]).mean().mean())
    assert 0.85 < np.mean(inside) < 0.97


def test_what_others_do_not_explain_stays_as_it_is():
    """Events that wander on their own, each in a slot of its own: nothing is known of them but themselves."""
    rng = np.random.default_rng(0)
    walks = pd.DataFrame(np.exp(0.02 * rng.normal(size=(600, 4)).cumsum(axis=0)) * 1e6, columns=list("abcd"))
    run = replay(walks, [["a"], ["b"], ["c"], ["d"]], slots=8)
    cleaned, _ = estimate_counts(run.counts, run.running)
    pd.testing.assert_frame_equal(cleaned, run.counts)


def test_an_interval_unlike_all_others_is_not_moved_by_extrapolation():
    """All but one group jump in the last interval, as when a program exits."""
    planted = multiplexed_run(seed=2)
    counts = planted.counts.copy()
    calm = [f"group_0_event_{e}" for e in range(3)]
    jumping = counts.columns[2:].difference(calm)
    counts.loc[counts.index[-1], jumping] *= 30
    cleaned = clean_by_shrinkage(counts, planted.running)
    assert (cleaned[calm].iloc[-1] / counts[calm].iloc[-1]).max() < 1.2


def test_an_unmultiplexed_run_comes_back_unchanged():
    truth = multiplexed_run(seed=3).truth
    cleaned, changed = clean_run(truth, truth * 0 + 1)
    pd.testing.assert_frame_equal(cleaned, truth)
    assert not changed.any().any()


def test_it_repeats_and_times_do_not_matter():
    planted = multiplexed_run(60, seed=4)
    once = clean_by_shrinkage(planted.counts, planted.running)
    pd.testing.assert_frame_equal(once, clean_by_shrinkage(planted.counts, planted.running))
    renamed = planted.counts.set_axis(range(60)), planted.running.set_axis(range(60))
    npt.assert_array_equal(clean_by_shrinkage(*renamed), once)


def test_what_was_not_counted_is_predicted_and_what_never_was_stays_open():
    planted = multiplexed_run(seed=6)
    counts, running = planted.counts.copy(), planted.running.copy()
    lost = [f"group_1_event_{e}" for e in range(3)]
    counts.loc[counts.index[50:60], lost] = np.nan
    running.loc[counts.index[50:60], lost] = 0.0
    counts["group_2_event_0"] = np.nan
    cleaned, changed = clean_run(counts, running)
    assert cleaned["group_2_event_0"].isna().all() and not changed["group_2_event_0"].any()
    assert cleaned.drop(columns="group_2_event_0").notna().all().all()
    truth = planted.truth.loc[counts.index[50:60], lost]
    assert (cleaned.loc[truth.index, lost] / truth).sub(1).abs().mean().mean() < 0.25


def test_an_impossible_value_is_taken_for_none():
    planted = multiplexed_run(seed=7)
    counts = planted.counts.copy()
    counts.iloc[30, 5] = 2.0**63
    cleaned = clean_by_shrinkage(counts, planted.running)
    assert cleaned.iloc[30, 5] < 3 * planted.truth.iloc[:, 5].max()
    assert counts.iloc[30, 5] == 2.0**63


def test_short_runs_and_runs_without_pinned_events_are_cleaned():
    planted = multiplexed_run(3, seed=8)
    assert clean_by_shrinkage(planted.counts, planted.running).notna().all().all()
    planted = multiplexed_run(50, seed=8)
    unpinned = clean_by_shrinkage(planted.counts.iloc[:, 2:], planted.running.iloc[:, 2:])
    assert unpinned.notna().all().all()


def test_a_late_reading_is_divided_and_a_missed_turn_is_not():
    counts = pd.DataFrame(
        {"late": [4.0, np.nan, 12.0, 5.0], "none": [4.0, np.nan, 12.0, np.nan], "end": [1, 1, 1, np.nan]}
    )
    running = pd.DataFrame({"late": 0.25, "none": [0.25, 0.0, 0.25, 0.25], "end": 0.25}, index=counts.index)
    spread = redistribute_delayed_counts(counts, running)
    assert spread["late"].tolist() == [4, 6, 6, 5]
    pd.testing.assert_series_equal(spread["none"], counts["none"])
    assert np.isnan(spread["end"].iloc[-1])
    assert redistribute_delayed_counts(counts, running, by=[1, 3, 1, 1])["late"].tolist() == [4, 9, 3, 5]
    assert redistribute_delayed_counts(counts, running, by=[1, np.nan, 1, 1])["late"].tolist() == [4, 6, 6, 5]
    assert np.isnan(counts["late"].iloc[1])


def test_late_readings_of_a_real_run(recorded):
    """Three readings were missed once; the counts that followed covered two intervals of 0.1 s."""
    counts, running = recorded
    late = counts.isna() & (running > 0)
    first = np.flatnonzero(late.any(axis=1))[0]
    events = list(counts.columns[late.iloc[first]])
    assert events == ["op_cache_hit_miss.op_cache_hit", "ex_ret_brn", "ls_dispatch.all"]
    spread = redistribute_delayed_counts(counts, running, by=counts["instructions"])
    npt.assert_allclose(spread[events].sum(), counts[events].sum())
    rates = spread[events].div(spread["instructions"], axis=0)
    usual = rates.quantile([0.05, 0.95])
    assert (counts[events].iloc[first + 1] / counts["instructions"].iloc[first + 1] > usual.loc[0.95]).all()
    assert ((rates.iloc[first] > usual.loc[0.05] * 0.8) & (rates.iloc[first] < usual.loc[0.95] * 1.2)).all()


def test_a_real_run_is_cleaned_whole(recorded):
    counts, running = recorded
    cleaned, changed = clean_run(counts, running)
    assert not changed[["instructions", "cycles"]].iloc[:-1].any().any()
    assert cleaned.iloc[:-1].notna().all().all()
    assert changed.loc[:, (running < 0.9).all()].iloc[:-1].mean().min() > 0.9


sums = hnp.arrays(np.float64, (6, 4), elements=st.floats(0, 1e6).map(lambda x: round(x, 2)))
variances = hnp.arrays(np.float64, (6, 4), elements=st.sampled_from([1.0, 100.0, 1e8]))


@given(sums, variances)
def test_sums_hold_afterwards_and_nothing_is_negative(values, variance):
    frame = pd.DataFrame(values, columns=["all", "hit", "miss", "other"])
    variance = pd.DataFrame(variance, columns=frame.columns)
    held = reconcile_sums(frame, variance, [("all", ("hit", "miss")), ("unknown", ("all", "other"))])
    npt.assert_allclose(held["all"], held["hit"] + held["miss"], rtol=1e-6, atol=1)
    assert (held >= 0).all().all()
    npt.assert_array_equal(held["other"], frame["other"])


def test_who_is_certain_does_not_move():
    frame = pd.DataFrame({"all": [10.0, 10.0], "hit": [6.0, 6.0], "miss": [6.0, 6.0]})
    variance = pd.DataFrame({"all": [0.0, 0.0], "hit": [3.0, 0.0], "miss": [1.0, 0.0]})
    held = reconcile_sums(frame, variance, [("all", ("hit", "miss"))])
    npt.assert_allclose(held.iloc[0], [10, 4.5, 5.5])
    npt.assert_array_equal(held.iloc[1], frame.iloc[1])


def test_nested_sums_hold_together():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(50, 100, (20, 5)), columns=["all", "read", "write", "hit", "miss"])
    held = reconcile_sums(frame, frame, [("all", ("read", "write")), ("read", ("hit", "miss"))])
    npt.assert_allclose(held["all"], held["read"] + held["write"])
    npt.assert_allclose(held["read"], held["hit"] + held["miss"])


@pytest.mark.parametrize("seed", range(3))
def test_sums_bring_estimates_closer(seed):
    planted = multiplexed_run(seed=seed)
    parts = ("group_0_event_0", "group_1_event_1")
    counts, running, truth = (frame.copy() for frame in planted)
    share = running["group_2_event_2"]
    wrong = 1 + (counts["group_2_event_2"] / truth["group_2_event_2"] - 1)
    truth["whole"] = truth[list(parts)].sum(axis=1)
    counts["whole"], running["whole"] = truth["whole"] * wrong, share
    with_sums, _ = clean_run(counts, running, sums=[("whole", parts)])
    without, _ = clean_run(counts, running)

    def error(cleaned):
        events = ["whole", *parts]
        return (((cleaned - truth)[events] ** 2).mean() ** 0.5 / truth[events].std()).mean()

    npt.assert_allclose(with_sums["whole"], with_sums[list(parts)].sum(axis=1), rtol=1e-6)
    assert error(with_sums) < error(without)


def test_sums_are_held_stretch_by_stretch(monkeypatch):
    rng = np.random.default_rng(0)
    counts = pd.DataFrame(rng.uniform(0, 10, (50, 4)), columns=list("abcd"))
    variance = pd.DataFrame(rng.uniform(0, 1, (50, 4)), columns=list("abcd"))
    sums_between = [("a", ("b", "c")), ("d", ("a", "b"))]
    whole = reconcile_sums(counts, variance, sums_between)
    monkeypatch.setattr("cmlib.clean.sums._AT_ONCE", 7)
    npt.assert_allclose(reconcile_sums(counts, variance, sums_between), whole, rtol=1e-9, atol=1e-9)
    assert reconcile_sums(counts.iloc[:0], variance.iloc[:0], sums_between).empty
