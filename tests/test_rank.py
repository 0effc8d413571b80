"""Ranking and refinement: definitions in loops, laws, planted drivers, and how far a ranking holds."""

from functools import partial

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from scipy.stats import kendalltau, spearmanr
from sklearn.ensemble import ExtraTreesRegressor

from cmlib import rank
from cmlib.rank import refinement, stability
from cmlib.rank.boosting import Boosting, regressor
from cmlib.rank.importance import influence
from tests.naive import ranking as naive
from tests.planted_series import driver_data

SMALL = Boosting(trees=12, leaves=4)
WHOLE = Boosting(trees=12, leaves=5, row_share=1.0)


@pytest.fixture(scope="module")
def planted():
    return driver_data(n_steps=80, n_events=25, seed=1)


def test_friedmans_influence_is_its_definition(planted):
    fitted = regressor(boosting=WHOLE).fit(planted.X, planted.ipc)
    expected = naive.friedman(fitted, planted.X, planted.ipc)
    found = influence(fitted)
    npt.assert_allclose(found, [expected[event] for event in found.index], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("settings", [SMALL, WHOLE], ids=["half of the rows", "all rows"])
def test_the_printed_importance_is_its_definition(planted, settings):
    fitted = regressor(boosting=settings).fit(planted.X, planted.ipc)
    expected = naive.printed(fitted, planted.X)
    found = influence(fitted, method="printed", X=planted.X)
    npt.assert_allclose(found, [expected[event] for event in found.index], rtol=1e-6, atol=1e-9)


def test_printed_importance_of_one_split_can_be_told_by_hand():
    X = pd.DataFrame({"step": np.repeat([0.0, 1.0], 10), "still": np.zeros(20)})
    ipc = pd.Series(np.repeat([1.0, 3.0], 10))
    stump = Boosting(trees=1, learning_rate=1.0, leaves=2, row_share=1.0)
    fitted = regressor(boosting=stump).fit(X, ipc)
    assert influence(fitted, method="printed", X=X).to_dict() == pytest.approx({"step": 100, "still": 0})
    npt.assert_allclose(fitted.predict(X), ipc)


def test_importance_says_what_it_needs(planted):
    fitted = regressor(boosting=SMALL).fit(planted.X, planted.ipc)
    with pytest.raises(ValueError, match="pass them as X"):
        influence(fitted, method="printed")
    with pytest.raises(ValueError, match="'gain'"):
        influence(fitted, method="gain")
    forest = ExtraTreesRegressor(5, random_state=0).fit(planted.X, planted.ipc)
    assert influence(forest).sum() == pytest.approx(100)
    with pytest.raises(ValueError, match="ExtraTreesRegressor"):
        influence(forest, method="printed", X=planted.X)


def test_events_may_have_any_name(planted):
    odd = planted.X.rename(columns=dict(zip(planted.X, ["a\\q", 'b"c', "d:e,f", "g{h}[i]"], strict=False)))
    shares = [
        influence(regressor(boosting=SMALL).fit(X, planted.ipc), method="printed", X=X)
        for X in (planted.X, odd)
    ]
    npt.assert_array_equal(*(np.sort(share) for share in shares))


def test_a_model_without_splits_has_no_importances():
    X = pd.DataFrame({"a": np.ones(30), "b": np.zeros(30)})
    fitted = regressor(boosting=SMALL).fit(X, pd.Series(np.full(30, 2.0)))
    assert influence(fitted).tolist() == [0, 0]


def test_the_models_are_what_was_asked_for():
    mine = regressor(ExtraTreesRegressor(5), seed=4)
    assert (mine.n_estimators, mine.random_state) == (5, 4)
    with pytest.raises(ValueError, match="set them on the estimator"):
        regressor(ExtraTreesRegressor(), boosting=SMALL)


def test_refining_is_its_definition(planted):
    """Also holds the short cut: events without a split are dropped without fitting again."""
    X, ipc = planted.X, planted.ipc
    found = rank.refine(X, ipc, step=4, boosting=SMALL, n_folds=2, seed=5)
    order = np.random.default_rng(5).permutation(80)
    train, test = sorted(order[16:]), sorted(order[:16])
    make = partial(regressor, boosting=SMALL, seed=5)
    expected = naive.refine(make, X.iloc[train], ipc.iloc[train], X.iloc[test], ipc.iloc[test], step=4)
    assert found.history["n_events"].tolist() == [n for n, _, _ in expected]
    npt.assert_allclose(found.history["error"], [error for _, error, _ in expected])
    kept = naive.refine(make, X, ipc, X, ipc, step=4)[found.chosen]
    assert found.events == kept[2]
    assert naive.relative_error(list(ipc), list(found.model.predict(X[sorted(kept[2])]))) == kept[1]


def test_nested_folds_are_their_definition(planted):
    X, ipc = planted.X, planted.ipc
    found = rank.refine(X, ipc, step=8, boosting=SMALL, n_blocks=6, n_folds=3)
    fold = [int(6 * progress) % 3 for progress in X.index.get_level_values("progress")]
    expected = naive.nested(partial(regressor, boosting=SMALL), X, ipc, fold, step=8)
    npt.assert_allclose(found.nested, expected)
    rows, _, errors, _ = zip(*expected, strict=True)
    assert found.nested_error == pytest.approx(sum(np.multiply(rows, errors)) / 80)


def test_the_number_of_events_is_chosen_without_the_rows_it_is_judged_on():
    """Of noise, some number of events errs least on the blocks it was chosen on; on others it errs more."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.random((50, 8)), columns=[f"event_{number}" for number in range(8)])
    drawn = [pd.Series(rng.random(50) + 1) for _ in range(4)]
    found = [rank.refine(X, ipc, step=2, boosting=SMALL, n_folds=3) for ipc in drawn]
    assert np.mean([one.nested_error - one.errors["blocks_error"] for one in found]) > 0.1
    assert max(one.nested["n_events"].nunique() for one in found) > 1


def test_two_folds_leave_none_to_choose_on(planted):
    found = rank.refine(planted.X, planted.ipc, boosting=SMALL, n_folds=2)
    assert found.nested.empty and np.isnan(found.nested_error)
    assert np.isfinite(found.errors["blocks_error"])


@pytest.mark.parametrize("seed", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_planted_driver_comes_first(seed):
    data = driver_data(seed=seed)
    found = rank.refine(data.X, data.ipc, n_folds=2, seed=seed)
    assert found.events[0] == data.driver
    assert found.importances.iloc[0] > 50
    assert found.errors["blocks_error"] < 0.5 * found.baselines["blocks_mean"]


def test_importances_are_percent_in_order(planted):
    found = rank.refine(planted.X, planted.ipc, boosting=SMALL)
    assert found.importances.sum() == pytest.approx(100)
    assert found.importances.is_monotonic_decreasing
    assert found.history["n_events"].tolist() == [25, 15, 5]
    assert found.history["holdout_error"].isna().all()
    assert found.as_printed["error"] == found.history["error"].min()
    assert (found.history["blocks_mean_baseline"] == found.baselines["blocks_mean"]).all()


def test_the_order_of_columns_does_not_matter(planted):
    shuffled = planted.X[list(np.random.default_rng(0).permutation(planted.X.columns))]
    one, other = (rank.refine(X, planted.ipc, boosting=SMALL) for X in (planted.X, shuffled))
    pd.testing.assert_series_equal(one.importances, other.importances)
    pd.testing.assert_frame_equal(one.history, other.history)


def test_the_unit_of_events_does_not_matter(planted):
    one, other = (rank.refine(X, planted.ipc, boosting=SMALL) for X in (planted.X, planted.X * 1024))
    pd.testing.assert_series_equal(one.importances, other.importances)


def test_inputs_are_left_as_they_were(planted):
    X, ipc = planted.X.copy(), planted.ipc.copy()
    rank.refine(X, ipc, boosting=SMALL)
    pd.testing.assert_frame_equal(X, planted.X)
    pd.testing.assert_series_equal(ipc, planted.ipc)


def test_neighbouring_rows_flatter():
    """IPC wanders, and the only event tells the time: it knows a row's neighbours, and nothing of a new block."""
    rng = np.random.default_rng(0)
    ipc = pd.Series(2 + 0.05 * np.cumsum(rng.normal(size=200))).clip(lower=0.5)
    X = pd.DataFrame({"clock": np.arange(200.0), "still": np.zeros(200)})
    found = rank.refine(X, ipc, step=1)
    assert found.errors["error"] < 0.6 * found.errors["blocks_error"]
    assert found.baselines["neighbours"] < 0.6 * found.errors["blocks_error"]


def test_blocks_follow_progress_where_there_is_one(planted):
    twice = pd.concat([planted.X, planted.X])
    ipc = pd.concat([planted.ipc, planted.ipc])
    by_progress = rank.refine(twice, ipc, boosting=SMALL)
    by_row = rank.refine(twice.reset_index(drop=True), ipc.reset_index(drop=True), boosting=SMALL)
    assert by_row.errors["blocks_error"] < by_progress.errors["blocks_error"]


def test_another_pass_tests_the_model(planted):
    rng = np.random.default_rng(1)
    again = planted.X * rng.normal(1, 0.01, planted.X.shape)
    ipc = planted.ipc * 1.02
    found = rank.refine(planted.X, planted.ipc, boosting=SMALL, holdout=(again.iloc[:, ::-1], ipc))
    predicted = found.model.predict(again[sorted(found.events)])
    assert found.errors["holdout_error"] == pytest.approx(naive.relative_error(list(ipc), list(predicted)))
    assert found.baselines["holdout_repeat"] == pytest.approx(100 * (1 - 1 / 1.02))
    shifted = rank.refine(planted.X, planted.ipc, holdout=(again.iloc[:60], ipc.iloc[:60]), boosting=SMALL)
    assert np.isnan(shifted.baselines["holdout_repeat"])


def test_another_estimator_can_be_refined(planted):
    found = rank.refine(planted.X, planted.ipc, model=ExtraTreesRegressor(10), n_folds=2)
    assert found.events[0] == planted.driver and found.model.random_state == 0


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            lambda X, y: (X.assign(ex_ret_instr=1.0), y),
            {},
            "'ex_ret_instr', which contains the target",
        ),
        (lambda X, y: (X.mask(X.isin([X.iloc[3, 2]])), y), {}, "'event_02' has 1 gaps in 80 rows"),
        (lambda X, y: (X, y - 5), {}, "must be positive"),
        (lambda X, y: (X.iloc[:8], y.iloc[:8]), {}, "8 rows and 8 values"),
        (lambda X, y: (X, y.iloc[:8]), {}, "80 rows and 8 values"),
        (lambda X, y: (X, y), {"n_folds": 1}, "2 folds or more"),
        (lambda X, y: (X, y), {"test_share": 1.0}, "test_share is 1.0"),
    ],
)
def test_what_cannot_be_ranked_is_named(planted, change, options, message):
    with pytest.raises(ValueError, match=message):
        rank.refine(*change(planted.X, planted.ipc), boosting=SMALL, **options)


