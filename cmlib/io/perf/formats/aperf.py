"""What AWS's APerf records of counters: a time, then lines ``cpu metric; numerator; denominator;scale`` of that
second.

Numerators and denominators may be sums of several counters, which are listed. Each line is a group of its own that
took turns with the others, and is not scaled, so that only its ratio is meant. Cycles and instructions are those of
line ``ipc``; the numerators of the others are their ratios times these: of cycles where the metric is ``-pkc``, per
thousand cycles, else of instructions.

A row is a tuple: end of the interval [s] (str), event, count (float or "<not counted>"), running share (NaN: not
known), unit (""). Lines without a semicolon are passed over; ParseError for others of another form, or a second without
``ipc``.
"""

import bisect
import re

import numpy as np
import pandas as pd

from cmlib.io.archive import reading_errors_as
from cmlib.io.perf.formats.base import Format
from cmlib.io.perf.formats.lines import match_lines
from cmlib.io.perf.grammar import ParseError

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]{1,9})?Z")
_COUNTS = "(?: *+[0-9]{1,20}+(?![0-9]))++"
# Before a second's first line stand its time and its length in bytes.
_LINE = re.compile(
    rf"^(?:.*\0)?([0-9]{{1,5}}) ([A-Za-z][\w-]*+);({_COUNTS});({_COUNTS}); *+[0-9.]++\r?$", re.MULTILINE
)
_OTHER = re.compile(r"[^;\n]*+$")
_SUFFIX = re.compile(r"[-_](?:pkc|pki|mpki)$")


class APerf(Format):
    """Reader of seconds of metrics, which are added up over CPUs."""

    name = "APerf's perf_stat"
    notes = (
        "Counts of all CPUs are added up. Each metric was counted in turns of its own, whose shares are not kept: "
        "cycles and instructions are those of ipc, and the others are as many as their ratios make of these.",
    )

    def recognises(self):
        """Whether a time and a line of a metric stand in the first 1,000 characters."""
        return bool(_TIME.search(self.text[:1000]) and _LINE.search(self.text[:1000]))

    def rows(self, interval_ms=None):
        """Yield a row for each second and event, without running shares (NaN); ParseError for a second without
        ``ipc``.

        `interval_ms` is not used, as the text has times.
        """
        times = list(_TIME.finditer(self.text))
        with reading_errors_as(ParseError, "line 1: APerf's file has a time that is none", errors=ValueError):
            clock = pd.to_datetime([time[0] for time in times], format="ISO8601")
        ends = (clock - clock[0]).total_seconds().to_numpy()
        step = float(np.median(np.diff(ends))) if len(ends) > 1 else 1.0
        starts, sums = [time.start() for time in times], [{} for _ in [None, *times]]
        expected = "is not as APerf writes: CPU metric; counts; counts;scale."
        for start, line in match_lines(self.text, _LINE, _OTHER, expected):
            of_second = sums[bisect.bisect(starts, start + line.start(2))]
            so_far = zip(of_second.get(line[2], (0, 0)), line.group(3, 4), strict=True)
            of_second[line[2]] = [n + sum(map(int, counts.split())) for n, counts in so_far]
        for end, of_second in zip(ends + step, sums[1:], strict=True):
            for event, count in _counts(of_second).items():
                yield f"{end:.9f}", event, count, np.nan, ""


def _counts(sums):
    """Counts of a second (dict by event), of the sums of each metric's numerators and denominators (dict of pairs).

    ParseError without ``ipc``.
    """
    if "ipc" not in sums:
        raise ParseError("line 1: APerf's file has a second without ipc, on which its metrics are based.")
    instructions, cycles = sums.pop("ipc")
    counts = {"instructions": instructions, "cycles": cycles}
    for metric, (above, below) in sums.items():
        name = _SUFFIX.sub("-misses" if metric.endswith("mpki") else "", metric)
        base = cycles if metric.endswith("pkc") else instructions
        counts[name] = above / below * base if below else "<not counted>"
    return counts
