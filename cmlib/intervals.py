"""Find intervals and zeros that are not full counts: a last interval cut short, and events never put on a counter.

Each function takes arrays or DataFrames of intervals and returns as many values: lengths, or bool. No input is
refused.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["zeros_without_turn"]

# Most events of one kind in a cycle of a core: floating-point operations of two 512-bit units. More is a misreading.
MOST_PER_CYCLE = 128


def lengths_by_ends(ends):
    """Compute the lengths of intervals (ndarray) from their ends (array-like, growing), in the same unit.

    The first interval begins at 0.
    """
    return np.diff(ends, prepend=0.0)


def whole_intervals(lengths):
    """Mark the whole intervals, without a last interval that the end of the program cut short.

    Parameters
    ----------
    lengths : array-like of float, shape (n,)
        Lengths of the intervals [s].

    Returns
    -------
    ndarray of bool, shape (n,)
        True, but False for a last interval that is shorter than half the median.
    """
    lengths = np.asarray(lengths, np.float64)
    whole = np.ones(len(lengths), bool)
    if len(lengths) > 1:
        whole[-1] = lengths[-1] >= np.median(lengths) / 2
    return whole


def zeros_without_turn(counts: pd.DataFrame, running: pd.DataFrame | None = None) -> pd.DataFrame:
    """Mark zeros that stand for "not counted", in tables of tools that write no ``<not counted>``.

    If a row ends before all groups of a multiplexed run had a turn, the events at the end of the list have none. So
    zeros are marked if every zero of the table is followed by zeros up to the last column, and if they begin at
    different columns.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        Columns in the order in which the events were listed.
    running : DataFrame of float, same shape, optional
        Running shares (0–1); zeros are marked only where it is NaN (not known). Default: not known anywhere.

    Returns
    -------
    DataFrame of bool, same shape
        True for such zeros. All False if a zero lies otherwise, or if zeros begin at fewer than three different events
        or are in fewer than ten rows.
    """
    zero = counts.to_numpy(float) == 0
    to_the_end = np.logical_and.accumulate(zero[:, ::-1], axis=1)[:, ::-1]
    n_zeros = to_the_end.sum(axis=1)
    lengths = n_zeros[n_zeros > 0]
    is_often = len(lengths) >= 10 and len(np.unique(lengths)) >= 3 and lengths.max() < zero.shape[1]
    if not is_often or (zero != to_the_end).any():
        to_the_end = np.zeros_like(zero)
    elif running is not None:
        to_the_end &= running.isna().to_numpy()
    return pd.DataFrame(to_the_end, counts.index, counts.columns)
