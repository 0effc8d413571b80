"""The table that `perf stat` prints for people, with and without ``-I``."""

import re

from cmlib.io.perf.formats.lines import TIME, UNCOUNTED, as_frame, first_line, match_lines
from cmlib.io.perf.grammar import ParseError, shown

NAME = "perf stat's table for people"

# A blank that cannot be broken is written in the locale's encoding, which need not be UTF-8.
_MARK = "[.,' \u00a0\u202f\ufffd\udca0]"
_COUNT = rf"[0-9]{{1,3}}(?: [0-9]{{3}})+(?:[.,][0-9]+)?|[0-9](?:[0-9]|(?! ){_MARK}(?=[0-9]))*|{UNCOUNTED}"
# Marks between digits are the locale's: 74,325,443 or, in India, 6,00,63,89,180; a count with a unit has two decimals,
# and up to perf 4.20 six: 7.309,17 msec task-clock, 7.309,174663 task-clock (msec).
_NUMBER = re.compile(
    rf"([0-9]+|[0-9]{{1,3}}(?:({_MARK})[0-9]{{3}})(?:\2[0-9]{{3}})*|[0-9]{{1,2}}(?:({_MARK})[0-9]{{2}})+\3[0-9]{{3}})"
    r"(?:([.,])([0-9]{2}|[0-9]{6}))?"
)
_SHARE = r"[(\[] *([0-9]{1,3}[.,][0-9]+) *%[)\]]"
_VARIATION = r"(?:\( *\+- *[^)]*\))?"
_ROW = re.compile(
    rf"^ *(?:({TIME}) +)?({_COUNT}) +(?:([A-Za-z%][^\s#(]*) +)?([^\s#(\[][^\s#]*)(?: \(([A-Za-z%/]+)\))?"
    rf" *{_VARIATION} *(?:#[^\n]*?)? *(?:{_SHARE})? *{_VARIATION} *$"
)
# What else such a table holds: headings, a metric by itself, elapsed times.
_HEADING = re.compile(
    r"^\s*(?:#.*|Performance counter stats for .*|.* seconds (?:time elapsed|user|sys)\b.*|[0-9., ]+\s+#.*"
    r"|Topdown[^#]*#.*)?$"
)


def recognises(text):
    """Whether the first line that is no heading is a row of such a table."""
    found = _ROW.match(first_line(text, _HEADING))
    return bool(found and not re.search(r"[,;|\t]", found[4].split("/")[0]))


def remarks(text, columns=None):
    """None: all is told."""
    return []


def read(text, interval_ms=None):
    """Read such a table."""
    lines = match_lines(
        text,
        _ROW,
        _HEADING,
        "is no line of the table that `perf stat` prints for whole programs. Metrics alone (--topdown) and counts a "
        "thread can't be read; keep perf's output apart from the program's: -o FILE.",
    )
    marks = {}
    frame = as_frame(_fields(text, start, found, marks) for start, found in lines)
    timed = frame["time_s"].notna()
    return frame[timed].reset_index(drop=True) if timed.any() else frame


def _fields(text, start, found, marks):
    time, count, unit, event, unit_behind, share = found.groups()
    unit = unit or unit_behind or ""
    number = count if count.startswith("<") else _number(text, start, count, unit, marks)
    running = float(share.replace(",", ".")) / 100 if share else 1.0
    if running > 1:
        raise ParseError(f"{shown(text, start)} says that its event was counted for {share} % of the time.")
    return time, event, number, running, unit


def _number(text, start, written, unit, marks):
    """A count, whose digits are grouped as those before it: `marks` is what these have between them."""
    found = _NUMBER.fullmatch(written)
    if not found or (found[4] and not unit):
        raise ParseError(f"{shown(text, start)} has {written!r} for a count, which perf writes in no locale.")
    whole, threes, twos, decimal, decimals = found.groups()
    size = 3 if threes and len(whole) > 7 else 2 if twos else None
    own = {"groups": threes or twos, "decimal": decimal, "size": size}
    for what, mark in own.items():
        if mark and marks.setdefault(what, mark) != mark:
            raise ParseError(
                f"{shown(text, start)} groups the digits of its count otherwise than lines before it."
            )
    if decimal and marks.get("groups") == decimal:
        raise ParseError(
            f"{shown(text, start)} has {decimal!r} between groups of digits and before decimals."
        )
    return float(re.sub(_MARK, "", whole) + (f".{decimals}" if decimals else ""))
