"""Discretization, CFS and the elimination of events against Weka, their definitions and planted truth."""

import re
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import datasets
from sklearn.model_selection import GroupKFold

from cmlib.experiments.micro.validation import accuracy_curve, nested_accuracy_curve
from cmlib.fingerprint.c45 import C45Classifier
from cmlib.fingerprint.key_events import (
    discretize,
    eliminate,
    gain_ratio,
    mutual_information,
    select_key_events,
    select_subset,
    symmetric_uncertainty,
)
from tests.naive import fingerprint as naive

GOLDEN = Path(__file__).parent / "golden" / "j48"
DATASETS = ["breast_cancer", "digits", "iris", "wine"]


def measures(name):
    data = getattr(datasets, f"load_{name}")()
    intervals = discretize(data.data, data.target, len(data.target_names))
    return mutual_information(intervals, data.target)


@st.composite
def slices_of_classes(draw):
    n = draw(st.integers(30, 150))
    n_events, n_classes = draw(st.integers(1, 6)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = range(n_classes)
    signal = rng.normal(size=(n_classes, n_events)) * rng.choice([0, 2, 5], n_events)
    X = np.round(signal[y] + rng.normal(size=(n, n_events)), draw(st.integers(0, 3))) + 0.0
    return pd.DataFrame(X, columns=[f"event_{i}" for i in range(n_events)]), y


@pytest.mark.parametrize("name", DATASETS)
def test_gain_ratios_are_those_of_weka(name):
    stored = (GOLDEN / f"gain_ratio_{name}.txt").read_text()
    weka = {int(i): float(value) for value, i in re.findall(r"^ *([\d.]+) +\d+ x(\d+)$", stored, re.M)}
    ratios = gain_ratio(measures(name))
    assert len(weka) == len(ratios)
    npt.assert_allclose(ratios, [weka[i] for i in range(len(ratios))], atol=5.1e-4)


@pytest.mark.parametrize("name", DATASETS)
def test_the_subset_is_that_of_weka(name):
    stored = (GOLDEN / f"cfs_{name}.txt").read_text()
    uncertainty = symmetric_uncertainty(measures(name))
    subset = select_subset(uncertainty[-1, :-1], uncertainty[:-1, :-1])
    assert sorted(subset) == [int(i) for i in re.findall(r"^ +x(\d+)$", stored, re.M)]
    among = uncertainty[np.ix_(subset, subset)]
    merit = uncertainty[-1, subset].sum() / np.sqrt(len(subset) + among.sum() - np.trace(among))
    npt.assert_allclose(
        merit, float(re.search(r"Merit of best subset found: +([\d.]+)", stored)[1]), atol=5.1e-4
    )


@pytest.mark.slow
@given(slices_of_classes())
def test_elimination_is_its_definition(slices):
    X, y = slices
    labels = y.tolist()
    discrete = [naive.intervals(column, naive.mdl_cuts(column, labels)) for column in X.to_numpy().T.tolist()]
    intervals = discretize(X.to_numpy(), y, y.max() + 1)
    npt.assert_array_equal(intervals.T, discrete)
    uncertainty = symmetric_uncertainty(mutual_information(intervals, y))
    expected = [[naive.uncertainty(a, b) for b in [*discrete, labels]] for a in [*discrete, labels]]
    npt.assert_allclose(uncertainty, expected, atol=1e-9)
    table = eliminate(X, y)
    assert list(table.index) == naive.eliminate({e: X[e].tolist() for e in X}, labels)
    npt.assert_array_equal(table["average_rank"], (table["gain_rank"] + table["cfs_rank"]) / 2)


@pytest.fixture(scope="module")
def planted():
    """Three events tell four classes apart; each has a noisy copy; the rest is noise."""
    rng = np.random.default_rng(1)
    y = rng.choice(4, 1200, p=[0.4, 0.3, 0.2, 0.1])
    told = {"a": y == 1, "b": y == 2, "c": y == 3}
    X = {name: mask + 0.1 * rng.normal(size=len(y)) for name, mask in told.items()}
    X |= {f"{name}_copy": values + 0.2 * rng.normal(size=len(y)) for name, values in X.items()}
    X |= {f"noise_{i}": rng.normal(size=len(y)) for i in range(30)}
    return pd.DataFrame(X), y


def test_planted_events_are_kept_rather_than_their_copies(planted):
    X, y = planted
    assert select_key_events(X, y, 3) == ["a", "b", "c"]
    assert set(select_key_events(X, y, 6)) == {"a", "b", "c", "a_copy", "b_copy", "c_copy"}


def test_neither_the_columns_order_nor_their_units_matter(planted):
    X, y = planted
    columns = np.random.default_rng(2).permutation(X.columns)
    other = (X * 4096.0)[columns]
    for n in (3, 6):
        assert set(select_key_events(other, y, n)) == set(select_key_events(X, y, n))


def test_accuracy_falls_when_an_event_that_matters_goes(planted):
    X, y = planted
    curve = accuracy_curve(X, pd.Index(y).astype(str), eliminate(X, y), [36, 3, 2], C45Classifier())
    assert curve["n_events"].tolist() == [36, 3, 2]
    assert curve["accuracy"].iloc[1] > 99
    assert curve["accuracy"].iloc[2] < 95
    npt.assert_allclose(curve["accuracy"], 100 * (1 - curve["n_wrong"] / len(y)))


def test_folds_by_run_show_what_ten_folds_hide():
    rng = np.random.default_rng(3)
    runs = np.repeat(np.arange(20), 40)
    y = runs % 2
    X = pd.DataFrame({"fingerprint_of_the_run": rng.normal(size=20)[runs] + 1e-3 * rng.normal(size=800)})
    by_slice = accuracy_curve(X, y, eliminate(X, y), [1], C45Classifier())
    by_run = nested_accuracy_curve(X, y, [1], C45Classifier(), GroupKFold(10).split(X, y, runs))
    assert by_slice["accuracy"][0] > 95
    assert by_run["accuracy"][0] < 75


@pytest.mark.slow
def test_events_are_chosen_without_the_slices_that_test_them():
    """Noise that names the run, some of which happens to fit the classes of all runs."""
    rng = np.random.default_rng(0)
    runs = np.repeat(np.arange(30), 3)
    y = rng.permutation(30)[runs] % 2
    X = pd.DataFrame(rng.normal(size=(30, 100))[runs]).add_prefix("noise_")
    folds = list(GroupKFold(3).split(X, y, runs))
    nested = nested_accuracy_curve(X, y, [100, 3], C45Classifier(), folds)
    assert nested["n_events"].tolist() == [100, 3] and (nested["n_slices"] == 90).all()

    def wrong(kept, train, test):
        fitted = C45Classifier().fit(X[kept].iloc[train], y[train])
        return (fitted.predict(X[kept].iloc[test]) != y[test]).sum()

    from_all = eliminate(X, y).index[-3:]
    leaked = sum(wrong(from_all, *fold) for fold in folds)
    honest = sum(wrong(eliminate(X.iloc[train], y[train]).index[-3:], train, test) for train, test in folds)
    assert nested["n_wrong"].iloc[1] == honest > 1.5 * leaked


@pytest.mark.parametrize("n", [0, 37])
def test_impossible_numbers_of_events_are_refused(planted, n):
    with pytest.raises(ValueError, match="36 events"):
        select_key_events(*planted, n)


def test_slices_not_counted_are_refused(planted):
    X, y = planted
    with pytest.raises(ValueError, match="no slices"):
        eliminate(X.iloc[:0], y[:0])
    with pytest.raises(ValueError, match="'b'"):
        eliminate(X.assign(b=np.where(X.index == 5, np.nan, X["b"])), y)
