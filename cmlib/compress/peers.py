"""Other ways to make a series of counts smaller, to stand beside the lines.

Two of them need `ruptures` and `zstandard`, which come with ``cmlib[dev]``.
"""

import numpy as np
import pandas as pd
from numba import njit

from cmlib.compress.lines import compress, reconstruct

_BYTES = 8  # a float64, or an int64 count
_SAMPLE = 2 * _BYTES  # x, y
_LINE = 3 * _BYTES  # x_start, slope, intercept


def at_equal_size(x, y, n_bytes):
    """Errors of the peers, and of lines with a bound, when none may take more than `n_bytes`.

    Each takes its finest setting that is small enough. A line counts 24 bytes,
    a kept sample 16.

    Parameters
    ----------
    x, y : array of float, shape (n,)
        Cumulated counts; `x` strictly increasing.
    n_bytes : int >= 32

    Returns
    -------
    DataFrame, index method
        n_bytes really taken; largest and rms distance of the samples from what
        is read back, as shares of ``max(y) - min(y)``. NaN where even the
        coarsest setting is larger.

    Raises
    ------
    ValueError
        If fewer than 32 bytes are allowed, or `y` never moves: then one line says all.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    span = np.ptp(y)
    if n_bytes < 2 * _SAMPLE or not span > 0:
        raise ValueError(f"nothing to compare in {n_bytes} bytes (at least 32) when y moves by {span:g}")
    deviations = np.geomspace(span, 1e-9 * span, 1000)
    n_lines = min(n_bytes // _LINE, len(x) // 2)
    settings = {
        "bounded": (_bounded, deviations),
        "swinging door": (_swung, deviations),
        "bottom-up": (_merged, [n_lines]),
        "zstd": (_packed, np.arange(len(x) - 1, 0, -1)),
    }
    rows = {}
    for method, (attempt, coarse_to_fine) in settings.items():
        size, off = _finest(attempt, coarse_to_fine, x, y, n_bytes)
        rows[method] = (size, np.abs(off).max() / span, np.sqrt(np.mean(off**2)) / span)
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["n_bytes", "largest", "rms"])
    return frame.rename_axis("method")


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

    signal = np.column_stack([_standard(y), _standard(x), np.ones(len(x))])
    search = ruptures.BottomUp(model="linear", min_size=2, jump=1).fit(signal)
    return np.array(search.predict(n_bkps=n_lines - 1))


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


def _finest(attempt, coarse_to_fine, x, y, n_bytes):
    """Size and distances at the last setting that is small enough; sizes grow along the settings."""
    best = np.nan, np.full(len(y), np.nan)
    low, high = 0, len(coarse_to_fine)
    while low < high:
        middle = (low + high) // 2
        size, off = attempt(x, y, coarse_to_fine[middle])
        if size <= n_bytes:
            best, low = (size, off), middle + 1
        else:
            high = middle
    return best


def _bounded(x, y, deviation):
    lines = compress(x, y, bound=deviation)
    return _LINE * len(lines), y - reconstruct(lines, x).to_numpy()


def _swung(x, y, deviation):
    kept = swinging_door(x, y, deviation)
    return _SAMPLE * len(kept), y - np.interp(x, x[kept], y[kept])


def _merged(x, y, n_lines):
    ends = bottom_up(x, y, n_lines)
    pieces = zip([0, *ends[:-1]], ends, strict=True)
    off = [y[a:b] - np.polynomial.Polynomial.fit(x[a:b], y[a:b], 1)(x[a:b]) for a, b in pieces]
    return _LINE * len(ends), np.concatenate(off)


def _packed(x, y, every):
    packed, kept = zstd_samples(x, y, every=int(every))
    return len(packed), y - np.interp(x, x[kept], y[kept])


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
