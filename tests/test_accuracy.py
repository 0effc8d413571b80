"""Errors against OCOE runs: their definitions, their floor, and the comparison of methods."""

import math
from types import SimpleNamespace

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from scipy import stats

from cmlib.clean import METHODS, clean_run, clean_series
from cmlib.clean.accuracy import MEASURES, Reference, compare_methods, noise_floor, references
from cmlib.clean.distance import mlpx_error
from tests.naive import distance as naive
from tests.notebook_functions import functions_of
from tests.planted_series import multiplexed_run

N = 80


def pass_of(seed, planted=None):
    """The planted run, counted all the time, with a little noise from pass to pass."""
    truth = (planted or multiplexed_run(N, seed=0)).truth
    noisy = truth * np.random.default_rng(seed).normal(1, 0.05, truth.shape)
    return SimpleNamespace(counts=noisy, running=noisy * 0 + 1)


@pytest.fixture(scope="module")
def mlpx():
    planted = multiplexed_run(N, seed=0)
    return [SimpleNamespace(counts=planted.counts, running=planted.running, machine={})]


@pytest.fixture(scope="module")
def compared(mlpx):
    """Errors of all methods on the planted run."""
    ocoe = [pass_of(1), pass_of(2), pass_of(3)]
    return compare_methods(references(ocoe, mlpx), mlpx, {name: name for name in METHODS})


def scored(ocoe, run):
    """Errors of what perf prints, by event."""
    return {
        event: reference.compare(run.counts[event]) for event, reference in references(ocoe, [run]).items()
    }


def errors(ocoe, series):
    """By measure, of runs of equal intervals."""
    runs = [pd.DataFrame({"e": one}, range(1, len(one) + 1), dtype=float) for one in ocoe]
    reference = Reference([SimpleNamespace(counts=run, running=run * 0 + 1) for run in runs], "e")
    found = reference.compare(pd.Series(series, range(1, len(series) + 1), dtype=float))
    return dict(zip(MEASURES, found, strict=True))


def test_measures_are_their_definitions():
    one, other, series = [1.0, 4.0, 2.0], [1.0, 5.0, 2.0], [2.0, 4.0, 3.0]
    reference = naive.dtw(one, other)
    measured = (naive.dtw(series, one) + naive.dtw(series, other)) / 2
    found = errors([one, other], series)
    assert found["eq4_percent"] == pytest.approx(abs(1 - reference / measured) * 100)
    assert found["distance_ratio"] == pytest.approx(measured / reference)
    assert found["total_error_percent"] == pytest.approx((9 - 7.5) / 7.5 * 100)
    pooled = np.array(one + other)
    moved = stats.wasserstein_distance(pooled, series)
    assert found["distribution_error"] == pytest.approx(moved / pooled.std())


def test_eq4_of_equal_distances_is_the_papers():
    one, other, series = [0.0, 0.0], [2.0, 2.0], [1.0, 1.0]
    found = errors([one, other], series)
    assert found["eq4_percent"] == mlpx_error(one, other, series) == 100
    assert found["distance_ratio"] == 0.5, "what folds is seen here"


def test_measures_of_nothing():
    nothing = [[0.0, 0.0], [0.0, 0.0]]
    assert list(errors(nothing, [0.0, 0.0]).values()) == [0, 1, 0, 0]
    found = errors(nothing, [1.0, 0.0])
    assert found["total_error_percent"] == found["distance_ratio"] == math.inf


def test_one_row_an_event_run_and_method(compared, mlpx):
    events = list(mlpx[0].counts.columns[2:])
    assert list(compared) == ["run", "method", "event", *MEASURES]
    assert not compared.duplicated(["run", "method", "event"]).any()
    assert set(compared["method"]) == set(METHODS) and len(compared) == len(events) * len(METHODS)
    assert sorted(set(compared["event"])) == sorted(events), "pinned events are not multiplexed"
    assert compared[list(MEASURES)].notna().all().all()


def test_a_baseline_is_a_function_and_runs_of_other_events_are_left_out(mlpx):
    ocoe = [pass_of(1), pass_of(2)]
    other = SimpleNamespace(counts=mlpx[0].counts.add_prefix("other_"), running=mlpx[0].running)
    functions = {"unchanged": lambda counts, running: counts, "printed": "scaling"}
    found = compare_methods(references(ocoe, mlpx), [other, *mlpx], functions)
    assert set(found["run"]) == {1}
    by_label = {label: rows.drop(columns="method") for label, rows in found.groupby("method")}
    pd.testing.assert_frame_equal(*(rows.reset_index(drop=True) for rows in by_label.values()))


def test_what_perf_prints_scores_by_hand(compared, mlpx):
    event = "group_2_event_1"
    ocoe = [pass_of(seed).counts[event].to_numpy() for seed in (1, 2, 3)]
    printed = mlpx[0].counts[event].to_numpy()
    row = compared.query("event == @event and method == 'scaling'").iloc[0]
    npt.assert_allclose(row[list(MEASURES)].astype(float), list(errors(ocoe, printed).values()))


