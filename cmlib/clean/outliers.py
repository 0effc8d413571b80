"""Outliers above a threshold, replaced by the median of their stretch of time."""

import math

import numpy as np


def replace_outliers(values, *, n_std=5.0, exact=None):
    """Replace samples above mean + n_std * std by the median of their interval.

    The series is cut into ceil(sqrt(n)) intervals of equal length in time; a sample
    above the threshold takes the median of the remaining samples of its own interval, or
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
    finite = np.isfinite(values)
    threshold = values[finite].mean() + n_std * values[finite].std() if finite.any() else np.inf
    replaced = finite & (values > threshold)
    if exact is not None:
        replaced &= ~exact
    remaining = np.where(replaced, np.nan, values)
    interval = np.arange(len(values)) * math.ceil(math.sqrt(len(values))) // max(len(values), 1)
    cleaned = values.copy()
    for own in np.unique(interval[replaced]):
        within = interval == own
        medians_of = within if np.isfinite(remaining[within]).any() else finite
        cleaned[within & replaced] = np.nanmedian(remaining[medians_of])
    return cleaned, replaced
