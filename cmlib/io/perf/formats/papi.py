"""Counts of PAPI's events that a program prints, a line each: ``PAPI_L1_LDM : 159958``; the rest is left out."""

import re

from cmlib.io.perf.formats.lines import NO_SHARES, Totals, as_frame

NAME = "lines of PAPI's events"

_LINE = re.compile(
    r"^[ \t]*(PAPI_[A-Z0-9_]{2,40})[ \t]*(?:[:=][ \t]*|[ \t])([0-9]{1,20})[ \t]*$", re.MULTILINE
)


def recognises(text):
    """Whether there is such a line."""
    return "PAPI_" in text and bool(_LINE.search(text))


def read(text, interval_ms=None):
    """Read such lines, without times."""
    return as_frame((None, line[1], float(line[2]), float("nan"), "") for line in _LINE.finditer(text))


def remarks(text, columns=None):
    """That running shares are missing."""
    return [NO_SHARES]


def totals(text):
    """A run begins where an event comes again."""
    starts, seen = [0], set()
    for line in _LINE.finditer(text):
        if line[1] in seen:
            starts.append(line.start())
            seen = set()
        seen.add(line[1])
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        frame = read(text[start:end]).assign(time_s=1.0)
        yield Totals(
            text[start:end], frame, remarks=(NO_SHARES, "A run begins where an event is printed again.")
        )
