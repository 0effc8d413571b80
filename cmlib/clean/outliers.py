"""Outliers above a threshold, replaced by the median of their stretch of time."""

import math

import numba
import numpy as np


def replace_outliers(values, *, n_std=5.0, exact=None):
    """Replace samples above mean + n_std * std by the median of their interval.

    The series is cut into ceil(sqrt(n)) intervals of equal length in time; a sample
    above the threshold takes the median of the kept samples of its own interval, or
    of the whole series if its interval keeps none (CounterMiner, §III-B, Eq. 6 and 7).

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Counts [events per interval]; NaN where nothing was counted. Never modified.
    n_std : float > 0, default 5.0
        Threshold [standard deviations]: 3 for Gaussian events, 5 for long tails.
    exact : ndarray of bool, shape (n,), optional
        Samples counted all the time: part of mean, deviation and medians, never
        replaced.

    Returns
    -------
    cleaned : ndarray of float64, shape (n,)
    replaced : ndarray of bool, shape (n,)

    Raises
    ------
    ValueError
        If `n_std` is not above 0.

    Notes
    -----
    Eq. 7 is printed with the range of the *values* in its numerator. Read so, an
    outlier sits in an interval of its equals and is replaced by itself; the interval
    is therefore taken along time. The deviation is the population's (divided by n).
    One sample among n can lie at most (n - 1) / sqrt(n) deviations above the mean:
    below 28 samples nothing exceeds 5 deviations, below 11 nothing exceeds 3.
    """
    if not n_std > 0:
        raise ValueError(f"n_std is {n_std}; a threshold needs a number of standard deviations above 0")
    replaced = np.isfinite(values)
    replaced[replaced] = _above(values[replaced], n_std)
    if exact is not None:
        replaced &= ~exact
    cleaned = values.copy()
    if replaced.any():
        _fill_with_medians(cleaned, replaced)
    return cleaned, replaced


@numba.njit(cache=True)
def _above(finite, n_std):
    """Whether each sample lies above the threshold of Eq. 6."""
    mean = finite.mean()
    std = math.sqrt(((finite - mean) ** 2).mean())
    return finite > mean + n_std * std


@numba.njit(cache=True)
def _fill_with_medians(values, replaced):
    n = len(values)
    n_intervals = math.ceil(math.sqrt(n))
    finite = np.isfinite(values) & ~replaced
    of_all = np.nan
    for interval in range(n_intervals):
        first, end = _bounds(interval, n, n_intervals)
        if not replaced[first:end].any():
            continue
        own = values[first:end][finite[first:end]]
        if len(own):
            median = np.median(own)
        else:
            if np.isnan(of_all):
                of_all = np.median(values[finite])
            median = of_all
        for i in range(first, end):
            if replaced[i]:
                values[i] = median


@numba.njit(cache=True)
def _bounds(interval, n, n_intervals):
    """First sample of an interval and of the next: sample i belongs to i * n_intervals // n."""
    return -(-interval * n // n_intervals), -(-(interval + 1) * n // n_intervals)
