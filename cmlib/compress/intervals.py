"""Lines back into counts an interval: a series like one that was recorded in intervals."""

import numpy as np
import pandas as pd

from cmlib.compress.lines import reconstruct


def intervals(lines, timer, edges=None, *, n=None):
    """Counts between places of a run, read from its lines.

    The result is a frame as recordings in intervals give it, so that whatever
    cleans, fuses or ranks those takes it as well.

    Parameters
    ----------
    lines : DataFrame
        Of :func:`cmlib.compress.compress` for a frame of events.
    timer : str
        Name of what timed the sampling, which becomes a column too.
    edges : array of float, optional
        Ends of the intervals, increasing; each begins at the one before, the first at 0.
    n : int > 0, optional
        Instead of `edges`: so many ends, as many counts of the timer from each to the next.

    Returns
    -------
    DataFrame, shape (n_intervals, 1 + n_events)
        Counts of the timer and of each event, which began at 0: before the
        first line they grow evenly. No count is negative: where a line
        begins below the end of the one before, the total stays until it is reached again.

    Raises
    ------
    ValueError
        If `edges` reach beyond the last line, or not one of `edges` and `n` is given.
    """
    if (edges is None) == (n is None):
        raise ValueError("give either edges or n, the number of intervals.")
    if edges is None:
        edges = np.linspace(0.0, lines["x_end"].iloc[-1], n + 1)[1:]
    edges, first = np.asarray(edges, dtype=float), lines["x_start"].iloc[0]
    totals = reconstruct(lines, np.maximum(edges, first))
    if first > 0:
        totals = totals.mul(np.minimum(1.0, edges / first), axis=0)
    totals = totals.clip(lower=0).cummax()
    totals.insert(0, timer, edges)
    counts = np.diff(totals.to_numpy(), axis=0, prepend=0.0)
    return pd.DataFrame(counts, columns=totals.columns)
