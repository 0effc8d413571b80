"""Test whether an event's values are Gaussian, which decides CounterMiner's threshold of outliers.

:func:`is_gaussian` takes an array, and returns True or False. All values must be finite, which is not checked.
"""

import numpy as np
from scipy.special import log_ndtr

__all__ = ["is_gaussian"]

# Critical value at 5 % with mean and deviation estimated (D'Agostino and Stephens 1986, Table 4.7, case 3).
_CRITICAL = 0.752


def is_gaussian(values: np.ndarray) -> bool:
    """Return True if samples pass the Anderson-Darling test of a Gaussian at 5 %.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        Samples, all finite.

    Returns
    -------
    bool
        True for constants and empty arrays, too.
    """
    return len(values) == 0 or gaussian_statistic(values) < _CRITICAL


def gaussian_statistic(values):
    """Compute the Anderson-Darling statistic (float) of samples against a Gaussian with their mean and deviation.

    `values` is a finite, nonempty array; the statistic is 0 if all values are equal. It is corrected for the number
    of values.
    """
    n, ordered = len(values), np.sort(values)
    if ordered[0] == ordered[-1]:
        return 0.0
    scores = (ordered - ordered.mean()) / ordered.std(ddof=1)
    tails = log_ndtr(scores) + log_ndtr(-scores[::-1])
    return float(-n - (2 * np.arange(n) + 1) @ tails / n) * (1 + 0.75 / n + 2.25 / n**2)
