"""Group events that say the same: average linkage by rank correlation, within a kind of event."""

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata


def trees(X, kinds):
    """Trees of events, one a kind, by average linkage over the distance 1 - |Spearman's rho|.

    Events of one kind alone are joined: a stall and the miss behind it go together in time and
    still say different things.

    Parameters
    ----------
    X : DataFrame, shape (n_steps, n_events)
    kinds : Series of str
        Kind of every event of X (:func:`cmlib.events.kinds`).

    Returns
    -------
    dict of str to tuple (list of str, ndarray or None)
        Kind to its events and their linkage as SciPy has it; None for a single event.
    """
    ranks = rankdata(X.to_numpy(), axis=0)
    ranks = ranks - ranks.mean(axis=0)
    size = np.sqrt((ranks**2).sum(axis=0))
    ranks = ranks / np.where(size > 0, size, 1.0)
    kind_of = kinds.reindex(X.columns).to_numpy()
    linked = {}
    for kind in dict.fromkeys(kind_of):
        own = np.flatnonzero(kind_of == kind)
        linked[kind] = list(X.columns[own]), _linked(ranks[:, own])
    return linked


def cut(trees, distance):
    """Cut trees into families.

    Parameters
    ----------
    trees : dict
        From :func:`trees`.
    distance : float
        Mean distance (0–1) up to which groups are joined.

    Returns
    -------
    Series of int
        Index: event; the number of its family.
    """
    labels, first = [], 0
    for events, joined in trees.values():
        own = (
            fcluster(joined, distance, "distance") if joined is not None else np.ones(len(events), dtype=int)
        )
        labels.append(pd.Series(own - 1 + first, index=events))
        first += int(own.max())
    return pd.concat(labels).rename("family")


def _linked(ranks):
    if ranks.shape[1] < 2:
        return None
    distances = np.clip(1 - np.abs(ranks.T @ ranks), 0.0, 1.0)
    np.fill_diagonal(distances, 0.0)
    return linkage(squareform(distances, checks=False), "average")
