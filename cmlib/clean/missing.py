"""Find missing samples of a series and fill them from neighbors in time.

A series is an array of an event's counts by interval, NaN where nothing was counted. :func:`missing_samples` returns
a mask, :func:`fill_missing` (means of neighbors) and :func:`interpolate` (lines) return the filled series, an array.
Raises an UnfitRecordingError (a ValueError) if no sample is known.
"""

import numba
import numpy as np

from cmlib.errors import InputError, UnfitRecordingError


def missing_samples(values, running=None, *, true_zero_max=0.01):
    """Mask (bool array) of the samples of a series that were not measured.

    `values` are the counts (ndarray), `running` their running shares (ndarray, 0-1) or None. Missing are NaN; and
    zeros, if `running` is given, where the running share is 0. Without `running`, all zeros are, unless the series is
    below `true_zero_max` (a count) everywhere: then 0 was measured.
    """
    missing = ~np.isfinite(values)
    if running is not None:
        return missing | ((values == 0) & ~(running > 0))
    if missing.all() or values[~missing].max() < true_zero_max:
        return missing
    return missing | (values == 0)


def fill_missing(values: np.ndarray, missing: np.ndarray, *, k: int = 5) -> np.ndarray:
    """Fill samples with the mean of their k nearest known neighbors in time.

    Of two neighbors at the same distance the earlier one counts as nearer: with k = 5 and everything else known,
    the third neighbor before is taken and the third after is not. Filled samples are no neighbors. With fewer than
    `k` known samples, all of them are averaged (CounterMiner, §III-B, Eq. 8).

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Counts [events per interval]. Never modified.
    missing : ndarray of bool, shape (n,)
        The samples to fill.
    k : int >= 1, default 5
        The paper tried 3 to 8 and took 5.

    Returns
    -------
    ndarray of float64, shape (n,)
        The series with these samples filled.

    Raises
    ------
    ValueError
        If `k` is below 1, or no sample is known.
    """
    if k < 1:
        raise InputError(f"k is {k}; at least one neighbour is needed to fill a sample")
    if missing.all():
        raise UnfitRecordingError(f"all {len(values)} samples are missing: nothing is left to fill them from")
    return _fill(values.copy(), missing, k)


@numba.njit(cache=True)
def _fill(values, missing, k):
    """Replace each missing sample of `values` by the mean of its k nearest known neighbors in time; return `values`.

    Compiled: sorting all distances instead takes longer than the rest of the cleaning.
    """
    known = np.flatnonzero(~missing)
    taken = min(k, len(known))
    for i in np.flatnonzero(missing):
        after = np.searchsorted(known, i)
        before, total = after - 1, 0.0
        for _ in range(taken):
            if before >= 0 and (after == len(known) or i - known[before] <= known[after] - i):
                total += values[known[before]]
                before -= 1
            else:
                total += values[known[after]]
                after += 1
        values[i] = total / taken
    return values


def interpolate(values, running):
    """Estimate counts of the time in which an event was not counted by linear interpolation of its rate.

    perf's scaling assumes that an event went on at the rate of its own interval while it was not counted. Here the
    rate is known for the share of each interval in which the event was counted. This share is taken as one stretch
    in the middle of the interval. Between two such stretches, the rate follows a straight line. An interval's count
    is the area below this line. The method is that of Mathur and Cook ([38] in CounterMiner), who interpolate
    between observed sub-intervals; perf prints only shares, not the sub-intervals.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Counts as perf prints them, scaled by 1 / running [events per interval]; NaN
        where nothing was counted. Never modified.
    running : ndarray of float64, shape (n,)
        Share of the interval in which the event was counted, 0 to 1.

    Returns
    -------
    ndarray of float64, shape (n,)
        Equal to `values` wherever `running` is 1. Before the first and after the
        last stretch the rate stays what it was.

    Raises
    ------
    ValueError
        If no sample was counted.
    """
    is_counted = np.isfinite(values) & (running > 0)
    if not is_counted.any():
        raise UnfitRecordingError(f"none of {len(values)} samples was counted: no line can be drawn")
    middle = np.flatnonzero(is_counted) + 0.5
    half = running[is_counted] / 2
    borders = np.arange(len(values) + 1.0)
    known_at = np.column_stack([middle - half, middle + half]).ravel()
    at = np.union1d(borders, known_at)
    rate = np.interp(at, known_at, np.repeat(values[is_counted], 2))
    areas = np.diff(at) * (rate[1:] + rate[:-1]) / 2
    counts = np.add.reduceat(areas, np.searchsorted(at, borders[:-1]))
    return np.where(is_counted & (running >= 1), values, counts)
