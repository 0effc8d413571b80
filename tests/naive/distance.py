"""Dynamic time warping as its recurrence says, and Eq. 1-4 of the CounterMiner paper from it."""

import numpy as np


def dtw(a, b):
    table = np.full((len(a) + 1, len(b) + 1), np.inf)
    table[0, 0] = 0.0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            best = min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
            table[i, j] = abs(a[i - 1] - b[j - 1]) + best
    return table[-1, -1]


def mlpx_error(ocoe_1, ocoe_2, mlpx):
    dist_ref = dtw(ocoe_1, ocoe_2)
    dist_mea = dtw(mlpx, ocoe_1)
    return abs(1 - dist_ref / dist_mea) * 100
