"""Wide tables: a row an interval, a column an event, a heading of one or two rows (the places counted, the events).

Other tools write them, and scripts that put recordings together: any separator, counts with decimals and exponents,
columns beside the events (power, load), which are left out. A row's time is when its interval ends; without such a
column the rows are equally long intervals.
"""

import itertools
import re
from datetime import datetime

import numpy as np
import pandas as pd

from cmlib.events import is_event
from cmlib.perf.formats.heading import find_heading, rows_of
from cmlib.perf.formats.lines import COLUMNS, NO_SHARES
from cmlib.perf.grammar import ParseError, shown

NAME = "wide table"
TELLS_SHARES = False

_UNIT = r"(?:s|secs?|seconds|ms|msec|milliseconds|us|usec|µs|ns|nsec|nanoseconds)"
_TIME = re.compile(
    r"(?:(?:wall|elapsed|sample|unix|epoch|clock)[ _-]?)?(?:time(?:[ _-]?stamp)?|date(?:[ _-]?time)?|ts|elapsed|epoch"
    rf"|seconds)(?:[ _-]?elapsed)?(?:[ _-]*[\[(]?({_UNIT})[\])]?)?",
    re.IGNORECASE,
)
_PER_SECOND = {"m": 1e3, "u": 1e6, "µ": 1e6, "n": 1e9}
_NUMBER = re.compile(r"[0-9]{1,300}(?:[.,][0-9]{0,300})?(?:[eE][+-]?[0-9]{1,2})?|[.,][0-9]{1,300}")
_NOTHING = frozenset(["", "-", "nan", "na", "n/a", "null", "none", "<not counted>", "<not supported>"])
# Times from here on [s] are since 1970.
_EPOCH = 1e8
# A pause of more intervals than this is the end of a run.
_LONGEST_PAUSE = 10


def recognises(text):
    """Whether the first lines are a heading that names events and a row of as many numbers."""
    return find_heading(text, is_event) is not None


def read(text, interval_ms=None):
    """Read such a table.

    Parameters
    ----------
    text : str
    interval_ms : int, optional
        Length of an interval [ms]; needed for tables without a column of times, and taken for its step in others
        (whose unit may be told nowhere), unless they agree to 1 %.

    Returns
    -------
    DataFrame
        As from :func:`cmlib.perf.parse_stat`: counts of several places are added up, to nothing where one of them
        did not count; times are from the beginning of
        the first interval. Where rows are missing, nothing was counted until the next row's interval began.

    Raises
    ------
    ParseError
        On a line that is no row of the table, a count that is no number, times that go back, and if there is neither a
        column of times nor `interval_ms`.
    """
    heading = find_heading(text, is_event)
    lines = list(rows_of(text, heading))
    wanted = [column for column, name in enumerate(heading.names) if is_event(name)]
    counts = np.array(
        [[_count(text, line, heading, column) for column in wanted] for line in lines], dtype=float
    ).reshape(len(lines), len(wanted))
    names = [heading.names[column] for column in wanted]
    if heading.places:
        names, counts = _added_up(names, counts)
    times = _times(text, heading, lines)
    if times is None and interval_ms is None:
        raise ParseError(
            f"{shown(text, heading.start)} names no column of time. Give the length of an interval: --interval-ms N; "
            "or name the column time_s, time_ms or timestamp."
        )
    if times is None:
        ends = np.arange(1, len(lines) + 1) * interval_ms / 1000
    else:
        ends = _stretched(_ends(text, lines, times), interval_ms)
    return _frame(ends, names, counts)


def runs(text):
    """Cut a table where another run begins: where time goes back, or makes a pause of more than ten intervals.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        Each with the heading; the text itself if there is one run only.
    """
    heading = find_heading(text, is_event)
    lines = list(rows_of(text, heading))
    times = _times(text, heading, lines)
    if times is None or len(times) < 2:
        return [text]
    steps = np.diff(times)
    begins = np.flatnonzero((steps <= 0) | (steps > _LONGEST_PAUSE * _step(times))) + 1
    if not len(begins):
        return [text]
    at = [heading.end, *(lines[k].start for k in begins), len(text)]
    return [text[: heading.end] + text[start:end] for start, end in itertools.pairwise(at)]


