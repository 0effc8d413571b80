"""Discretization of numeric events by minimum description length."""

import numpy as np
from numba import njit


def discretize(X, codes, n_classes):
    """Replace every value by the number of its interval.

    A column is cut in two where the classes' entropy falls most, again and again, as long as the
    gain pays for the description of the cut (Fayyad & Irani 1993). A cut is described by its place
    among the gaps between distinct values. A column that no cut pays for is one interval.

    Parameters
    ----------
    X : ndarray of float64, shape (n_samples, n_features)
    codes : ndarray of int64, shape (n_samples,)
        Classes, 0 to n_classes - 1.
    n_classes : int

    Returns
    -------
    ndarray of int64, shape (n_samples, n_features)
    """
    intervals = np.empty(X.shape, np.int64)
    for feature in range(X.shape[1]):
        values = np.ascontiguousarray(X[:, feature])
        order = np.argsort(values, kind="stable")
        cuts = _cut_points(values[order], codes[order], n_classes)
        intervals[:, feature] = np.searchsorted(np.sort(cuts), values, side="left")
    return intervals


@njit(cache=True)
def _cut_points(values, codes, n_classes):
    cuts = []
    pending = [(0, len(values))]
    while len(pending) > 0:
        first, end = pending.pop()
        cut = _best_cut(values[first:end], codes[first:end], n_classes)
        if cut >= 0:
            middle = first + cut
            cuts.append((values[middle] + values[middle + 1]) / 2)
            pending.append((first, middle + 1))
            pending.append((middle + 1, end))
    return np.array([cuts[i] for i in range(len(cuts))], dtype=np.float64)


@njit(cache=True)
def _best_cut(values, codes, n_classes):
    """Return the last sample below the cut, or -1 where no cut pays."""
    n = len(values)
    left = np.zeros(n_classes, np.int64)
    right = np.zeros(n_classes, np.int64)
    for code in codes:
        right[code] += 1
    total = right.copy()
    before = _entropy(total)
    best, cut, n_gaps = before, -1, 0
    for i in range(n - 1):
        left[codes[i]] += 1
        right[codes[i]] -= 1
        if values[i] < values[i + 1]:
            n_gaps += 1
            after = ((i + 1) * _entropy(left) + (n - i - 1) * _entropy(right)) / n
            if after < best:
                best, cut = after, i
                best_left, best_right = left.copy(), right.copy()
    if cut < 0:
        return -1
    n_total, n_left, n_right = (total > 0).sum(), (best_left > 0).sum(), (best_right > 0).sum()
    description = np.log2(3.0**n_total - 2) - (
        n_total * before - n_left * _entropy(best_left) - n_right * _entropy(best_right)
    )
    return cut if before - best > (np.log2(n_gaps) + description) / n else -1


@njit(cache=True)
def _entropy(counts):
    n = counts.sum()
    entropy = 0.0
    for count in counts:
        if count > 0:
            entropy -= count / n * np.log2(count / n)
    return entropy
