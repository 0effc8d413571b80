"""Wide tables: a row an interval, a column an event, a heading of one or two rows (the places counted, the events).

Other tools write them, and scripts that put recordings together: any separator, counts with decimals and exponents,
columns beside the events (power, load), which are left out. A row's time is when its interval ends; without such a
column the rows are equally long intervals. They are read as a table of readings with the columns time_s [s], event,
value (NaN if not counted), supported, running (NaN: not known) and unit. ParseError for rows of another length, cells
that are no counts, and rows without times where no length is given.
"""

import contextlib
import csv
import functools
import itertools
import re
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pyarrow as pa

from cmlib.errors import message
from cmlib.intervals import lengths_by_ends
from cmlib.io.archive.runs import LARGEST_COUNT
from cmlib.io.events import is_event
from cmlib.io.perf.formats.base import Format, Totals
from cmlib.io.perf.formats.cells import (
    CPI,
    FEW,
    IPC,
    NOT_COUNTED,
    NOTE,
    NOTHING,
    PER_OP,
    is_called,
    metric,
    n_told,
    number,
    of_an_operation,
    unit_of_time,
    without_unit,
)
from cmlib.io.perf.formats.lines import NO_SHARES, SCHEMA, as_number
from cmlib.io.perf.grammar import ParseError, where

# Share of the steps from row to row in which a time falls, if it is how long a run took, by whether rows have names.
_OFTEN = {True: 0.1, False: 0.5}
_ROWS_ARE_RUNS = (
    "No column tells times: a row is taken for a whole run; give --interval-ms where it is an interval."
)
_WHOLE = re.compile("[0-9]{1,20}")  # a count that needs no check
_MOST_WORDS = 100  # different ones in a column; more are no names
_NO_COUNT = "No count was read: what is told is what the tool printed."
_A_ROW_IS_AN_OP = "Counts and times are those of one operation, in the mean."
_HEAD = 200_000  # characters among which the heading and the first row are looked for
_SEPARATORS = (",", ";", "\t", "|")
_CELL = re.compile(r"(?:[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+| ?[kKMGTB])?)?")
_BEGINS = re.compile(r"[+-]?[0-9.,]+|$")  # a cell with a number
# A level, with a mark of percent and an error behind it.
_LEVEL = re.compile(r"([0-9]{1,5}(?:[.,][0-9]{1,9})?)(?: ?%)?(?: *(?:±|\+/?-).*)?")
_PLACE = re.compile(r"(?:cpu|core|socket|thread|hwthread|node|package|s|c)[ _#-]*[0-9]+", re.IGNORECASE)
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?:\.[0-9]{1,300})?")
_WORD = re.compile("[^a-zA-Z0-9]*[a-zA-Z]")
_CLOCK = re.compile(r"(?:([0-9]{1,5}):)?([0-9]{1,2}):([0-9]{1,2}(?:\.[0-9]{1,9})?)")
# Times from here on [s] are since 1970.
_EPOCH = 1e8
# Rows from which on counts that only rise are running totals.
_FEWEST_TOTALS = 20
# Characters of the heading above all parts that a table is cut into.
_MOST_OF_HEADINGS = 1 << 26
# A pause of more intervals than this is the end of a run.
_LONGEST_PAUSE = 10


