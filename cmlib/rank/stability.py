"""Measure how stable a ranking of events is when the model is fitted again.

:func:`draw_importances` fits models with other seeds and resampled rows. It returns their importances [%] as a
DataFrame with one row per model and one column per event. :func:`importance_spread` and :func:`leading_agreement`
summarize this DataFrame. :func:`rank_agreement` compares two of them.
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
    """Compute the importance of each event in several refitted models.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events, for example counts per cycle, with rows in the order of time.
    y : Series of float, shape (n_rows,)
        IPC or another rate.
    seeds : iterable of int, default range(20)
        Seed of each model.
    resample : bool, default True
        If True, each model is fitted to blocks of neighboring rows, drawn with replacement (block bootstrap). If False,
        all models are fitted to all rows.
    importance : {"friedman", "printed"}, default "friedman"
        Formula of the importance, see :func:`influence`.
    boosting : cmlib.rank.boosting.Boosting, optional
        Settings of the models.

    Returns
    -------
    DataFrame of float, shape (n_seeds, n_events)
        Importance [%]. Each row sums to 100.
    """
    X = X[sorted(X.columns)]
    rankings = {}
    for seed in seeds:
        rows = resample_blocks(len(X), seed) if resample else np.arange(len(X))
        fitted = regressor(boosting=boosting, seed=seed).fit(X.iloc[rows], y.iloc[rows])
        rankings[seed] = influence(fitted, method=importance, X=X.iloc[rows])
    return pd.DataFrame(rankings).T.rename_axis("seed")


def importance_spread(draws: pd.DataFrame, *, coverage: float = 0.9) -> pd.DataFrame:
    """Summarize the importance and the rank of each event over several models.

    Parameters
    ----------
    draws : DataFrame of float, shape (n_models, n_events)
        Importances [%] from :func:`draw_importances`.
    coverage : float, default 0.9
        Share of the models within the intervals (0-1).

    Returns
    -------
    DataFrame
        One row per event, in descending order of the mean. Columns:

        - ``mean``, ``sd``: mean and standard deviation of the importance [%].
        - ``low``, ``high``: interval of the importance [%].
        - ``rank_low``, ``rank_high``: interval of the rank. The most important event has rank 1.
        - ``first_three``: share of the models in which the event is among the first three [%].
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
    """Compute the share of the models that agree on the first events.

    A model agrees if its first n events are the n events with the largest mean importance, in any order.

    Parameters
    ----------
    draws : DataFrame of float, shape (n_models, n_events)
        Importances [%] from :func:`draw_importances`.
    numbers : sequence of int, default (1, 2, 3)
        Values of n. A value is ignored if there are not more than n events.

    Returns
    -------
    Series of float
        Share of the models [%], indexed by n.
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
    """Compare the first events of two rankings.

    Parameters
    ----------
    draws_a, draws_b : DataFrame of float, shape (n_models, n_events)
        Importances [%] of each ranking, from :func:`draw_importances`.
    n_top : int, default 20
        Number of first events of each ranking that are compared.
    n_boot : int, default 200
        Number of random samples of the models for the interval.
    seed : int, default 0
        Seed of these samples.

    Returns
    -------
    DataFrame, shape (3, 3)
        Columns ``value``, ``low`` and ``high``, where `low` and `high` enclose 90 % of the samples. Rows:

        - ``kendall``: Kendall's tau-b of the mean importances.
        - ``spearman``: Spearman's rho of the mean importances.
        - ``top10_shared``: share of the first ten events that are in both rankings (0-1).

    Raises
    ------
    UnfitRecordingError
        If fewer than three events are in both rankings.
    """
    common = draws_a.columns.intersection(draws_b.columns, sort=False)
    if len(common) < 3:
        raise UnfitRecordingError(f"{len(common)} event(s) are in both rankings; a comparison needs 3.")
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
    """Return Kendall's tau-b, Spearman's rho and the share of common events among the first ten of two rankings."""
    n_first = min(10, len(means_a))
    first = [set(np.argsort(-values, kind="stable")[:n_first]) for values in (means_a, means_b)]
    means = pd.DataFrame({"a": means_a, "b": means_b})
    correlations = [means.corr(method).at["a", "b"] for method in ("kendall", "spearman")]
    return *correlations, len(first[0] & first[1]) / n_first
