"""Families of events: grouping, a linear model, its importances, and what was planted is found."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cmlib import families
from cmlib.rank import blocks, relative_error
from tests.naive import families as naive

DRIVERS = {"a": 4, "b": 3}
COSTS = {"a": 0.3, "b": 0.15}


def planted(seed, n_steps=100):
    """Copies of two drivers of cycles per instruction, copies of a decoy, and noise: (X, cpi)."""
    rng = np.random.default_rng(seed)
    paths = {name: wander(rng, n_steps) for name in ("a", "b", "decoy")}
    copies = {**DRIVERS, "decoy": 4}
    X = {
        f"{name}{copy}": path + rng.normal(0, 0.15, n_steps)
        for name, path in paths.items()
        for copy in range(copies[name])
    }
    X |= {f"noise{number}": rng.normal(0, 1, n_steps) for number in range(8)}
    cpi = 2 + sum(COSTS[name] * paths[name] for name in COSTS) + rng.normal(0, 0.02, n_steps)
    progress = pd.Index((np.arange(n_steps) + 0.5) / n_steps, name="progress")
    return pd.DataFrame(X).set_axis(progress), pd.Series(cpi, index=progress)


def wander(rng, n_steps):
    path = np.cumsum(rng.normal(size=n_steps))
    path = path - np.linspace(path[0], path[-1], n_steps)
    return (path - path.mean()) / path.std()


def of_one_kind(X):
    return pd.Series("data supply", index=X.columns)


@pytest.mark.parametrize("seed", range(10))
def test_planted_families_come_first_with_all_their_members(seed):
    X, cpi = planted(seed)
    X = (X - X.mean()) / X.std(ddof=0)
    penalty = families.choose_penalty(X, cpi, blocks(X.index, 12) % 4)
    resampled = families.resample(X, cpi, of_one_kind(X), penalty, seeds=range(8))
    distance, _ = families.choose_cut(X, resampled[:4], cuts=(0.2, 0.4, 0.6), n_first=2)
    grouped = families.cut(families.trees(X, of_one_kind(X)), distance)
    draws = pd.DataFrame([families.shares(one.model.contributions(X), grouped) for one in resampled[4:]])
    first = draws.mean().nlargest(2).index
    members = [set(grouped.index[grouped == family]) for family in first]
    assert members == [{f"{name}{copy}" for copy in range(copies)} for name, copies in DRIVERS.items()]
    assert families.overlap(draws, n_first=2) == 1.0


@pytest.fixture(scope="module")
def modelled():
    X, cpi = planted(0)
    grouped = families.cut(families.trees(X, of_one_kind(X)), 0.4)
    return X, cpi, grouped, families.fit(X, cpi, 1.0)


def test_what_events_add_is_what_the_model_predicts_above_the_mean(modelled):
    X, cpi, grouped, model = modelled
    added = model.contributions(X)
    np.testing.assert_allclose(cpi.mean() + added.sum(axis=1), model.predict(X))
    np.testing.assert_allclose(families.by_family(added, grouped).sum(axis=1), added.sum(axis=1))
    assert families.shares(added, grouped).sum() == pytest.approx(100)


def test_the_fit_is_ridge_regression():
    from sklearn.linear_model import Ridge

    X, cpi = planted(1)
    expected = Ridge(alpha=3.0).fit(X, cpi)
    np.testing.assert_allclose(families.fit(X, cpi, 3.0).slopes, expected.coef_, rtol=1e-8)


def test_held_out_steps_are_predicted_by_models_that_never_saw_them():
    X, cpi = planted(2)
    fold = blocks(X.index, 12) % 4
    added, predicted = families.contributions_held_out(X, cpi, fold)
    seen = fold != 0
    alone = families.fit(X[seen], cpi[seen], families.choose_penalty(X[seen], cpi[seen], fold[seen]))
    pd.testing.assert_series_equal(predicted[~seen], alone.predict(X[~seen]))
    pd.testing.assert_frame_equal(added[~seen], alone.contributions(X[~seen]))
    assert relative_error(cpi, predicted) < relative_error(cpi, cpi.mean()) / 4


rows = st.lists(st.floats(-2, 2), min_size=5, max_size=5)


@settings(max_examples=8, deadline=None)
@given(rows, rows, rows)
def test_permutation_is_the_mean_over_all_permutations(one, other, residuals):
    residuals = pd.Series(residuals)
    added = pd.DataFrame({"x": one, "y": other})
    grouped = pd.Series([0, 1], index=["x", "y"])
    rises = [max(0.0, naive.rise_by_permutation(added[name], residuals)) for name in added]
    found = families.by_permutation(added, grouped, residuals)
    if sum(rises) > 1e-9:
        np.testing.assert_allclose(found, 100 * np.array(rises) / sum(rises), atol=1e-6)


def test_conditional_shapley_values_are_their_definition():
    rng = np.random.default_rng(0)
    added = pd.DataFrame(rng.normal(size=(30, 4)), columns=list("wxyz"))
    added["z"] += added["w"]
    cpi = added.sum(axis=1) + rng.normal(size=30)
    found = families.conditional_shapley(added, pd.Series(range(4), index=added.columns), cpi)
    expected = naive.shapley_of_explained_variance(added.to_numpy(), cpi.to_numpy())
    np.testing.assert_allclose(found, 100 * expected / expected.sum(), rtol=1e-8)


def test_a_family_cannot_hide_behind_another_that_says_the_same():
    path = np.sin(np.arange(40))
    added = pd.DataFrame({"shown": path, "hidden": 1e-3 * path, "else": np.cos(7.0 * np.arange(40))})
    found = families.conditional_shapley(added, pd.Series(range(3), index=added.columns), added.sum(axis=1))
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert families.shares(added, pd.Series(range(3), index=added.columns))[1] < 0.1


@settings(max_examples=30, deadline=None)
@given(st.lists(st.permutations(range(7)), min_size=2, max_size=6), st.integers(1, 7))
def test_overlap_is_its_definition(rankings, n_first):
    draws = pd.DataFrame([[7 - list(ranking).index(name) for name in range(7)] for ranking in rankings])
    expected = naive.overlap([list(ranking) for ranking in rankings], n_first)
    assert families.overlap(draws, n_first=n_first) == pytest.approx(expected)
    assert families.overlap(draws, draws.iloc[:1], n_first=7) == 1.0


def test_events_of_two_kinds_are_never_one_family():
    X, _ = planted(3)
    kinds = pd.Series(["stall cycles", "data supply"] * X.shape[1], index=[*X, *range(X.shape[1])])[X.columns]
    grouped = families.cut(families.trees(X, kinds), 1.0)
    assert grouped.nunique() == 2 and kinds.groupby(grouped).nunique().eq(1).all()


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(19)), st.floats(0.1, 0.9))
def test_groups_do_not_depend_on_order_unit_or_sign(order, distance):
    X, _ = planted(4, n_steps=40)
    kinds = of_one_kind(X)
    other = X.iloc[:, order] * np.where(np.arange(19) % 2, -3.0, 0.5)
    one, two = (families.cut(families.trees(frame, kinds), distance) for frame in (X, other))
    assert {frozenset(group) for group in one.groupby(one).groups.values()} == {
        frozenset(group) for group in two.groupby(two).groups.values()
    }
