"""Which intervals of a run are whole."""

import numpy as np


def whole_intervals(lengths):
    """Which intervals are whole: all but the last, where the program's end cut it short."""
    lengths = np.asarray(lengths, np.float64)
    whole = np.ones(len(lengths), bool)
    if len(lengths) > 1:
        whole[-1] = lengths[-1] >= np.median(lengths) / 2
    return whole
