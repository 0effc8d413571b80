"""Interactions against the formulas in loops, on planted products, and their laws."""

from itertools import combinations

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from cmlib.interact import rank_pairs
from cmlib.rank import refine
from cmlib.rank.boosting import Boosting
from cmlib.synthetic import product_pair_data
from tests.naive import interaction as naive

SMALL = Boosting(trees=15, leaves=5, rows_per_leaf=2)
METHODS = pytest.mark.parametrize("method", ["residual_variance", "h_statistic"])


def test_residual_variance_is_its_definition(product_pair, fitted):
    pairs = rank_pairs(product_pair.X, product_pair.ipc, list(product_pair.X), fitted=fitted)
    expected = [
        naive.residual_variance(fitted, product_pair.X, a, b)
        for a, b in zip(pairs["event_a"], pairs["event_b"], strict=True)
    ]
    npt.assert_allclose(pairs["intensity"], expected, rtol=1e-6)


def test_the_printed_intensity_is_its_definition(product_pair, fitted):
    X, ipc = product_pair.X, product_pair.ipc
    pairs = rank_pairs(X, ipc, list(X), fitted=fitted, method="printed")
    expected = [naive.printed(X, ipc, *pair) for pair in zip(pairs["event_a"], pairs["event_b"], strict=True)]
    npt.assert_allclose(pairs["intensity"], expected, rtol=1e-6)


def test_as_printed_the_pairs_that_say_least_come_first():
    """IPC is the sum of two events, which is no interaction, and the pair of both comes last."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((80, 5)), columns=list("abcde"))
    ipc = 1 + X["a"] + X["b"]
    pairs = rank_pairs(X, ipc, list(X), method="printed", boosting=SMALL)
    assert pairs["pair"].iloc[-1] == "a × b" and pairs["importance"].iloc[-1] == 0
    assert not {"a", "b"} & {pairs["event_a"].iloc[0], pairs["event_b"].iloc[0]}


def test_h_is_its_definition(product_pair, fitted):
    X = product_pair.X.iloc[:10]
    pairs = rank_pairs(X, product_pair.ipc.iloc[:10], list(X), fitted=fitted, method="h_statistic").head(2)
    for _, pair in pairs.iterrows():
        beyond, h = naive.h_statistic(fitted, X, pair["event_a"], pair["event_b"])
        assert (pair["intensity"], pair["h"]) == pytest.approx((beyond, h))


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_h_puts_the_planted_pairs_first(seed):
    data = product_pair_data(seed=seed)
    pairs = rank_pairs(data.X, data.ipc, list(data.X), method="h_statistic", seed=seed)
    assert set(zip(pairs["event_a"][:2], pairs["event_b"][:2], strict=True)) == set(data.pairs)


@pytest.mark.slow
def test_the_residual_variance_misses_planted_pairs():
    """Why both are shown: a bent event alone is an interaction to a plane."""
    found = 0
    for seed in range(10):
        data = product_pair_data(seed=seed)
        pairs = rank_pairs(data.X, data.ipc, list(data.X), seed=seed)
        found += set(zip(pairs["event_a"][:2], pairs["event_b"][:2], strict=True)) == set(data.pairs)
    assert found < 8


@METHODS
def test_a_linear_model_has_no_interactions(product_pair, method):
    linear = LinearRegression().fit(product_pair.X, product_pair.ipc)
    pairs = rank_pairs(product_pair.X, product_pair.ipc, list(product_pair.X), fitted=linear, method=method)
    assert (pairs[["intensity", "importance"]] == 0).all(axis=None)


@METHODS
def test_importances_are_percent_in_order(product_pair, fitted, method):
    pairs = rank_pairs(product_pair.X, product_pair.ipc, list(product_pair.X), fitted=fitted, method=method)
    assert set(pairs["pair"]) == {f"{a} × {b}" for a, b in combinations(sorted(product_pair.X), 2)}
    assert pairs["importance"].sum() == pytest.approx(100)
    assert pairs["intensity"].is_monotonic_decreasing
    if method == "h_statistic":
        assert pairs["h"].between(0, 1.5).all()


@METHODS
def test_the_order_of_events_and_columns_does_not_matter(product_pair, method):
    names = list(product_pair.X)
    one = rank_pairs(product_pair.X, product_pair.ipc, names, method=method, boosting=SMALL)
    other = rank_pairs(
        product_pair.X[names[::-1]], product_pair.ipc, names[::-1], method=method, boosting=SMALL
    )
    pd.testing.assert_frame_equal(one, other)


@METHODS
def test_the_unit_of_events_does_not_matter(product_pair, method):
    one, other = (
        rank_pairs(X, product_pair.ipc, list(X), method=method, boosting=SMALL)
        for X in (product_pair.X, product_pair.X * 1024)
    )
    npt.assert_allclose(one["importance"], other["importance"], rtol=1e-6)


def test_few_of_many_columns_by_the_refined_model():
    data = product_pair_data(n_steps=120, n_events=12, seed=1)
    refined = refine(data.X, data.ipc, step=3, n_folds=2)
    pairs = rank_pairs(data.X, data.ipc, refined.events[:3], fitted=refined.model, method="h_statistic")
    assert len(pairs) == 3 and set(pairs["event_a"]) <= set(refined.events[:3])


def test_a_share_of_the_rows_is_drawn_by_seed(product_pair):
    options = {"method": "h_statistic", "boosting": SMALL, "n_points": 12}
    one, again = (
        rank_pairs(product_pair.X, product_pair.ipc, list(product_pair.X), **options) for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, again)
    every = rank_pairs(product_pair.X, product_pair.ipc, list(product_pair.X), **options | {"n_points": 24})
    assert not np.allclose(every["intensity"], one["intensity"])


@pytest.mark.parametrize(
    ("events", "method", "message"),
    [
        (["event_0"], "h_statistic", "1 event"),
        (["event_0", "event_9"], "h_statistic", "'event_9' is no column"),
        (["event_0", "event_1"], "anova", "method is 'anova'"),
    ],
)
def test_what_cannot_be_paired_is_named(product_pair, events, method, message):
    with pytest.raises(ValueError, match=message):
        rank_pairs(product_pair.X, product_pair.ipc, events, method=method, boosting=SMALL)
