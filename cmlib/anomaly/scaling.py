"""The range by which counters are scaled before they are reconstructed."""

import numpy as np


def usual_range(X, smallest_range):
    """The range that nine tenths of each counter's values lie in.

    The range of all would be set by a single cold start, and hide what doubles.

    Parameters
    ----------
    X : ndarray of float, shape (n_samples, n_counters)
    smallest_range : float >= 0
        Taken where the range is smaller [the counter's own unit].

    Returns
    -------
    low, range : ndarray of float, shape (n_counters,)
        The range's lower end, and its width; never 0.
    """
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    return low, np.maximum(high - low, smallest_range or np.finfo(float).tiny)
