"""Cluster events whose rates are correlated, and estimate what each cluster adds to cycles per instruction.

:func:`cluster_events` takes a DataFrame of counts per instruction (or another event), and returns a Series from event
to the number of its cluster; :class:`ClusterRegression` is a scikit-learn regressor whose contributions are added
up by cluster. No event may be constant, which is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold

__all__ = [
    "ClusterRegression",
    "PENALTIES",
    "cluster_events",
    "draw_contributions",
    "held_out",
    "importances",
    "resample_blocks",
]

PENALTIES = np.logspace(-1, 5, 13)  # ridge penalties that are tried
_APART = 2.0  # distance between events of two kinds: larger than any distance between two of one kind


def cluster_events(X: pd.DataFrame, kinds: pd.Series, *, distance: float = 0.3) -> pd.Series:
    """Cluster events within each kind by average linkage, with the distance ``1 - |rho|`` (Spearman's rho).

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events (counts per instruction, or per another event); none may be constant.
    kinds : Series of str
        Kind of each event, indexed by event; events of two kinds are never in one cluster.
    distance : float, default 0.3
        Clusters are joined up to this mean distance of their members.

    Returns
    -------
    Series of int, shape (n_events,)
        Number of each event's cluster, from 0; index: event.
    """
    if X.shape[1] < 2:
        return pd.Series(0, index=X.columns)
    distances = 1 - np.abs(np.corrcoef(rankdata(X, axis=0), rowvar=False))
    kind = kinds[X.columns].to_numpy()
    distances[kind[:, None] != kind] = _APART
    np.fill_diagonal(distances, 0.0)
    tree = linkage(squareform(distances, checks=False), "average")
    return pd.Series(fcluster(tree, distance, "distance") - 1, index=X.columns)


class ClusterRegression(RegressorMixin, BaseEstimator):
    """Ridge regression on standardized events, whose contributions are added up by cluster.

    The regression is on events: the clusters do not change its predictions.

    Parameters
    ----------
    clusters : Series of int
        Cluster of each event, from :func:`cluster_events`; these events are used.
    penalty : float, optional
        Penalty of the ridge regression. By default the one of `PENALTIES` with the least error on held-out groups.
    clip : float, default 3.0
        Values farther from an event's mean are set to so many standard deviations.

    Attributes
    ----------
    penalty_ : float
        The penalty that was used.
    slopes_ : Series
        Coefficient of each event [unit of y per standard deviation].
    mean_, scale_ : Series
        Mean and standard deviation (1 if that is 0) by which each event is standardized.
    centre_ : Series
        Mean of each standardized and clipped event.
    level_ : float
        Mean of y.
    importance_ : Series
        By cluster, the standard deviation of its contribution over the rows, as a share of all clusters' [%].
    """

    def __init__(self, clusters: pd.Series, *, penalty: float | None = None, clip: float = 3.0) -> None:
        self.clusters = clusters
        self.penalty = penalty
        self.clip = clip

    def fit(self, X: pd.DataFrame, y: pd.Series, groups: ArrayLike | None = None) -> Self:
        """Fit to X (n_rows, n_events) and y (Series); return self.

        Without a penalty, `groups` (group of each row) are needed: it is chosen by holding out one after the other.
        """
        clustered = X[self.clusters.index]
        self.mean_, scale = clustered.mean(), clustered.std(ddof=0)
        self.scale_ = scale.where(scale > 0, 1.0)
        Z = self._standardized(X)
        values = Z.to_numpy(), y.to_numpy()
        self.penalty_ = _find_penalty(*values, groups) if self.penalty is None else self.penalty
        self.slopes_ = pd.Series(Ridge(self.penalty_).fit(*values).coef_, index=self.clusters.index)
        self.centre_, self.level_ = Z.mean(), float(y.mean())
        self.importance_ = importances(self.event_contributions(X), self.clusters)
        return self

    def predict(self, X: pd.DataFrame) -> pd.Series:
        """Predict each row of X as the mean of y plus the contributions of all clusters; Series [unit of y]."""
        return self.level_ + self.contributions(X).sum(axis=1)

    def event_contributions(self, X: pd.DataFrame) -> pd.DataFrame:
        """Compute what each event adds to the mean of y in each row of X: DataFrame (n_rows, n_events) [unit of y]."""
        return (self._standardized(X) - self.centre_) * self.slopes_

    def contributions(self, X: pd.DataFrame) -> pd.DataFrame:
        """Compute what each cluster adds to the mean of y in each row of X [unit of y].

        Returns a DataFrame of shape (n_rows, n_clusters).
        """
        return by_cluster(self.event_contributions(X), self.clusters)

    def _standardized(self, X):
        """Standardize the clusters' events as in training, and clip them: DataFrame (n_rows, n_events)."""
        return ((X[self.clusters.index] - self.mean_) / self.scale_).clip(-self.clip, self.clip)


def _find_penalty(Z, y, groups):
    """Find the one of `PENALTIES` with the least error on held-out groups, that of RidgeCV, by one SVD per group."""
    errors = []
    for training, test in GroupKFold(len(np.unique(groups))).split(Z, groups=groups):
        centre, level = Z[training].mean(axis=0), y[training].mean()
        left, singular, right = np.linalg.svd(Z[training] - centre, full_matrices=False)
        shrunk = singular / (singular**2 + PENALTIES[:, None]) * (left.T @ (y[training] - level))
        predicted = level + shrunk @ right @ (Z[test] - centre).T
        errors.append(np.square(predicted - y[test]).mean(axis=1))
    return float(PENALTIES[np.mean(errors, axis=0).argmin()])


def held_out(
    clusters: pd.Series, X: pd.DataFrame, y: pd.Series, groups: np.ndarray
) -> tuple[pd.DataFrame, pd.Series]:
    """Compute contributions and predictions of each row by a model that was trained without the row's group.

    Parameters
    ----------
    clusters : Series of int
        Cluster of each event, from :func:`cluster_events`.
    X : DataFrame, shape (n_rows, n_events)
        Rates of events (counts per instruction).
    y : Series of float, shape (n_rows,)
        Cycles per instruction.
    groups : ndarray, shape (n_rows,)
        Group of each row, such as the run; each is held out once.

    Returns
    -------
    contributions : DataFrame of float, shape (n_rows, n_clusters)
        What each cluster adds to the mean [unit of y].
    predicted : Series of float, shape (n_rows,)
        Prediction [unit of y].
    """
    added, predicted = [], []
    for training, unseen in GroupKFold(len(np.unique(groups))).split(X, groups=groups):
        model = ClusterRegression(clusters).fit(X.iloc[training], y.iloc[training], groups[training])
        added.append(model.contributions(X.iloc[unseen]))
        predicted.append(model.predict(X.iloc[unseen]))
    return pd.concat(added).loc[X.index], pd.concat(predicted).loc[X.index]


def by_cluster(contributions, clusters):
    """Sum contributions of events by cluster: a DataFrame, shape (n_rows, n_clusters).

    `contributions` is a DataFrame, shape (n_rows, n_events), `clusters` a Series from event to the number of its
    cluster.
    """
    return contributions @ pd.get_dummies(clusters, dtype=float).loc[contributions.columns]


def importances(contributions: pd.DataFrame, clusters: pd.Series) -> pd.Series:
    """Compute the importance of each cluster: the standard deviation of its contribution over the rows.

    Parameters
    ----------
    contributions : DataFrame, shape (n_rows, n_events)
        Contributions of events.
    clusters : Series
        Cluster by event.

    Returns
    -------
    Series
        Share of the sum over all clusters [%], by cluster.
    """
    spread = by_cluster(contributions, clusters).std(ddof=0)
    return 100 * spread / spread.sum() if spread.any() else spread


def resample_blocks(n_rows: int, seed: int, *, n_blocks: int = 20) -> np.ndarray:
    """Draw the rows of a block bootstrap: blocks of neighboring rows, drawn with replacement.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    seed : int
        Seed of the draw.
    n_blocks : int, default 20
        Number of blocks, and of those drawn; at most `n_rows`.

    Returns
    -------
    ndarray of int
        Row numbers.
    """
    blocks = np.array_split(np.arange(n_rows), min(n_blocks, n_rows))
    drawn_blocks = np.random.default_rng(seed).integers(len(blocks), size=len(blocks))
    return np.concatenate([blocks[block] for block in drawn_blocks])


def draw_contributions(
    model: ClusterRegression, X: pd.DataFrame, y: pd.Series, seeds: Iterable[int]
) -> list[pd.DataFrame]:
    """Compute contributions of events to CPI (cycles per instruction) in models that are fitted to resampled rows.

    Parameters
    ----------
    model : ClusterRegression
        Fitted; the models have its clusters and its penalty.
    X : DataFrame, shape (n_rows, n_events)
        Rows that are resampled in blocks.
    y : Series, shape (n_rows,)
        CPI.
    seeds : iterable of int
        One model per seed.

    Returns
    -------
    list of DataFrame
        For each model, what each event adds to the mean of y in each row of X: shape (n_rows, n_events).
    """
    resampled_model = ClusterRegression(model.clusters, penalty=model.penalty_)
    drawn = [resample_blocks(len(X), seed) for seed in seeds]
    return [resampled_model.fit(X.iloc[rows], y.iloc[rows]).event_contributions(X) for rows in drawn]
