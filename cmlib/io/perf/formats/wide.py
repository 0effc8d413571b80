"""Wide tables: a row an interval, a column an event, a heading of one or two rows (the places counted, the events).

Other tools write them, and scripts that put recordings together: any separator, counts with decimals and exponents,
columns beside the events (power, load), which are left out. A row's time is when its interval ends; without such a
column the rows are equally long intervals.
"""

import csv
import itertools
import re
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from cmlib.io.events import is_event
from cmlib.io.perf.formats.lines import COLUMNS, NO_SHARES, Totals
from cmlib.io.perf.grammar import ParseError, shown

NAME = "wide table"
COUNT, LEVEL = "count", "level"

_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?:\.[0-9]{1,300})?")
# Columns that name what ran in a row.
_PROGRAM = frozenset(["program", "benchmark", "bench", "name", "command", "app", "application", "workload"])
_ROWS_ARE_RUNS = (
    "No column tells times: a row is taken for a whole run; give --interval-ms where it is an interval."
)
_DIGITS = frozenset("0123456789")
_NOTHING = frozenset(["", "-", "nan", "na", "n/a", "null", "none", "<not counted>", "<not supported>"])
# Times from here on [s] are since 1970.
_EPOCH = 1e8
# Rows from which on counts that only rise are running totals.
_FEWEST_TOTALS = 20
# A pause of more intervals than this is the end of a run.
_LONGEST_PAUSE = 10


def recognises(text):
    """Whether the first lines are a heading that names events and a row of as many numbers."""
    return find_heading(text, is_event) is not None


def read(text, interval_ms=None, columns=None):
    """Read such a table."""
    heading, lines, times = _table(text)
    columns = columns or {}
    _check_columns(text, heading, columns)
    names, counts = _counts(text, heading, lines, columns)
    if times is None and interval_ms is None:
        raise ParseError(
            f"{shown(text, heading.start)} names no column of time. Give the length of an interval: --interval-ms N; "
            "or name the column time_s, time_ms or timestamp."
        )
    if times is None:
        ends = np.arange(1, len(lines) + 1) * interval_ms / 1000
    else:
        ends = stretched(ends_of(text, lines, times), interval_ms)
    is_level = np.array([columns.get(name) == LEVEL for name in names])
    if _are_totals(counts[:, ~is_level]):
        counts = np.where(is_level, counts[1:], np.diff(counts, axis=0))
        ends = ends[1:] - ends[0]
    counts = np.where(is_level, counts * _lengths(ends)[:, None], counts)
    return _frame(ends, names, counts)


def _table(text):
    """A table's heading, its rows, and their times as written; None where no column tells them."""
    heading = find_heading(text, is_event)
    lines = list(rows_of(text, heading))
    return heading, lines, times_of(text, heading, lines)


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
    heading, lines, times = _table(text)
    if times is None or len(times) < 2:
        return [text]
    steps = np.diff(times)
    begins = np.flatnonzero((steps <= 0) | (steps > _LONGEST_PAUSE * step_of(times))) + 1
    if not len(begins):
        return [text]
    at = [heading.end, *(lines[k].start for k in begins), len(text)]
    return [text[: heading.end] + text[start:end] for start, end in itertools.pairwise(at)]


def totals(text, columns=None):
    """Runs of a table without times, a run a row; of several programs, where a column names them."""
    heading = find_heading(text, is_event)
    if heading.places or any(map(is_time, heading.names)):
        return
    lines = list(rows_of(text, heading))
    _check_columns(text, heading, columns or {})
    names, counts = _counts(text, heading, lines, columns or {})
    program = next((k for k, name in enumerate(heading.names) if name.lower() in _PROGRAM), None)
    programs = np.array([line.cells[program] if program is not None else "" for line in lines])
    starts = [*(line.start for line in lines), len(text)]
    for name in dict.fromkeys(programs.tolist()):
        rows = np.flatnonzero(programs == name)
        yield Totals(
            "".join(text[starts[row] : starts[row + 1]] for row in rows),
            _frame(np.arange(1.0, len(rows) + 1), names, counts[rows]),
            command=name,
            seconds=(np.nan,) * len(rows),
            heading=text[: heading.end],
            remarks=(NO_SHARES, _ROWS_ARE_RUNS, *_left_out(heading, columns or {})),
        )


