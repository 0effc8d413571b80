"""Replace outliers, which are samples above a threshold, by the median of neighboring samples.

:func:`replace_outliers` takes an array of counts by interval (NaN where nothing was counted), and returns the cleaned
array and a mask of what was replaced (CounterMiner, §III-B). Raises a ValueError if `n_std` is not above 0.
"""

import math
import statistics

import numpy as np

from cmlib.errors import InputError


def replace_outliers(
    values: np.ndarray, *, n_std: float = 5.0, exact: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Replace samples above mean + n_std * std by the median of their part of the series.

    The series is cut into ceil(sqrt(n)) parts of equal length, to within one sample; a sample
    above the threshold takes the median of the remaining samples of its own part, or
    of the whole series if its part keeps none (CounterMiner, §III-B, Eq. 6 and 7).

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Counts [events per interval]; NaN where nothing was counted. Never modified.
    n_std : float > 0, default 5.0
        Threshold [standard deviations]: 3 for Gaussian events, 5 for long tails.
    exact : ndarray of bool, shape (n,), optional
        Samples that were counted all the time: they are part of mean, deviation and medians, but never replaced.

    Returns
    -------
    cleaned : ndarray of float64, shape (n,)
        The series with its outliers replaced.
    replaced : ndarray of bool, shape (n,)
        True for the samples that were replaced.

    Raises
    ------
    ValueError
        If `n_std` is not above 0.

    Notes
    -----
    Eq. 7 is printed with the range of the *values* in its numerator. Read so, intervals
    are ranges of counts, an outlier's has outliers alone, and it is replaced by their median;
    the interval is therefore taken along time. The deviation is the population's (divided by n).
    A sample among n that are not NaN lies at most sqrt(n - 1) deviations above the mean
    (Samuelson's inequality): below n = 26 nothing exceeds 5 deviations, below n = 10 nothing
    exceeds 3; at 26 and 10 only rounding does.
    """
    if not n_std > 0:
        raise InputError(f"n_std is {n_std}; a threshold needs a number of standard deviations above 0")
    finite = values[np.isfinite(values)]
    replaced = values > (finite.mean() + n_std * finite.std() if len(finite) else np.inf)
    if exact is not None:
        replaced &= ~exact
    cleaned = values.copy()
    if replaced.any():
        _fill_with_medians(cleaned, replaced)
    return cleaned, replaced


def _fill_with_medians(values, replaced):
    """Replace marked samples in place by the medians of the other samples in their part of the series (Eq. 7).

    In plain Python: parts are short and few, and Numba would compile NumPy's median for seconds.
    """
    n, remaining = len(values), np.isfinite(values) & ~replaced
    part = np.arange(n) * math.ceil(math.sqrt(n)) // n
    for number in sorted(set(part[replaced])):
        within = slice(*np.searchsorted(part, (number, number + 1)))
        others = values[within][remaining[within]].tolist() or values[remaining].tolist() or values.tolist()
        values[within][replaced[within]] = statistics.median(others)
