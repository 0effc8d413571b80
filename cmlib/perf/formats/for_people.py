"""The table that `perf stat` prints for people, with and without ``-I``."""

import re

from cmlib.perf.formats.lines import TIME, UNCOUNTED, as_frame, first_line, match_lines

NAME = "perf stat's table for people"
TELLS_SHARES = True

# A count with marks between its digits as the locale sets them: 74,325,443 or 6,00,63,89,180 or 7.309.174.663.
_COUNT = rf"[0-9](?:[0-9]|[.,'\u00a0\u202f](?=[0-9]))*|{UNCOUNTED}"
_SHARE = r"\( *([0-9]{1,3}[.,][0-9]+) *%\)"
_VARIATION = r"(?:\( *\+- *[^)]*\))?"
_ROW = re.compile(
    rf"^ *(?:({TIME}) +)?({_COUNT}) +(?:([A-Za-z%][^\s#(]*) +)?([^\s#(][^\s#]*)"
    rf" *{_VARIATION} *(?:#[^\n]*?)? *(?:{_SHARE})? *{_VARIATION} *$"
)
# What else such a table holds: headings, a metric by itself, elapsed times.
_HEADING = re.compile(
    r"^\s*(?:#.*|Performance counter stats for .*|.* seconds (?:time elapsed|user|sys)\b.*|[0-9., ]+\s+#.*)?$"
)


def recognises(text):
    """Whether the first line that is no heading is a row of such a table."""
    found = _ROW.match(first_line(text, _HEADING))
    return bool(found and not re.search(r"[,;|\t]", found[4].split("/")[0]))


def read(text, interval_ms=None):
    """Read such a table.

    Parameters
    ----------
    text : str
    interval_ms : int, optional
        Not needed here: each line has its time.

    Returns
    -------
    DataFrame
        As from :func:`cmlib.perf.parse_stat`. perf prints whole counts but for events with a unit, which have two
        decimals; the marks between digits are the locale's.

    Raises
    ------
    ParseError
        On a line that belongs to no such table, naming it.
    """
    lines = match_lines(
        text,
        _ROW,
        _HEADING,
        "is no line of the table that `perf stat` prints. Keep perf's output apart from the program's: -o FILE.",
    )
    frame = as_frame(_fields(*found.groups()) for found in lines)
    timed = frame["time_s"].notna()
    return frame[timed].reset_index(drop=True) if timed.any() else frame


def remarks(text):
    """Nothing is taken for granted: shares are printed where they are below 100 %."""
    return []


def _fields(time, count, unit, event, share):
    number = count if count.startswith("<") else _number(count, unit)
    return time, event, number, float(share.replace(",", ".")) / 100 if share else 1.0, unit or ""


def _number(written, unit):
    digits = re.sub(r"[^0-9]", "", written)
    decimals = re.search(r"[.,]([0-9]{2})$", written) if unit else None
    return float(f"{digits[:-2] or 0}.{decimals[1]}") if decimals else float(digits)
