"""Clusters of events that rise and fall together, and what each adds to cycles per instruction."""

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.model_selection import GroupKFold

PENALTIES = np.logspace(-1, 5, 13)
_APART = 2.0  # distance between events of two kinds: larger than that of any two of one kind


def cluster_events(X, kinds, *, distance=0.3):
    """Number the cluster of each event: average linkage within its kind over ``1 - |rho|``, Spearman's rho.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates; every event varies.
    kinds : Series of str
        What each event counts, by its name; events of two kinds are never in one cluster.
    distance : float, default 0.3
        Clusters are joined up to this mean distance of their members.

    Returns
    -------
    Series of int, shape (n_events,)
        Number of each event's cluster, from 0.
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

    No model of clusters is fitted: grouping changes nothing of the prediction.

    Parameters
    ----------
    clusters : Series of int
        As :func:`cluster_events` makes it; its events are the ones that are used.
    penalty : float, optional
        Of the ridge regression. By default the one of `PENALTIES` with the least error on held-out groups.
    clip : float, default 3.0
        Standard deviations from an event's mean; what lies beyond is set to that.

    Attributes
    ----------
    penalty_ : float
        The penalty that was used.
    slopes_ : Series
        By event, per standard deviation.
    importance_ : Series
        Standard deviation of what a cluster adds over the rows, as a share of all clusters' [%].
    """

    def __init__(self, clusters, *, penalty=None, clip=3.0):
        self.clusters = clusters
        self.penalty = penalty
        self.clip = clip

    def fit(self, X, y, groups=None):
        """Fit to rows; where no penalty is given, it is chosen by holding out each of `groups`."""
        clustered = X[self.clusters.index]
        self.mean_, scale = clustered.mean(), clustered.std(ddof=0)
        self.scale_ = scale.where(scale > 0, 1.0)
        Z = self._standardized(X)
        values = Z.to_numpy(), y.to_numpy()
        if self.penalty is None:
            folds = list(GroupKFold(len(np.unique(groups))).split(*values, groups))
            ridge = RidgeCV(PENALTIES, cv=folds, scoring="neg_mean_squared_error").fit(*values)
            self.penalty_ = float(ridge.alpha_)
        else:
            self.penalty_, ridge = self.penalty, Ridge(self.penalty).fit(*values)
        self.slopes_ = pd.Series(ridge.coef_, index=self.clusters.index)
        self.centre_, self.level_ = Z.mean(), float(y.mean())
        self.importance_ = importances(self.event_contributions(X), self.clusters)
        return self

    def predict(self, X):
        """What the clusters add in each row, above the mean."""
        return self.level_ + self.contributions(X).sum(axis=1)

    def event_contributions(self, X):
        """What each event adds in each row, above the mean."""
        return (self._standardized(X) - self.centre_) * self.slopes_

    def contributions(self, X):
        """What each cluster adds in each row, above the mean."""
        return by_cluster(self.event_contributions(X), self.clusters)

    def _standardized(self, X):
        return ((X[self.clusters.index] - self.mean_) / self.scale_).clip(-self.clip, self.clip)


def held_out(clusters, X, y, groups):
    """Compute contributions and predictions by models that saw nothing of the row's group.

    Parameters
    ----------
    clusters : Series of int
        As :func:`cluster_events` makes it.
    X : DataFrame, shape (n_rows, n_events)
        Rates of events.
    y : Series of float, shape (n_rows,)
        Cycles per instruction.
    groups : ndarray, shape (n_rows,)
        Group of each row, such as the run; each is held out once.

    Returns
    -------
    contributions : DataFrame of float, shape (n_rows, n_clusters)
        What each cluster adds above the mean [unit of y].
    predicted : Series of float, shape (n_rows,)
        Prediction [unit of y].
    """
    added, predicted = [], []
    for seen, unseen in GroupKFold(len(np.unique(groups))).split(X, groups=groups):
        model = ClusterRegression(clusters).fit(X.iloc[seen], y.iloc[seen], groups[seen])
        added.append(model.contributions(X.iloc[unseen]))
        predicted.append(model.predict(X.iloc[unseen]))
    return pd.concat(added).loc[X.index], pd.concat(predicted).loc[X.index]


def by_cluster(contributions, clusters):
    """Contributions of events added up by cluster."""
    return contributions @ pd.get_dummies(clusters, dtype=float).loc[contributions.columns]


def importances(contributions, clusters):
    """Standard deviation of what each cluster adds, as a share of all clusters' [%]."""
    spread = by_cluster(contributions, clusters).std(ddof=0)
    return 100 * spread / spread.sum() if spread.any() else spread


def resample_blocks(n_rows, seed, *, n_blocks=20):
    """Numbers of rows: blocks of neighbours drawn with replacement."""
    blocks = np.array_split(np.arange(n_rows), min(n_blocks, n_rows))
    drawn = np.random.default_rng(seed).integers(len(blocks), size=len(blocks))
    return np.concatenate([blocks[block] for block in drawn])


def shuffle_members(clusters, kinds, seed):
    """Clusters of the same sizes and kinds whose members are drawn at random: what any claim has to beat."""
    rng = np.random.default_rng(seed)
    by_kind = clusters.groupby(kinds[clusters.index])
    return by_kind.transform(lambda numbers: rng.permutation(numbers.to_numpy()))


def overlap(draws, *, n_first=5):
    """Share of the first clusters that two models (rows) have in common, mean over all pairs of models."""
    n_first = min(n_first, draws.shape[1])
    places = (-draws).rank(axis=1, method="first").to_numpy()
    first = (places <= n_first).astype(float)
    common = first @ first.T / n_first
    return float(common[np.triu_indices(len(draws), 1)].mean())
