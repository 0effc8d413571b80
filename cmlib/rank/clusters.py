"""Group correlated events into clusters, and estimate the contribution of each cluster to cycles per instruction.

:func:`cluster_events` takes a DataFrame of event rates and returns the cluster number of each event.
:class:`ClusterRegression` is a linear regression on the events, which adds the contributions of the events in a
cluster.
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

PENALTIES = np.logspace(-1, 5, 13)  # candidates for the ridge penalty
_APART = 2.0  # distance between events of different kinds; distances within a kind are at most 1


def cluster_events(X: pd.DataFrame, kinds: pd.Series, *, distance: float = 0.3) -> pd.Series:
    """Group correlated events into clusters.

    The clustering uses average linkage and the distance ``1 - |rho|``, where rho is Spearman's rank correlation.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events, for example counts per instruction. Constant columns are not allowed.
    kinds : Series of str
        Kind of each event, indexed by event name. A cluster contains events of one kind only.
    distance : float, default 0.3
        Largest mean distance at which clusters are joined (0-1).

    Returns
    -------
    Series of int, shape (n_events,)
        Cluster number of each event, from 0, indexed by event name.
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
    """Ridge regression on standardized events, with contributions per cluster.

    The clusters do not change the predictions.

    Parameters
    ----------
    clusters : Series of int
        Cluster number of each event, from :func:`cluster_events`. Only these events are used.
    penalty : float, optional
        Penalty of the ridge regression. Default: the value in `PENALTIES` with the smallest error on held-out groups.
    clip : float, default 3.0
        Largest distance of a value from the mean of its event [standard deviations]. Larger distances are clipped.

    Attributes
    ----------
    penalty_ : float
        Penalty of the fitted model.
    slopes_ : Series
        Coefficient of each event [unit of y per standard deviation].
    mean_, scale_ : Series
        Mean and standard deviation of each event. The standard deviation of a constant event is set to 1.
    centre_ : Series
        Mean of each event after standardizing and clipping.
    level_ : float
        Mean of y.
    importance_ : Series
        Importance of each cluster [%], see :func:`importances`.
    """

    def __init__(self, clusters: pd.Series, *, penalty: float | None = None, clip: float = 3.0) -> None:
        self.clusters = clusters
        self.penalty = penalty
        self.clip = clip

    def fit(self, X: pd.DataFrame, y: pd.Series, groups: ArrayLike | None = None) -> Self:
        """Fit the model to X and y, and return self.

        Parameters
        ----------
        X : DataFrame, shape (n_rows, n_events)
            Rates of events.
        y : Series of float, shape (n_rows,)
            Cycles per instruction, or another rate.
        groups : array-like, shape (n_rows,), optional
            Group of each row, for example the run. Required to choose the penalty.

        Returns
        -------
        ClusterRegression
            The fitted model.
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
        """Predict y for each row of X.

        Parameters
        ----------
        X : DataFrame, shape (n_rows, n_events)
            Rates of events.

        Returns
        -------
        Series of float, shape (n_rows,)
            Mean of y plus the contributions of all clusters [unit of y].
        """
        return self.level_ + self.contributions(X).sum(axis=1)

    def event_contributions(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the contribution of each event to the prediction of each row.

        Parameters
        ----------
        X : DataFrame, shape (n_rows, n_events)
            Rates of events.

        Returns
        -------
        DataFrame of float, shape (n_rows, n_events)
            Contributions [unit of y].
        """
        return (self._standardized(X) - self.centre_) * self.slopes_

    def contributions(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the contribution of each cluster to the prediction of each row.

        Parameters
        ----------
        X : DataFrame, shape (n_rows, n_events)
            Rates of events.

        Returns
        -------
        DataFrame of float, shape (n_rows, n_clusters)
            Contributions [unit of y].
        """
        return by_cluster(self.event_contributions(X), self.clusters)

    def _standardized(self, X):
        """Return standardized and clipped events (DataFrame)."""
        return ((X[self.clusters.index] - self.mean_) / self.scale_).clip(-self.clip, self.clip)


def _find_penalty(Z, y, groups):
    """Find the penalty with the smallest error on held-out groups.

    The result equals RidgeCV's. One SVD per group gives the errors of all penalties.
    """
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
    """Predict each group of rows with a model of the other groups.

    Parameters
    ----------
    clusters : Series of int
        Cluster number of each event, from :func:`cluster_events`.
    X : DataFrame, shape (n_rows, n_events)
        Rates of events, for example counts per instruction.
    y : Series of float, shape (n_rows,)
        Cycles per instruction.
    groups : ndarray, shape (n_rows,)
        Group of each row, for example the run.

    Returns
    -------
    contributions : DataFrame of float, shape (n_rows, n_clusters)
        Contribution of each cluster to the prediction [unit of y].
    predicted : Series of float, shape (n_rows,)
        Predictions [unit of y].
    """
    added, predicted = [], []
    for training, unseen in GroupKFold(len(np.unique(groups))).split(X, groups=groups):
        model = ClusterRegression(clusters).fit(X.iloc[training], y.iloc[training], groups[training])
        added.append(model.contributions(X.iloc[unseen]))
        predicted.append(model.predict(X.iloc[unseen]))
    return pd.concat(added).loc[X.index], pd.concat(predicted).loc[X.index]


def by_cluster(contributions, clusters):
    """Add the contributions of the events in each cluster.

    Parameters
    ----------
    contributions : DataFrame, shape (n_rows, n_events)
        Contributions of events.
    clusters : Series of int
        Cluster number of each event, indexed by event name.

    Returns
    -------
    DataFrame, shape (n_rows, n_clusters)
        Contributions of clusters.
    """
    return contributions @ pd.get_dummies(clusters, dtype=float).loc[contributions.columns]


def importances(contributions: pd.DataFrame, clusters: pd.Series) -> pd.Series:
    """Compute the importance of each cluster.

    The importance is the standard deviation of the cluster's contribution over the rows, as a share of all clusters.

    Parameters
    ----------
    contributions : DataFrame, shape (n_rows, n_events)
        Contributions of events.
    clusters : Series of int
        Cluster number of each event, indexed by event name.

    Returns
    -------
    Series of float
        Importance [%], indexed by cluster number.
    """
    spread = by_cluster(contributions, clusters).std(ddof=0)
    return 100 * spread / spread.sum() if spread.any() else spread


def resample_blocks(n_rows: int, seed: int, *, n_blocks: int = 20) -> np.ndarray:
    """Draw blocks of neighboring rows with replacement (block bootstrap).

    Parameters
    ----------
    n_rows : int
        Number of rows.
    seed : int
        Seed of the draw.
    n_blocks : int, default 20
        Number of blocks. If it is larger than `n_rows`, each row is a block.

    Returns
    -------
    ndarray of int
        Positions of the rows of the drawn blocks.
    """
    blocks = np.array_split(np.arange(n_rows), min(n_blocks, n_rows))
    drawn_blocks = np.random.default_rng(seed).integers(len(blocks), size=len(blocks))
    return np.concatenate([blocks[block] for block in drawn_blocks])


def draw_contributions(
    model: ClusterRegression, X: pd.DataFrame, y: pd.Series, seeds: Iterable[int]
) -> list[pd.DataFrame]:
    """Compute the contributions of events in models of resampled rows.

    Parameters
    ----------
    model : ClusterRegression
        Fitted model. Its clusters and its penalty are used.
    X : DataFrame, shape (n_rows, n_events)
        Rates of events.
    y : Series of float, shape (n_rows,)
        Cycles per instruction.
    seeds : iterable of int
        Seed of each model.

    Returns
    -------
    list of DataFrame
        Contributions of each model [unit of y], each of shape (n_rows, n_events).
    """
    resampled_model = ClusterRegression(model.clusters, penalty=model.penalty_)
    drawn = [resample_blocks(len(X), seed) for seed in seeds]
    return [resampled_model.fit(X.iloc[rows], y.iloc[rows]).event_contributions(X) for rows in drawn]
