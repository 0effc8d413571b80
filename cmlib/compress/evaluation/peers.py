"""Other ways to make a series of counts smaller, to stand beside the lines.

Two of them need `ruptures` and `zstandard`, which come with ``cmlib[dev]``.
"""

import numpy as np
from numba import njit


def swinging_door(x, y, deviation):
    """Keep the samples at which a door of twice the deviation swings shut (Bristol, 1990).

    Parameters
    ----------
    x, y : array of float, shape (n,)
        `x` strictly increasing.
    deviation : float >= 0
        Largest distance of a sample from the straight lines between the kept ones [counts].

    Returns
    -------
    ndarray of int
        Positions of the kept samples; the first and the last are among them.
    """
    return _swinging_door(np.asarray(x, dtype=float), np.asarray(y, dtype=float), float(deviation))


def bottom_up(x, y, n_lines):
    """Merge neighbouring pieces, the cheapest first, until `n_lines` are left; offline.

    Parameters
    ----------
    x, y : array of float, shape (n,)
    n_lines : int, 1 to n / 2

    Returns
    -------
    ndarray of int, shape (n_lines,)
        One past the last position of each piece, as :mod:`ruptures` gives them.
    """
    import ruptures

    signal = np.column_stack([_standard(y), _standard(x)])
    search = ruptures.BottomUp(custom_cost=_line_cost(), min_size=2, jump=1).fit(signal)
    return np.array(search.predict(n_bkps=n_lines - 1))


@njit(cache=True)
def line_residuals(x, y):
    """Distances of samples from their least-squares line.

    Parameters
    ----------
    x, y : array of float, shape (n,)
        Not all `x` the same.

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    dx, dy = x - x.mean(), y - y.mean()
    return dy - dx * ((dx * dy).sum() / (dx * dx).sum())


def zstd_samples(x, y, *, every=1, level=19):
    """Pack every so many-th raw sample with Zstandard; with `every` = 1 nothing is lost.

    Parameters
    ----------
    x, y : array of int or float, shape (n,)
        Cumulated counts; whole numbers. Their differences are packed, as 64-bit integers.
    every : int > 0, default 1
        Kept are the first sample, every so many-th from there, and the last.
    level : int, default 19

    Returns
    -------
    packed : bytes
    kept : ndarray of int
        Positions of the kept samples.
    """
    import zstandard

    kept = np.unique(np.append(np.arange(0, len(x), every), len(x) - 1))
    counts = np.stack([np.asarray(x)[kept], np.asarray(y)[kept]]).astype(np.int64)
    steps = np.diff(counts, axis=1, prepend=0)
    return zstandard.ZstdCompressor(level=level).compress(steps.tobytes()), kept


def _line_cost():
    """Ruptures' cost "linear" with one regressor, which by general least squares takes ten times as long."""
    import ruptures

    class LineCost(ruptures.base.BaseCost):
        model = "line"
        min_size = 2

        def fit(self, signal):
            self.signal = signal
            self.y, self.x = (np.ascontiguousarray(column) for column in signal.T)
            return self

        def error(self, start, end):
            return _line_error(self.x[start:end], self.y[start:end])

    return LineCost()


@njit(cache=True)
def _line_error(x, y):
    return 0.0 if x.size == 2 else (line_residuals(x, y) ** 2).sum()


def _standard(values):
    values = np.asarray(values, dtype=float)
    return (values - values.mean()) / (values.std() or 1.0)


@njit(cache=True)
def _swinging_door(x, y, deviation):
    kept = np.empty(x.size, np.int64)
    kept[0] = 0
    n, start = 1, 0
    flattest, steepest = -np.inf, np.inf
    for i in range(1, x.size):
        run, rise = x[i] - x[start], y[i] - y[start]
        if not flattest <= rise / run <= steepest:
            start = i - 1
            kept[n] = start
            n += 1
            run, rise = x[i] - x[start], y[i] - y[start]
            flattest, steepest = -np.inf, np.inf
        flattest = max(flattest, (rise - deviation) / run)
        steepest = min(steepest, (rise + deviation) / run)
    if x.size > 1:
        kept[n] = x.size - 1
        n += 1
    return kept[:n]
