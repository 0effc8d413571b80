"""Lines and their peers side by side, none larger than the others."""

import numpy as np
import pandas as pd

from cmlib.compress.evaluation.accuracy import LINE_BYTES, SAMPLE_BYTES, error_shares
from cmlib.compress.evaluation.attempts import as_kept_samples, as_lines, as_merged_pieces, as_packed_samples


def at_equal_size(x, y, n_bytes):
    """Errors of the peers, and of lines with a bound, when none may take more than `n_bytes`.

    Each takes its finest setting that is small enough. A line counts 24 bytes,
    a kept sample 16.

    Parameters
    ----------
    x, y : array of float, shape (n,)
        Cumulated counts; `x` strictly increasing.
    n_bytes : int >= 32

    Returns
    -------
    DataFrame, index method
        n_bytes really taken; largest and rms distance of the samples from what
        is read back, as shares of ``max(y) - min(y)``. NaN where even the
        coarsest setting is larger.

    Raises
    ------
    ValueError
        If fewer than 32 bytes are allowed, or `y` never moves: then one line says all.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    span = np.ptp(y)
    if n_bytes < 2 * SAMPLE_BYTES or not span > 0:
        raise ValueError(f"nothing to compare in {n_bytes} bytes (at least 32) when y moves by {span:g}")
    deviations = np.geomspace(span, 1e-9 * span, 1000)
    n_lines = min(n_bytes // LINE_BYTES, len(x) // 2)
    settings = {
        "bounded": (_bounded, deviations),
        "swinging door": (as_kept_samples, deviations),
        "bottom-up": (as_merged_pieces, [n_lines]),
        "zstd": (as_packed_samples, np.arange(len(x) - 1, 0, -1)),
    }
    rows = {}
    for method, (attempt, coarse_to_fine) in settings.items():
        size, off = _finest(attempt, coarse_to_fine, x, y, n_bytes)
        rows[method] = (size, *error_shares(off, span))
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["n_bytes", "largest", "rms"])
    return frame.rename_axis("method")


def at_size_of_lines(lines, x, y):
    """:func:`at_equal_size` in the bytes that lines of the series take; two lines at least."""
    return at_equal_size(x, y, LINE_BYTES * max(2, len(lines)))


def _finest(attempt, coarse_to_fine, x, y, n_bytes):
    """Size and distances at the last setting that is small enough; sizes grow along the settings."""
    best = np.nan, np.full(len(y), np.nan)
    low, high = 0, len(coarse_to_fine)
    while low < high:
        middle = (low + high) // 2
        size, off = attempt(x, y, coarse_to_fine[middle])
        if size <= n_bytes:
            best, low = (size, off), middle + 1
        else:
            high = middle
    return best


def _bounded(x, y, deviation):
    return as_lines(x, y, bound=deviation)
