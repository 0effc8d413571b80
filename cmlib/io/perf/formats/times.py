"""The column of times of a wide table."""

import re
from datetime import UTC, datetime

import numpy as np

from cmlib.io.perf.formats.heading import NUMBER
from cmlib.io.perf.grammar import ParseError, shown

_UNIT = r"(?:s|secs?|seconds|ms|msec|milliseconds|us|usec|µs|ns|nsec|nanoseconds)"
_TIME = re.compile(
    r"(?:(?:wall|elapsed|sample|unix|epoch|clock)[ _-]?)?(?:time(?:[ _-]?stamp)?|date(?:[ _-]?time)?|ts|elapsed|epoch"
    rf"|seconds)(?:[ _-]?elapsed)?(?:[ _-]*[\[(]?({_UNIT})[\])]?)?",
    re.IGNORECASE,
)
_PER_SECOND = {"m": 1e3, "u": 1e6, "µ": 1e6, "n": 1e9}


def is_time(name):
    """Whether a column's name is one of times, such as ``timestamp``, ``Time (ms)`` or ``elapsed_s``."""
    return bool(_TIME.fullmatch(name))


def times_of(text, heading, lines):
    """The times of a table's rows as they are written."""
    found = [(column, match) for column, name in enumerate(heading.names) if (match := _TIME.fullmatch(name))]
    if not found:
        return None
    column, match = found[0]
    times = np.array([_time(text, line, line.cells[column]) for line in lines], dtype=float)
    return times / _per_second(match[1], times)


def step_of(times):
    """The usual time from a row to the next [s]."""
    steps = np.diff(times)
    forward = steps[steps > 0]
    return float(np.median(forward)) if len(forward) else 1.0


def ends_of(text, lines, times):
    """Ends of the intervals since the beginning of the first [s]; a ParseError where time goes back."""
    steps = np.diff(times)
    if len(back := np.flatnonzero(steps <= 0)):
        raise ParseError(
            f"{shown(text, lines[back[0] + 1].start)} goes back in time, or stays where it was, so another run begins. "
            "Read each part by itself, as `cmlib import` does."
        )
    step = step_of(times)
    return times if len(times) and 0 < times[0] <= 1.5 * step else times - times[:1] + step


def stretched(ends, interval_ms):
    """Times with steps of the given length, where that is another than theirs."""
    ratio = 1.0 if interval_ms is None else interval_ms / 1000 / step_of(ends)
    return ends if 0.99 <= ratio <= 1.01 else ends * ratio


def _time(text, line, cell):
    if NUMBER.fullmatch(cell):
        return float(cell.replace(",", "."))
    try:
        told = datetime.fromisoformat(cell)
        return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise ParseError(
            f"{shown(text, line.start)} has {cell[:40]!r} for a time: neither a number nor as 2026-11-21T03:00:46."
        ) from error


def _per_second(unit, times):
    if unit:
        return _PER_SECOND.get(unit[0].lower(), 1.0)
    largest = times.max(initial=0.0)
    return next((per for least, per in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)) if largest > least), 1.0)
