"""Read the output of likwid-perfctr and likwid-mpirun.

There are three formats: tables, CSV (``-O``) and timelines (``-t``). Tables and CSV have the same content.

``-`` or ``nan`` means that a place has no such counter. For example, only one hardware thread per socket counts the
memory controller. The event is not supported at the other places.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import nan
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.io.formats.readings import (
    FormatError,
    Program,
    Readings,
    ReadOptions,
    Run,
    make_counts,
    make_metrics,
)

_PROCESSOR = re.compile(r"^CPU (name|type):[ \t,]*(.*?)[ \t,]*$", re.MULTILINE)
_NUMBER = re.compile(r"[0-9]{1,300}(?:\.[0-9]{1,300})?(?:e[+-]?[0-9]{1,2})?", re.IGNORECASE)
_NOT_COUNTED = frozenset(["-", "nan", "-nan", ""])
_INFINITE = frozenset(["inf", "-inf"])  # metrics that were divided by zero

# Region copy, Group 1: L2     (in tables)
_TABLE_REGION = re.compile(r"Region:? (.{1,1000}?), Group [0-9]+")
# TABLE,Region copy,Group 1 Raw,L2,3,     (as CSV)
_CSV_REGION = re.compile(r"TABLE,Region (.{1,1000}?), ?Group [0-9]+")
_RUNTIME = frozenset(["RDTSC Runtime [s]", "Runtime (RDTSC) [s]"])
# Counters, for example FIXC0, PMC3, MBOX0C1 or TMA2
_COUNTER = re.compile(r"[A-Z]+[0-9][A-Z0-9]{0,20}(?::.{0,200})?|TSC")
_STATISTICS = ["Sum", "Min", "Max", "Avg"]


def _find_processor(text: str) -> str:
    """Return the name and the type of the processor. "" if not found."""
    fields = dict(_PROCESSOR.findall(text[:100_000]))
    return ", ".join(fields[key] for key in ("name", "type") if fields.get(key))


def _parse_number(cell: str, line: int, is_metric: bool = False) -> float:
    """Parse a count or a metric. NaN if the place has no such counter, or the metric is infinite."""
    if _NUMBER.fullmatch(cell):
        return float(cell)
    if cell.lower() in _NOT_COUNTED or (is_metric and cell.lower() in _INFINITE):
        return nan
    raise FormatError(f"line {line}: {cell[:40]!r} is not a number.")


class _Table:
    """A table of counts, with the table of metrics below it.

    Attributes
    ----------
    places : list of str
        Hardware threads. For example, ``Core 0``.
    seconds : float
        Elapsed time [s]. NaN if unknown.
    counts : list of (str, str, float, bool)
        Place with counter, event, count, and whether the counter exists.
    metrics : list of (str, str, float)
        Place, name and value.
    """

    def __init__(self, places: list[str], seconds: float):
        self.places, self.seconds = places, seconds
        self.counts: list[tuple[str, str, float, bool]] = []
        self.metrics: list[tuple[str, str, float]] = []

    def add_counts(self, cells: list[str], line: int) -> None:
        """Add a row ``event, counter, count, …``."""
        event, counter, *counts = cells
        self._check_length(counts, cells, line)
        if event in _RUNTIME:
            self.seconds = _find_longest(counts)
            return
        for place, cell in zip(self.places, counts, strict=True):
            value = _parse_number(cell, line)
            self.counts.append((f"{place}/{counter}", event, value, not np.isnan(value)))

    def add_metrics(self, cells: list[str], line: int) -> None:
        """Add a row ``metric, value, …``."""
        values = cells[max(1, len(cells) - len(self.places)) :]
        # A name can contain the separator. For example, L3|MEM bandwidth.
        name = "|".join(cells[: -len(values)])
        self._check_length(values, cells, line)
        if name in _RUNTIME:
            self.seconds = _find_longest(values) if np.isnan(self.seconds) else self.seconds
            return
        for place, cell in zip(self.places, values, strict=True):
            self.metrics.append((place, name, _parse_number(cell, line, is_metric=True)))

    def _check_length(self, values: list[str], cells: list[str], line: int) -> None:
        """Raise FormatError if a row has more or fewer values than the table has places."""
        if len(values) != len(self.places):
            raise FormatError(
                f"line {line} has {len(values)} values, but its table has {len(self.places)} places: "
                f"{' '.join(cells)[:80]!r}."
            )


class _TableParser:
    """Parser of the rows of all tables.

    Attributes
    ----------
    tables : dict of str to list of _Table
        Tables of counts, keyed by region.
    """

    def __init__(self) -> None:
        self.tables: dict[str, list[_Table]] = {}
        self._region = ""
        self._table: _Table | None = None  # the last table of counts in this region
        self._seconds = nan  # elapsed time above the next table
        self._kind = ""  # kind of the next rows: "counts", "metrics", "statistics", or "" outside of tables

    def begin_region(self, region: str) -> None:
        """Begin a region. The next tables belong to it."""
        if region != self._region:
            self._table = None
        self._region, self._seconds, self._kind = region, nan, ""

    def end_table(self) -> None:
        """End a table."""
        self._kind = ""

    def parse_row(self, cells: list[str], number: int, line: str) -> None:
        """Parse a row. FormatError if a row of counts has no heading."""
        if not self._parse_heading(cells) and not self._parse_values(cells, number):
            self._kind = ""
            if _is_row_of_counts(cells):
                raise FormatError(f"line {number} is a row of counts without a heading: {line[:80]!r}.")

    def _parse_heading(self, cells: list[str]) -> bool:
        """Parse a heading. Return False if the row is not a heading."""
        if cells[0] in ("Event", "Metric") and cells[-4:] == _STATISTICS:
            self._kind = "statistics"
        elif cells[:2] == ["Event", "Counter"]:
            self._table = _Table(cells[2:], self._seconds)
            self.tables.setdefault(self._region, []).append(self._table)
            self._kind, self._seconds = "counts", nan
        elif cells[0] == "Metric":
            has_same_places = self._table is not None and cells[1:] == self._table.places
            self._kind = "metrics" if has_same_places else "statistics"
        else:
            return False
        return True

    def _parse_values(self, cells: list[str], number: int) -> bool:
        """Parse a row below a heading, or an elapsed time. Return False if the row is of another kind."""
        if self._table is not None and self._kind == "counts" and _is_row_of_counts(cells):
            self._table.add_counts(cells, number)
        elif self._table is not None and self._kind == "metrics" and _is_row_of_metrics(cells):
            self._table.add_metrics(cells, number)
        elif cells[0] in _RUNTIME:
            self._seconds = _find_longest(cells[1:])
        else:
            return self._kind == "statistics"
        return True


def _is_row_of_counts(cells: list[str]) -> bool:
    """Return True for a row ``event, counter, count, …``."""
    return len(cells) > 2 and _COUNTER.fullmatch(cells[1]) is not None


def _is_row_of_metrics(cells: list[str]) -> bool:
    """Return True for a row that can have metrics. Rows ``TABLE, …`` and ``STRUCT, …`` have none."""
    return len(cells) > 1 and cells[0] not in ("TABLE", "STRUCT")


class _TableReader(ABC):
    """Base class of the readers of tables and CSV.

    Attributes
    ----------
    region : re.Pattern
        Pattern of the name of a region above a table.
    """

    region: re.Pattern

    @staticmethod
    @abstractmethod
    def split_line(line: str) -> list[str] | None:
        """Split a line into cells. None for a line outside of tables."""

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read all tables. Each region becomes a program, and each table of counts a run.

        Raises
        ------
        FormatError
            If a row has more or fewer cells than its heading, a row of counts has no heading, a cell is not a count,
            or no table of counts was found.
        """
        parser = _TableParser()
        for number, line in enumerate(text.splitlines(), 1):
            if region := cls.region.match(line):
                parser.begin_region(region[1].strip())
                continue
            cells = cls.split_line(line)
            if cells is not None:
                parser.parse_row(cells, number, line)
            elif not line.startswith("+"):
                parser.end_table()
        if not parser.tables:
            raise FormatError("no table that begins with Event and Counter was found.")
        programs = tuple(cls._make_program(name, tables, len(text)) for name, tables in parser.tables.items())
        return Readings(programs, _find_processor(text))

    @staticmethod
    def _make_program(region: str, tables: list[_Table], length: int) -> Program:
        """Make the program of a region. `length` is the length of the text [characters]."""
        counts = [(run, *row) for run, table in enumerate(tables, 1) for row in table.counts]
        metrics = [(run, *row) for run, table in enumerate(tables, 1) for row in table.metrics]
        count_columns = _transpose(counts, ("run", "place", "event", "value", "supported"))
        return Program(
            make_counts(count_columns | {"running": 1.0}),
            region,
            tuple(Run(seconds=table.seconds) for table in tables),
            make_metrics(_transpose(metrics, ("run", "place", "name", "value"))),
            span=(0, length),
        )


