"""Partial dependence against plain loops and scikit-learn's brute force, and what an additive model leaves."""

import itertools

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from sklearn import inspection
from sklearn.linear_model import LinearRegression

from cmlib.interact import dependence
from cmlib.interact.dependence import pair_surface, partial_dependence, partial_dependences
from cmlib.rank.boosting import regressor
from cmlib.synthetic import product_pair_data
from tests.naive import interaction as naive


@pytest.mark.parametrize("events", [["event_1"], ["event_3", "event_0"]])
def test_it_is_its_definition(product_pair, fitted, events):
    X = product_pair.X.iloc[:8]
    found = partial_dependence(fitted, X, X[events])
    npt.assert_allclose(found - found.mean(), naive.partial_dependence(fitted, X, events), atol=1e-12)


@pytest.mark.parametrize("rows", [1, 150, 10**6])
def test_many_at_once_are_each_by_itself(product_pair, fitted, rows, monkeypatch):
    monkeypatch.setattr(dependence, "_ROWS", rows)
    X = product_pair.X.iloc[:8]
    several = [X[[event]] for event in X] + [X[["event_3", "event_0"]]]
    held = ((X.columns.get_indexer(points.columns), points.to_numpy()) for points in several)
    found = list(partial_dependences(fitted, X, held))
    npt.assert_array_equal(found, [partial_dependence(fitted, X, points) for points in several])


def test_it_is_scikit_learns(product_pair, fitted):
    X = product_pair.X
    a, b = list(X)[:2]
    brute = {"method": "brute", "kind": "average"}
    found = inspection.partial_dependence(fitted, X, [a, b], grid_resolution=6, **brute)
    points = pd.DataFrame(list(itertools.product(*found["grid_values"])), columns=[a, b], dtype=float)
    npt.assert_allclose(partial_dependence(fitted, X, points), found["average"].ravel())
    for event in (a, b):
        alone = inspection.partial_dependence(fitted, X, [event], **brute)
        at = pd.DataFrame({event: np.asarray(alone["grid_values"][0], dtype=float)})
        npt.assert_allclose(partial_dependence(fitted, X, at), alone["average"].ravel())


def test_an_additive_model_leaves_nothing_beyond_the_sum(product_pair):
    linear = LinearRegression().fit(product_pair.X, product_pair.ipc)
    joint, summed = pair_surface(linear, product_pair.X, "event_0", "event_1")
    npt.assert_allclose(joint, summed, atol=1e-12)
    assert np.ptp(joint.to_numpy()) > 0


def test_turning_the_pair_turns_the_surface(product_pair, fitted):
    joint, summed = pair_surface(fitted, product_pair.X, "event_0", "event_1", n=5)
    turned, turned_sum = pair_surface(fitted, product_pair.X, "event_1", "event_0", n=5)
    npt.assert_allclose(joint - summed, (turned - turned_sum).T, atol=1e-12)


def test_a_planted_product_bends_the_surface_more_than_any_other_pair():
    data = product_pair_data(n_steps=200, n_events=6, n_pairs=1, seed=1)
    model = regressor().fit(data.X, data.ipc)
    pairs = itertools.combinations(data.X, 2)
    left = {
        pair: np.abs(np.subtract(*pair_surface(model, data.X, *pair))).to_numpy().mean() for pair in pairs
    }
    assert max(left, key=left.get) == tuple(sorted(data.pairs[0]))


def test_an_event_that_reads_one_value_has_one(product_pair):
    X = product_pair.X.assign(event_0=1.0)
    model = LinearRegression().fit(X, product_pair.ipc)
    assert pair_surface(model, X, "event_0", "event_1", n=5)[0].shape == (1, 5)


def test_an_event_that_the_model_has_not_is_refused(product_pair, fitted):
    with pytest.raises(ValueError, match="'event_9' is no column"):
        partial_dependence(fitted, product_pair.X, pd.DataFrame({"event_9": [1.0]}))
