"""Divide counts that were read some intervals late among the intervals in which they were counted.

Where perf can't read a counter in time, it prints no count for an interval, and the next count covers both.
:func:`redistribute_delayed_counts` takes and returns a DataFrame of counts, a row per interval, a column per event.
No input is refused; late intervals that no reading follows directly stay NaN.
"""

import numpy as np


def redistribute_delayed_counts(counts, running, *, by=None):
    """Divide each late reading among the intervals it covers.

    `counts` (NaN where nothing was read) and `running` (shares, 0-1) are DataFrames, a row per interval, a column per
    event; they are not modified. An interval without a count whose running share is above 0 was counted but not read:
    its count is part of the next interval's, or of the one after several late ones in a row. That count is divided in
    proportion to `by` (array-like, one value an interval, such as instructions), or equally if `by` is None, NaN in one
    of the intervals covered, or 0 in all. Returns a DataFrame as `counts`; late intervals stay NaN if there is no next
    one, or if the event was not counted in it.
    """
    spread = counts.to_numpy(dtype=np.float64, copy=True)
    late = np.isnan(spread) & (running.to_numpy() > 0)
    weights = np.ones(len(spread)) if by is None else np.asarray(by, dtype=np.float64)
    for event in np.flatnonzero(late.any(axis=0)):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], late[:, event], [False]])))
        for first, arrival in edges.reshape(-1, 2):
            if arrival < len(spread) and np.isfinite(spread[arrival, event]):
                covered = weights[first : arrival + 1]
                if not (np.isfinite(covered).all() and covered.sum() > 0):
                    covered = np.ones(len(covered))
                spread[first : arrival + 1, event] = spread[arrival, event] * (covered / covered.sum())
    return counts.__class__(spread, index=counts.index, columns=counts.columns)