def timed_rows(text):
    """Where each row starts and ends in the text, and its time since the beginning of the first interval [s]."""
    heading, lines, times = _table(text)
    starts = [line.start for line in lines]
    ends = np.empty(0) if times is None else ends_of(text, lines, times)
    return starts, [*starts[1:], len(text)], ends


def begin_ns(text):
    """When the first interval began, since 1970 [ns]; None if the table's times are not from there."""
    _, _, times = _table(text)
    if times is None or not len(times) or times[0] < _EPOCH:
        return None
    return round((times[0] - step_of(times)) * 1e9)


def n_columns(text):
    """How many columns the heading names."""
    return len(find_heading(text, is_event).names)


def remarks(text, columns=None):
    """What is left out, and what is added up."""
    columns = columns or {}
    heading = find_heading(text, is_event)
    notes = [NO_SHARES]
    if heading.places:
        notes.append(f"Counts of {', '.join(dict.fromkeys(heading.places))} are added up.")
    if _are_totals(_counts(text, heading, list(rows_of(text, heading)), {})[1]):
        notes.append(
            "Every event's counts only rise: they are running totals, and counts are their differences."
        )
    notes += [
        f"{name} is kept as a level: per second, it is what the column holds."
        for name, kind in columns.items()
        if kind == LEVEL
    ]
    return notes + _left_out(heading, columns)


def _left_out(heading, columns):
    used = [is_event(name) or is_time(name) or name in columns for name in heading.names]
    unused = [name or "(no name)" for name, is_used in zip(heading.names, used, strict=True) if not is_used]
    return [f"Columns that name no event are left out: {', '.join(dict.fromkeys(unused))}."] if unused else []


def _check_columns(text, heading, columns):
    if unknown := [name for name in columns if name not in heading.names]:
        raise ParseError(
            f"{shown(text, heading.start)} names no column {unknown[0]!r}. It names {', '.join(heading.names)}."
        )


def _lengths(ends):
    """Lengths of the intervals; after a pause, the usual one."""
    lengths, step = np.diff(ends, prepend=0.0), step_of(ends)
    return np.where(lengths > 1.5 * step, step, lengths)


def _counts(text, heading, lines, columns):
    """Names of the events and of other columns that are kept, and a row of counts an interval."""
    wanted = [column for column, name in enumerate(heading.names) if is_event(name) or name in columns]
    names = [heading.names[column] for column in wanted]
    counts = np.array([_column(text, heading, lines, column) for column in wanted], dtype=float)
    counts = counts.T.reshape(len(lines), len(wanted))
    return _added_up(names, counts) if heading.places else (names, counts)


def _are_totals(counts):
    """Whether all counts rise from row to row, at least two of them, which counts by interval do not do for long."""
    if len(counts) < _FEWEST_TOTALS:
        return False
    rises = np.diff(counts, axis=0)
    return bool((rises >= 0).all() and (rises > 0).any(axis=0).sum() > 1)


def _column(text, heading, lines, column):
    """Counts of a column, whose commas are all between groups of digits or all before decimals."""
    cells = [line.cells[column] for line in lines]
    if _DIGITS.issuperset("".join(cells)) and all(cells):
        return np.array(cells).astype(float)
    grouped = [bool(_GROUPED.fullmatch(cell)) for cell in cells]
    decimal = ["," in cell and not is_grouped for cell, is_grouped in zip(cells, grouped, strict=True)]
    if any(grouped) and any(decimal):
        first, other = lines[decimal.index(True)], cells[grouped.index(True)]
        raise ParseError(
            f"{shown(text, first.start)} has {first.cells[column][:40]!r} for {heading.names[column]}, and another "
            f"line {other[:40]!r}: is the comma before decimals, or between groups of digits?"
        )
    return [_count(text, line, heading, column) for line in lines]


