"""What forms that are read line by line have in common."""

import numpy as np
import pandas as pd

from cmlib.io.perf.grammar import ParseError, shown

_HEAD = 10_000  # characters among which the first line that is no heading is looked for
COLUMNS = ["time_s", "event", "value", "supported", "running", "unit"]

NO_SHARES = (
    "The file tells no running shares: for how much of the time an event was counted, and how much was extrapolated, "
    "is not known."
)
TIME = r"[0-9]{1,12}[.,][0-9]{9}"
UNCOUNTED = "<not counted>|<not supported>"


def first_line(text, heading):
    """The first line that `heading`, a pattern, does not match; empty if there is none near the beginning."""
    return next((line for line in text[:_HEAD].split("\n") if not heading.match(line)), "")


def match_lines(text, row, heading, expected):
    """Match every line that is no heading; yields its start and the match of `row`."""
    start = 0
    for line in text.split("\n"):
        if not heading.match(line):
            if found := row.match(line):
                yield start, found
            elif start + len(line) < len(text):
                raise ParseError(f"{shown(text, start)} {expected}")
        start += len(line) + 1


def as_frame(rows):
    """The columns of :func:`cmlib.io.perf.parse_stat`, of time, event, count or "<not …>", share and unit."""
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
