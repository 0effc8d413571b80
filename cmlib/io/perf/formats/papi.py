"""Counts of PAPI's events that a program prints, a line each: ``PAPI_L1_LDM : 159958``; the rest is left out."""

import re

import numpy as np

from cmlib.io.perf.formats.lines import NO_SHARES, Totals, as_frame, whole_count

NAME = "lines of PAPI's events"

_LINE = re.compile(
    r"^[ \t]*+(PAPI_[A-Z0-9_]{2,40})[ \t]*(?:[:=][ \t]*|[ \t])((?i:[+-]?(?:\d\S*+|nan|inf(?:inity)?)|true|false"
    r"|null))[ \t\r]*+$",
    re.MULTILINE,
)


def recognises(text):
    """Whether there is such a line."""
    return "PAPI_" in text and bool(_LINE.search(text))


def read(text, interval_ms=None):
    """Read such lines, without times."""
    return _frame(
        None, ((line[1], whole_count(text, line.start(), line[2])) for line in _LINE.finditer(text))
    )


def remarks(text, columns=None):
    """That running shares are missing."""
    return [NO_SHARES]


def totals(text):
    """A run begins where an event comes again."""
    starts, runs = [0], [{}]
    for line in _LINE.finditer(text):
        if line[1] in runs[-1]:
            starts.append(line.start())
            runs.append({})
        runs[-1][line[1]] = whole_count(text, line.start(), line[2])
    for start, end, counts in zip(starts, [*starts[1:], len(text)], runs, strict=True):
        notes = (NO_SHARES, "A run begins where an event is printed again.")
        yield Totals(text[start:end], _frame(1.0, counts.items()), remarks=notes)


def _frame(time, counts):
    return as_frame((time, event, float(count), np.nan, "") for event, count in counts)
