"""Intervals without running shares: what perf wrote before 3.19, and tools that keep time, count and name.

Three columns (time, count, event) or four (time, count, unit, event), after header lines that may say what raw codes
stand for: ``Event 2 Label:  L1I_CACHE_REFILL  RAW Identifier:  r001``.
"""

import re

import numpy as np
import pandas as pd

from cmlib.perf.grammar import ParseError, shown

_TIME = r" *[0-9]{1,12}[.,][0-9]{9}"
_COUNT = r"[0-9]{1,300}(?:\.[0-9]+)?|<not counted>|<not supported>"
_ROW = re.compile(
    rf"^({_TIME})([,;\t|])({_COUNT})\2(?:(n/a|[A-Za-z%][A-Za-z0-9%/]*|)\2)?([^\n\t;|0-9][^\n\t;|]*|[^\s,;|]*/[^/]*/)\s*$"
)
_HEADING = re.compile(r"^(?:Start:.*|Event [0-9]+ Label:\s*(\S+)\s+RAW Identifier:\s*(\S+)\s*|\s*#.*|\s*)$")
_RAW = re.compile("r[0-9a-fA-F]+")
_FIRST_LINES = 40


def recognises(text):
    """Whether the first line that is no heading has three columns or four, the last a name."""
    for line in text[:10_000].split("\n")[:_FIRST_LINES]:
        if not _HEADING.match(line):
            found = _ROW.match(line)
            return bool(found and "," not in re.sub(r"/[^/]*/", "", found[5]))
    return False


def read(text):
    """Read such intervals.

    Parameters
    ----------
    text : str

    Returns
    -------
    DataFrame
        As from :func:`cmlib.perf.parse_stat`; all events are taken to have been counted all the time, for want of
        shares. Raw codes that a header line names come under that name.

    Raises
    ------
    ParseError
        On any other line, naming it.
    """
    names, rows, start = {}, [], 0
    for line in text.split("\n"):
        if heading := _HEADING.match(line):
            names |= {heading[2]: heading[1]} if _RAW.fullmatch(heading[2] or "") else {}
        elif found := _ROW.match(line):
            rows.append(found.groups())
        elif start + len(line) < len(text):
            raise ParseError(
                f"{shown(text, start)} has not the columns of the lines before it: time, count, (unit,) event."
            )
        start += len(line) + 1
    times, _, counts, units, events = zip(*rows, strict=True)
    counted = np.array([not count.startswith("<") for count in counts])
    return pd.DataFrame(
        {
            "time_s": [float(time.replace(",", ".")) for time in times],
            "event": [names.get(event.strip(), event.strip()) for event in events],
            "value": [float(count) if not count.startswith("<") else np.nan for count in counts],
            "supported": [count != "<not supported>" for count in counts],
            "running": counted.astype(float),
            "unit": ["" if unit in (None, "n/a") else unit for unit in units],
        }
    )
