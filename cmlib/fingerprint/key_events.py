"""Select key events: few events that distinguish the classes and are not correlated with each other.

:func:`select_key_events` takes rates (DataFrame, a row per time slice, a column per event) and classes, and returns a
list of names; :func:`eliminate` returns the order in which events are removed (DataFrame), by the mean of two ranks:
of gain ratio, and of CFS, Hall's correlation-based feature selection. Raises a ValueError for values that are not
finite, or no slices.
"""

from itertools import islice

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import entr

from cmlib.errors import InputError

__all__ = ["discretize", "eliminate"]

TIE_DIGITS = 12  # decimals of measures; of equal ones, the order of the attributes decides
_IMPROVEMENT = 1e-5  # a merit must be larger by more than this to be better


def select_key_events(X: pd.DataFrame, y: ArrayLike, n: int = 40) -> list[str]:
    """Select the key events by backward elimination (Yoo et al. 2012, §3).

    Parameters
    ----------
    X : DataFrame of float, shape (n_slices, n_events)
        Events per cycle of each time slice.
    y : array-like, shape (n_slices,)
        Classes.
    n : int, default 40
        Events to keep.

    Returns
    -------
    list of str
        The events kept, in the order of their columns in X.

    Raises
    ------
    ValueError
        If `n` is not between 1 and the number of events, or X holds values that are not finite.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(as_frame=True, return_X_y=True)
    >>> select_key_events(X, y, n=2)
    ['petal length (cm)', 'petal width (cm)']
    """
    X = pd.DataFrame(X)
    if not 1 <= n <= X.shape[1]:
        raise InputError(f"select_key_events: n is {n}; X has {X.shape[1]} events. Keep 1 to {X.shape[1]}.")
    chosen = eliminate(X, y).index[-n:]
    return [event for event in X.columns if event in chosen]


def eliminate(X: pd.DataFrame, y: ArrayLike) -> pd.DataFrame:
    """Remove the event of worst average rank, step by step, until none is left.

    Parameters
    ----------
    X : DataFrame, shape (n_slices, n_events)
        Events per cycle.
    y : array-like, shape (n_slices,)
        Classes.

    Returns
    -------
    DataFrame
        One row per event, the first to be removed first. Columns: ``n_left`` (events before it was removed),
        ``gain_ratio``, its ``gain_rank`` and ``cfs_rank`` among these, and ``average_rank``, their mean.

    Raises
    ------
    ValueError
        If X has no rows, or values that are not finite.
    """
    X = pd.DataFrame(X)
    values = X.to_numpy(np.float64)
    if not len(X):
        raise InputError("eliminate: X has no slices; record longer runs.")
    if not np.isfinite(values).all():
        bad = X.columns[~np.isfinite(values).all(axis=0)]
        raise InputError(
            f"eliminate: {len(bad)} of {X.shape[1]} events hold values that are not finite, the first is "
            f"{bad[0]!r}. Drop them, or the slices in which they were not counted."
        )
    classes, codes = np.unique(y, return_inverse=True)
    information = mutual_information(discretize(values, codes, len(classes)), codes)
    ratios, uncertainty = gain_ratio(information), symmetric_uncertainty(information)
    left = np.argsort(-ratios.round(TIE_DIGITS), kind="stable")
    removed = []
    while len(left):
        n_left = len(left)
        cfs_rank = np.full(n_left, n_left)
        subset = select_subset(uncertainty[-1, left], uncertainty[np.ix_(left, left)])
        cfs_rank[subset] = np.arange(1, len(subset) + 1)
        average = (cfs_rank + np.arange(1, n_left + 1)) / 2
        worst = n_left - 1 - np.argmax(average[::-1])
        removed.append((left[worst], n_left, ratios[left[worst]], worst + 1, cfs_rank[worst], average[worst]))
        left = np.delete(left, worst)
    columns = ["event", "n_left", "gain_ratio", "gain_rank", "cfs_rank", "average_rank"]
    frame = pd.DataFrame(removed, columns=columns)
    return frame.assign(event=X.columns[frame["event"]]).set_index("event")


