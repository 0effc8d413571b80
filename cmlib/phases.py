"""Stretches of a series in which its level stays the same."""

import numpy as np
import pandas as pd

_MOST_POINTS = 240


def find_phases(series, *, most=8, gain=0.1, shortest=0.04):
    """Cut a series into phases of constant level.

    Of all ways to cut it into so many phases, the one with the least squares is found by dynamic programming
    (Bellman 1961; Jackson et al. 2005). One phase more is taken as long as it explains a further share of the
    variance.

    Parameters
    ----------
    series : Series of float, shape (n,)
        Indexed by time or progress; NaN is left out.
    most : int, default 8
        Phases at most.
    gain : float, default 0.1
        Share of the variance that a further phase must explain.
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
    starts = _cuts(values, most, gain, max(1, round(shortest * len(values))))
    first = np.searchsorted(bundle, starts)
    last = np.append(first[1:], len(series)) - 1
    levels = [series.iloc[one : end + 1].mean() for one, end in zip(first, last, strict=True)]
    return pd.DataFrame({"start": series.index[first], "end": series.index[last], "level": levels})


def _cuts(values, most, gain, shortest):
    """Where the phases start, as few as explain what more of them would."""
    cost, total = _costs(values, shortest), float(((values - values.mean()) ** 2).sum())
    best, before = cost[0, 1:], []
    found, left = [0], best[-1]
    for _ in range(1, most):
        # A phase that ends at each place and starts after the best way to cut what lies before it.
        several = best[:-1, None] + cost[1:-1, 1:][:, 1:]
        start = several.argmin(axis=0)
        best = np.append(np.inf, several[start, np.arange(several.shape[1])])
        before.append(np.append(0, start + 1))
        if not best[-1] < left - gain * total:
            break
        found, left = _trace(before, len(values)), best[-1]
    return found


def _costs(values, shortest):
    """Squares about the mean of values[i:j], in row i and column j; infinite where that is too short."""
    n = len(values)
    sums, squares = (np.append(0.0, np.cumsum(part)) for part in (values, values**2))
    i, j = np.ogrid[: n + 1, : n + 1]
    length = np.maximum(j - i, 1)
    inside = squares[None, :] - squares[:, None] - (sums[None, :] - sums[:, None]) ** 2 / length
    return np.where(j - i >= shortest, np.maximum(inside, 0.0), np.inf)


def _trace(before, n):
    """Starts of the phases, from the last one's backwards."""
    starts, end = [], n
    for chosen in reversed(before):
        end = int(chosen[end - 1])
        starts.append(end)
    return [0, *reversed(starts)]
