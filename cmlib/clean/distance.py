"""Compute the distance of two series of one event by dynamic time warping, and the multiplexing error built on it.

:func:`dtw` takes two arrays of counts, and returns a float; :func:`mlpx_error` takes three (two of runs that counted
the event all the time, one of a multiplexed run), and returns percent (CounterMiner, Eq. 1-4). Raises a ValueError if
a series is empty or holds NaN.
"""

import math

import numba
import numpy as np
from numpy.typing import ArrayLike

from cmlib.errors import InputError


def dtw(a: ArrayLike, b: ArrayLike) -> float:
    """Compute the distance between two series after the best warping of their time axes.

    The exact least sum of ``abs(a[i] - b[j])`` over all paths that run from the
    first pair of samples to the last and advance one or both series by one sample
    a step (CounterMiner, §II-B, Eq. 1). Memory grows with the shorter series alone.

    Parameters
    ----------
    a, b : array_like of float, shapes (n,) and (m,)
        Samples of the same event [events per interval]; lengths may differ.

    Returns
    -------
    float
        In the unit of the samples; 0 for equal series.

    Raises
    ------
    ValueError
        If a series is empty, is not one-dimensional, or holds NaN or infinity.

    Examples
    --------
    >>> dtw([0, 0, 5, 0], [0, 5, 0, 0])
    0.0
    >>> dtw([0, 0, 5, 0], [0, 4, 0])
    1.0
    """
    a, b = _check_series(a, "first"), _check_series(b, "second")
    return float(_find_least_sum(a, b) if len(a) <= len(b) else _find_least_sum(b, a))


def mlpx_error(ocoe_1: ArrayLike, ocoe_2: ArrayLike, mlpx: ArrayLike) -> float:
    """Compute the error that multiplexing adds to a series, in percent (CounterMiner, §II-B, Eq. 1-4).

    ``abs(1 - dist_ref / dist_mea) * 100`` with ``dist_ref = dtw(ocoe_1, ocoe_2)``
    and ``dist_mea = dtw(mlpx, ocoe_1)``.

    Parameters
    ----------
    ocoe_1, ocoe_2 : array_like of float
        The event in two runs that counted it all the time.
    mlpx : array_like of float
        The event in a multiplexed run, as printed or cleaned.

    Returns
    -------
    float
        Percent; 0 if all three are equal, infinity if only `mlpx` and `ocoe_1` are.

    Raises
    ------
    ValueError
        If a series is empty, is not one-dimensional, or holds NaN or infinity.

    Notes
    -----
    The error folds at ``dist_mea == dist_ref``: a multiplexed series that comes
    closer to `ocoe_1` than `ocoe_2` does counts as an error again. `cmlib.clean.accuracy`
    shows the ratio of the distances beside it.

    Examples
    --------
    >>> mlpx_error([3, 5, 4], [3, 5, 5], mlpx=[3, 9, 4])
    75.0
    """
    return folded_error(dtw(ocoe_1, ocoe_2), dtw(mlpx, ocoe_1))


def folded_error(dist_ref: float, dist_mea: float) -> float:
    """Compute Eq. 4 of CounterMiner alone: ``abs(1 - dist_ref / dist_mea)`` in percent.

    Parameters
    ----------
    dist_ref : float >= 0
        Distance between two OCOE series [any unit].
    dist_mea : float >= 0
        Distance of the multiplexed series from one of them [the same unit].

    Returns
    -------
    float
        Percent; 0 if both are 0, infinity if `dist_mea` alone is.
    """
    if dist_mea == 0:
        return 0.0 if dist_ref == 0 else math.inf
    return abs(1 - dist_ref / dist_mea) * 100


def _check_series(values, position):
    """Return values as a contiguous array of float64; raise a ValueError if they are not a series of finite numbers.

    `position`, "first" or "second", names the series in the message.
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise InputError(f"the {position} series has shape {values.shape}; dtw needs a row of samples")
    if not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values))
        raise InputError(
            f"the {position} series has {len(bad)} samples of {len(values)} that are no numbers, the first at "
            f"{bad[0]}: leave them out or clean the series first"
        )
    return values


@numba.njit(cache=True)
def _find_least_sum(a, b):
    """Find the least sum of absolute differences over all warping paths; len(a) <= len(b).

    The table of partial sums is computed diagonal by diagonal, because the cells of one diagonal are independent.
    """
    n, m = len(a), len(b)
    reversed_b = b[::-1].copy()
    before_last = np.full(n + 2, np.inf)
    last = np.full(n + 2, np.inf)
    current = np.full(n + 2, np.inf)
    last[1] = abs(a[0] - b[0])
    for diagonal in range(1, n + m - 1):
        low, high = max(0, diagonal - m + 1), min(n - 1, diagonal)
        current[low] = np.inf
        current[high + 2] = np.inf
        _fill(before_last, last, current, a, reversed_b, low, high - low + 1, m - 1 - diagonal + low)
        before_last, last, current = last, current, before_last
    return last[n]


# Without "nnan" (there are no NaN here) the compiler does not vectorize the minima.
@numba.njit(cache=True, fastmath={"nnan", "nsz"})
def _fill(before_last, last, current, a, reversed_b, low, count, b_low):
    """Compute `count` cells of the diagonal `current` out of the two diagonals before it, in place."""
    left, up = last[low + 1 : low + 1 + count], last[low : low + count]
    diagonal, target = before_last[low : low + count], current[low + 1 : low + 1 + count]
    x, y = a[low : low + count], reversed_b[b_low : b_low + count]
    for i in range(count):
        target[i] = abs(x[i] - y[i]) + min(min(left[i], up[i]), diagonal[i])
