"""Test whether an event's values are Gaussian, which decides CounterMiner's threshold of outliers.

:func:`is_gaussian` takes an array, and gives True or False. All values must be finite, which is not checked.
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
    """Anderson-Darling statistic (float) of samples against a Gaussian of their own mean and standard deviation.

    `values` is an array, not empty, all finite; 0 if all are equal. Corrected for their number.
    """
    n, ordered = len(values), np.sort(values)
    if ordered[0] == ordered[-1]:
        return 0.0
    scores = (ordered - ordered.mean()) / ordered.std(ddof=1)
    tails = log_ndtr(scores) + log_ndtr(-scores[::-1])
    return float(-n - (2 * np.arange(n) + 1) @ tails / n) * (1 + 0.75 / n + 2.25 / n**2)
