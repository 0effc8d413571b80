"""Find the start and the exit of a process in a run, and measure how much a rate varies.

A process loads its libraries when it starts and frees its memory when it exits. These few intervals can have most of
the variance of a run, and a model would explain little else. Both functions take a rate over time, for example IPC.
"""

import numpy as np
from numpy.typing import ArrayLike

LONGEST_END = 0.05  # largest share of a run that its start or its exit can take
# Least distance of start and exit from the range of the other values [share of this range of logarithms].
MARGIN = 0.5
LEAST_VARIATION = 0.02  # smallest standard deviation of a rate that a model explains [share of the mean]


def find_start_and_exit(rate: ArrayLike) -> tuple[int, int]:
    """Count the values at the start and at the exit of a process.

    The first and last twentieth of the values are compared with the range of all other values, on a logarithmic scale.
    A value belongs to start or exit if it is outside this range by more than half of the range. The values between it
    and the end of the run belong to it, too.

    Parameters
    ----------
    rate : array-like of float >= 0, shape (n_rows,)
        Rate over time or progress, for example IPC.

    Returns
    -------
    n_start, n_exit : int
        Numbers of values. Both are 0 for runs of fewer than 20 values.

    Examples
    --------
    >>> find_start_and_exit([0.5, 1.2] + [3.7, 3.72] * 50 + [0.9])
    (2, 1)
    """
    values = np.asarray(rate, dtype=float)
    n_longest = int(LONGEST_END * len(values))
    if n_longest == 0:
        return 0, 0
    body = values[n_longest:-n_longest]
    body = np.log(body[body > 0])
    if body.size == 0:
        return 0, 0
    margin = MARGIN * np.ptp(body)
    with np.errstate(divide="ignore"):
        logarithms = np.log(values)
    is_outside = (logarithms < body.min() - margin) | (logarithms > body.max() + margin)
    at_start = np.flatnonzero(is_outside[:n_longest])
    at_exit = np.flatnonzero(is_outside[::-1][:n_longest])
    n_start = int(at_start[-1]) + 1 if at_start.size else 0
    n_exit = int(at_exit[-1]) + 1 if at_exit.size else 0
    return n_start, n_exit


def relative_deviation(rate: ArrayLike) -> float:
    """Return the standard deviation of a rate divided by its mean.

    Parameters
    ----------
    rate : array-like of float, shape (n_rows,)
        Rate over time or progress.

    Returns
    -------
    float
        Relative standard deviation, as a fraction. 0 if the mean is 0.
    """
    values = np.asarray(rate, dtype=float)
    mean = values.mean()
    return float(values.std() / mean) if mean else 0.0
