"""What a series takes, and how far off it is when read back, by one way to make it smaller at one setting.

Each gives the size [bytes] and the samples' distances from what is read back, ndarray of float, shape (n,)
[counts].
"""

import numpy as np

from cmlib.compress.evaluation.accuracy import LINE_BYTES, SAMPLE_BYTES
from cmlib.compress.evaluation.peers import bottom_up, line_residuals, swinging_door, zstd_samples
from cmlib.compress.lines import compress


def as_lines(x, y, **options):
    """By :func:`cmlib.compress.compress`."""
    lines = compress(x, y, **options)
    ends, slope, intercept = (lines[name].to_numpy() for name in ("x_end", "slope", "intercept"))
    at = np.searchsorted(ends, x)
    return LINE_BYTES * len(lines), y - (slope[at] * x + intercept[at])


def as_kept_samples(x, y, deviation):
    """By :func:`swinging_door`; read back along straight lines."""
    kept = swinging_door(x, y, deviation)
    return SAMPLE_BYTES * len(kept), y - np.interp(x, x[kept], y[kept])


def as_merged_pieces(x, y, n_lines):
    """By :func:`bottom_up`, each piece its least-squares line."""
    ends = bottom_up(x, y, int(n_lines))
    pieces = zip([0, *ends[:-1]], ends, strict=True)
    off = [line_residuals(x[a:b], y[a:b]) for a, b in pieces]
    return LINE_BYTES * len(ends), np.concatenate(off)


def as_packed_samples(x, y, every):
    """By :func:`zstd_samples`; read back along straight lines."""
    packed, kept = zstd_samples(x, y, every=int(every))
    return len(packed), y - np.interp(x, x[kept], y[kept])
