"""The table that `perf stat` prints for people, with and without ``-I``."""

import re

import numpy as np
import pandas as pd

from cmlib.perf.grammar import ParseError, shown

# A count with marks between its digits as the locale sets them: 74,325,443 or 6,00,63,89,180 or 7.309.174.663.
_DIGITS = r"[0-9](?:[0-9]|[.,'\u00a0\u202f](?=[0-9]))*"
_COUNT = rf"{_DIGITS}|<not counted>|<not supported>"
_TIME = r"[0-9]{1,12}[.,][0-9]{9}"
_SHARE = r"\( *([0-9]{1,3}[.,][0-9]+) *%\)"
_ROW = re.compile(
    rf"^ *(?:({_TIME}) +)?({_COUNT}) +(?:([A-Za-z%][^\s#(]*) +)?([^\s#(][^\s#]*)"
    rf" *(?:\( *\+- *[^)]*\))? *(?:#[^\n]*?)? *(?:{_SHARE})? *(?:\( *\+- *[^)]*\))? *$"
)
# What else such a table holds: headings, a metric by itself, elapsed times, JSON of whoever kept it.
_OTHER = re.compile(
    r"^\s*(?:#.*|Performance counter stats for .*|"
    r".* seconds (?:time elapsed|user|sys)\b.*|\{.*\}|\s*#.*|[0-9., ]+\s+#.*)?$"
)
_FIRST_LINES = 40


def recognises(text):
    """Whether one of the first lines is a row of such a table, and none before it is anything else."""
    for line in _first_lines(text):
        if _OTHER.match(line):
            continue
        found = _ROW.match(line)
        return bool(found and not re.search(r"[,;|\t]", found[4].split("/")[0]))
    return False


def read(text):
    """Read such a table.

    Parameters
    ----------
    text : str

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
    rows, start = [], 0
    for line in text.split("\n"):
        found = _ROW.match(line) if not _OTHER.match(line) else None
        if found:
            rows.append(_row(*found.groups()))
        elif not _OTHER.match(line) and start + len(line) < len(text):
            raise ParseError(
                f"{shown(text, start)} is no line of the table that `perf stat` prints. Keep perf's output apart from "
                "the program's: -o FILE."
            )
        start += len(line) + 1
    frame = pd.DataFrame(rows, columns=["time_s", "event", "value", "supported", "running", "unit"])
    timed = frame["time_s"].notna()
    return frame[timed].reset_index(drop=True) if timed.any() else frame


def _row(time, count, unit, event, share):
    counted = not count.startswith("<")
    return {
        "time_s": float(time.replace(",", ".")) if time else np.nan,
        "event": event,
        "value": _number(count, unit) if counted else np.nan,
        "supported": count != "<not supported>",
        "running": (float(share.replace(",", ".")) / 100 if share else 1.0) if counted else 0.0,
        "unit": unit or "",
    }


def _number(written, unit):
    digits = re.sub(r"[^0-9]", "", written)
    decimals = re.search(r"[.,]([0-9]{2})$", written) if unit else None
    return float(f"{digits[:-2] or 0}.{decimals[1]}") if decimals else float(digits)


def _first_lines(text):
    start = 0
    for _ in range(_FIRST_LINES):
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)]
        if line.strip():
            yield line
        if end < 0:
            return
        start = end + 1
