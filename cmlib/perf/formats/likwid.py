"""What `likwid-perfctr -t` writes: a line an interval, after headings that name each group's events.

``# GID|EventCount|CpuCount|Total runtime [s]|INSTR_RETIRED_ANY|…`` comes once for each group of events, then lines such
as ``1 2 4 0.500 …`` or, with ``-O`` or in a file, ``1,2,4,0.500,…``: the group, how many events and hardware threads,
the time, and of each event a count for every hardware thread (likwid-perfctr 5.2, ``likwid-perfctr.lua``). Groups take
turns, an interval each, in which all their events are counted. A group of likwid's own prints metrics in place of
counts.
"""

import re

from cmlib.perf.formats.lines import as_frame
from cmlib.perf.grammar import ParseError, shown

NAME = "likwid-perfctr -t"
TELLS_SHARES = True

_HEADING = re.compile(
    r"^\s*# GID[|, ](EventCount|MetricsCount)[|, ]CpuCount[|, ]Total runtime \[s\]([|, ])(.+?)\s*$",
    re.M | re.I,
)
_ROW = re.compile(
    r"\s*([0-9]{1,4})([ ,])([0-9]{1,4})\2([0-9]{1,5})\2([0-9]{1,12}(?:\.[0-9]{1,20})?)\2(.+?)\s*$"
)
_COUNT = re.compile(r"[0-9]{1,300}(?:\.[0-9]{1,300})?(?:e[+-]?[0-9]{1,2})?")
_NOTHING = frozenset(["nan", "-nan", "inf", "-inf", "-"])


def recognises(text):
    """Whether a heading of likwid's is among the first lines."""
    return bool(_HEADING.search(text[:100_000]))


def read(text, interval_ms=None):
    """Read such lines; what a program printed between them is left out.

    Parameters
    ----------
    text : str
    interval_ms : int, optional
        Not needed here: each line has its time.

    Returns
    -------
    DataFrame
        As from :func:`cmlib.perf.parse_stat`: counts of all hardware threads added up; an event has no row in the
        intervals of the other groups.

    Raises
    ------
    ParseError
        If the groups are likwid's own, whose metrics are no counts, or a line's cells are not those of its group.
    """
    groups = list(_HEADING.finditer(text))
    for found in groups:
        if found[1].lower() == "metricscount":
            raise ParseError(
                f"{shown(text, found.start())} names metrics of a group of likwid's own, which are no counts. Record "
                "events: `likwid-perfctr -t 500ms -g INSTR_RETIRED_ANY:FIXC0,CPU_CLK_UNHALTED_CORE:FIXC1,… COMMAND`."
            )
    names = [found[3].split(found[2]) for found in groups]
    return as_frame(cells for line in _rows(text, groups[-1].end()) for cells in _cells(text, line, names))


def remarks(text):
    """That counts are added up."""
    return ["Counts of all hardware threads are added up."]


def _rows(text, start):
    """Lines of counts, with where they start; of a last line without its end, nothing is known."""
    while (end := text.find("\n", start)) >= 0:
        if found := _ROW.match(text[start:end]):
            yield found, start
        start = end + 1


def _cells(text, line, names):
    found, start = line
    group, n_events, n_threads = (int(found[k]) for k in (1, 3, 4))
    cells = found[6].split(found[2])
    if (
        not 1 <= group <= len(names)
        or n_events != len(names[group - 1])
        or len(cells) != n_events * n_threads
    ):
        raise ParseError(f"{shown(text, start)} has not the counts of a group that a heading names.")
    for k, name in enumerate(names[group - 1]):
        counts = [_count(text, start, cell) for cell in cells[k * n_threads : (k + 1) * n_threads]]
        counted = [count for count in counts if count is not None]
        yield found[5], name, sum(counted) if counted else "<not counted>", 1.0, ""


def _count(text, start, cell):
    if cell.lower() in _NOTHING:
        return None
    if not _COUNT.fullmatch(cell):
        raise ParseError(f"{shown(text, start)} has {cell[:40]!r} for a count.")
    return float(cell)