def discretize(X: np.ndarray, codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Replace every value by the number of its interval.

    A column is cut repeatedly, each time where the classes' entropy falls most, as long as the
    gain pays for the description of the cut (Fayyad & Irani 1993). A cut is described by its place
    among the gaps between distinct values. A column that no cut pays for is one interval.

    Parameters
    ----------
    X : ndarray of float64, shape (n_samples, n_features)
        Values of the features, finite.
    codes : ndarray of int64, shape (n_samples,)
        Classes, 0 to n_classes - 1.
    n_classes : int
        Number of classes.

    Returns
    -------
    ndarray of int64, shape (n_samples, n_features)
        Numbers of the intervals, from 0 in each column.
    """
    intervals, indicator = np.empty(X.shape, np.int64), np.eye(n_classes)[codes]
    for feature, values in enumerate(X.T):
        order = np.argsort(values, kind="stable")
        intervals[:, feature] = np.searchsorted(_list_cuts(values[order], indicator[order]), values)
    return intervals


def _list_cuts(values, indicator):
    """List the thresholds at which sorted values are cut.

    `indicator` has a row per value, with 1 in the column of its class.
    """
    n = len(values)
    is_gap = values[:-1] < values[1:]
    if not is_gap.any():
        return []
    total = indicator.sum(axis=0)
    left = indicator.cumsum(axis=0)[:-1]
    right = total - left
    n_left = np.arange(1, n)
    left_entropy = _compute_entropy(left)
    right_entropy = _compute_entropy(right)
    mean_entropy = (n_left * left_entropy + (n - n_left) * right_entropy) / n
    entropy_after = np.where(is_gap, mean_entropy, np.inf).round(TIE_DIGITS)
    entropy_before = _compute_entropy(total)
    cut = entropy_after.argmin()
    gain = entropy_before - entropy_after[cut]
    if entropy_after[cut] >= entropy_before:
        return []
    n_classes, n_classes_left, n_classes_right = (
        (counts > 0).sum() for counts in (total, left[cut], right[cut])
    )
    entropy_sums = n_classes_left * left_entropy[cut] + n_classes_right * right_entropy[cut]
    description = np.log2(3.0**n_classes - 2) - (n_classes * entropy_before - entropy_sums)
    if gain <= (np.log2(is_gap.sum()) + description) / n:
        return []
    middle = (values[cut] + values[cut + 1]) / 2
    cuts_below = _list_cuts(values[: cut + 1], indicator[: cut + 1])
    cuts_above = _list_cuts(values[cut + 1 :], indicator[cut + 1 :])
    return [*cuts_below, middle, *cuts_above]


def _compute_entropy(counts):
    """Compute the entropy of counts along the last axis [bits]."""
    return entr(counts / counts.sum(axis=-1, keepdims=True)).sum(axis=-1) / np.log(2)


def gain_ratio(information):
    """Compute the gain ratio (0-1) of every attribute about the class: an array.

    `information` is what :func:`mutual_information` returns.
    """
    entropies = np.diag(information)[:-1]
    return np.divide(information[-1, :-1], entropies, out=np.zeros(len(entropies)), where=entropies > 0)


def symmetric_uncertainty(information):
    """Compute the symmetric uncertainty (0-1) of each pair of attributes: a matrix like `information`.

    It is twice their mutual information over the sum of both entropies. `information` is what
    :func:`mutual_information` returns.
    """
    entropies = np.diag(information)
    sums = entropies[:, None] + entropies
    return np.divide(2 * information, sums, out=np.zeros_like(information), where=sums > 0)


def mutual_information(intervals, codes):
    """Compute the mutual information [bits] of each pair of discrete attributes, and of each with the class.

    `intervals` are the attributes' values as numbers from 0, shape (n_samples, n_features); `codes` are the
    classes. Returns a square array. Its last row and column are the class; its diagonal has the entropies.
    """
    columns, n = np.c_[intervals, codes], len(codes)
    sizes = columns.max(axis=0) + 1
    starts = np.append(0, sizes.cumsum()[:-1])
    hot = np.zeros((n, sizes.sum()), np.float32)  # counts are whole, and exact below 2**24
    hot[np.arange(n)[:, None], columns + starts] = 1
    shares = (hot.T @ hot).astype(np.float64) / n
    joint = np.add.reduceat(np.add.reduceat(entr(shares), starts, axis=0), starts, axis=1) / np.log(2)
    entropies = np.diag(joint)
    return np.maximum(entropies[:, None] + entropies - joint, 0.0)


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
        Expansions without improvement after which the search ends; also the number of subsets that are kept.

    Returns
    -------
    list of int
        The subset, in the order in which its attributes were added.
    """
    best, best_merit, stale = (), 0.0, 0
    frontier, seen = [(0.0, ())], {frozenset()}
    while frontier and stale < max_stale:
        subset = frontier.pop(0)[1]
        frontier += _list_additions(subset, with_class, between, seen, max_stale)
        frontier = sorted(frontier, key=lambda entry: -entry[0])[:max_stale]
        seen |= {frozenset(subset) for _, subset in frontier}
        stale += 1
        if frontier and frontier[0][0] > best_merit + _IMPROVEMENT:
            best_merit, best = frontier[0]
            stale = 0
    return list(best)


def _list_additions(subset, with_class, between, seen, n):
    """Return merit and attributes of the n best one-attribute additions that were not seen yet."""
    merits = _rate_additions(subset, with_class, between)
    candidates = np.argsort(-merits, kind="stable")[: len(merits) - len(subset)].tolist()
    additions = ((merits[candidate], (*subset, candidate)) for candidate in candidates)
    return list(islice((entry for entry in additions if frozenset(entry[1]) not in seen), n))


def _rate_additions(subset, with_class, between):
    """Return the merit of the subset with each further attribute; -inf for those it has."""
    chosen = list(subset)
    to_class = with_class[chosen].sum() + with_class
    among = between[np.ix_(chosen, chosen)]
    pairs = among.sum() - np.trace(among) + 2 * between[chosen].sum(axis=0)
    merits = np.round(to_class / np.sqrt(len(chosen) + 1 + pairs), TIE_DIGITS)
    merits[chosen] = -np.inf
    return merits
