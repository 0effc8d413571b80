"""Cut a series into segments of constant mean.

:func:`segment_starts` takes an array (n_samples, n_features), maybe with weights, and returns the position of the
first sample of each segment, an array of int. Raises a ValueError if there is no sample, or a weight or the penalty
is not above 0.
"""

import numpy as np

from cmlib.errors import InputError

# Least standard deviation of the noise that is assumed for shares, as a simulation has none.
_LEAST_STD = 0.02
_PENALTY = 4.0  # times the noise's variance times the logarithm of the number of samples


def segment_starts(X, *, weights=None, penalty=None, shortest=1):
    """Cut a series into segments of constant mean (optimal partitioning).

    ruptures.KernelCPD cuts 240 points in 0.2 ms instead of 5, but takes no weights, and 0.4 s to import.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        The series.
    weights : array-like of float > 0, shape (n_samples,), optional
        Weight of each sample. Default: all the same.
    penalty : float > 0, optional
        Price of a segment, in squared units of X. Default: by the noise of neighboring samples.
    shortest : int, default 1
        Fewest samples of a segment.

    Returns
    -------
    ndarray of int
        Position of the first sample of each segment. The first position is 0.

    Raises
    ------
    ValueError
        If there is no sample, or a weight or the penalty is not above 0.
    """
    X = np.asarray(X, np.float64)
    n = len(X)
    if not n:
        raise InputError("segment_starts: there is no sample.")
    w = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    if not (w > 0).all():
        raise InputError(f"segment_starts: weights are above 0, got {w.min()}.")
    price = _default_penalty(X) if penalty is None else penalty
    if not price > 0:
        raise InputError(f"segment_starts: a penalty is above 0, got {price}.")
    sums = np.vstack([np.zeros(X.shape[1]), np.cumsum(w[:, None] * X, axis=0)])
    squares = np.concatenate([[0.0], np.cumsum(w * (X**2).sum(axis=1))])
    lengths = np.concatenate([[0.0], np.cumsum(w)])
    best, begins = np.zeros(n + 1), np.zeros(n + 1, int)
    shortest = min(max(shortest, 1), n)
    best[1:shortest] = np.inf
    for end in range(shortest, n + 1):
        start = slice(end - shortest + 1)
        means = ((sums[end] - sums[start]) ** 2).sum(axis=1) / (lengths[end] - lengths[start])
        costs = best[start] + squares[end] - squares[start] - means + price
        begins[end] = costs.argmin()
        best[end] = costs[begins[end]]
    starts, end = [], n
    while end:
        end = int(begins[end])
        starts.append(end)
    return np.array(starts[::-1])


def _default_penalty(X):
    """Compute the penalty per segment from the median difference of neighboring samples."""
    differences = np.abs(np.diff(X, axis=0))
    std = 1.4826 * np.median(differences, axis=0) / np.sqrt(2) if len(X) > 1 else np.zeros(X.shape[1])
    return _PENALTY * np.log(max(len(X), 2)) * (np.maximum(std, _LEAST_STD) ** 2).sum()
