"""What `likwid-perfctr -t` writes: a line an interval, after headings that name what each group measures.

``# GID|EventCount|CpuCount|Total runtime [s]|INSTR_RETIRED_ANY|…`` comes once for each group of events, then lines such
as ``1 2 4 0.500 …`` or, with ``-O`` or in a file, ``1,2,4,0.500,…``: the group, how many events and hardware threads,
the time, and of each event a count for every hardware thread (likwid-perfctr 5.2, ``likwid-perfctr.lua``). A group of
likwid's own prints metrics in place of counts, and before likwid 4.3 no heading (`likwid_metrics`). Groups take turns,
a line each: a turn of all is an interval here, extrapolated from what was counted of it.
"""

import re
from dataclasses import dataclass

import numpy as np

from cmlib.io.perf.formats import likwid_metrics
from cmlib.io.perf.formats.lines import as_frame
from cmlib.io.perf.grammar import ParseError, shown

NAME = "likwid-perfctr -t"
TELLS_SHARES = True

_HEADING = re.compile(
    r"^\s*# GID[|, ](EventCount|MetricsCount)[|, ]CpuCount[|, ]Total runtime \[s\]([|, ])(.+?)\s*$",
    re.M | re.I,
)
_THREADS = re.compile(r"^# (?:CORES|HWThreads): [0-9|]+\s*\n\s*[0-9]+ [0-9]+ [0-9]+ [0-9.]+ [0-9]", re.M)
_ROW = re.compile(
    r"\s*([0-9]{1,4})([ ,])([0-9]{1,4})\2([0-9]{1,5})\2([0-9]{1,12}(?:\.[0-9]{1,20})?)\2(.+?)\s*$"
)
_COUNT = re.compile(r"-?[0-9]{1,300}(?:\.[0-9]{1,300})?(?:e[+-]?[0-9]{1,2})?")
# A line's clock and its counters' differ by so little.
_WHOLE = 0.995
_NOTHING = frozenset(["nan", "-nan", "inf", "-inf", "-"])


@dataclass(frozen=True)
class _Line:
    """What a line holds: its group, when it ends, and a row of values a metric or event, a column a thread."""

    start: int
    group: int
    end: float
    values: np.ndarray


def recognises(text):
    """Whether a heading of likwid's is among the first lines."""
    return bool(_HEADING.search(text[:100_000]) or _THREADS.search(text[:100_000]))


def read(text, interval_ms=None):
    """Read such lines; what a program printed between them is left out."""
    names, in_metrics = _names(text)
    lines = list(_lines(text, names))
    if in_metrics:
        told = likwid_metrics.counts(text, lines, names)
    else:
        ends = [line.end for line in lines]
        told = [
            (dict(zip(names[line.group], _added(line.values), strict=True)), seconds)
            for line, seconds in zip(lines, np.diff(ends, prepend=0.0), strict=True)
        ]
    return as_frame(_rows(lines, told))


def remarks(text):
    """What is added up, extrapolated and derived."""
    names, in_metrics = _names(text)
    said = ["Counts of all hardware threads are added up."]
    if (n := len({line.group for line in _lines(text, names)})) > 1:
        said.append(
            f"{n} groups take turns: an interval is a turn of all, of which each was counted for its share."
        )
    return said + (likwid_metrics.remarks(text, names) if in_metrics else [])


def _names(text):
    """What each group measures, and whether that is metrics."""
    found = list(_HEADING.finditer(text))
    names = {group: heading[3].split(heading[2]) for group, heading in enumerate(found, 1)}
    return names, not found or found[0][1].lower() == "metricscount"


def _lines(text, names):
    """Lines of counts; of a last line without its end, nothing is known."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        if found := _ROW.match(text, start, end):
            group, n, n_threads = (int(found[k]) for k in (1, 3, 4))
            cells = found[6].split(found[2])
            if len(cells) != n * n_threads or (names and len(names.get(group, ())) != n):
                raise ParseError(f"{shown(text, start)} has not the counts of a group that a heading names.")
            values = np.array([_count(text, start, cell) for cell in cells]).reshape(n, n_threads)
            yield _Line(start, group, float(found[5]), values)
        start = end + 1


def _count(text, start, cell):
    if cell.lower() in _NOTHING:
        return np.nan
    if not _COUNT.fullmatch(cell):
        raise ParseError(f"{shown(text, start)} has {cell[:40]!r} for a count.")
    return float(cell)


def _added(values):
    """Sums over threads; NaN where none was counted."""
    return np.where(np.isnan(values).all(axis=1), np.nan, np.nansum(values, axis=1))


def _rows(lines, told):
    """Rows of turns in which all groups were counted."""
    groups, begin, turn = {line.group for line in lines}, 0.0, []
    for line, (counts, seconds) in zip(lines, told, strict=True):
        if line.group in {group for group, _, _ in turn}:
            turn = []
        turn.append((line.group, counts, seconds))
        if len(turn) == len(groups):
            yield from _extrapolated(line.end, line.end - begin, turn)
            begin, turn = line.end, []


def _extrapolated(end, length, turn):
    for event in dict.fromkeys(event for _, counts, _ in turn for event in counts):
        parts = [
            (counts[event], seconds) for _, counts, seconds in turn if np.isfinite(counts.get(event, np.nan))
        ]
        share = sum(seconds for _, seconds in parts) / length if length > 0 else 0.0
        share = 1.0 if share > _WHOLE else share
        count = sum(count for count, _ in parts) / share if share else "<not counted>"
        yield str(end), event, count, share, ""