class Wide(Format):
    """Reader of a heading that names events, and rows of as many cells.

    Attributes
    ----------
    names : tuple of str
        Of the columns, without units; `scales` (tuple of float) is how many one of each unit is.
    places : list of str
        Where each column was counted, such as ``CPU 3``; empty in a heading of one row.
    start, end_of_heading : int
        Positions of the heading in the text.
    starts : list of int
        Positions of the rows.
    cells : list of tuple of str
        By column, the cells of all rows.
    times : ndarray or None
        Time of each row [s]; None where no column tells it.
    """

    name, first_row_begins = "wide table", True

    def recognises(self):
        """Whether the text begins with a heading that names an event, and a row of numbers."""
        return self.counts_a_line > 1

    def __init__(self, text):
        super().__init__(text)
        if heading := _find_heading(text):
            self.separator, self.heading, self.places, self.start, self.end_of_heading = heading
            self.names, self.scales = zip(*map(without_unit, self.heading), strict=True)
            self.counts_a_line = len(self.names)

    def read(self, interval_ms=None, columns=None):
        """Counts of the text, a row a reading: a pyarrow.Table with the columns of :func:`cmlib.io.perf.parse_stat`.

        `interval_ms` is the length of an interval, needed where no column tells times; `columns` (dict of name to
        "count" or "level") are kept though they name no event. Running shares are not known (NaN). If all counts only
        rise over 20 rows or more, they are taken for running totals, and counts are their differences. ParseError for
        cells that are no numbers, times that go back, or an unknown column.
        """
        columns = columns or {}
        names, counts = self._counts(columns)
        if self.times is None and interval_ms is None:
            raise ParseError(message(__file__, "no_times", where(self.text, self.start)))
        ends = np.arange(1, len(counts) + 1) * 1.0 if self.times is None else self._ends()
        ratio = 1.0 if interval_ms is None else interval_ms / 1000 / _step(ends)
        ends = ends if 0.99 <= ratio <= 1.01 else ends * ratio
        is_level = np.array([columns.get(name) == "level" for name in names], dtype=bool)
        if _are_totals(counts[:, ~is_level]):
            counts = np.where(is_level, counts[1:], np.diff(counts, axis=0))
            ends = ends[1:] - ends[0]
        # After a pause, an interval has the usual length.
        lengths = lengths_by_ends(ends)
        lengths = np.where(lengths > 1.5 * _step(ends), _step(ends), lengths)
        return _as_table(ends, names, np.where(is_level, counts * lengths[:, None], counts))

    def remarks(self, columns=None):
        """Sentences (list of str) on running shares, places, running totals, levels, and columns left out."""
        columns = columns or {}
        notes = {
            NO_SHARES: True,
            f"Counts of {', '.join(dict.fromkeys(self.places))} are added up.": self.places,
            "Every event's counts only rise: they are running totals, and counts are their differences.": (
                _are_totals(self._counts({})[1])
            ),
        }
        notes = [sentence for sentence, holds in notes.items() if holds]
        levels = [name for name, kind in columns.items() if kind == "level"]
        notes += [f"{name} is kept as a level: per second, it is what the column holds." for name in levels]
        return notes + self._left_out(columns)

    def totals(self, columns=None, *, rows_are_runs=True):
        """Yield Totals, the counts of whole runs, for each program, a run a row; a column of programs names them.

        `columns` (dict of name to "count" or "level") are kept though they name no event. Nothing is yielded if rows
        are intervals: if a column tells times and not how long programs took, if there are places, or if
        `rows_are_runs` is False. ParseError for an unknown column, or a cell that is no count.
        """
        columns_of_cells = dict(zip(self.names, self.cells, strict=True))
        per_op = [without_unit(name)[0] for name in self.heading if PER_OP.fullmatch(name)]
        an_op = any(is_event(name) or unit_of_time(name) > 0 for name in per_op)
        words = ([f"{n} {c}" if c.isdigit() else c for c in columns_of_cells[n]] for n in self._told_by)
        named = [" ".join(filter(None, row)) for row in zip(*words, strict=True)]
        # Of programs or runs that come once each, a time is how long they took.
        runs = (cells for name, cells in columns_of_cells.items() if is_called(name, "run"))
        keys = [*itertools.zip_longest(named, zip(*runs, strict=True))]
        is_each = len(keys) > 1 and all(before != after for before, after in itertools.pairwise(keys))
        steps = np.diff(self.times) if self.times is not None else np.zeros(0)
        is_told = 0 < len(named) == len(set(named)) or any(is_called(n, "length") for n in self.names)
        once = an_op or is_told or (steps < 0).sum() > _OFTEN[is_each] * len(steps)
        seconds = self.times if self.times is not None and once else None
        if self.places or not (self.times is None or once or is_each) or not rows_are_runs:
            return
        names, counts = self._counts(columns or {})
        left_out, unit = self._left_out(columns or {}), ""
        if not names:
            names, counts, unit = ["cycles"], np.full((len(self.starts), 1), 100.0), "%"
            left_out.append(_NO_COUNT)
        if not (an_op or unit) and (of_an_op := of_an_operation(names, counts)).any():
            others = ", ".join(itertools.compress(names, ~of_an_op))
            left_out.append(f"Counts with decimals, or below {FEW}, are taken for those of one operation.")
            left_out += [f"Beside them are left out: {others}."] * bool(others)
            names, counts = [*itertools.compress(names, of_an_op)], counts[:, of_an_op]
            an_op, seconds = True, None
        elif self.times is not None and not once:
            return
        notes = columns_of_cells.get(NOTE, ())
        of_rows = [_A_ROW_IS_AN_OP] * an_op or [_ROWS_ARE_RUNS] * (seconds is None)
        programs = {}
        for row, name in enumerate(named or [""] * len(counts)):
            programs.setdefault(name, []).append(row)
        self._check_parts(len(programs))
        lines = [self.text[start:end] for start, end in itertools.pairwise([*self.starts, len(self.text)])]
        uncounted = np.isnan(counts)
        for name, rows in programs.items():
            asked = ~uncounted[rows].all(axis=0) | uncounted.all(axis=0)
            events = [*itertools.compress(names, asked)]
            if not events and seconds is None:
                continue
            yield Totals(
                "".join(lines[row] for row in rows),
                _as_table(np.arange(1.0, len(rows) + 1), events, counts[np.ix_(rows, asked)], unit),
                command=name,
                seconds=(np.nan,) * len(rows) if seconds is None else tuple(seconds[rows]),
                heading=self.text[: self.end_of_heading],
                remarks=(NO_SHARES, *of_rows, *notes[rows[0] :][:1], *left_out),
                printed=self._printed(rows),
            )

    def _printed(self, rows):
        """Means of the levels and ratios (dict) that some rows tell beside their counts."""
        told = {}
        for name, cells in zip(self.heading, self.cells, strict=True):
            values = [as_number(value[1]) for row in rows if (value := _LEVEL.fullmatch(cells[row]))]
            if values and (level := metric(name)):
                told.setdefault(level, float(np.mean(values)))
        told |= {"GHz": told.pop("MHz") / 1e3} if "MHz" in told else {}
        return told | ({IPC: 1 / told.pop(CPI)} if told.get(CPI, 0.0) > 0 else {})

    @functools.cached_property
    def _told_by(self):
        """Names (list of str) of the columns that tell rows of other programs apart: of programs, and of words."""
        told = {}
        for name, cells in zip(self.names, self.cells, strict=True):
            is_other = is_event(name) or is_called(name, "time", "length", "run", "remark")
            are_words = len(set(cells)) <= _MOST_WORDS and all(map(_WORD.match, cells))
            if is_called(name, "program") or (are_words and not is_other):
                told[name] = cells
        return [name for name, cells in told.items() if len(set(cells)) > 1] or [*told][:1]

    def run_starts(self):
        """Positions (list of int) of the rows at which runs begin: where time goes back, or makes a pause of over
        ten intervals.

        The first position is that behind the heading; without times the list is [0].
        """
        if self.times is None:
            return [0]
        steps = np.diff(self.times)
        begins = np.flatnonzero((steps <= 0) | (steps > _LONGEST_PAUSE * _step(self.times))) + 1
        self._check_parts(len(begins) + 1)
        return [self.end_of_heading, *(self.starts[k] for k in begins)]

    @property
    def begin_ns(self):
        """Start of the first interval [ns since 1970] (int); None if times are not since 1970."""
        if self.times is None or not len(self.times) or self.times[0] < _EPOCH:
            return None
        return round((self.times[0] - _step(self.times)) * 1e9)

    @property
    def timed_lines(self):
        """Three arrays: start and end in the text of each row, and its end since the beginning of the first interval
        [s].
        """
        times = [] if self.times is None else self._ends()
        return [np.array(column) for column in (self.starts, [*self.starts[1:], len(self.text)], times)]

    @functools.cached_property
    def starts(self):
        """Positions (list of int) of the rows in the text."""
        return list(self._cells_by_start)

    @functools.cached_property
    def cells(self):
        """For each column, the tuple of its cells (str)."""
        return list(zip(*self._cells_by_start.values(), strict=True)) or [()] * len(self.names)

    @functools.cached_property
    def _cells_by_start(self):
        """Dict from a row's position to its cells (list of str); ParseError for a row of another length."""
        rows = {}
        for line, start, end in _lines(self.text, self.end_of_heading):
            if not line.strip() or line.startswith("#"):
                continue
            cells = _cells(line, self.separator)
            if len(cells) == len(self.names):
                rows[start] = cells
            elif end < len(self.text) or self.text.endswith("\n"):
                place = where(self.text, start)
                raise ParseError(message(__file__, "other_cells", place, len(cells), len(self.names)))
        return rows

    @functools.cached_property
    def times(self):
        """Time of each row [s], as written or since 1970: an array; None where no column tells it."""
        named = [name for kind in ("length", "time") for name in self.names if is_called(name, kind)]
        if not named:
            return None
        column, unit = self.names.index(named[0]), unit_of_time(named[0])
        times = zip(self.cells[column], self.starts, strict=True)
        times = np.array([self._time(cell, at) if cell or not unit > 0 else np.nan for cell, at in times])
        if unit > 0:
            return times * unit
        since_1970 = {1e17: 1e9, 1e14: 1e6, 1e11: 1e3}  # ns, µs and ms are larger than this
        return times / next((n for least, n in since_1970.items() if times.max(initial=0.0) > least), 1.0)

    def _time(self, cell, start):
        """A time [s] of a cell: a number, a clock's time, or a date since 1970; ParseError for other text."""
        is_grouped = cell.count(",") > 1 or "." in cell
        seconds = number(cell.replace(",", "" if is_grouped else "."))
        if seconds is not None and np.isfinite(seconds):
            return seconds
        if clock := _CLOCK.fullmatch(cell):
            hours, minutes, seconds = clock.groups(default="0")
            return 3600 * int(hours) + 60 * int(minutes) + float(seconds)
        try:
            moment = datetime.fromisoformat(cell)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError) as error:
            raise ParseError(
                f"{where(self.text, start)} has {cell[:40]!r} for a time: neither a number nor as 2026-11-21T03:00:46."
            ) from error

    def _ends(self):
        """Ends of the intervals since the beginning of the first [s] (array); ParseError where time goes back."""
        if len(back := np.flatnonzero(np.diff(self.times) <= 0)):
            raise ParseError(message(__file__, "back_in_time", where(self.text, self.starts[back[0] + 1])))
        step = _step(self.times)
        begins = self.times[:1] - step
        return self.times if len(begins) and -step < begins[0] <= 0.5 * step else self.times - begins

    def _counts(self, columns):
        """Names of the events and of other columns that are kept (list), and an array with a row of counts an
        interval.

        Counts of several places are added up; ParseError for an unknown column, or a cell that is no count.
        """
        if unknown := [name for name in columns if name not in self.names]:
            place, listed = where(self.text, self.start), ", ".join(self.names)
            raise ParseError(f"{place} names no column {unknown[0]!r}. It names {listed}.")
        wanted = [k for k, name in enumerate(self.names) if is_event(name) or name in columns]
        names = [self.names[k] for k in wanted]
        counts = [np.multiply(self._column(k), self.scales[k]) for k in wanted]
        counts = np.array(counts, dtype=float).reshape(len(wanted), len(self.starts))
        if self.places:
            added = pd.DataFrame(counts).groupby(np.array(names), sort=False).sum(skipna=False)
            names, counts = added.index.tolist(), added.to_numpy()
        return names, counts.T

    def _column(self, k):
        """Counts of column `k`, whose commas are all between groups of digits, or else all before decimals."""
        cells = self.cells[k]
        if all(map(_WHOLE.fullmatch, cells)):
            return np.array(cells).astype(float)
        grouped = all(_GROUPED.fullmatch(cell.rstrip(" kKMGTB")) for cell in cells if "," in cell)
        numbers = [number(cell.replace(",", "" if grouped else ".")) for cell in cells]
        fits = [count is not None and not count >= LARGEST_COUNT for count in numbers]
        if not all(fits):
            wrong = fits.index(False)
            place, cell = where(self.text, self.starts[wrong]), cells[wrong][:40]
            raise ParseError(message(__file__, "no_count", place, cell, self.names[k]))
        return numbers

    def _check_parts(self, n_parts):
        """Raise ParseError before a long heading is put above each of many runs."""
        if n_parts * self.end_of_heading > _MOST_OF_HEADINGS:
            place = where(self.text, self.start)
            raise ParseError(message(__file__, "long_heading", place, self.end_of_heading, n_parts))

    def _left_out(self, columns):
        """Sentences (list of str) on columns left out, and on cells that are taken for not counted."""
        told = {NOTE, *columns, *self._told_by}
        kinds = "time", "length", "program"
        used = [n in told or is_called(n, *kinds) or is_event(n) or bool(metric(n)) for n in self.names]
        unused = [name or "(no name)" for name, is_used in zip(self.names, used, strict=True) if not is_used]
        cells = set().union(*itertools.compress(self.cells, used))
        words = sorted(cell for cell in cells if cell.lower() in NOTHING - NOT_COUNTED)
        notes = {
            f"Columns that name no event are left out: {', '.join(dict.fromkeys(unused))}.": unused,
            f"Cells that hold {' or '.join(words)} are taken for not counted.": words,
        }
        return [sentence for sentence, holds in notes.items() if holds]


