"""Correlation-based feature selection, and the measures it and the ranking rest on."""

import numpy as np
from numba import njit

TIE_DIGITS = 12  # measures that agree to so many digits tie, and the order of the attributes decides
_IMPROVEMENT = 1e-5


def gain_ratio(information):
    """Gain ratio of every attribute about the class, from `mutual_information`.

    Returns
    -------
    ndarray of float64, shape (n_features,)
        Information gained about the class over the attribute's own entropy; 0 for a constant.
    """
    entropies = np.diag(information)[:-1]
    return np.divide(information[-1, :-1], entropies, out=np.zeros(len(entropies)), where=entropies > 0)


def symmetric_uncertainty(information):
    """Twice the shared information over the sum of both entropies, from `mutual_information`.

    Returns
    -------
    ndarray of float64, shape (n_features + 1, n_features + 1)
        0 to 1; 0 with a constant.
    """
    entropies = np.diag(information)
    sums = entropies[:, None] + entropies
    return np.divide(2 * information, sums, out=np.zeros_like(information), where=sums > 0)


def mutual_information(intervals, codes):
    """Information shared by every two of the discrete attributes and the class [bits].

    Parameters
    ----------
    intervals : ndarray of int64, shape (n_samples, n_features)
        Values 0, 1, … of the attributes.
    codes : ndarray of int64, shape (n_samples,)
        Classes, 0, 1, …

    Returns
    -------
    ndarray of float64, shape (n_features + 1, n_features + 1)
        Symmetric; the last row and column are the class; the diagonal holds the entropies.
    """
    columns = np.ascontiguousarray(np.c_[intervals, codes].T.astype(np.int32))
    return _mutual_information(columns, columns.max(axis=1) + 1)


def select_subset(with_class, between, *, max_stale=5):
    """Search, best first, for the subset of attributes of highest CFS merit.

    The merit of k attributes is k·r_cf / sqrt(k + k(k-1)·r_ff), with r_cf their mean correlation with
    the class and r_ff among themselves (Hall 2000, Eq. 1). The search starts from no attribute, adds
    one at a time to the best subset not yet expanded, and ends after `max_stale` expansions in a row
    that found nothing better.

    Parameters
    ----------
    with_class : ndarray of float64, shape (n_features,)
        Correlation of each attribute with the class.
    between : ndarray of float64, shape (n_features, n_features)
        Correlations among the attributes.
    max_stale : int, default 5

    Returns
    -------
    list of int
        The subset, in the order in which its attributes were added.
    """
    best, best_merit, stale = (), 0.0, 0
    frontier, seen = [(0.0, ())], {frozenset()}
    while frontier and stale < max_stale:
        subset = frontier.pop(0)[1]
        frontier += _additions(subset, with_class, between, seen, max_stale)
        frontier = sorted(frontier, key=lambda entry: -entry[0])[:max_stale]
        seen |= {frozenset(subset) for _, subset in frontier}
        stale += 1
        if frontier and frontier[0][0] > best_merit + _IMPROVEMENT:
            best_merit, best = frontier[0]
            stale = 0
    return list(best)


def _additions(subset, with_class, between, seen, n):
    """Return merit and attributes of the n best one-attribute additions that were not seen yet."""
    merits = _merits_of_additions(subset, with_class, between)
    additions = []
    for attribute in np.argsort(-merits, kind="stable")[: len(merits) - len(subset)]:
        addition = (*subset, int(attribute))
        if frozenset(addition) not in seen:
            additions.append((merits[attribute], addition))
        if len(additions) == n:
            break
    return additions


def _merits_of_additions(subset, with_class, between):
    """Return the merit of the subset with each further attribute; -inf for those it has."""
    chosen = list(subset)
    to_class = with_class[chosen].sum() + with_class
    among = between[np.ix_(chosen, chosen)]
    pairs = among.sum() - np.trace(among) + 2 * between[chosen].sum(axis=0)
    merits = np.round(to_class / np.sqrt(len(chosen) + 1 + pairs), TIE_DIGITS)
    merits[chosen] = -np.inf
    return merits


@njit(cache=True)
def _mutual_information(columns, n_values):
    n_columns, n = columns.shape
    information = np.empty((n_columns, n_columns))
    for a in range(n_columns):
        for b in range(a + 1):
            joint = np.zeros((n_values[a], n_values[b]), np.int64)
            for i in range(n):
                joint[columns[a, i], columns[b, i]] += 1
            information[a, b] = information[b, a] = _shared(joint, n)
    return information


@njit(cache=True)
def _shared(joint, n):
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    shared = 0.0
    for i in range(len(rows)):
        for j in range(len(columns)):
            if joint[i, j] > 0:
                shared += joint[i, j] / n * np.log2(joint[i, j] * n / (rows[i] * columns[j]))
    return max(shared, 0.0)
