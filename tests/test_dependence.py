"""Partial dependence against plain loops and scikit-learn's brute force, and what an additive model leaves."""

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


def test_a_surface_is_scikit_learns(product_pair, fitted):
    a, b = list(product_pair.X)[:2]
    surface = pair_surface(fitted, product_pair.X, a, b, n_values=6)
    grid = np.meshgrid(surface.joint.index, surface.joint.columns, indexing="ij")
    points = pd.DataFrame({a: grid[0].ravel(), b: grid[1].ravel()})
    npt.assert_allclose(partial_dependence(fitted, product_pair.X, points), surface.joint.to_numpy().ravel())
    brute = inspection.partial_dependence(
        fitted,
        product_pair.X,
        [a, b],
        percentiles=(0.05, 0.95),
        grid_resolution=6,
        method="brute",
        kind="average",
    )
    values = [np.asarray(at) for at in brute["grid_values"]]
    points = pd.DataFrame(
        [(one, other) for one in values[0] for other in values[1]], columns=[a, b], dtype=float
    )
    npt.assert_allclose(partial_dependence(fitted, product_pair.X, points), brute["average"].ravel())
    for event in (a, b):
        alone = inspection.partial_dependence(
            fitted, product_pair.X, [event], grid_resolution=100, method="brute", kind="average"
        )
        at = pd.DataFrame({event: np.asarray(alone["grid_values"][0], dtype=float)})
        npt.assert_allclose(partial_dependence(fitted, product_pair.X, at), alone["average"].ravel())


def test_an_additive_model_leaves_nothing_beyond_the_sum(product_pair):
    linear = LinearRegression().fit(product_pair.X, product_pair.ipc)
    surface = pair_surface(linear, product_pair.X, "event_0", "event_1")
    npt.assert_allclose(surface.beyond, 0, atol=1e-12)
    assert np.ptp(surface.joint.to_numpy()) > 0


def test_the_parts_add_up_and_turning_the_pair_turns_the_surface(product_pair, fitted):
    surface = pair_surface(fitted, product_pair.X, "event_0", "event_1", n_values=5)
    turned = pair_surface(fitted, product_pair.X, "event_1", "event_0", n_values=5)
    npt.assert_allclose(surface.summed + surface.beyond, surface.joint)
    npt.assert_allclose(surface.beyond, turned.beyond.T, atol=1e-12)
    one = surface.single["event_0"].iloc[2] + surface.single["event_1"].iloc[3] - surface.mean
    assert surface.summed.iloc[2, 3] == pytest.approx(one)


def test_a_planted_product_bends_the_surface_more_than_any_other_pair():
    data = product_pair_data(n_steps=200, n_events=6, n_pairs=1, seed=1)
    model = regressor().fit(data.X, data.ipc)
    names = list(data.X)
    left = {
        (a, b): float(pair_surface(model, data.X, a, b).beyond.abs().to_numpy().mean())
        for place, a in enumerate(names)
        for b in names[place + 1 :]
    }
    assert max(left, key=left.get) == tuple(sorted(data.pairs[0]))


def test_an_event_that_reads_one_value_has_one(product_pair):
    X = product_pair.X.assign(event_0=1.0)
    surface = pair_surface(LinearRegression().fit(X, product_pair.ipc), X, "event_0", "event_1", n_values=5)
    assert surface.joint.shape == (1, 5)


@pytest.mark.parametrize(
    ("pair", "says"),
    [(("event_0", "event_0"), "two different"), (("event_0", "event_9"), "'event_9' is no column")],
)
def test_what_is_no_pair_is_refused(product_pair, fitted, pair, says):
    with pytest.raises(ValueError, match=says):
        pair_surface(fitted, product_pair.X, *pair)
    with pytest.raises(ValueError, match="'event_9' is no column"):
        partial_dependence(fitted, product_pair.X, pd.DataFrame({"event_9": [1.0]}))
