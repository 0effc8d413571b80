"""Compress a series of samples to piecewise-linear segments, called lines, and reconstruct it from these.

:func:`compress` takes cumulative counts (arrays x and y), and gives the lines, a DataFrame with a row for each:
x_start, x_end, slope, intercept, sigma (standard deviation), n, or ``slope:EVENT`` and so on where y is a DataFrame.
The other functions take such a frame. A ValueError if x does not increase, or a value is wanted outside the lines.
"""

import numpy as np
import pandas as pd

from cmlib.compress.bounded import BoundedRegression
from cmlib.compress.online import OnlineRegression
from cmlib.errors import InputError


def compress(x, y, *, alpha=0.01, n_sigma=3.0, drift=None, bound=None):
    """Compress a series of samples to piecewise-linear segments, called lines (Wu and Mencer, §3).

    Parameters
    ----------
    x : array of float, shape (n,)
        Cumulative count of the event that times the samples, such as cycles; strictly increasing.
    y : array or Series of float, shape (n,), or DataFrame, shape (n, n_events)
        Cumulative counts, which are linear in x while a program's behaviour is constant. The columns of
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
        A row a line, in order: x_start, x_end, slope, intercept and sigma (the
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
    if bound is None:
        stream = OnlineRegression(events, alpha=alpha, n_sigma=n_sigma, drift=drift)
    else:
        stream = BoundedRegression(bound, events)
    return stream.as_frame(np.concatenate([stream.feed(x, y), stream.end()]))


def reconstruct(lines, x):
    """Reconstruct a series from its lines.

    Parameters
    ----------
    lines : DataFrame
        Lines from :func:`compress`, at least one.
    x : array of float, shape (n,)
        Cumulative counts of the timing event at which values are wanted, of samples or between them.

    Returns
    -------
    Series, or DataFrame with a column an event where a DataFrame was compressed
        Cumulative counts, indexed by `x`, each from the first line that ends at `x` or later.

    Raises
    ------
    ValueError
        If an `x` lies outside the lines.
    """
    x = np.asarray(x, dtype=float)
    first, last = lines["x_start"].iloc[0], lines["x_end"].iloc[-1]
    outside = np.flatnonzero(~((x >= first) & (x <= last)))
    if outside.size:
        raise InputError(
            f"the lines reach from {first:.17g} to {last:.17g}; there is nothing to read at {x[outside[0]]:.17g}"
        )
    at = np.searchsorted(lines["x_end"].to_numpy(), x)
    index = pd.Index(x, name="x")
    if "slope" in lines:
        return pd.Series(_read(lines, "", at, x), index, name="y")
    events = [column.removeprefix("slope:") for column in lines if column.startswith("slope:")]
    return pd.DataFrame({event: _read(lines, f":{event}", at, x) for event in events}, index)


def fit_quality(lines, x, y):
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
    off, span = y - reconstruct(lines, x).to_numpy(), np.ptp(y) or np.inf
    n, n_lines = len(x), len(lines)
    # A line takes 24 bytes: x_start, slope and intercept (§3.1).
    sizes = {"n_samples": n, "n_lines": n_lines, "reduction": n / n_lines, "n_bytes": 24 * n_lines}
    errors = {"mnesd": lines["sigma"].max(), "largest": np.abs(off).max(), "rms": np.sqrt(np.mean(off**2))}
    return pd.Series(sizes | {name: error / span for name, error in errors.items()})


def line_ends(lines):
    """Compute the end points of one event's lines, for drawing.

    Parameters
    ----------
    lines : DataFrame
        Lines of one event, from :func:`compress`.

    Returns
    -------
    DataFrame, shape (n_lines, 4)
        A row a line: x_start and x_end [cumulative count of the timing event], and y_start and y_end, the event's
        cumulative counts on the line there.
    """
    lines = _without_event(lines)
    ends = {f"y_{end}": lines["slope"] * lines[f"x_{end}"] + lines["intercept"] for end in ("start", "end")}
    return lines[["x_start", "x_end"]].assign(**ends)


def _without_event(lines):
    """The lines of one event, its name taken from the columns."""
    return lines.rename(columns=lambda column: column.partition(":")[0])


def _read(lines, suffix, at, x):
    """Cumulative counts at x on the lines of numbers `at`; `suffix` names the event's columns."""
    slope, intercept = lines[f"slope{suffix}"].to_numpy(), lines[f"intercept{suffix}"].to_numpy()
    return slope[at] * x + intercept[at]


def intervals(lines, timer, n):
    """Compute the counts in equal intervals of a run from its lines.

    Parameters
    ----------
    lines : DataFrame
        Lines of a DataFrame, from :func:`compress`.
    timer : str
        Name of the timing event, which x counts, such as ``cycles``: the first column of the result.
    n : int
        Number of intervals; the first begins at 0.

    Returns
    -------
    DataFrame of float, shape (n, 1 + n_events)
        Counts in each interval.
    """
    edges, first = np.linspace(0.0, lines["x_end"].iloc[-1], n + 1)[1:], lines["x_start"].iloc[0]
    totals = reconstruct(lines, np.maximum(edges, first))
    if first > 0:
        totals = totals.mul(np.minimum(1.0, edges / first), axis=0)
    totals = totals.clip(lower=0).cummax()
    totals.insert(0, timer, edges)
    counts = np.diff(totals.to_numpy(), axis=0, prepend=0.0)
    return pd.DataFrame(counts, columns=totals.columns)
