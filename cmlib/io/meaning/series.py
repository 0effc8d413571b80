"""Convert a table of readings to one time series per event, and find duplicate rows.

:func:`series` does both. A table of readings has one row per counter and interval. Its columns are time_s [s], event,
value, supported, running (0 to 1) and unit.
"""

from collections import Counter

import numpy as np
import pandas as pd

from cmlib.errors import InputError
from cmlib.io.events.naming import base_name, copy_name
from cmlib.io.formats.readings import FormatError

# Fraction of the intervals that may have fewer rows of an event than the other intervals.
_LARGEST_FRACTION_WITH_FEWER = 0.1
# A table of this size is always made. A larger table is made only if it has at most four cells per count, because a
# file with few counts could otherwise need very much memory.
_ALWAYS_MADE = 500_000
_MOST_CELLS_PER_COUNT = 4


def series(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Convert a table of readings to one time series per event.

    Columns are event names without modifiers (``:u``). Events that differ only in their modifiers keep them. An event
    with k rows per interval has the additional columns ``event#2`` to ``event#k``.

    Parameters
    ----------
    frame : DataFrame
        Columns time_s, event, value and running of one run with intervals.

    Returns
    -------
    counts : DataFrame, shape (n_intervals, n_events)
        Counts. NaN if not counted. The index `time_s` is the end of the interval [s].
    running : DataFrame, shape (n_intervals, n_events)
        Running shares: the fraction of each interval in which the event was counted. NaN if unknown. 0 if an interval
        has no row of the event.

    Raises
    ------
    ValueError
        If a time is missing, or a time is smaller than the time before it.
    FormatError
        If an interval has two different rows of an event, or if most events were counted in few intervals only.

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
    return lay_out(frame)


def lay_out(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Convert a table of readings without duplicates to one time series per event (see :func:`series`)."""
    interval, codes, events, copy = _number_rows(frame)
    column, names = _name_columns(codes, copy, events)
    starts = np.flatnonzero(np.diff(interval, prepend=-1))
    _check_density(len(starts), len(names), len(frame))
    index = pd.Index(frame["time_s"].to_numpy(float)[starts], name="time_s")
    counts = np.full((len(starts), len(names)), np.nan)
    running = np.zeros_like(counts)
    counts[interval, column] = frame["value"]
    running[interval, column] = frame["running"]
    columns = pd.Index(names)
    return pd.DataFrame(counts, index, columns), pd.DataFrame(running, index, columns)


def without_copies(frame: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Drop duplicate rows of an interval.

    An event can have several rows per interval if nearly all intervals have the same number of them.

    Parameters
    ----------
    frame : DataFrame
        Table of readings.

    Returns
    -------
    frame : DataFrame
        Rows without duplicates.
    n_copies : int
        Number of dropped rows.

    Raises
    ------
    FormatError
        If an interval has an additional row of an event with another count.
    ValueError
        If a time is missing, or a time is smaller than the time before it.
    """
    interval, codes, _, copy = _number_rows(frame)
    if not copy.any():
        return frame, 0
    rows = frame[["value", "running"]].assign(interval=interval, code=codes)
    is_equal = rows.duplicated().to_numpy()
    is_further = _find_further(rows, copy)
    differs = is_further & ~is_equal
    if differs.any():
        row = frame.iloc[np.argmax(differs)]
        raise FormatError(
            f"the interval that ends at {row['time_s']:.9g} s has a further row of {row['event']} with another count, "
            f"{row['value']:.15g}. Does the file contain several runs or CPUs? Write each run or CPU to its own file."
        )
    return frame[~is_further].reset_index(drop=True), int(is_further.sum())


def _find_further(rows: pd.DataFrame, copy: np.ndarray) -> np.ndarray:
    """Mark the additional rows of an event, compared with most intervals.

    If all rows are repeated equally often, the repetitions are marked. `copy` numbers the rows of the same event and
    interval from 0.
    """
    if rows.duplicated(keep=False).all():
        equal = rows.groupby(list(rows), dropna=False, sort=False)
        sizes = equal["code"].transform("size").to_numpy()
        n_times = np.gcd.reduce(sizes)
        if n_times > 1:
            return equal.cumcount().to_numpy() >= sizes // n_times
    n_rows = rows.groupby(["code", "interval"]).size()
    last = rows["interval"].iloc[-1]  # the last interval may be cut off, so it can have fewer rows
    before = n_rows[n_rows.index.get_level_values("interval") < last]
    n_expected_of_all = n_rows.groupby(level="code").quantile(
        _LARGEST_FRACTION_WITH_FEWER, interpolation="lower"
    )
    n_expected_before = before.groupby(level="code").quantile(
        _LARGEST_FRACTION_WITH_FEWER, interpolation="lower"
    )
    n_expected = n_expected_of_all.combine(n_expected_before, max, fill_value=1)
    return copy >= n_expected.to_numpy()[rows["code"]]


def _number_rows(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, pd.Index, np.ndarray]:
    """Assign numbers to the intervals, to the events, and to the rows of the same event and interval.

    Return the interval and the event of each row, the event names, and the number of each row.
    """
    time = frame["time_s"].to_numpy(float)
    _check_times(time)
    interval = np.cumsum(np.diff(time, prepend=time[:1]) > 0)
    codes, events = pd.factorize(frame["event"])
    key = interval * len(events) + codes
    return interval, codes, events, number_equal(key)


def number_equal(key: np.ndarray) -> np.ndarray:
    """Return how many equal values precede each value of an array."""
    if pd.Index(key).is_unique:  # nearly always true, and much faster
        return np.zeros(len(key), np.int64)
    return pd.Series(key).groupby(key, sort=False).cumcount().to_numpy()


def _check_times(time: np.ndarray) -> None:
    """Raise ValueError if a time is NaN or smaller than the one before it."""
    if np.isnan(time).any():
        raise InputError(
            "the counts have no times: they are totals of complete runs. Record with an interval."
        )
    back = np.flatnonzero(np.diff(time) < 0)
    if len(back):
        row = back[0] + 1
        raise InputError(
            f"row {row}: time goes back from {time[row - 1]:.9g} to {time[row]:.9g} s: several runs are in one file. "
            "Write each run to its own file."
        )


def _name_columns(codes: np.ndarray, copy: np.ndarray, events: pd.Index) -> tuple[np.ndarray, list[str]]:
    """Return the column number of each row, and the names of the columns.

    `codes` has the number of the event of each row. `copy` numbers the rows of the same event and interval. Modifiers
    are removed from a name if it remains unique.
    """
    bases = [base_name(event) for event in events]
    n_same_base = Counter(bases)
    names = [event if n_same_base[base] > 1 else base for event, base in zip(events, bases, strict=True)]
    n_copies = copy.max(initial=0) + 1
    column, kinds = pd.factorize(codes * n_copies + copy)
    return column, [copy_name(names[kind // n_copies], kind % n_copies + 1) for kind in kinds]


def _check_density(n_intervals: int, n_events: int, n_counts: int) -> None:
    """Raise FormatError if a table would have far more cells than counts."""
    if n_intervals * n_events > max(_ALWAYS_MADE, _MOST_CELLS_PER_COUNT * n_counts):
        raise FormatError(
            f"{n_intervals:,} intervals of {n_events:,} events would have {n_intervals * n_events:,} counts, and the "
            f"file has {n_counts:,}: most events were counted in few intervals only. Is it the output of one recording?"
        )
