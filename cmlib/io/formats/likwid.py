"""Read the output of likwid-perfctr and likwid-mpirun: tables, CSV (``-O``) and timelines (``-t``).

``-`` or ``nan`` means that a place has no such counter. For example, only one hardware thread per socket counts the
memory controller. The event is not supported at the other places.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import nan

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
_NO_UNIT = frozenset(["-", "nan", "-nan", ""])
_QUOTIENT_OF_NOTHING = frozenset(["inf", "-inf"])

# Region copy, Group 1: L2     (in tables)
_TABLE_REGION = re.compile(r"Region:? (.{1,1000}?), Group [0-9]+")
# TABLE,Region copy,Group 1 Raw,L2,3,     (as CSV)
_CSV_REGION = re.compile(r"TABLE,Region (.{1,1000}?), ?Group [0-9]+")
_RUNTIME = frozenset(["RDTSC Runtime [s]", "Runtime (RDTSC) [s]"])
# FIXC0, PMC3, MBOX0C1, TMA2: a counter
_COUNTER = re.compile(r"[A-Z]+[0-9][A-Z0-9]{0,20}(?::.{0,200})?|TSC")
_STATISTICS = ["Sum", "Min", "Max", "Avg"]


def _find_processor(text: str) -> str:
    """Return the name and the type of the processor. "" if not found."""
    fields = dict(_PROCESSOR.findall(text[:100_000]))
    return ", ".join(fields[key] for key in ("name", "type") if fields.get(key))


def _parse_number(cell: str, line: int, others: frozenset[str] = frozenset()) -> float:
    """Parse a count. NaN if the place has no such counter."""
    if _NUMBER.fullmatch(cell):
        return float(cell)
    if cell.lower() in _NO_UNIT or cell.lower() in others:
        return nan
    raise FormatError(f"line {line}: {cell[:40]!r} is no count of likwid.")


class _Table:
    """A table of counts, with the table of metrics below it."""

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
        name = "|".join(
            cells[: -len(values)]
        )  # a metric's name may have the mark between cells: L3|MEM bandwidth
        self._check_length(values, cells, line)
        if name in _RUNTIME:
            self.seconds = _find_longest(values) if np.isnan(self.seconds) else self.seconds
            return
        for place, cell in zip(self.places, values, strict=True):
            self.metrics.append((place, name, _parse_number(cell, line, _QUOTIENT_OF_NOTHING)))

    def _check_length(self, values: list[str], cells: list[str], line: int) -> None:
        if len(values) != len(self.places):
            raise FormatError(
                f"line {line} has {len(values)} values, and its table has {len(self.places)} columns for them: "
                f"{' '.join(cells)[:80]!r}."
            )


class _TableReader(ABC):
    """Reader of the tables, whose lines are split into cells by a format's `split_line`."""

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
            If a row has another number of cells than its heading, a row of counts has no heading, a cell is no count,
            or there is no table of counts.
        """
        tables: dict[str, list[_Table]] = {}
        region, seconds = "", nan
        table: _Table | None = None
        kind = ""  # of the rows to come: "counts", "metrics", "statistics" or ""
        for number, line in enumerate(text.splitlines(), 1):
            if found := cls.region.match(line):
                if found[1].strip() != region:
                    table = None
                region, seconds, kind = found[1].strip(), nan, ""
                continue
            cells = cls.split_line(line)
            if cells is None:
                if not line.startswith("+"):
                    kind = ""
            elif cells[0] in ("Event", "Metric") and cells[-4:] == _STATISTICS:
                kind = "statistics"
            elif cells[:2] == ["Event", "Counter"]:
                kind, table, seconds = "counts", _Table(cells[2:], seconds), nan
                tables.setdefault(region, []).append(table)
            elif cells[0] == "Metric":
                kind = "metrics" if table is not None and cells[1:] == table.places else "statistics"
            elif table is not None and kind == "counts" and len(cells) > 2 and _COUNTER.fullmatch(cells[1]):
                table.add_counts(cells, number)
            elif (
                table is not None
                and kind == "metrics"
                and len(cells) > 1
                and cells[0] not in ("TABLE", "STRUCT")
            ):
                table.add_metrics(cells, number)
            elif cells[0] in _RUNTIME:
                seconds = _find_longest(cells[1:])
            elif kind != "statistics":
                kind = ""
                if len(cells) > 2 and _COUNTER.fullmatch(cells[1]):
                    raise FormatError(f"line {number} is a row of counts without a heading: {line[:80]!r}.")
        if not tables:
            raise FormatError("there is no table that begins with Event and Counter.")
        programs = tuple(cls._make_program(name, of_region, len(text)) for name, of_region in tables.items())
        return Readings(programs, _find_processor(text))

    @staticmethod
    def _make_program(region: str, tables: list[_Table], length: int) -> Program:
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
    """Make columns of rows."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return dict(zip(names, columns, strict=True))


def _find_longest(cells: list[str]) -> float:
    """Return the longest time in some cells [s]. NaN if not found."""
    return max((float(cell) for cell in cells if _NUMBER.fullmatch(cell)), default=nan)


