"""How much smaller, and how well fitted: the paper's two figures of merit, and the distances."""

import numpy as np
import pandas as pd

from cmlib.compress.lines import reconstruct

_BYTES = 8  # a float64
_NUMBERS_A_LINE = 3  # x_start, slope, intercept: §3.1


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
    off = np.abs(y - reconstruct(lines, x).to_numpy())
    span = np.ptp(y)
    return pd.Series(
        {
            "n_samples": len(x),
            "n_lines": len(lines),
            "reduction": len(x) / len(lines),
            "n_bytes": _BYTES * _NUMBERS_A_LINE * len(lines),
            "mnesd": _share(lines["sigma"].max(), span),
            "largest": _share(off.max(), span),
            "rms": _share(np.sqrt(np.mean(off**2)), span),
        }
    )


def _share(distance, span):
    return distance / span if span > 0 else 0.0
