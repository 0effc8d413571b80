"""Convert a table of readings to one series for each event, and find rows that were written twice.

A reading is a row of the table of :func:`cmlib.io.perf.parse_stat`: what one counter counted in one interval.
ValueError for readings without times, or with times that go back; ParseError (a ValueError) for two counts of one
event and interval.
"""

from collections import Counter

import numpy as np
import pandas as pd

from cmlib.errors import message
from cmlib.io.events import base_name, copy_name
from cmlib.io.perf.formats.lines import check_density
from cmlib.io.perf.grammar import ParseError

_FEW = 0.1  # share of the intervals that may have fewer readings of an event than the others


def series(frame):
    """Convert the table of :func:`cmlib.io.perf.parse_stat` to one series for each event.

    Parameters
    ----------
    frame : DataFrame
        Columns time_s, event, value and running, of interval output of one run.

    Returns
    -------
    counts : DataFrame, shape (n_intervals, n_events)
        Counts as perf prints them, NaN where not counted. The index `time_s`
        is the interval's end [s]; columns are the events' names without
        modifiers (such as ``:u``), in order of appearance. Where several events differ only in
        their modifiers, they keep them. An event counted k times in nearly every interval has
        the further columns ``event#2`` … ``event#k``.
    running : DataFrame, shape (n_intervals, n_events)
        Share of the time each was counted, 0 to 1; NaN where that is not known, 0 where an interval has no row of it.

    Raises
    ------
    ValueError
        If rows have no time, or time goes back; if an interval has further rows of an event, with other counts (a
        ParseError); if the series were far larger than the frame, as where each event was counted in an interval of
        its own.

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
    frame, _ = without_copies(frame)
    interval, codes, events, copy = _numbered(frame)
    column, names = _columns(codes, copy, events)
    starts = np.flatnonzero(np.diff(interval, prepend=-1))
    check_density(len(starts), len(names), len(frame))
    index = pd.Index(frame["time_s"].to_numpy(float)[starts], name="time_s")
    counts = np.full((len(starts), len(names)), np.nan)
    running = np.zeros_like(counts)
    counts[interval, column] = frame["value"]
    running[interval, column] = frame["running"]
    return pd.DataFrame(counts, index, names), pd.DataFrame(running, index, names)


def without_copies(frame):
    """Leave out rows that repeat another row of their interval, as where intervals were written twice.

    Several rows of an event in an interval are several readings of it, if nearly every interval has as many.

    Parameters
    ----------
    frame : DataFrame
        With the columns time_s [s], event, value and running, as :func:`cmlib.io.perf.parse_stat` gives it.

    Returns
    -------
    frame : DataFrame
        With the same columns.
    n_copies : int
        Rows left out: equal to another of the same event and interval.

    Raises
    ------
    ParseError
        If an interval has further rows of an event, with other counts.
    ValueError
        If rows have no time, or time goes back.
    """
    interval, codes, events, copy = _numbered(frame)
    if not copy.any():
        return frame, 0
    rows = frame[["value", "running"]].assign(interval=interval, code=codes)
    is_equal = rows.duplicated().to_numpy()
    is_further = _is_further(rows, copy)
    if (is_further & ~is_equal).any():
        row = frame.iloc[np.argmax(is_further & ~is_equal)]
        raise ParseError(message(__file__, "counted_again", row["time_s"], row["event"], row["value"]))
    return frame[~is_further].reset_index(drop=True), int(is_further.sum())


def _is_further(rows, copy):
    """Mask of the rows that are more than their event has in nearly all intervals, or repeat if all rows do.

    `copy` is the number, from 0, of each row among those of its event and interval.
    """
    if rows.duplicated(keep=False).all():
        equal = rows.groupby(list(rows), dropna=False, sort=False)
        sizes = equal["code"].transform("size").to_numpy()
        if (n_times := np.gcd.reduce(sizes)) > 1:
            return equal.cumcount().to_numpy() >= sizes // n_times
    n_rows = rows.groupby(["code", "interval"]).size()
    last = rows["interval"].iloc[-1]  # may be cut off
    before = n_rows[n_rows.index.get_level_values("interval") < last]
    by_code = (n.groupby(level="code") for n in (n_rows, before))
    usual, before = (n.quantile(_FEW, interpolation="lower") for n in by_code)
    usual = usual.combine(before, max, fill_value=1)
    return copy >= usual.to_numpy()[rows["code"]]


def _numbered(frame):
    """Four results: each row's numbers of interval and event, the events' names, and its number among rows of both."""
    time = frame["time_s"].to_numpy(float)
    _check_times(time)
    interval = np.cumsum(np.diff(time, prepend=time[:1]) > 0)
    codes, events = pd.factorize(frame["event"])
    key = interval * len(events) + codes
    return interval, codes, events, pd.Series(key).groupby(key, sort=False).cumcount().to_numpy()


def _check_times(time):
    """Raise ValueError if a time is NaN or smaller than the one before it."""
    if np.isnan(time).any():
        raise ValueError("the counts have no times: they are totals of whole runs. Record with an interval.")
    back = np.flatnonzero(np.diff(time) < 0)
    if len(back):
        row = back[0] + 1
        raise ValueError(message(__file__, "back_in_time", row, time[row - 1], time[row]))


def _columns(codes, copy, events):
    """Number of each row's column (array), and the columns' names (list of str), in order of appearance.

    `codes` are the rows' numbers of `events`, `copy` which reading of it a row is (from 0). Names have modifiers only
    where two would be equal without them.
    """
    bases = list(map(base_name, events))
    alike = Counter(bases)
    names = [event if alike[base] > 1 else base for event, base in zip(events, bases, strict=True)]
    n_copies = copy.max(initial=0) + 1
    column, kinds = pd.factorize(codes * n_copies + copy)
    return column, [copy_name(names[kind // n_copies], kind % n_copies + 1) for kind in kinds]