class LikwidTables(_TableReader):
    """Tables drawn with lines."""

    name = "likwid-tables"
    recorded_by = "likwid-perfctr -C 0-3 -g L2 COMMAND; likwid-mpirun"
    sample = "tests/golden/formats/likwid-tables.txt"
    region = _TABLE_REGION

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if a line begins a table of events and counters."""
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
    """The same tables as CSV."""

    name = "likwid-csv"
    recorded_by = "likwid-perfctr -O -C 0-3 -g L2 COMMAND"
    sample = "tests/golden/formats/likwid-csv.csv"
    region = _CSV_REGION

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if a line begins a table of events and counters."""
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


class LikwidTimeline:
    """Lines by interval: ``1 2 4 0.500 …``, below ``# GID|EventCount|…``, which names what each group counts."""

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
    _WHOLE = 0.995  # a line's clock and its counters' differ by so little

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if a line names the columns of a group."""
        if "#" not in text or "gid" not in text.lower():
            return False
        return any(cls._HEADING.match(line) for line in text.splitlines() if "GID" in line.upper()[:60])

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the intervals.

        Groups take turns, a line each. A turn of all groups is an interval, and counts are extrapolated by the share
        of it in which their group was counted. A group of likwid's own prints metrics, which are read as such.

        Raises
        ------
        FormatError
            If a line has other cells than its group's heading names, or groups of counts and of metrics are mixed.
        """
        names, kinds, lines = {}, set(), []
        all_lines = text.splitlines()
        for number, line in enumerate(all_lines, 1):
            if heading := cls._HEADING.fullmatch(line):
                names[len(names) + 1] = heading[3].rstrip().split(heading[2])
                kinds.add(heading[1].lower())
            elif row := cls._ROW.fullmatch(line):
                group, n_events, n_threads = int(row[1]), int(row[3]), int(row[4])
                cells = row[6].rstrip().split(row[2])
                if len(cells) != n_events * n_threads or len(names.get(group, ())) != n_events:
                    if number == len(all_lines) and not text.endswith("\n"):
                        continue  # the recording was cut off here
                    raise FormatError(
                        f"line {number} has {len(cells)} values of group {group}, which are not those that the "
                        f"headings and its own numbers say: {line[:80]!r}."
                    )
                others = _QUOTIENT_OF_NOTHING if kinds == {"metrics"} else frozenset()
                values = np.array([_parse_number(cell, number, others) for cell in cells])
                lines.append((group, float(row[5]), values.reshape(n_events, n_threads)))
        if len(kinds) != 1:
            raise FormatError(
                "headings of events and of metrics are mixed: record one kind of groups at a time."
            )
        if not lines:
            raise FormatError(
                "there are headings of likwid-perfctr -t, and no line of counts below them. likwid writes these lines "
                "to standard error: record with 2>&1."
            )
        processor = _find_processor(text)
        if kinds == {"metrics"}:
            note = "likwid printed metrics and no counts. For counts, record events: -g EVENT:COUNTER,…"
            program = Program(
                make_counts({"event": [], "value": []}), metrics=_join(cls._metrics(lines, names), "name")
            )
            return Readings((program,), processor, notes=(note,))
        notes = []
        if len(names) > 1:
            notes.append(f"{len(names)} groups took turns: counts are extrapolated to a turn of all of them.")
        return Readings((Program(_join(cls._counts(lines, names), "event")),), processor, notes=tuple(notes))

    @classmethod
    def _counts(cls, lines: list[tuple], names: dict[int, list[str]]) -> Iterator[dict]:
        """Iterate over columns of counts, one set per turn and group."""
        groups = {group for group, _, _ in lines}
        begin, previous, turn = 0.0, 0.0, {}
        for group, end, values in lines:
            if group in turn:
                turn = {}
            turn[group] = (end - previous, values)
            previous = end
            if len(turn) < len(groups):
                continue
            length = end - begin
            for member, (seconds, of_member) in turn.items():
                share = seconds / length if length > 0 else 0.0
                share = 1.0 if share > cls._WHOLE else share
                value = of_member / share if share else np.full_like(of_member, nan)
                yield _as_columns(end, names[member], value) | {"running": share}
            begin, turn = end, {}

    @staticmethod
    def _metrics(lines: list[tuple], names: dict[int, list[str]]) -> Iterator[dict]:
        """Iterate over columns of metrics, one set per line."""
        for group, end, values in lines:
            yield _as_columns(end, names[group], values)


def _as_columns(end: float, names: list[str], values: np.ndarray) -> dict:
    """Make columns of an array of values by name and hardware thread."""
    n_names, n_threads = values.shape
    return {
        "time_s": end,
        "place": [f"thread {thread}" for thread in range(n_threads)] * n_names,
        "name": [name for name in names for _ in range(n_threads)],
        "value": values.ravel(),
    }


def _join(parts: Iterator[dict], name: str) -> pd.DataFrame:
    """Join columns of several lines into a frame of counts (`name` is "event") or of metrics ("name")."""
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
