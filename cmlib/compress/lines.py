"""Compress a series of samples to lines, and measure how well they fit.

A line is a piecewise-linear segment of cumulative counts. :func:`compress` takes the samples as arrays and returns
the lines as a DataFrame, which the other functions take.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cmlib.compress.bounded import BoundedRegression
from cmlib.compress.online import OnlineRegression
from cmlib.segments import intervals, reconstruct  # noqa: F401 (what the package offers)

__all__ = ["line_ends"]


def compress(
    x: ArrayLike,
    y: ArrayLike,
    *,
    alpha: float = 0.01,
    n_sigma: float = 3.0,
    drift: float | None = None,
    bound: float | None = None,
) -> pd.DataFrame:
    """Compress a series of samples to lines (Wu and Mencer, §3).

    Samples with a value that is not finite are ignored.

    Parameters
    ----------
    x : array of float, shape (n,)
        Cumulative count of the event that triggered the samples. For example, cycles. Strictly increasing.
    y : array or Series of float, shape (n,), or DataFrame, shape (n, n_events)
        Cumulative counts of one or several events. All columns of a DataFrame get the same line ends.
    alpha : float >= 0, default 0.01
        Tolerance for the third sample of a line [share of the predicted count].
    n_sigma : float >= 0, default 3
        Tolerance for all later samples [standard deviations of the line, Eq. 7].
    drift : float >= 0, optional
        Threshold of a test that ends a line if its samples slowly drift away. See :class:`OnlineRegression`.
    bound : float > 0, or sequence of float, optional
        Largest distance of a sample from its line [counts]. If it is given,
        :class:`cmlib.compress.bounded.BoundedRegression` fits the lines, and `alpha`, `n_sigma` and `drift` are not
        used.

    Returns
    -------
    DataFrame
        One row per line, in order. If `y` is a DataFrame, there are columns slope, intercept and sigma for each
        event, for example ``slope:cache-misses``.

        - x_start, x_end: first and last x. A line starts at the last sample of the previous line, or with a bound
          at the sample after it.
        - slope, intercept: of the line
        - sigma: standard deviation of the samples from the line (Eq. 7) [counts]. 0 for fewer than three samples.
        - n: number of samples

    Raises
    ------
    ValueError
        If `x` does not increase, the lengths differ, a tolerance is negative, or a bound is not positive.

    Examples
    --------
    Twenty samples at one rate and twenty at another become two lines:

    >>> import numpy as np
    >>> cycles = np.arange(40) * 1e6
    >>> misses = np.cumsum(np.r_[np.full(20, 50.0), np.full(20, 900.0)])
    >>> compress(cycles, misses)[["x_start", "x_end", "n"]].values.tolist()
    [[0.0, 19000000.0, 20.0], [19000000.0, 39000000.0, 21.0]]
    """
    events = list(y.columns) if isinstance(y, pd.DataFrame) else None
    stream: OnlineRegression | BoundedRegression
    if bound is None:
        stream = OnlineRegression(events, alpha=alpha, n_sigma=n_sigma, drift=drift)
    else:
        stream = BoundedRegression(bound, events)
    return stream.as_frame(np.concatenate([stream.feed(x, y), stream.end()]))


def fit_quality(lines: pd.DataFrame, x: ArrayLike, y: ArrayLike) -> pd.Series:
    """Measure the size and the errors of lines (Wu and Mencer, §4.2).

    Parameters
    ----------
    lines : DataFrame
        Lines of one event, from :func:`compress`. At least one line.
    x, y : array of float, shape (n,)
        The samples that were compressed.

    Returns
    -------
    Series
        Errors are shares of the range of y.

        - n_samples, n_lines: numbers of samples and of lines
        - reduction: samples per line
        - n_bytes: size of the lines (24 bytes each, §3.1)
        - mnesd: largest sigma of a line
        - largest, rms: largest and root mean square distance of a sample from its line
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    lines = _without_event(lines)
    residuals, span = y - reconstruct(lines, x).to_numpy(), np.ptp(y) or np.inf
    n, n_lines = len(x), len(lines)
    # A line takes 24 bytes: x_start, slope and intercept (§3.1).
    sizes = {"n_samples": n, "n_lines": n_lines, "reduction": n / n_lines, "n_bytes": 24 * n_lines}
    errors = {
        "mnesd": lines["sigma"].max(),
        "largest": np.abs(residuals).max(),
        "rms": np.sqrt(np.mean(residuals**2)),
    }
    return pd.Series(sizes | {name: error / span for name, error in errors.items()})


def line_ends(lines: pd.DataFrame) -> pd.DataFrame:
    """Compute the end points of the lines of one event, for drawing.

    Parameters
    ----------
    lines : DataFrame
        Lines of one event, from :func:`compress`.

    Returns
    -------
    DataFrame, shape (n_lines, 4)
        One row per line: x_start, x_end, y_start and y_end [cumulative counts].
    """
    lines = _without_event(lines)
    ends = {f"y_{end}": lines["slope"] * lines[f"x_{end}"] + lines["intercept"] for end in ("start", "end")}
    return lines[["x_start", "x_end"]].assign(**ends)


def _without_event(lines):
    """Remove the name of the event from the columns of lines."""
    return lines.rename(columns=lambda column: column.partition(":")[0])
