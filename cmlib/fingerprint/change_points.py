"""Where a series changes: the segments that cost least, each change at a price."""

import numpy as np

# Standard deviations below this share are taken for it: a simulation has no noise to estimate.
_LEAST_STD = 0.02
_PENALTY = 4.0


def change_points(X, *, weights=None, penalty=None):
    """Cut a series into segments of constant mean.

    The weighted sum of squared distances from the segments' means, and a penalty for each segment, is smallest: optimal
    partitioning (Jackson et al., *An algorithm for optimal partitioning of data on an interval*, 2005), exact, in
    O(n²).

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_columns)
        At most a few hundred samples.
    weights : array-like of float > 0, shape (n_samples,), optional
        Of the samples, 1 if not given: how long each is, in parts of a typical one.
    penalty : float > 0, optional
        Of a segment. If not given, ``4 log(n)`` times the noise variance of all columns together, which is told
        from the differences of neighbouring samples, a column's standard deviation of at least 0.02.

    Returns
    -------
    ndarray of int
        First sample of each segment; 0 is the first.

    Raises
    ------
    ValueError
        If there is no sample, or a weight or the penalty is not above 0.
    """
    X = np.asarray(X, np.float64)
    n = len(X)
    if not n:
        raise ValueError("change_points: there is no sample.")
    w = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    if not (w > 0).all():
        raise ValueError(f"change_points: weights are above 0, got {w.min()}.")
    price = _default_penalty(X) if penalty is None else penalty
    if not price > 0:
        raise ValueError(f"change_points: a penalty is above 0, got {price}.")
    sums = np.vstack([np.zeros(X.shape[1]), np.cumsum(w[:, None] * X, axis=0)])
    squares = np.concatenate([[0.0], np.cumsum(w * (X**2).sum(axis=1))])
    lengths = np.concatenate([[0.0], np.cumsum(w)])
    best, begins = np.zeros(n + 1), np.zeros(n + 1, int)
    for end in range(1, n + 1):
        means = ((sums[end] - sums[:end]) ** 2).sum(axis=1) / (lengths[end] - lengths[:end])
        costs = best[:end] + squares[end] - squares[:end] - means + price
        begins[end] = costs.argmin()
        best[end] = costs[begins[end]]
    found, end = [], n
    while end:
        end = int(begins[end])
        found.append(end)
    return np.array(found[::-1])


def _default_penalty(X):
    differences = np.abs(np.diff(X, axis=0))
    std = 1.4826 * np.median(differences, axis=0) / np.sqrt(2) if len(X) > 1 else np.zeros(X.shape[1])
    return _PENALTY * np.log(max(len(X), 2)) * (np.maximum(std, _LEAST_STD) ** 2).sum()
