"""Mark what was not counted to the end: a last interval cut short, and zeros of events that had no turn."""

import numpy as np


def lengths_by_ends(ends):
    """Lengths of intervals by their ends, of which the first begins at 0."""
    return np.diff(ends, prepend=0.0)


def whole_intervals(lengths):
    """Mark whole intervals: all but the last, where the program's end cut it short.

    Parameters
    ----------
    lengths : array-like of float, shape (n,)
        Of the intervals [s].

    Returns
    -------
    ndarray of bool, shape (n,)
        False for a last interval that is shorter than half the median.
    """
    lengths = np.asarray(lengths, np.float64)
    whole = np.ones(len(lengths), bool)
    if len(lengths) > 1:
        whole[-1] = lengths[-1] >= np.median(lengths) / 2
    return whole


def zeros_without_turn(counts, running=None):
    """Mark zeros that no event counted: in the order of columns they run from one event on to the last.

    Where multiplexing ends before all events had a turn, those at the end of the list have none. Tools that write no
    ``<not counted>`` write 0. Where every zero of a table lies so, from different events on, these are not counts.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        Columns in the order in which the events were listed.
    running : DataFrame of float, same shape, optional
        Running shares [0–1]; only where one is NaN (not known) a zero is doubted. Without it, everywhere.

    Returns
    -------
    DataFrame of bool, same shape
        All False where zeros lie otherwise, begin at fewer than three different events, or in fewer than ten rows.
    """
    unknown = True if running is None else running.isna()
    zero = counts.eq(0)
    to_the_end = zero.iloc[:, ::-1].cummin(axis=1).iloc[:, ::-1]
    starts = to_the_end.sum(axis=1)[to_the_end.any(axis=1)]
    uncounted = (
        zero.equals(to_the_end)
        and starts.nunique() >= 3
        and len(starts) >= 10
        and starts.max() < zero.shape[1]
    )
    return to_the_end & uncounted & unknown