def timed_rows(text):
    """Where each row starts and ends in the text, and its time since the beginning of the first interval [s].

    Returns
    -------
    starts, stops : list of int
    times : ndarray of float64
        Empty for a table without a column of times.

    Raises
    ------
    ParseError
        As of :func:`read`.
    """
    heading = find_heading(text, is_event)
    lines = list(rows_of(text, heading))
    times = _times(text, heading, lines)
    starts = [line.start for line in lines]
    ends = np.empty(0) if times is None else _ends(text, lines, times)
    return starts, [*starts[1:], len(text)], ends


def begin_ns(text):
    """When the first interval began, since 1970 [ns]; None if the table's times are not from there."""
    heading = find_heading(text, is_event)
    times = _times(text, heading, list(rows_of(text, heading)))
    if times is None or not len(times) or times[0] < _EPOCH:
        return None
    return round((times[0] - _step(times)) * 1e9)


def remarks(text):
    """What is left out, and what is added up."""
    heading = find_heading(text, is_event)
    beside = [
        name or "(no name)" for name in heading.names if not is_event(name) and not _TIME.fullmatch(name)
    ]
    said = [NO_SHARES]
    if heading.places:
        said.append(f"Counts of {', '.join(dict.fromkeys(heading.places))} are added up.")
    if beside:
        said.append(f"Columns that name no event are left out: {', '.join(dict.fromkeys(beside))}.")
    return said


def _count(text, line, heading, column):
    cell = line.cells[column]
    if _NUMBER.fullmatch(cell):
        return float(cell.replace(",", "."))
    if cell.lower() in _NOTHING:
        return np.nan
    raise ParseError(
        f"{shown(text, line.start)} has {cell[:40]!r} for {heading.names[column]}, which is no count."
    )


def _added_up(names, counts):
    added = pd.DataFrame(counts.T).groupby(np.array(names), sort=False).sum(skipna=False)
    return added.index.tolist(), added.to_numpy().T


def _times(text, heading, lines):
    """The times as written [s], from wherever they are counted; None without such a column."""
    found = [(column, match) for column, name in enumerate(heading.names) if (match := _TIME.fullmatch(name))]
    if not found:
        return None
    column, match = found[0]
    times = np.array([_time(text, line, line.cells[column]) for line in lines], dtype=float)
    return times / _per_second(match[1], times)


def _time(text, line, cell):
    if _NUMBER.fullmatch(cell):
        return float(cell.replace(",", "."))
    try:
        return datetime.fromisoformat(cell).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise ParseError(
            f"{shown(text, line.start)} has {cell[:40]!r} for a time: neither a number nor as 2026-11-21T03:00:46."
        ) from error


def _per_second(unit, times):
    """Parts of a second that times are written in; without a unit, an epoch's by its size."""
    if unit:
        return _PER_SECOND.get(unit[0].lower(), 1.0)
    largest = times.max(initial=0.0)
    return next((per for least, per in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)) if largest > least), 1.0)


def _step(times):
    steps = np.diff(times)
    forward = steps[steps > 0]
    return float(np.median(forward)) if len(forward) else 1.0


def _ends(text, lines, times):
    """Ends of the intervals since the beginning of the first [s]."""
    steps = np.diff(times)
    if len(back := np.flatnonzero(steps <= 0)):
        raise ParseError(
            f"{shown(text, lines[back[0] + 1].start)} goes back in time, or stays where it was, so another run begins. "
            "Read each part by itself, as `cmlib import` does."
        )
    step = _step(times)
    return times if len(times) and 0 < times[0] <= 1.5 * step else times - times[:1] + step


def _stretched(ends, interval_ms):
    """Times with steps of the given length, where that is another than theirs."""
    ratio = 1.0 if interval_ms is None else interval_ms / 1000 / _step(ends)
    return ends if 0.99 <= ratio <= 1.01 else ends * ratio


def _frame(ends, names, counts):
    """A row an interval and event, with rows of nothing counted where the table has a pause."""
    step = _step(ends)
    pauses = np.flatnonzero(np.diff(ends) > 1.5 * step) + 1
    ends = np.insert(ends, pauses, ends[pauses] - step)
    counts = np.insert(counts, pauses, np.nan, axis=0)
    values = counts.ravel()
    columns = [
        np.repeat(ends, len(names)),
        np.tile(np.array(names, dtype=object), len(ends)),
        values,
        np.ones(len(values), dtype=bool),
        np.where(np.isnan(values), 0.0, 1.0),
        np.full(len(values), "", dtype=object),
    ]
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))).astype({"event": "str", "unit": "str"})
