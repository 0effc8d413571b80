"""Slices, their validation, and slices unlike the training data."""

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from cmlib.experiments.micro.validation import leave_each_out, validate
from cmlib.fingerprint.c45 import C45Classifier
from cmlib.fingerprint.slices import slice_rates
from cmlib.fingerprint.unknown import UnknownRejector
from tests.naive import fingerprint as naive


def run(n=41, *, rates=None, n_groups=1, interval_s=0.1, seed=0):
    """A run of known rates; event i is counted in every `n_groups`-th interval, from the i-th on."""
    rng = np.random.default_rng(seed)
    rates = rates or {"instructions": 2.0, "misses": 0.01, "stalls": 0.5}
    index = pd.Index(interval_s * (1 + np.arange(n)), name="time_s")
    cycles = rng.uniform(3e8, 4e8, n)
    counts = pd.DataFrame({"cycles": cycles} | {event: rate * cycles for event, rate in rates.items()}, index)
    running = pd.DataFrame(1.0, index, counts.columns)
    for i, event in enumerate(rates):
        on = np.arange(n) % n_groups == i % n_groups
        counts.loc[~on, event] = np.nan
        running.loc[~on, event] = 0.0
    return counts, running


@st.composite
def multiplexed_runs(draw):
    n, n_events = draw(st.integers(6, 40)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts, running = run(n, rates={f"event_{i}": 0.1 * (i + 1) for i in range(n_events)})
    running = running.assign(**{e: rng.uniform(0.1, 1, n) for e in counts if e != "cycles"})
    counts = counts.mask(rng.random(counts.shape) < draw(st.sampled_from([0.0, 0.2])))
    counts.iloc[n // 2, 0] = 1e8
    counts.iloc[: draw(st.integers(0, 2)), :] = np.nan
    return counts, running


@given(multiplexed_runs(), st.integers(1, 3))
def test_slices_are_their_definition(recorded, length):
    counts, running = recorded
    listed = {e: [None if np.isnan(v) else v for v in counts[e]] for e in counts}
    expected = naive.slice_rates(listed, {e: running[e].tolist() for e in running}, length, "cycles")
    counted = {event for part in expected for event, rate in part.items() if rate is not None}
    expected = [{event: rate for event, rate in part.items() if event in counted} for part in expected]
    complete = [part for part in expected if None not in part.values()]
    if not any(complete):
        with pytest.raises(ValueError, match="hold no slice"):
            slice_rates(counts, running, slice_s=0.1 * length)
        return
    sliced = slice_rates(counts, running, slice_s=0.1 * length)
    assert len(sliced) == len(complete)
    for (_, row), part in zip(sliced.iterrows(), complete, strict=True):
        npt.assert_allclose([row[event] for event in part], list(part.values()), rtol=1e-9)


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_planted_rates_are_found_through_multiplexing(n_groups):
    counts, running = run(n_groups=n_groups)
    before = counts.copy()
    sliced = slice_rates(counts, running)
    npt.assert_allclose(sliced, np.tile([2.0, 0.01, 0.5], (10, 1)))
    npt.assert_allclose(sliced.index, 0.4 * np.arange(1, 11))
    pd.testing.assert_frame_equal(counts, before)


def test_the_last_slice_is_dropped_full_or_not():
    assert [len(slice_rates(*run(n))) for n in (8, 9, 11, 12, 13)] == [1, 2, 2, 2, 3]


def test_intervals_before_counting_and_slices_of_sleep_are_left_out():
    counts, running = run(41)
    counts.iloc[:3] = np.nan
    counts.iloc[11:15] = np.nan
    sliced = slice_rates(counts, running)
    npt.assert_allclose(sliced.index, [0.7, 1.1, *(0.1 * np.arange(19, 41, 4))])
    assert sliced.notna().all(axis=None)


def test_an_event_that_was_never_counted_does_not_cost_the_slices():
    counts, running = run()
    never = counts.assign(never=np.nan), running.assign(never=0.0)
    pd.testing.assert_frame_equal(slice_rates(*never), slice_rates(counts, running))


@pytest.mark.parametrize("slice_s", [0.05, 0.25])
def test_slices_that_are_no_multiple_of_the_interval_are_refused(slice_s):
    with pytest.raises(ValueError, match="take a multiple of the interval"):
        slice_rates(*run(), slice_s=slice_s)


def test_a_run_without_cycles_is_refused():
    counts, running = run()
    with pytest.raises(ValueError, match="'cycles'"):
        slice_rates(counts.drop(columns="cycles"), running)


@pytest.fixture(scope="module")
def classes():
    """Two classes told apart by one event; a second event only names the run."""
    rng = np.random.default_rng(0)
    runs = np.repeat(np.arange(24), 30)
    y = np.where(runs % 2, "P_Mem_M", "N_Mem_M")
    misses = np.exp(rng.normal(np.where(runs % 2, -2, -5), 0.2))
    X = pd.DataFrame(
        {"misses": misses, "of_the_run": np.exp(rng.normal(size=24))[runs] * rng.uniform(0.99, 1.01, 720)}
    )
    return X, y, runs


def test_folds_by_run_are_harder_than_those_of_the_paper(classes):
    X, y, runs = classes
    table = validate(C45Classifier(), X[["of_the_run"]], y, runs=runs)
    assert table.loc["10-fold", "accuracy"] > 95
    assert table.loc["by run", "accuracy"] < 75
    assert (table["correct"] + table["incorrect"]).tolist() == [720, 720]
    npt.assert_allclose(table["accuracy"], 100 * table["correct"] / (table["correct"] + table["incorrect"]))
    honest = validate(C45Classifier(), X[["misses"]], y, runs=runs)
    assert (honest["accuracy"] > 99).all()


def test_each_value_is_left_out_once_and_what_has_none_is_never():
    sizes = [None, 1.0, 2.0, 1.0, None]
    folds = [(train.tolist(), test.tolist()) for train, test in leave_each_out(sizes)]
    assert folds == [([0, 2, 4], [1, 3]), ([0, 1, 3, 4], [2])]


def test_one_run_cannot_be_folded_by_run(classes):
    X, y, _ = classes
    with pytest.raises(ValueError, match="1 run"):
        validate(C45Classifier(), X, y, runs=np.zeros(len(y)))


def test_slices_far_from_training_are_unknown_and_near_ones_are_not(classes):
    X, y, runs = classes
    model = UnknownRejector(C45Classifier(), quantile=0.99).fit(X, y, groups=runs)
    again = model.predict(X)
    assert (again == "unknown").mean() <= 0.01
    npt.assert_array_equal(again[again != "unknown"], model.classifier_.predict(X)[again != "unknown"])
    far = X.iloc[:50].assign(misses=50.0)
    assert set(model.predict(far)) == {"unknown"}
    assert (model.distance(far) > model.threshold_).all()
    assert (model.predict(X.iloc[:50] * [1.05, 1.0]) == y[:50]).mean() > 0.9


def test_the_threshold_is_the_quantile_of_distances_between_groups():
    X = np.exp(np.array([0.0, 0.1, 1.0, 1.3, 5.0, 5.7]))[:, None]
    groups = [0, 0, 1, 1, 2, 2]
    model = UnknownRejector(C45Classifier(), quantile=0.5, margin=2.0).fit(
        X, [0, 0, 1, 1, 1, 1], groups=groups
    )
    logs = np.log(X[:, 0] + 0.01 * X.mean())
    z = (logs - logs.mean()) / logs.std()
    apart = [
        min(abs(a - b) for b, h in zip(z, groups, strict=True) if h != g)
        for a, g in zip(z, groups, strict=True)
    ]
    npt.assert_allclose(model.threshold_, 2 * np.median(apart))


def test_unknown_is_what_lies_beyond_the_threshold(classes):
    X, y, runs = classes
    model = UnknownRejector(C45Classifier(), quantile=0.9).fit(X, y, groups=runs)
    moved = X * np.exp(np.random.default_rng(1).normal(scale=1, size=X.shape))
    npt.assert_array_equal(model.is_unknown(moved), model.distance(moved) > model.threshold_)
    assert 0.02 < model.is_unknown(moved).mean() < 0.98
    npt.assert_array_equal(model.predict(moved) == "unknown", model.is_unknown(moved))


def test_units_do_not_change_what_is_unknown(classes):
    X, y, runs = classes
    model = UnknownRejector(C45Classifier()).fit(X, y, groups=runs)
    scaled = clone(model).fit(X * 1e6, y, groups=runs)
    npt.assert_allclose(scaled.distance(X * 1e6), model.distance(X), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"quantile": 0}, "quantile"), ({"margin": 0}, "margin")],
)
def test_rejectors_out_of_range_are_refused(classes, options, said):
    X, y, runs = classes
    with pytest.raises(ValueError, match=said):
        UnknownRejector(C45Classifier(), **options).fit(X, y, groups=runs)


def test_one_group_or_negative_rates_are_refused(classes):
    X, y, runs = classes
    with pytest.raises(ValueError, match="one group"):
        UnknownRejector(C45Classifier()).fit(X, y, groups=np.zeros(len(y)))
    with pytest.raises(ValueError, match="never below 0"):
        UnknownRejector(C45Classifier()).fit(-X, y, groups=runs)
