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


def gaussian_statistic(values):
    """Anderson-Darling statistic (float) of samples against a Gaussian of their own mean and standard deviation.

    `values` is an array, not empty, all finite; 0 if all are equal. Corrected for their number.
    """
    ordered = np.sort(values)
    return 0.0 if ordered[0] == ordered[-1] else _statistic(ordered)


@numba.njit(cache=True)
def _statistic(ordered):
    """The statistic of sorted samples. Compiled, because for short series the overhead of SciPy's calls dominates."""
    n, total, squares = len(ordered), 0.0, 0.0
    for value in ordered:
        total += value
    mean = total / n
    for value in ordered:
        squares += (value - mean) ** 2
    width, total = math.sqrt(2 * squares / (n - 1)), 0.0
    for i in range(n):
        below = math.erfc((mean - ordered[i]) / width) / 2
        above = math.erfc((ordered[n - 1 - i] - mean) / width) / 2
        total += (2 * i + 1) * (math.log(max(below, 1e-300)) + math.log(max(above, 1e-300)))
    return (-n - total / n) * (1 + 0.75 / n + 2.25 / n**2)
