"""Find the start and the exit of a process in a run, and measure how much the rest of the run varies.

A process loads its libraries when it starts and frees its memory when it exits. These few intervals can hold most of
the variance of its speed, and a model of the whole run would explain little else. Both functions take a rate over
time or progress, such as instructions per cycle.
"""

import numpy as np
from numpy.typing import ArrayLike

LONGEST_END = 0.05  # share of a run that its start, and its exit, can take at most
MARGIN = 0.5  # how far an end lies outside the range of the rest [share of this range, of logarithms]
LEAST_VARIATION = 0.02  # standard deviation over mean from which on a rate is worth explaining


def find_start_and_exit(rate: ArrayLike) -> tuple[int, int]:
    """Count the values at the beginning and at the end of a run that belong to its start and its exit.

    The middle nine tenths of the run have a range of values. Values in the first or the last twentieth are start or
    exit if they lie outside this range by more than half of it, on a logarithmic scale; so are the values between
    them and the end of the run.

    Parameters
    ----------
    rate : array-like of float > 0, shape (n_rows,)
        Rate in the order of time or progress, such as instructions per cycle. Values that are 0 are start or exit if
        they are in the first or the last twentieth.

    Returns
    -------
    n_start, n_exit : int
        Numbers of values; 0 and 0 for runs of fewer than 20 values.

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
    """Return the standard deviation of a rate over its mean.

    Parameters
    ----------
    rate : array-like of float, shape (n_rows,)
        Rate over time or progress.

    Returns
    -------
    float
        Relative standard deviation (not in percent); 0 if the mean is 0.
    """
    values = np.asarray(rate, dtype=float)
    mean = values.mean()
    return float(values.std() / mean) if mean else 0.0
