"""Test whether an event's values are Gaussian, which decides CounterMiner's threshold of outliers.

:func:`is_gaussian` takes an array, and gives True or False. All values must be finite, which is not checked.
"""

import math

import numba
import numpy as np

# Critical value at 5 % with mean and deviation estimated (D'Agostino and Stephens 1986, Table 4.7, case 3).
_CRITICAL = 0.752


def is_gaussian(values):
    """True if samples pass the Anderson-Darling test of a Gaussian at 5 %.

    `values` is an array, all finite; constants and empty arrays pass.
    """
    return len(values) == 0 or gaussian_statistic(values) < _CRITICAL


@numba.njit(cache=True)
def gaussian_statistic(values):
    """Anderson-Darling statistic (float) of samples against a Gaussian of their own mean and standard deviation.

    `values` is an array, not empty, all finite; 0 if all are equal. Corrected for their number. Compiled, because for
    series this short the overhead of SciPy's calls dominates.
    """
    n, ordered = len(values), np.sort(values)
    if ordered[0] == ordered[-1]:
        return 0.0
    mean = ordered.mean()
    width = math.sqrt(2 * ((ordered - mean) ** 2).sum() / (n - 1))
    total = 0.0
    for i in range(n):
        below = math.erfc((mean - ordered[i]) / width) / 2
        above = math.erfc((ordered[n - 1 - i] - mean) / width) / 2
        total += (2 * i + 1) * (math.log(max(below, 1e-300)) + math.log(max(above, 1e-300)))
    return (-n - total / n) * (1 + 0.75 / n + 2.25 / n**2)
