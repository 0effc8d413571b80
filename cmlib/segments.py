"""Compute counts from the piecewise-linear segments, called lines, to which samples are compressed.

:func:`reconstruct` returns cumulative counts, :func:`intervals` counts in equal intervals. Both take lines as
:func:`cmlib.compress.compress` makes them: a DataFrame with a row per line.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cmlib.errors import InputError


def reconstruct(lines: pd.DataFrame, x: ArrayLike) -> pd.Series | pd.DataFrame:
    """Reconstruct a series from its lines.

    Parameters
    ----------
    lines : DataFrame
        Lines from :func:`cmlib.compress.compress`, at least one.
    x : array of float, shape (n,)
        Cumulative counts of the timing event at which the series is reconstructed; they may lie between samples.

    Returns
    -------
    Series, or DataFrame with a column per event where a DataFrame was compressed
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
    line_numbers = np.searchsorted(lines["x_end"].to_numpy(), x)
    index = pd.Index(x, name="x")
    if "slope" in lines:
        return pd.Series(_read(lines, "", line_numbers, x), index, name="y")
    events = [column.removeprefix("slope:") for column in lines if column.startswith("slope:")]
    return pd.DataFrame({event: _read(lines, f":{event}", line_numbers, x) for event in events}, index)


def intervals(lines: pd.DataFrame, timer: str, n: int) -> pd.DataFrame:
    """Compute the counts in equal intervals of a run from its lines.

    Parameters
    ----------
    lines : DataFrame
        Lines of a DataFrame, from :func:`cmlib.compress.compress`.
    timer : str
        Name of the timing event, which x counts, such as ``cycles``: the first column of the result.
    n : int
        Number of intervals; the first begins at 0.

    Returns
    -------
    DataFrame of float, shape (n, 1 + n_events)
        Counts in each interval.
    """
    edges = np.linspace(0.0, lines["x_end"].iloc[-1], n + 1)[1:]
    first = lines["x_start"].iloc[0]
    totals = reconstruct(lines, np.maximum(edges, first))
    if first > 0:
        totals = totals.mul(np.minimum(1.0, edges / first), axis=0)
    totals = totals.clip(lower=0).cummax()
    totals.insert(0, timer, edges)
    counts = np.diff(totals.to_numpy(), axis=0, prepend=0.0)
    return pd.DataFrame(counts, columns=totals.columns)


def _read(lines, suffix, line_numbers, x):
    """Compute the cumulative counts at `x`, each on the line of its number in `line_numbers`.

    `suffix` names the event's columns.
    """
    slope = lines[f"slope{suffix}"].to_numpy()
    intercept = lines[f"intercept{suffix}"].to_numpy()
    return slope[line_numbers] * x + intercept[line_numbers]
