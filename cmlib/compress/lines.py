"""Compress a series of samples to piecewise-linear segments, called lines, and reconstruct it from these.

:func:`compress` takes cumulative counts (arrays x and y), and returns the lines, a DataFrame with a row for each:
x_start, x_end, slope, intercept, sigma (standard deviation), n, or ``slope:EVENT`` and so on where y is a
DataFrame. The other functions take such a frame. Raises a ValueError if x does not increase, or a value is wanted
outside the lines.
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
    """Compress a series of samples to piecewise-linear segments, called lines (Wu and Mencer, §3).

    Parameters
    ----------
    x : array of float, shape (n,)
        Cumulative count of the event that times the samples, such as cycles; strictly increasing.
    y : array or Series of float, shape (n,), or DataFrame, shape (n, n_events)
        Cumulative counts, which are linear in x while a program's behavior is constant. The columns of
        a frame share their line ends. Values may decrease.
    alpha : float >= 0, default 0.01
        Tolerance for the third sample of a line [share of the predicted count].
    n_sigma : float >= 0, default 3
        Tolerance for all later ones [standard deviations of the line, Eq. 7].
    drift : float >= 0, optional
        Threshold of a test that ends a line from which its samples drift away;
        see :class:`OnlineRegression`.
    bound : float > 0, or sequence of float, optional
        Largest distance of a sample from its line [counts]. The lines are then
        those of :class:`cmlib.compress.bounded.BoundedRegression`, and `alpha`,
        `n_sigma` and `drift` are not used.

    Returns
    -------
    DataFrame
        A row per line, in order: x_start, x_end, slope, intercept and sigma (the
        standard deviation of Eq. 7 [counts], 0 for fewer than three samples),
        and n [samples]. A line starts with the last sample of the one before
        it, which is in both n; with a bound, with the sample after it. For a
        frame, there are columns slope, intercept and sigma for each event:
        ``slope:cache-misses``. Samples with a value that is not finite are left
        out.

    Raises
    ------
    ValueError
        If `x` does not increase, the lengths differ, a tolerance is negative, or a bound not above 0.

    Examples
    --------
    Twenty cycles counts at one rate, then twenty at another, become two segments:

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
    """Measure the size and the errors of a compressed series (Wu and Mencer, §4.2).

    Parameters
    ----------
    lines : DataFrame
        Lines of one event, from :func:`compress`, at least one.
    x : array of float, shape (n,)
        The x that was compressed.
    y : array of float, shape (n,)
        The y that was compressed: cumulative counts.

    Returns
    -------
    Series
        n_samples, n_lines, reduction (samples a line), n_bytes (24 a line, §3.1); and as shares of the span of y,
        mnesd (largest sigma of a line), largest and rms (distances of samples from their line).
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
    """Compute the end points of one event's lines, for drawing.

    Parameters
    ----------
    lines : DataFrame
        Lines of one event, from :func:`compress`.

    Returns
    -------
    DataFrame, shape (n_lines, 4)
        A row per line: x_start and x_end [cumulative count of the timing event], and y_start and y_end, the event's
        cumulative counts on the line there.
    """
    lines = _without_event(lines)
    ends = {f"y_{end}": lines["slope"] * lines[f"x_{end}"] + lines["intercept"] for end in ("start", "end")}
    return lines[["x_start", "x_end"]].assign(**ends)


def _without_event(lines):
    """Return the lines of one event, with its name taken out of the columns."""
    return lines.rename(columns=lambda column: column.partition(":")[0])
