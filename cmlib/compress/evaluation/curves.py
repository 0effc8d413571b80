"""How far a series is off against what it takes, by each way to make it smaller."""

import numpy as np
import pandas as pd

from cmlib.compress.evaluation.accuracy import LINE_BYTES, SAMPLE_BYTES, error_shares
from cmlib.compress.evaluation.attempts import as_kept_samples, as_lines, as_merged_pieces, as_packed_samples

_SIZES = np.geomspace(0.1, 0.004, 6)


def error_curves(x, y):
    """Errors of one series by each method at common sizes, read off the method's own curve.

    Parameters
    ----------
    x, y : array of float, shape (n,)
        Cumulated counts; `x` strictly increasing.

    Returns
    -------
    DataFrame
        method, size [share of the samples' 16 bytes], largest and rms distance, as shares of
        ``max(y) - min(y)``; only sizes that the method reaches. No row if `y` never moves.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    span = np.ptp(y)
    if not span > 0:
        return pd.DataFrame(columns=["method", "size", "largest", "rms"])
    distances = span * np.geomspace(0.3, 1e-5, 24)
    tolerances = np.geomspace(30, 1, 10)
    n_lines = {max(1, round(share * SAMPLE_BYTES * len(x) / LINE_BYTES)) for share in _SIZES}
    every = np.unique(np.geomspace(1, len(x) / 3, 16).astype(int))[::-1]
    methods = {
        "printed, 1 to 30 sigma": [as_lines(x, y, n_sigma=n) for n in tolerances],
        "drift test, 1 to 30 sigma": [as_lines(x, y, n_sigma=n, drift=20.0) for n in tolerances],
        "bounded": [as_lines(x, y, bound=distance) for distance in distances],
        "swinging door": [as_kept_samples(x, y, distance) for distance in distances],
        "bottom-up (offline)": [as_merged_pieces(x, y, n) for n in sorted(n_lines)],
        "zstd of every n-th sample": [as_packed_samples(x, y, n) for n in every],
    }
    curves = [_at_sizes(points, span, len(x)).assign(method=name) for name, points in methods.items()]
    return pd.concat(curves)


def _at_sizes(points, span, n_samples):
    """Errors at the common sizes, between the points by their logarithms."""
    rows = [(size / (SAMPLE_BYTES * n_samples), *error_shares(off, span)) for size, off in points]
    table = pd.DataFrame(rows, columns=["size", "largest", "rms"])
    table = table.groupby("size").min().clip(lower=1e-9)
    reached = (table.index.min() <= _SIZES) & (table.index.max() >= _SIZES)
    logs = {error: np.interp(np.log(_SIZES), np.log(table.index), np.log(table[error])) for error in table}
    return pd.DataFrame({"size": _SIZES} | {error: np.exp(values) for error, values in logs.items()})[reached]
