"""What AWS's APerf records of counters: a time, then lines ``cpu metric; numerator; denominator;scale``.

In APerf's own file, the time stands in a binary header before the first line of a second; where only the text was kept,
it stands in a line of its own. Each line is a group of counters that took turns with the others and was not scaled, so
that only its ratio is meant.
"""

import re
from math import nan

import numpy as np
import pandas as pd

from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts

_MOST_PER_LINE = 100_000  # characters


class APerf:
    """Seconds of metrics by CPU."""

    name = "aperf"
    recorded_by = "aperf record: perf_stat_….bin"
    sample = "tests/golden/formats/aperf.bin"

    _TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]{1,9})?Z")
    # 0 stall-frontend-pkc; 15789705 123; 59503752;1000
    # Numbers have a blank between them; otherwise digits could be divided among them in very many ways.
    _NUMBERS = r" {0,8}[0-9]{1,20}+(?: {1,8}[0-9]{1,20}+){0,39}"
    _LINE = re.compile(
        r"(?P<cpu>[0-9]{1,5}) (?P<metric>[A-Za-z][\w-]{0,80});"
        rf"(?P<numerator>{_NUMBERS});(?P<denominator>{_NUMBERS}); {{0,8}}[0-9.]{{1,20}}"
    )
    _SUFFIX = re.compile(r"[-_](?:pkc|pki|mpki)$")

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if a time and a line of a metric stand in the first 1,000 characters."""
        head = text[:1000]
        if ";" not in head or not cls._TIME.search(head):
            return False
        return any(cls._LINE.fullmatch(line.rpartition("\0")[2].rstrip("\r")) for line in head.split("\n"))

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the seconds.

        Cycles and instructions are those of the metric ``ipc``. The others are the ratios of their numerators times
        these: of cycles where the metric is ``-pkc``, per thousand cycles; else of instructions.

        Raises
        ------
        FormatError
            If a line is damaged, a time is none, or a CPU's second has no ``ipc``.
        """
        seconds: list[tuple[str, dict]] = []
        for number, line in enumerate(text.split("\n"), 1):
            if len(line) > _MOST_PER_LINE:
                raise FormatError(f"line {number} has {len(line):,} characters, more than a metric needs.")
            time = cls._TIME.search(line)
            if time:
                seconds.append((time[0], {}))
            row = line.rpartition("\0")[2].rstrip("\r")
            if not row.strip() or row == (time[0] if time else None) or ";" not in row:
                continue
            metric = cls._LINE.fullmatch(row)
            if metric is None or not seconds:
                raise FormatError(f"line {number} is not CPU metric; counts; counts;scale: {row[:80]!r}.")
            counts = tuple(
                sum(map(int, numbers.split())) for numbers in metric.group("numerator", "denominator")
            )
            seconds[-1][1].setdefault(int(metric["cpu"]), {})[metric["metric"]] = counts
        if not seconds:
            raise FormatError("there is no time such as 2026-01-30T08:27:33Z.")
        try:
            clock = pd.to_datetime([time for time, _ in seconds], format="ISO8601")
        except ValueError as error:
            raise FormatError(f"a time is none: {str(error)[:80]}") from None
        ends = (clock - clock[0]).total_seconds().to_numpy()
        steps = np.diff(ends)
        if (steps <= 0).any():
            raise FormatError("times go back or stand still: save each recording in a file of its own.")
        step = float(np.median(steps)) if len(steps) else 1.0
        rows = []
        for end, (time, by_cpu) in zip(ends + step, seconds, strict=True):
            for cpu, metrics in by_cpu.items():
                rows.extend((end, f"CPU{cpu}", *count) for count in cls._work_out(metrics, time, cpu))
        if not rows:
            raise FormatError("there is no line of a metric.")
        columns = dict(zip(("time_s", "place", "event", "value"), zip(*rows, strict=True), strict=True))
        begin_ns = clock[0].value - round(step * 1e9)
        note = "Each metric was counted in turns of its own: counts are ratios times those of ipc."
        return Readings((Program(make_counts(columns)),), begin_ns=begin_ns, notes=(note,))

    @classmethod
    def _work_out(cls, metrics: dict[str, tuple[int, int]], time: str, cpu: int) -> list[tuple[str, float]]:
        """Work out the counts of a CPU's second from its ratios."""
        if "ipc" not in metrics:
            raise FormatError(f"CPU {cpu} has no ipc at {time}, on which its other metrics are based.")
        instructions, cycles = metrics["ipc"]
        counts = [("instructions", float(instructions)), ("cycles", float(cycles))]
        for metric, (numerator, denominator) in metrics.items():
            if metric == "ipc":
                continue
            event = cls._SUFFIX.sub("-misses" if metric.endswith("mpki") else "", metric)
            base = cycles if metric.endswith("pkc") else instructions
            counts.append((event, numerator / denominator * base if denominator else nan))
        return counts