def _find_heading(text):
    """Separator ("" for blanks), names, places where there are two rows, start and end of a heading; None if there
    is none.
    """
    lines = [line for line in itertools.islice(_lines(text[:_HEAD]), 4) if line[0].strip("# \t\r")]
    if len(lines) < 2:
        return None
    separator = max(_SEPARATORS, key=lines[0][0].count)
    separator = separator if separator in lines[0][0] else ""
    cells = [_cells(line.lstrip("# ") if k == 0 else line, separator) for k, (line, _, _) in enumerate(lines)]
    named = list(filter(None, cells[0]))  # columns of time and the like have no place
    has_places = len(cells) > 2 and len(cells[0]) == len(cells[1]) and all(map(_PLACE.fullmatch, named))
    places, names, first = cells[:3] if has_places and named else ([], *cells[:2])
    if len(names) < 2 or any(name and _CELL.fullmatch(name) for name in names):
        return None
    if not any(is_event(without_unit(name)[0]) for name in names) and n_told(names) < 2:
        return None
    if len(first) != len(names) or 2 * sum(map(bool, map(_BEGINS.match, first))) < len(first):
        return None
    return separator, names, places, lines[0][1], lines[2 if places else 1][1]


def _lines(text, start=0):
    """Yield (line, its start, its end) in a text from a position on, the end with the line feed."""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end].rstrip("\r\n"), start, end
        start = end