def test_shrinkage_is_nearer_than_what_perf_prints_on_planted_runs(compared):
    ratio = compared.groupby("method")["distance_ratio"].mean()[list(METHODS)]
    assert ratio["shrinkage"] < 0.97 * ratio["scaling"]


def test_a_series_without_error_scores_about_one(mlpx):
    planted = multiplexed_run(N, seed=0)
    clean = SimpleNamespace(counts=pass_of(9).counts, running=planted.running)
    floor = noise_floor([pass_of(1), pass_of(2), pass_of(3)], [clean])
    assert set(floor["method"]) == {"always counted", "ocoe"}
    assert (floor["method"] == "ocoe").sum() == 3 * 12
    assert floor["distance_ratio"].between(0.6, 1.6).all()
    two = noise_floor([pass_of(1), pass_of(2)], [clean])
    assert set(two["method"]) == {"always counted"}, "two passes can't be held against each other and a third"


def test_options_reach_the_methods_they_belong_to(mlpx):
    def clean(method, **options):
        return clean_run(mlpx[0].counts, mlpx[0].running, method=method, **options)[0]

    strict = {"n_gaussian": 0.5, "n_long_tail": 0.5}
    pd.testing.assert_frame_equal(clean("shrinkage"), clean("shrinkage", **strict))
    assert not clean("counterminer").equals(clean("counterminer", **strict))


def test_parts_of_a_pass_are_found_by_their_events(mlpx):
    passes = [pass_of(1), pass_of(2)]
    parts = [
        SimpleNamespace(counts=run.counts[columns], running=run.running[columns])
        for run in passes
        for columns in (["instructions", "group_0_event_0"], ["instructions", "group_1_event_0"])
    ]
    found, whole = scored(parts, mlpx[0]), scored(passes, mlpx[0])
    assert list(found) == ["group_0_event_0", "group_1_event_0"]
    assert found == {event: whole[event] for event in found}


def test_a_last_interval_cut_short_counts_for_the_total_only(mlpx):
    def with_rest(run):
        frames = [run.counts, run.running]
        rest = [frame.iloc[[-1]].set_axis([frame.index[-1] + 0.01]) for frame in frames]
        counts, running = (pd.concat(pair) for pair in zip(frames, rest, strict=True))
        return SimpleNamespace(counts=counts, running=running)

    ocoe, total = [pass_of(1), pass_of(2)], MEASURES.index("total_error_percent")
    plain, longer = (pd.DataFrame(scored(ocoe, run)) for run in (mlpx[0], with_rest(mlpx[0])))
    pd.testing.assert_frame_equal(plain.drop(index=total), longer.drop(index=total))
    assert (plain.loc[total] != longer.loc[total]).all()


def test_late_readings_of_ocoe_runs_are_divided_first(mlpx):
    event = "group_3_event_2"
    late = pass_of(1)
    counts = late.counts.copy()
    both = counts[event].iloc[20:22].sum()
    counts.loc[counts.index[20:22], event] = [np.nan, both]
    late = SimpleNamespace(counts=counts, running=late.running)
    found, plain = (
        Reference([one, pass_of(2)], event).compare(mlpx[0].counts[event]) for one in (late, pass_of(1))
    )
    npt.assert_allclose(found, plain, rtol=0.05)


def test_nothing_to_compare_is_said(mlpx):
    with pytest.raises(ValueError, match="none of 12 multiplexed events was counted by two of 1 OCOE runs"):
        references([pass_of(1)], mlpx)
    with pytest.raises(ValueError, match="'group_0_event_0' was counted by 1 OCOE runs; comparing needs 2"):
        Reference([pass_of(1)], "group_0_event_0")


def test_the_notebook_and_the_library_clean_and_measure_alike(mlpx):
    """Notebook 02 has the paper's algorithm and Eq. 1 to 4 in plain Python."""
    notebook = functions_of("02_cleaning")
    event = "group_2_event_1"
    series = mlpx[0].counts[event].copy()
    series.iloc[[7, 30]] = [40 * series.mean(), np.nan]
    for n in (3, 5):
        options = {"n_gaussian": n, "n_long_tail": n}
        cleaned, changed = clean_series(series, method="counterminer", **options)
        assert changed[[7, 30]].all()
        npt.assert_allclose(notebook["clean_as_the_paper"](series, n=n), cleaned)
    reference = references([pass_of(1), pass_of(2), pass_of(3)], mlpx)[event]
    measured = notebook["error"](series.dropna(), reference.series)
    assert measured == pytest.approx(reference.compare(series)[0])


def test_runs_in_which_a_method_is_nearer_are_counted_by_most_events():
    runs = [("p", 0, "a"), ("p", 0, "b"), ("p", 0, "c"), ("p", 1, "a"), ("p", 1, "b")]
    index = pd.MultiIndex.from_tuples(runs, names=["program", "run", "event"])
    ratios = pd.DataFrame({"x": [1, 1, 9, 1, 2], "y": [2, 2, 1, 1, 2]}, index)
    counted = functions_of("02_cleaning")["count_runs_nearer"](ratios)
    assert counted.at["x", "y"] == 1 and counted.at["y", "x"] == counted.at["x", "x"] == 0