def test_a_holdout_needs_the_same_events(planted):
    with pytest.raises(ValueError, match="holdout lacks 1 events of X, such as 'event_07'"):
        rank.refine(planted.X, planted.ipc, holdout=(planted.X.drop(columns="event_07"), planted.ipc))


def test_draws_differ_by_seed_and_rows(planted):
    still = stability.draw_importances(
        planted.X, planted.ipc, seeds=[0, 1], resample=False, boosting=Boosting(trees=12, row_share=1.0)
    )
    npt.assert_allclose(still.loc[0], still.loc[1])
    draws = stability.draw_importances(planted.X, planted.ipc, seeds=range(5), boosting=SMALL)
    again = stability.draw_importances(planted.X, planted.ipc, seeds=range(5), boosting=SMALL)
    pd.testing.assert_frame_equal(draws, again)
    npt.assert_allclose(draws.sum(axis=1), 100)
    spread = stability.importance_spread(draws)
    assert spread.index[0] == planted.driver and spread.loc[planted.driver, "rank_high"] == 1
    assert spread.loc[spread["mean"] > 1, "sd"].min() > 0
    assert (spread["low"] <= spread["high"]).all() and (spread["rank_low"] <= spread["rank_high"]).all()


def made_draws(importances, n=20, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    values = np.asarray(importances) * rng.lognormal(0, noise, (n, len(importances)))
    columns = [f"event_{number:02d}" for number in range(len(importances))]
    return pd.DataFrame(100 * values / values.sum(axis=1, keepdims=True), columns=columns)


def test_rankings_agree_with_themselves_and_not_with_their_reverse():
    draws = made_draws(np.arange(30, 0, -1.0))
    same = stability.rank_agreement(draws, made_draws(np.arange(30, 0, -1.0), seed=1))
    assert same.loc["kendall", "value"] > 0.95 and same.loc["top10_shared", "value"] == 1
    assert (same["low"] <= same["high"]).all()
    reverse = stability.rank_agreement(draws, made_draws(np.arange(1.0, 31)), n_top=30)
    assert reverse.loc["spearman", "value"] < -0.95
    with pytest.raises(ValueError, match="2 event"):
        stability.rank_agreement(draws.iloc[:, :2], draws)


@pytest.mark.parametrize("seed", range(5))
def test_agreement_is_that_of_scipy(seed):
    """With ties, as among events without importance."""
    rng = np.random.default_rng(seed)
    one, other = (made_draws(rng.integers(1, 6, 14), n=1, noise=0) for _ in range(2))
    found = stability.rank_agreement(one, other, n_boot=2)["value"]
    assert found["kendall"] == pytest.approx(kendalltau(one.iloc[0], other.iloc[0]).statistic)
    assert found["spearman"] == pytest.approx(spearmanr(one.iloc[0], other.iloc[0]).statistic)
    first = [set(draws.iloc[0].nlargest(10).index) for draws in (one, other)]
    assert found["top10_shared"] == len(first[0] & first[1]) / 10


def test_errors_may_be_in_percent_of_the_mean_where_y_is_zero_in_some_rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((80, 3)), columns=["a", "b", "c"])
    y = (X["a"] - 0.5).clip(lower=0)
    with pytest.raises(ValueError, match="must be positive and finite"):
        rank.refine(X, y, step=1)
    error = partial(refinement.error_of_mean, mean=y.mean())
    found = rank.refine(X, y, step=1, boosting=SMALL, error=error)
    fold = rank.blocks(X.index, 12) % 4
    plain = sum(abs(y[i] - y[fold != fold[i]].mean()) for i in range(80)) / 80 / y.mean()
    assert found.errors["blocks_mean_baseline"] == pytest.approx(100 * plain)
    assert found.events[0] == "a" and found.nested_error < found.errors["blocks_mean_baseline"] / 2