def _count(text, line, heading, column):
    cell = line.cells[column]
    if _GROUPED.fullmatch(cell):
        return float(cell.replace(",", ""))
    if NUMBER.fullmatch(cell):
        return float(cell.replace(",", "."))
    if cell.lower() in _NOTHING:
        return np.nan
    raise ParseError(
        f"{shown(text, line.start)} has {cell[:40]!r} for {heading.names[column]}, which is no count."
    )


def _added_up(names, counts):
    added = pd.DataFrame(counts.T).groupby(np.array(names), sort=False).sum(skipna=False)
    return added.index.tolist(), added.to_numpy().T


def _frame(ends, names, counts):
    """A row an interval and event, with rows of nothing counted where the table has a pause."""
    step = step_of(ends)
    pauses = np.flatnonzero(np.diff(ends) > 1.5 * step) + 1
    ends = np.insert(ends, pauses, ends[pauses] - step)
    counts = np.insert(counts, pauses, np.nan, axis=0)
    values = counts.ravel()
    columns = [
        np.repeat(ends, len(names)),
        np.tile(np.array(names, dtype=object), len(ends)),
        values,
        np.ones(len(values), dtype=bool),
        np.where(np.isnan(values), 0.0, np.nan),
        np.full(len(values), "", dtype=object),
    ]
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))).astype({"event": "str", "unit": "str"})


_HEAD = 200_000  # characters among which the heading and the first row are looked for
_SEPARATORS = (",", ";", "\t", "|")
# Of a cell that counts something, or tells a time.
NUMBER = re.compile(r"[0-9]{1,300}(?:[.,][0-9]{0,300})?(?:[eE][+-]?[0-9]{1,2})?|[.,][0-9]{1,300}")
_CELL = re.compile(r"[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?")
_PLACE = re.compile(r"(?:cpu|core|socket|thread|hwthread|node|package|s|c)[ _#-]*[0-9]+", re.IGNORECASE)


@dataclass(frozen=True)
class Heading:
    """How a table begins.

    Attributes
    ----------
    separator : str
        Empty for blanks.
    names : tuple of str
        Of the columns.
    places : tuple of str
        Where each column was counted, of a heading of two rows; else empty.
    start, end : int
        Offsets of the heading's first line, and of the first row.
    """

    separator: str
    names: tuple
    places: tuple
    start: int
    end: int


@dataclass(frozen=True)
class Row:
    """A line of a table: its cells as written, and where it starts in the text."""

    cells: list
    start: int


def find_heading(text, is_event):
    """Find the heading of a wide table."""
    lines = [line for line in itertools.islice(_lines(text[:_HEAD]), 4) if line[0].strip("# \t\r")]
    if len(lines) < 2:
        return None
    separator = max(_SEPARATORS, key=lines[0][0].count)
    separator = separator if separator in lines[0][0] else ""
    cells = [_cells(line.lstrip("# ") if k == 0 else line, separator) for k, (line, _, _) in enumerate(lines)]
    n_rows = 2 if _names_places(cells[0]) and len(cells) > 2 and len(cells[0]) == len(cells[1]) else 1
    names, first = cells[n_rows - 1], cells[n_rows]
    if len(names) < 2 or any(map(_CELL.fullmatch, names)) or not any(map(is_event, names)):
        return None
    if len(first) != len(names) or 2 * sum(map(_is_number, first)) < len(first):
        return None
    places = tuple(cells[0]) if n_rows == 2 else ()
    return Heading(separator, tuple(names), places, lines[0][1], lines[n_rows - 1][2])


