"""Read recordings of APerf, a tool of AWS.

APerf writes a time per second, and then a line ``cpu metric; numerator; denominator;scale`` for each metric. In APerf's
own file, the time is in a binary header before the first line of the second. In a text, the time is a separate line.

APerf counts the metrics at different times, and does not extrapolate the counts. So only the ratio of a line is valid.
"""

import re
from math import nan

import numpy as np
import pandas as pd

from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts

_MOST_PER_LINE = 100_000  # characters

# Numerator and denominator, keyed by metric
_Metrics = dict[str, tuple[int, int]]
# Time of each second, and its metrics, keyed by CPU
_Seconds = list[tuple[str, dict[int, _Metrics]]]


class APerf:
    """Reader for metrics per second and CPU."""

    name = "aperf"
    recorded_by = "aperf record: perf_stat_….bin"
    sample = "tests/golden/formats/aperf.bin"

    _TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]{1,9})?Z")
    # 0 stall-frontend-pkc; 15789705 123; 59503752;1000
    # A blank between numbers is required. Otherwise digits could be divided into numbers in very many ways.
    _NUMBERS = r" {0,8}[0-9]{1,20}+(?: {1,8}[0-9]{1,20}+){0,39}"
    _LINE = re.compile(
        r"(?P<cpu>[0-9]{1,5}) (?P<metric>[A-Za-z][\w-]{0,80});"
        rf"(?P<numerator>{_NUMBERS});(?P<denominator>{_NUMBERS}); {{0,8}}[0-9.]{{1,20}}"
    )
    _SUFFIX = re.compile(r"[-_](?:pkc|pki|mpki)$")

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the first 1,000 characters contain a time and a line with a metric."""
        head = text[:1000]
        if ";" not in head or not cls._TIME.search(head):
            return False
        return any(cls._LINE.fullmatch(line.rpartition("\0")[2].rstrip("\r")) for line in head.split("\n"))

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the counts per second and CPU.

        The metric ``ipc`` has the cycles and instructions. Counts of other metrics are computed: the ratio of the
        metric is multiplied by the cycles if its name ends in ``pkc``, and by the instructions otherwise.

        Raises
        ------
        FormatError
            If a line or a time is damaged, times do not increase, or a CPU has no ``ipc`` in a second.
        """
        seconds = cls._parse_lines(text)
        if not seconds:
            raise FormatError("no time, for example 2026-01-30T08:27:33Z, was found.")
        begin_ns, ends = cls._find_ends([time for time, _ in seconds])
        rows = []
        for end, (time, metrics_by_cpu) in zip(ends, seconds, strict=True):
            for cpu, metrics in metrics_by_cpu.items():
                rows.extend((end, f"CPU{cpu}", *count) for count in cls._compute_counts(metrics, time, cpu))
        if not rows:
            raise FormatError("no line with a metric was found.")
        columns = dict(zip(("time_s", "place", "event", "value"), zip(*rows, strict=True), strict=True))
        note = "Metrics were counted at different times: counts are ratios times the cycles or instructions of ipc."
        return Readings((Program(make_counts(columns)),), begin_ns=begin_ns, notes=(note,))

    @classmethod
    def _parse_lines(cls, text: str) -> _Seconds:
        """Parse the metrics of each second."""
        seconds: _Seconds = []
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > _MOST_PER_LINE:
                raise FormatError(
                    f"line {number} has {len(line):,} characters, and at most {_MOST_PER_LINE:,} are supported."
                )
            time = cls._TIME.search(line)
            if time:
                seconds.append((time[0], {}))
            row = line.rpartition("\0")[2].rstrip("\r")
            if not row.strip() or row == (time[0] if time else None) or ";" not in row:
                continue
            metric = cls._LINE.fullmatch(row)
            if metric is None or not seconds:
                raise FormatError(f"line {number} is not CPU metric; counts; counts;scale: {row[:80]!r}.")
            numerator, denominator = (
                sum(map(int, numbers.split())) for numbers in metric.group("numerator", "denominator")
            )
            seconds[-1][1].setdefault(int(metric["cpu"]), {})[metric["metric"]] = numerator, denominator
        return seconds

    @staticmethod
    def _find_ends(times: list[str]) -> tuple[int, np.ndarray]:
        """Return the start of the recording [ns since 1970] and the ends of its intervals since then [s]."""
        try:
            clock = pd.to_datetime(times, format="ISO8601")
        except ValueError as error:
            raise FormatError(f"a time is damaged: {str(error)[:80]}") from None
        begins = (clock - clock[0]).total_seconds().to_numpy()
        steps = np.diff(begins)
        if (steps <= 0).any():
            raise FormatError("times do not increase. Save each recording in a separate file.")
        step = float(np.median(steps)) if len(steps) else 1.0
        return clock[0].value - round(step * 1e9), begins + step

    @classmethod
    def _compute_counts(cls, metrics: _Metrics, time: str, cpu: int) -> list[tuple[str, float]]:
        """Compute the counts of a CPU in a second from its ratios."""
        if "ipc" not in metrics:
            raise FormatError(
                f"CPU {cpu} has no metric ipc at {time}. It is needed for the counts of its other metrics."
            )
        instructions, cycles = metrics["ipc"]
        counts = [("instructions", float(instructions)), ("cycles", float(cycles))]
        for metric, (numerator, denominator) in metrics.items():
            if metric == "ipc":
                continue
            event = cls._SUFFIX.sub("-misses" if metric.endswith("mpki") else "", metric)
            base = cycles if metric.endswith("pkc") else instructions
            counts.append((event, numerator / denominator * base if denominator else nan))
        return counts
