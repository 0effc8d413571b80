"""Measure how much a ranking of events changes with the model's seed and with the rows that it was trained on.

:func:`draw_importances` takes X (DataFrame of events per cycle, or per another event) and y (Series of IPC,
instructions per cycle), and returns importances [%], a row per model, a column per event; :func:`importance_spread`
summarizes them by event, :func:`rank_agreement` compares those of two rankings; all return DataFrames. Raises an
UnfitRecordingError if two rankings have fewer than three events in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cmlib.errors import UnfitRecordingError
from cmlib.rank.boosting import regressor
from cmlib.rank.clusters import resample_blocks
from cmlib.rank.importance import influence

if TYPE_CHECKING:
    from cmlib.rank.boosting import Boosting


def draw_importances(
    X: pd.DataFrame,
    y: pd.Series,
    *,
    seeds: Iterable[int] = range(20),
    resample: bool = True,
    importance: str = "friedman",
    boosting: Boosting | None = None,
) -> pd.DataFrame:
    """Compute importances in several models that differ in their seed and in the rows that they were trained on.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Counts of events divided by those of one event, usually cycles, as `X` of
        :func:`cmlib.experiments.matrices.recorded_matrix`; rows in order of time.
    y : Series of float, shape (n_rows,)
        IPC.
    seeds : iterable of int, default range(20)
        Seed of each model.
    resample : bool, default True
        True to train each model on blocks of neighboring rows drawn with replacement (block bootstrap); False for all
        rows.
    importance : {"friedman", "printed"}, default "friedman"
        Formula of importance, as `method` of :func:`influence` describes it.
    boosting : cmlib.rank.boosting.Boosting, optional
        Settings of the models.

    Returns
    -------
    DataFrame of float, shape (n_seeds, n_events)
        Importance of each event [%]; a row sums to 100.
    """
    X = X[sorted(X.columns)]
    rankings = {}
    for seed in seeds:
        rows = resample_blocks(len(X), seed) if resample else np.arange(len(X))
        fitted = regressor(boosting=boosting, seed=seed).fit(X.iloc[rows], y.iloc[rows])
        rankings[seed] = influence(fitted, method=importance, X=X.iloc[rows])
    return pd.DataFrame(rankings).T.rename_axis("seed")


def importance_spread(draws: pd.DataFrame, *, coverage: float = 0.9) -> pd.DataFrame:
    """Summarize drawn importances: mean, standard deviation and intervals of importance and of rank.

    Parameters
    ----------
    draws : DataFrame of float, shape (n_draws, n_events)
        Importances [%], a row per model, a column per event, from :func:`draw_importances`.
    coverage : float, default 0.9
        Share of the draws that lie in the intervals.

    Returns
    -------
    DataFrame
        A row per event, by descending mean: mean, sd, low, high [%], rank_low and rank_high (1 is the most important),
        first_three, the share of the draws in which the event is among the first three [%].
    """
    tails = [(1 - coverage) / 2, (1 + coverage) / 2]
    low, high = draws.quantile(tails).to_numpy()
    ranks = draws.rank(axis=1, ascending=False, method="min")
    rank_low, rank_high = ranks.quantile(tails, interpolation="nearest").to_numpy()
    frame = pd.DataFrame({"mean": draws.mean(), "sd": draws.std(), "low": low, "high": high})
    frame = frame.assign(rank_low=rank_low.astype(int), rank_high=rank_high.astype(int))
    frame["first_three"] = 100 * (ranks <= 3).mean()
    return frame.sort_values("mean", ascending=False, kind="stable").rename_axis("event")


def leading_agreement(draws: pd.DataFrame, numbers: Sequence[int] = (1, 2, 3)) -> pd.Series:
    """Compute the share of the draws whose first events are the first events of the mean, in any order.

    Parameters
    ----------
    draws : DataFrame of float, shape (n_draws, n_events)
        Importances [%], a row per model, a column per event, from :func:`draw_importances`.
    numbers : sequence of int, default (1, 2, 3)
        Numbers of first events that are compared. Those that are not below the number of events are left out, as they
        could not differ.

    Returns
    -------
    Series of float
        Share of the draws [%]; index: number of first events.
    """
    leading = draws.mean().sort_values(ascending=False, kind="stable").index
    shares = {}
    for n in numbers:
        if n < draws.shape[1]:
            is_same = [set(draw.nlargest(n).index) == set(leading[:n]) for _, draw in draws.iterrows()]
            shares[n] = 100 * np.mean(is_same)
    return pd.Series(shares, dtype=float).rename_axis("n_first")


def rank_agreement(
    draws_a: pd.DataFrame, draws_b: pd.DataFrame, *, n_top: int = 20, n_boot: int = 200, seed: int = 0
) -> pd.DataFrame:
    """Compare two rankings by the events that either puts near the top.

    Parameters
    ----------
    draws_a : DataFrame of float, shape (n_draws, n_events)
        Importances [%], a row per model, a column per event, from :func:`draw_importances`.
    draws_b : DataFrame of float, shape (n_draws, n_events)
        The same of the other ranking.
    n_top : int, default 20
        Events of each ranking that are compared.
    n_boot : int, default 200
        Resamplings of the draws.
    seed : int, default 0
        Seed of the resampling.

    Returns
    -------
    DataFrame, shape (3, 3)
        Rows kendall (tau-b), spearman (rho) and top10_shared (share of the first ten in common); columns value, low
        and high (middle nine tenths of the resamplings).

    Raises
    ------
    UnfitRecordingError
        If fewer than 3 events are in both rankings.
    """
    common = draws_a.columns.intersection(draws_b.columns, sort=False)
    if len(common) < 3:
        raise UnfitRecordingError(f"{len(common)} event(s) are in both rankings; comparing them needs 3.")
    means = draws_a[common].mean(), draws_b[common].mean()
    leading = [mean.sort_values(ascending=False, kind="stable").index[:n_top] for mean in means]
    compared = leading[0].union(leading[1])
    draws_of_rankings = draws_a[compared].to_numpy(), draws_b[compared].to_numpy()
    rng = np.random.default_rng(seed)
    agreements = [
        _compare_means(
            *(draws[rng.integers(len(draws), size=len(draws))].mean(axis=0) for draws in draws_of_rankings)
        )
        for _ in range(n_boot)
    ]
    low, high = np.quantile(agreements, [0.05, 0.95], axis=0)
    value = _compare_means(*(draws.mean(axis=0) for draws in draws_of_rankings))
    names = ["kendall", "spearman", "top10_shared"]
    return pd.DataFrame({"value": value, "low": low, "high": high}, index=names)


def _compare_means(means_a, means_b):
    """Compare two importances of the same events.

    Returns Kendall's tau-b, Spearman's rho, and the share of the first ten events that they have in common.
    """
    n_first = min(10, len(means_a))
    first = [set(np.argsort(-values, kind="stable")[:n_first]) for values in (means_a, means_b)]
    means = pd.DataFrame({"a": means_a, "b": means_b})
    correlations = [means.corr(method).at["a", "b"] for method in ("kendall", "spearman")]
    return *correlations, len(first[0] & first[1]) / n_first
