"""The range by which counters are scaled before they are reconstructed."""

import numpy as np

# An event in a million instructions is no difference that costs time, nor is one in a quarter of a millisecond.
_PER_INSTRUCTION, _PER_NANOSECOND = 1e-6, 4e-6


def smallest_range(samples):
    """The smallest difference of an event that is taken for one.

    Parameters
    ----------
    samples : DataFrame
        Counters per instruction, or per unit of work with the processor's time [ns] among them.

    Returns
    -------
    float
        The events' unit. Without it, an event that hardly ever happens would make a sample anomalous when it does.
    """
    if "task-clock" in samples:
        return _PER_NANOSECOND * float(samples["task-clock"].median())
    return _PER_INSTRUCTION


def usual_range(X, smallest_range):
    """The range that nine tenths of each counter's values lie in.

    The range of all would be set by a single cold start, and hide what doubles.

    Parameters
    ----------
    X : ndarray of float, shape (n_samples, n_counters)
    smallest_range : float >= 0 or None
        Taken where the range is smaller [the counter's own unit]; None: one in a million.

    Returns
    -------
    low, range : ndarray of float, shape (n_counters,)
        The range's lower end, and its width; never 0.
    """
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    least = _PER_INSTRUCTION if smallest_range is None else smallest_range
    return low, np.maximum(high - low, least or np.finfo(float).tiny)
