"""What forms that are read line by line have in common."""

import numpy as np
import pandas as pd

from cmlib.perf.grammar import ParseError, shown

_HEAD = 10_000  # characters among which the first line that is no heading is looked for
COLUMNS = ["time_s", "event", "value", "supported", "running", "unit"]

NO_SHARES = "The file tells no running shares: every event is taken to have been counted all the time."
TIME = r"[0-9]{1,12}[.,][0-9]{9}"
UNCOUNTED = "<not counted>|<not supported>"


def first_line(text, heading):
    """The first line that `heading`, a pattern, does not match; empty if there is none near the beginning."""
    return next((line for line in text[:_HEAD].split("\n") if not heading.match(line)), "")


def match_lines(text, row, heading, expected):
    """Match every line that is no heading.

    Parameters
    ----------
    text : str
    row, heading : re.Pattern
    expected : str
        What a line that neither matches lacks, for the error.

    Yields
    ------
    re.Match
        Of `row`. A last line that was cut off is left out.

    Raises
    ------
    ParseError
        Naming the first line that neither matches.
    """
    start = 0
    for line in text.split("\n"):
        if not heading.match(line):
            if found := row.match(line):
                yield found
            elif start + len(line) < len(text):
                raise ParseError(f"{shown(text, start)} {expected}")
        start += len(line) + 1


def as_frame(rows):
    """The columns of :func:`cmlib.perf.parse_stat`.

    Parameters
    ----------
    rows : iterable of tuple
        Time as written or None, event, count (a number, or "<not …>" as written), running share (0–1), unit.
    """
    counted = [
        (
            float(time.replace(",", ".")) if time else np.nan,
            event,
            np.nan if isinstance(count, str) else count,
            count != "<not supported>",
            0.0 if isinstance(count, str) else share,
            unit,
        )
        for time, event, count, share, unit in rows
    ]
    return pd.DataFrame(counted, columns=COLUMNS)
