"""From rows to series: an interval a row, an event a column."""

import numpy as np
import pandas as pd

from cmlib.io.events import base_name, copy_name


def series(frame):
    """Lay out what :func:`parse_stat` read as one series an event.

    Parameters
    ----------
    frame : DataFrame
        Columns time_s, event, value and running, of interval output of one run.

    Returns
    -------
    counts : DataFrame, shape (n_intervals, n_events)
        Counts as perf prints them, NaN where not counted. The index `time_s`
        is the interval's end [s]; columns are the events' names without
        modifiers, in order of appearance. Where several events differ only in
        their modifiers, they keep them. An event counted k times at once has
        the further columns ``event#2`` … ``event#k``.
    running : DataFrame, shape (n_intervals, n_events)
        Share of the time each was counted, 0 to 1; NaN where that is not known, 0 where an interval has no row of it.

    Raises
    ------
    ValueError
        If rows have no time, or time goes back.

    Examples
    --------
    >>> from pathlib import Path
    >>> from cmlib.io.perf import parse_stat
    >>> text = Path("tests/golden/perf-6.1-zen5/mlpx.csv").read_text()
    >>> counts, running = series(parse_stat(text))
    >>> counts.shape
    (3, 14)
    >>> running["ls_stlf"].tolist()
    [0.23, 0.24, 0.27]
    """
    time = frame["time_s"].to_numpy(float)
    _check_times(time)
    starts = np.flatnonzero(np.diff(time, prepend=-np.inf))
    interval = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(time)))
    codes, events = pd.factorize(frame["event"])
    column, names = _number_copies(interval, codes, _column_names(events))
    index = pd.Index(time[starts], name="time_s")
    counts = np.full((len(starts), len(names)), np.nan)
    running = np.zeros_like(counts)
    counts[interval, column] = frame["value"]
    running[interval, column] = frame["running"]
    return pd.DataFrame(counts, index, names), pd.DataFrame(running, index, names)


def _check_times(time):
    if np.isnan(time).any():
        raise ValueError(
            "the counts have no times: they are totals of whole runs. Record with an interval, `perf stat -I 100`."
        )
    back = np.flatnonzero(np.diff(time) < 0)
    if len(back):
        row = back[0] + 1
        raise ValueError(
            f"row {row}: time goes back from {time[row - 1]} s to {time[row]} s, so this is more than one run. "
            "Split the file where `# started on` stands, and read each part by itself."
        )


def _column_names(events):
    """Names without modifiers, where that does not make two into one."""
    bases = pd.Series([base_name(event) for event in events], dtype="str")
    return bases.where(~bases.duplicated(keep=False), pd.Series(events, dtype="str")).tolist()


def _number_copies(interval, codes, names):
    """Column of each row, and all columns' names; the k-th row of an event in an interval is copy k."""
    key = interval * len(names) + codes
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    copy = np.empty_like(key)
    copy[order] = np.arange(len(key)) - np.repeat(first, np.diff(first, append=len(key)))
    n_copies = copy.max(initial=0) + 1
    kinds, first_row, column = np.unique(codes * n_copies + copy, return_index=True, return_inverse=True)
    appearance = np.argsort(first_row)
    place = np.empty_like(appearance)
    place[appearance] = np.arange(len(kinds))
    labels = [copy_name(names[kind // n_copies], kind % n_copies + 1) for kind in kinds[appearance]]
    return place[column], labels
