"""How much smaller, and how well fitted: the paper's two figures of merit, and the distances."""

import numpy as np
import pandas as pd

from cmlib.compress.lines import reconstruct

SAMPLE_BYTES = 16  # x and y, as float64
LINE_BYTES = 24  # x_start, slope, intercept: §3.1


def fit_quality(lines, x, y):
    """What compression of one series gained and what it cost (Wu and Mencer, §4.2).

    Parameters
    ----------
    lines : DataFrame
        Of :func:`compress` for one event.
    x, y : array of float, shape (n,)
        The samples. Those with a value that is not finite are left out.

    Returns
    -------
    Series
        n_samples, n_lines; reduction, their ratio; n_bytes, of the three numbers
        that make a line; mnesd, the largest standard deviation of a line;
        largest, the largest distance of a sample from its line; and rms, the
        root mean square of those distances. The last three are shares of
        ``max(y) - min(y)``, 0 where `y` never moves.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    span = np.ptp(y)
    largest, rms = error_shares(y - reconstruct(lines, x).to_numpy(), span)
    return pd.Series(
        {
            "n_samples": len(x),
            "n_lines": len(lines),
            "reduction": len(x) / len(lines),
            "n_bytes": LINE_BYTES * len(lines),
            "mnesd": lines["sigma"].max() / span if span > 0 else 0.0,
            "largest": largest,
            "rms": rms,
        }
    )


def error_shares(off, span):
    """Largest and root mean square of some distances [counts], as shares of a span; 0 of a span of 0."""
    if not span > 0:
        return 0.0, 0.0
    return np.abs(off).max() / span, np.sqrt(np.mean(np.square(off))) / span