def rows_of(text, heading):
    """The rows of a table."""
    for line, start, end in _lines(text, heading.end):
        if not line.strip() or line.startswith("#"):
            continue
        cells = _cells(line, heading.separator)
        if len(cells) == len(heading.names):
            yield Row(cells, start)
        elif end < len(text) or text.endswith("\n"):
            raise ParseError(
                f"{shown(text, start)} has {len(cells)} cells, and the heading names {len(heading.names)} columns."
            )


def _lines(text, start=0):
    """Lines with their beginnings and ends, the line feed included."""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end].rstrip("\r\n"), start, end
        start = end


def _cells(line, separator):
    if not separator:
        return line.split()
    if '"' in line:
        try:
            line_cells = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:
            line_cells = line.split(separator)
        return [cell.strip() for cell in line_cells]
    return [cell.strip() for cell in line.split(separator)]


def _names_places(cells):
    """Whether a heading's row tells only where was counted; the columns of time and the like have no place."""
    return any(map(_PLACE.fullmatch, cells)) and all(_PLACE.fullmatch(cell) or not cell for cell in cells)


def _is_number(cell):
    return bool(_CELL.fullmatch(cell)) or not cell


_UNIT = r"(?:s|secs?|seconds|ms|msec|milliseconds|us|usec|µs|ns|nsec|nanoseconds)"
_TIME = re.compile(
    r"(?:(?:wall|elapsed|sample|unix|epoch|clock)[ _-]?)?(?:time(?:[ _-]?stamp)?|date(?:[ _-]?time)?|ts|elapsed|epoch"
    rf"|seconds)(?:[ _-]?elapsed)?(?:[ _-]*[\[(]?({_UNIT})[\])]?)?",
    re.IGNORECASE,
)
_PER_SECOND = {"m": 1e3, "u": 1e6, "µ": 1e6, "n": 1e9}


def is_time(name):
    """Whether a column's name is one of times, such as ``timestamp``, ``Time (ms)`` or ``elapsed_s``."""
    return bool(_TIME.fullmatch(name))


def times_of(text, heading, lines):
    """The times of a table's rows as they are written."""
    found = [(column, match) for column, name in enumerate(heading.names) if (match := _TIME.fullmatch(name))]
    if not found:
        return None
    column, match = found[0]
    times = np.array([_time(text, line, line.cells[column]) for line in lines], dtype=float)
    return times / _per_second(match[1], times)


def step_of(times):
    """The usual time from a row to the next [s]."""
    steps = np.diff(times)
    forward = steps[steps > 0]
    return float(np.median(forward)) if len(forward) else 1.0


def ends_of(text, lines, times):
    """Ends of the intervals since the beginning of the first [s]; a ParseError where time goes back."""
    steps = np.diff(times)
    if len(back := np.flatnonzero(steps <= 0)):
        raise ParseError(
            f"{shown(text, lines[back[0] + 1].start)} goes back in time, or stays where it was, so another run begins. "
            "Read each part by itself, as `cmlib import` does."
        )
    step = step_of(times)
    return times if len(times) and 0 < times[0] <= 1.5 * step else times - times[:1] + step


def stretched(ends, interval_ms):
    """Times with steps of the given length, where that is another than theirs."""
    ratio = 1.0 if interval_ms is None else interval_ms / 1000 / step_of(ends)
    return ends if 0.99 <= ratio <= 1.01 else ends * ratio


def _time(text, line, cell):
    if NUMBER.fullmatch(cell):
        return float(cell.replace(",", "."))
    try:
        moment = datetime.fromisoformat(cell)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise ParseError(
            f"{shown(text, line.start)} has {cell[:40]!r} for a time: neither a number nor as 2026-11-21T03:00:46."
        ) from error


def _per_second(unit, times):
    if unit:
        return _PER_SECOND.get(unit[0].lower(), 1.0)
    largest = times.max(initial=0.0)
    return next((per for least, per in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)) if largest > least), 1.0)
