"""Where a series changes, and the stretches between in which its level stays the same."""

import numpy as np
import pandas as pd

_MOST_POINTS = 240
# Standard deviations below this share are taken for it: a simulation has no noise to estimate.
_LEAST_STD = 0.02
_PENALTY = 4.0


def find_phases(series, *, gain=0.1, shortest=0.04):
    """Cut a series into phases of constant level.

    Parameters
    ----------
    series : Series of float, shape (n,)
        Indexed by time or progress; NaN is left out.
    gain : float, default 0.1
        Share of the variance that a further phase must explain: the penalty of :func:`change_points`.
    shortest : float, default 0.04
        Least length of a phase [share of the series].

    Returns
    -------
    DataFrame
        A row a phase: ``start`` and ``end``, the index of its first and last value; ``level``, its mean.

    Notes
    -----
    More than 240 values are averaged to that many at most first, so that cuts lie between neighbouring averages.
    """
    series = series.dropna()
    bundle = np.arange(len(series)) // max(1, -(-len(series) // _MOST_POINTS))
    values = series.groupby(bundle).mean().to_numpy()
    apart = values - values.mean()
    penalty = gain * (apart**2).sum() or 1.0  # a constant is one phase at any price
    starts = change_points(apart[:, None], penalty=penalty, shortest=round(shortest * len(values)))
    first = np.searchsorted(bundle, starts)
    last = np.append(first[1:], len(series)) - 1
    levels = [series.iloc[one : end + 1].mean() for one, end in zip(first, last, strict=True)]
    return pd.DataFrame({"start": series.index[first], "end": series.index[last], "level": levels})


def change_points(X, *, weights=None, penalty=None, shortest=1):
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
    shortest : int, default 1
        Samples of a segment at least; fewer samples are one segment.

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
    shortest = min(max(shortest, 1), n)
    best[1:shortest] = np.inf
    for end in range(shortest, n + 1):
        start = slice(end - shortest + 1)
        means = ((sums[end] - sums[start]) ** 2).sum(axis=1) / (lengths[end] - lengths[start])
        costs = best[start] + squares[end] - squares[start] - means + price
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
