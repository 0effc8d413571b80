"""Pieces of a recording between times."""

import re
from dataclasses import dataclass

import numpy as np

from cmlib.io.perf.formats import find_format, wide
from cmlib.io.perf.formats.lines import TIME
from cmlib.io.perf.grammar import ParseError

_TIMED = re.compile(rf'^ *(?:\{{ *"interval" *: *)?({TIME})[^\n]*\n', re.MULTILINE)
_START = re.compile(r"^Start:\s*([0-9]{1,20})(?:\.([0-9]{1,9})[0-9]*)?\s*$", re.MULTILINE)
_NS = 10**9


@dataclass(frozen=True)
class Piece:
    """Whole intervals of a recording.

    Attributes
    ----------
    text : str
        The recording's heading and the lines of these intervals.
    start_s : float
        When the first of them begins, by the times in `text` [s].
    """

    text: str
    start_s: float


def cut(text, start_s, end_s):
    """Take the intervals that lie wholly between two times."""
    form = find_format(text)
    starts, stops, times = form.timed_rows(text) if form is wide else _timed_lines(text)
    if not len(times):
        raise ParseError(
            f"line 1: the lines of this form ({form.NAME}) have no times that marks could refer to."
        )
    ends = np.unique(times)
    begins = np.concatenate([[0.0], ends[:-1]])
    inside = (begins >= start_s) & (ends <= end_s) & (ends > begins)
    if not inside.any():
        return None
    first, last = begins[inside][0], ends[inside][-1]
    lines = np.flatnonzero((times > first) & (times <= last))
    piece = text[: starts[0]] + text[starts[lines[0]] : stops[lines[-1]]]
    return Piece(piece, 0.0 if form is wide else float(first))


def begin_ns(text):
    """When a recording began, if it tells so to a fraction of a second."""
    if found := _START.search(text[:10_000]):
        whole = int(found[1])
        return whole if whole > _NS**2 // 100 else whole * _NS + int((found[2] or "0").ljust(9, "0"))
    form = find_format(text)
    return form.begin_ns(text) if form is wide else None


def _timed_lines(text):
    found = list(_TIMED.finditer(text))
    times = np.array([float(line[1].replace(",", ".")) for line in found])
    return [line.start() for line in found], [line.end() for line in found], times