def _cells(line, separator):
    """Cells (list of str) of a line; quotes are taken off."""
    if not separator:
        return line.split()
    cells = line.split(separator)
    if '"' in line:
        with contextlib.suppress(csv.Error):
            cells = next(csv.reader([line], delimiter=separator), [])
    return [cell.strip() for cell in cells]


def _step(times):
    """The usual time from a row to the next [s]: the median; 1.0 if there is only one."""
    steps = np.diff(times)
    return float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0


def _are_totals(counts):
    """Whether counts (array, a row an interval) are running totals: none falls, and at least two columns rise, over
    20 rows.
    """
    rises = np.diff(counts, axis=0)
    return bool(len(counts) >= _FEWEST_TOTALS and (rises >= 0).all() and (rises > 0).any(axis=0).sum() > 1)


def _as_table(ends, names, counts, unit=""):
    """pyarrow.Table with a row an interval and event, and rows of nothing counted where the table has a pause.

    `counts` is an array with a row for each of `ends` [s], a column for each of `names`.
    """
    step = _step(ends)
    pauses = np.flatnonzero(np.diff(ends) > 1.5 * step) + 1
    ends = np.insert(ends, pauses, ends[pauses] - step)
    values = np.insert(counts, pauses, np.nan, axis=0).ravel()
    n, running = len(values), np.where(np.isnan(values), 0.0, np.nan)
    columns = [np.repeat(ends, len(names)), names * len(ends), values, np.ones(n, bool), running, [unit] * n]
    return pa.table(columns, SCHEMA)
