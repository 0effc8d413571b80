"""What `likwid-perfctr` and `likwid-mpirun` write at the end: tables of counts, drawn with lines or as CSV (``-O``).

A table begins ``Event|Counter|`` with a column a hardware thread. Regions of the marker API are programs of their own,
and tables of the same region and events are as many runs. Tables of metrics and of statistics are left out, and so is
what the program prints.
"""

import bisect
import itertools
import re

import numpy as np

from cmlib.io.perf.formats.likwid import UNCOUNTED, read_count
from cmlib.io.perf.formats.lines import Totals, as_frame

NAME = "likwid-perfctr's tables"

_TABLE = re.compile(r"^(?:\| *)?Event *[|,] *Counter *[|,](?! *Sum *[|,])", re.MULTILINE)
_REGION = re.compile(
    r"^(?:TABLE,Region ([^,\n]+), ?Group [0-9]+ Raw,|Region:? ([^,\n]+), Group)", re.MULTILINE
)
_SECONDS = re.compile(r"^(?:\| *)?(?:Runtime \(RDTSC\)|RDTSC Runtime) \[s\] *[|,](.*)$", re.MULTILINE)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")


def recognises(text):
    """Whether there is a table of counts."""
    return "Counter" in text and bool(_TABLE.search(text))


def read(text, interval_ms=None):
    """Read the counts of all tables, without times."""
    return as_frame(row for table, end in _tables(text) for row in _rows(text, table, end)[0])


def remarks(text, columns=None):
    """That counts are added up."""
    return ["Counts of all hardware threads are added up, and of an event that several counters count."]


def totals(text):
    """Each table as a run."""
    tables = list(_tables(text))
    regions = {found.start(): (found[1] or found[2]).strip() for found in _REGION.finditer(text)}
    begins = list(regions)
    starts = [_start(text, before, table, begins) for (before, _), (table, _) in itertools.pairwise(tables)]
    for (table, end_of_rows), (start, end) in zip(
        tables, itertools.pairwise([0, *starts, len(text)]), strict=True
    ):
        rows, seconds, lacks = _rows(text, table, end_of_rows)
        if rows:
            region = regions.get(_last_between(begins, start, table.start()), "")
            lasted = _seconds(_SECONDS.search(text, start, end)) if np.isnan(seconds) else seconds
            frame = as_frame(rows).assign(time_s=1.0)
            notes = (*remarks(text), *[UNCOUNTED] * lacks)
            yield Totals(text[start:end], frame, region, (lasted,), remarks=notes)


def _tables(text):
    """Headings of tables, and where the rows of each end at the latest."""
    tables = list(_TABLE.finditer(text))
    return zip(tables, [*(table.start() for table in tables[1:]), len(text)], strict=True)


def _last_between(begins, start, end):
    """The last of some sorted places from `start` on and before `end`; None if there is none."""
    k = bisect.bisect_left(begins, end) - 1
    return begins[k] if k >= 0 and begins[k] >= start else None


def _start(text, before, table, begins):
    """Where a table begins that follows another: with its region, or its group."""
    region = _last_between(begins, before.end() + 1, table.start())
    group = max(
        text.rfind(f"\n{word}", before.end(), table.start()) + 1 for word in ("Group", "TABLE", "STRUCT")
    )
    return region if region is not None else group or text.rfind("\n", 0, table.start()) + 1


def _rows(text, table, most):
    """Rows of a table, with counts added up by event, how long it was counted [s], and whether counts are missing."""
    start = text.find("\n", table.start()) + 1
    n = sum(map(bool, _cells(text[table.start() : start - 1]))) - 2
    counts, seconds = {}, np.nan
    while 0 < start < most:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line, cells = text[start:end], _cells(text[start:end])
        if not line.startswith("+"):
            if len(cells) < 3 or cells[0] in ("TABLE", "STRUCT", "Metric") or not cells[1]:
                break
            if cells[0].endswith("[s]"):
                seconds = _seconds(_SECONDS.match(line))
            else:
                counts.setdefault(cells[0], []).extend(
                    read_count(text, start, cell) for cell in cells[2 : n + 2]
                )
        start = end + 1
    rows = [
        (None, event, _added(parts), 1.0, "J" * event.startswith("PWR_")) for event, parts in counts.items()
    ]
    return rows, seconds, bool(np.isnan([*itertools.chain(*counts.values())]).any())


def _cells(line):
    line = line.rstrip()
    parts = line.strip("|").split("|") if line.startswith("|") else line.split(",")
    return [part.strip() for part in parts]


def _added(parts):
    counted = [part for part in parts if np.isfinite(part)]
    return sum(counted) if counted else "<not counted>"


def _seconds(found):
    """The longest of the threads' times; NaN where there is none."""
    cells = [cell.strip() for cell in re.split(r"[|,]", found[1])] if found else []
    return max((float(cell) for cell in cells if _NUMBER.fullmatch(cell)), default=np.nan)
