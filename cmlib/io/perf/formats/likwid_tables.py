"""What `likwid-perfctr` and `likwid-mpirun` write at the end: tables of counts, drawn with lines or as CSV (``-O``).

A table begins ``Event|Counter|`` with a column a hardware thread. Regions of the marker API are programs of their
own, and tables of the same region and events are as many runs. Tables of metrics and of statistics are left out, and
so is what the program prints.

They are read as Totals, the counts of whole runs by all threads, energy in J. ParseError for a cell that is no count.
"""

import bisect
import itertools
import re

import numpy as np

from cmlib.io.perf.formats.base import RunFormat, Totals
from cmlib.io.perf.formats.likwid import UNCOUNTED, read_count
from cmlib.io.perf.formats.lines import as_table

_TABLE = re.compile(r"^(?:\| *)?Event *[|,] *Counter *[|,](?! *Sum *[|,])", re.MULTILINE)
_REGION = re.compile(
    r"^(?:TABLE,Region ([^,\n]+), ?Group [0-9]+ Raw,|Region:? ([^,\n]+), Group)", re.MULTILINE
)
_SECONDS = re.compile(r"^(?:\| *)?(?:Runtime \(RDTSC\)|RDTSC Runtime) \[s\] *[|,](.*)$", re.MULTILINE)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")


class LikwidTables(RunFormat):
    """Reader of tables of counts, without times."""

    name = "likwid-perfctr's tables"
    notes = ("Counts of all hardware threads are added up, and of an event that several counters count.",)

    def recognises(self):
        """Whether the text has the heading of such a table."""
        return "Counter" in self.text and bool(_TABLE.search(self.text))

    def totals(self, columns=None, *, rows_are_runs=True):
        """Yield Totals, the counts of a run, for each table; the command is the region's name, "" outside of
        regions.

        `columns` and `rows_are_runs` are not used.
        """
        text, tables = self.text, [*_TABLE.finditer(self.text)]
        regions = {region.start(): (region[1] or region[2]).strip() for region in _REGION.finditer(text)}
        begins = list(regions)
        starts = [_start(text, before, table, begins) for before, table in itertools.pairwise(tables)]
        pieces = itertools.pairwise([0, *starts, len(text)])
        ends = [*(table.start() for table in tables[1:]), len(text)]
        for table, end_of_rows, (start, end) in zip(tables, ends, pieces, strict=True):
            rows, seconds, lacks = _rows(text, table, end_of_rows)
            if rows:
                region = regions.get(_last_between(begins, start, table.start()), "")
                lasted = _seconds(_SECONDS.search(text, start, end)) if np.isnan(seconds) else seconds
                remarks = (*self.notes, UNCOUNTED) if lacks else self.notes
                yield Totals(text[start:end], as_table(rows), region, (lasted,), remarks=remarks)


def _last_between(begins, start, end):
    """The last of some sorted places from `start` on and before `end`; None if there is none."""
    k = bisect.bisect_left(begins, end) - 1
    return begins[k] if k >= 0 and begins[k] >= start else None


def _start(text, before, table, begins):
    """Position in the text at which a table begins that follows another: with its region, or its group."""
    region = _last_between(begins, before.end() + 1, table.start())
    words = ("\nGroup", "\nTABLE", "\nSTRUCT")
    group = max(text.rfind(word, before.end(), table.start()) + 1 for word in words)
    return region if region is not None else group or text.rfind("\n", 0, table.start()) + 1


def _rows(text, table, end_of_rows):
    """Three results: a table's rows, a row an event; how long it was counted [s], NaN if unknown; whether counts are
    missing.

    `table` is the match of its heading; the table ends at position `end_of_rows` at the latest.
    """
    start = text.find("\n", table.start()) + 1
    n_threads = sum(map(bool, _cells(text[table.start() : start - 1]))) - 2
    counts, seconds = {}, np.nan
    while 0 < start < end_of_rows:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line, cells = text[start:end], _cells(text[start:end])
        if not line.startswith("+"):
            if len(cells) < 3 or cells[0] in ("TABLE", "STRUCT", "Metric") or not cells[1]:
                break
            if cells[0].endswith("[s]"):
                seconds = _seconds(_SECONDS.match(line))
            else:
                by_thread = [read_count(text, start, cell) for cell in cells[2 : n_threads + 2]]
                counts.setdefault(cells[0], []).extend(by_thread)
        start = end + 1
    rows = []
    for event, parts in counts.items():
        counted = [part for part in parts if np.isfinite(part)]
        unit = "J" if event.startswith("PWR_") else ""
        rows.append((1.0, event, sum(counted) if counted else "<not counted>", 1.0, unit))
    return rows, seconds, any(np.isnan(parts).any() for parts in counts.values())


def _cells(line):
    """Cells (list of str) of a line of a drawn table or of CSV."""
    line = line.rstrip()
    parts = line.strip("|").split("|") if line.startswith("|") else line.split(",")
    return [part.strip() for part in parts]


def _seconds(match):
    """The longest time [s] in a line of times by thread, from the line's match (None if there is none); NaN without
    a time.
    """
    cells = [cell.strip() for cell in re.split(r"[|,]", match[1])] if match else []
    return max((float(cell) for cell in cells if _NUMBER.fullmatch(cell)), default=np.nan)