def _transpose(rows: list[tuple], names: tuple[str, ...]) -> dict[str, tuple]:
    """Convert rows to columns, keyed by name."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return dict(zip(names, columns, strict=True))


def _find_longest(cells: list[str]) -> float:
    """Return the longest time in cells [s]. NaN if no cell is a number."""
    return max((float(cell) for cell in cells if _NUMBER.fullmatch(cell)), default=nan)


class LikwidTables(_TableReader):
    """Reader for tables that are drawn with ``|`` and ``+``."""

    name = "likwid-tables"
    recorded_by = "likwid-perfctr -C 0-3 -g L2 COMMAND; likwid-mpirun"
    sample = "tests/golden/formats/likwid-tables.txt"
    region = _TABLE_REGION

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text has the heading of a table of counts."""
        if "|" not in text or "Counter" not in text:
            return False
        return bool(re.search(r"^\| {0,200}Event {0,200}\| {0,200}Counter {0,200}\|", text, re.MULTILINE))

    @staticmethod
    def split_line(line: str) -> list[str] | None:
        """Split a line ``| … | … |``."""
        line = line.rstrip()
        if not (line.startswith("|") and line.endswith("|")) or len(line) < 3:
            return None
        return [cell.strip() for cell in line[1:-1].split("|")]


class LikwidCsv(_TableReader):
    """Reader for CSV (``-O``)."""

    name = "likwid-csv"
    recorded_by = "likwid-perfctr -O -C 0-3 -g L2 COMMAND"
    sample = "tests/golden/formats/likwid-csv.csv"
    region = _CSV_REGION

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text has the heading of a table of counts."""
        return "Event,Counter," in text and bool(re.search(r"^Event,Counter,(?!Sum,)", text, re.MULTILINE))

    @staticmethod
    def split_line(line: str) -> list[str] | None:
        """Split a line at commas. Empty cells at the end are removed."""
        if "," not in line:
            return None
        cells = [cell.strip() for cell in line.split(",")]
        while len(cells) > 1 and not cells[-1]:
            cells.pop()
        return cells


class _Line(NamedTuple):
    """Values of one group at one time.

    Attributes
    ----------
    group : int
        Number of the group, from 1.
    end : float
        Time since the start [s].
    values : ndarray of float, shape (n_names, n_threads)
        One row per event or metric, one column per hardware thread.
    """

    group: int
    end: float
    values: np.ndarray


class _Timeline(NamedTuple):
    """Content of a timeline.

    Attributes
    ----------
    names : dict of int to list of str
        Names of events or metrics, keyed by group.
    kinds : set of str
        Kinds of values: "event", "metrics" or both.
    lines : list of _Line
    """

    names: dict[int, list[str]]
    kinds: set[str]
    lines: list[_Line]


class LikwidTimeline:
    """Reader for timelines (``-t``).

    A heading ``# GID|EventCount|…`` names the events of a group. A line ``1 2 4 0.500 …`` contains the values of a
    group.
    """

    name = "likwid-timeline"
    recorded_by = (
        "likwid-perfctr -t 500ms -C 0-3 -g INSTR_RETIRED_ANY:FIXC0,CPU_CLK_UNHALTED_CORE:FIXC1 COMMAND 2>&1"
    )
    sample = "tests/golden/formats/likwid-timeline.txt"

    # # GID|EventCount|CpuCount|Total runtime [s]|INSTR_RETIRED_ANY|…
    _HEADING = re.compile(
        r"[ \t]{0,40}# GID[|, ](Event|Metrics)Count[|, ]CpuCount[|, ]Total runtime \[s\]([|, ])(.+)",
        re.IGNORECASE,
    )
    # 1 2 4 0.500 …, or with commas: group, number of events, number of hardware threads, time
    _ROW = re.compile(
        r"[ \t]{0,40}([0-9]{1,4})([ ,])([0-9]{1,4})\2([0-9]{1,5})\2([0-9]{1,12}(?:\.[0-9]{1,20})?)\2(.+)"
    )
    _COMPLETE = (
        0.995  # A larger running share is 1. The clocks of a line and of its counters differ slightly.
    )

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if a line names the columns of a group."""
        if "#" not in text or "gid" not in text.lower():
            return False
        return any(cls._HEADING.match(line) for line in text.splitlines() if "GID" in line.upper()[:60])

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the counts of each interval.

        Several groups take turns, with one line per turn. Then an interval consists of one turn of each group. The
        running share is the fraction of the interval in which the group was counted. Counts are divided by it.
        Predefined groups of likwid print metrics without counts.

        Raises
        ------
        FormatError
            If a line has more or fewer values than its heading, or the headings are not all of counts or all of
            metrics.
        """
        timeline = cls._parse_lines(text)
        if len(timeline.kinds) != 1:
            raise FormatError(
                "the file needs headings of either events or metrics. Record one kind of groups at a time."
            )
        if not timeline.lines:
            raise FormatError(
                "no counts follow the headings of likwid-perfctr -t. likwid writes counts to standard error. Record "
                "with 2>&1."
            )
        processor = _find_processor(text)
        if timeline.kinds == {"metrics"}:
            metrics = _join(cls._iter_metrics(timeline), "name")
            program = Program(make_counts({"event": [], "value": []}), metrics=metrics)
            note = "likwid printed metrics without counts. For counts, record events: -g EVENT:COUNTER,…"
            return Readings((program,), processor, notes=(note,))
        notes = []
        if len(timeline.names) > 1:
            notes.append(
                f"{len(timeline.names)} groups took turns. Counts are extrapolated to one turn of all groups."
            )
        program = Program(_join(cls._iter_counts(timeline), "event"))
        return Readings((program,), processor, notes=tuple(notes))

    @classmethod
    def _parse_lines(cls, text: str) -> _Timeline:
        """Parse headings and values. An incomplete last line is ignored if the text does not end with a newline."""
        timeline = _Timeline({}, set(), [])
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            if heading := cls._HEADING.fullmatch(line):
                timeline.names[len(timeline.names) + 1] = heading[3].rstrip().split(heading[2])
                timeline.kinds.add(heading[1].lower())
            elif row := cls._ROW.fullmatch(line):
                group, n_names, n_threads = int(row[1]), int(row[3]), int(row[4])
                cells = row[6].rstrip().split(row[2])
                if len(cells) != n_names * n_threads or len(timeline.names.get(group, ())) != n_names:
                    if number == len(lines) and not text.endswith("\n"):
                        continue  # the recording was cut off
                    raise FormatError(
                        f"line {number} has {len(cells)} values of group {group}. This does not match the heading of "
                        f"the group or the line's own numbers of events and threads: {line[:80]!r}."
                    )
                is_metric = timeline.kinds == {"metrics"}
                values = np.array([_parse_number(cell, number, is_metric) for cell in cells])
                timeline.lines.append(_Line(group, float(row[5]), values.reshape(n_names, n_threads)))
        return timeline

    @classmethod
    def _iter_counts(cls, timeline: _Timeline) -> Iterator[dict]:
        """Iterate over columns of counts, one set per interval and group. An incomplete last interval is ignored."""
        groups = {line.group for line in timeline.lines}
        begin, previous_end = 0.0, 0.0
        turns: dict[int, tuple[float, np.ndarray]] = {}  # length [s] and values, keyed by group
        for group, end, values in timeline.lines:
            if group in turns:
                turns = {}
            turns[group] = (end - previous_end, values)
            previous_end = end
            if len(turns) < len(groups):
                continue
            length = end - begin
            for turn_group, (seconds, counts) in turns.items():
                share = seconds / length if length > 0 else 0.0
                share = 1.0 if share > cls._COMPLETE else share
                extrapolated = counts / share if share else np.full_like(counts, nan)
                yield _make_columns(end, timeline.names[turn_group], extrapolated) | {"running": share}
            begin, turns = end, {}

    @staticmethod
    def _iter_metrics(timeline: _Timeline) -> Iterator[dict]:
        """Iterate over columns of metrics, one set per line."""
        for group, end, values in timeline.lines:
            yield _make_columns(end, timeline.names[group], values)


def _make_columns(end: float, names: list[str], values: np.ndarray) -> dict:
    """Return columns of values, one row per name and hardware thread."""
    n_names, n_threads = values.shape
    return {
        "time_s": end,
        "place": [f"thread {thread}" for thread in range(n_threads)] * n_names,
        "name": [name for name in names for _ in range(n_threads)],
        "value": values.ravel(),
    }


def _join(parts: Iterator[dict], name: str) -> pd.DataFrame:
    """Join columns to a frame of counts (`name` is "event") or of metrics (`name` is "name")."""
    columns: dict[str, list] = {"time_s": [], "place": [], name: [], "value": []}
    running: list[float] = []
    for part in parts:
        n_values = len(part["value"])
        columns["time_s"] += [part["time_s"]] * n_values
        columns["place"] += part["place"]
        columns[name] += part["name"]
        columns["value"] += part["value"].tolist()
        running += [part.get("running", nan)] * n_values
    columns["running"] = running
    if name == "event":
        return make_counts(columns | {"supported": ~np.isnan(columns["value"])})
    return make_metrics(columns)
