"""Read the output of John McCalpin's periodic-performance-counters.

The file consists of statements in Lua or Python. ``core_counts[3]["INST_RETIRED.ANY"][17] = 1407…`` is the value of a
counter: kind of counter, place, event and number of the sample. ``walltime[0][17]`` and ``walltime[1][17]`` are the
time of the sample [s, µs]. Counters are cumulative, so counts are differences of samples.
"""

import re

import numpy as np
import pandas as pd

from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts

# Parts of a sample's time [µs], keyed by sample and by index of walltime ("0" or "1")
_Times = dict[int, dict[str, int]]


class PeriodicCounters:
    """Reader for cumulative counters of cores, sockets and other places."""

    name = "periodic-counters"
    recorded_by = "periodic-performance-counters: c591-803.perfcounts.lua"
    sample = "tests/golden/formats/periodic-counters.lua"

    _COUNT = re.compile(
        r"""(\w{1,80}(?:\[[0-9]{1,9}\]){0,8})\[["']([^"'\n]{1,200})["']\]\[([0-9]{1,9})\]"""
        r""" {0,8}= {0,8}([0-9]{1,20})\s{0,8}"""
    )
    _TIME = re.compile(r"walltime\[([01])\]\[([0-9]{1,9})\] {0,8}= {0,8}([0-9]{1,12})\s{0,8}")
    _COUNT_BEGINNING = re.compile(r"\w{1,80}(?:\[[0-9]{1,9}\]){0,8}\[[\"']")

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text has a statement with a count."""
        if "]" not in text or ('"][' not in text and "'][" not in text):
            return False
        return any(cls._COUNT.fullmatch(line) for line in text.splitlines() if "][" in line[:400])

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the counts. Other statements are ignored.

        If a counter decreases, another tool used it. Its later counts are unknown.

        Raises
        ------
        FormatError
            If a statement is damaged, a sample has two counts of an event, a sample has no time, times do not increase,
            or the file has fewer than two samples.
        """
        frame, times = cls._parse_statements(text)
        ends = cls._find_ends(sorted(frame["sample"].unique()), times, options)
        frame = frame.sort_values("sample", kind="stable")
        has_decreased = cls._replace_totals(frame)
        is_interval = frame["sample"] > int(frame["sample"].min())
        decreased = frame[is_interval & has_decreased].drop_duplicates("event")
        frame = frame[is_interval]
        notes = ["Counters are cumulative: counts are differences of samples."]
        if len(decreased):
            samples = ", ".join(
                f"{event} (sample {sample})" for event, sample in decreased[["event", "sample"]].to_numpy()
            )
            notes.append(
                "Counters decreased, probably because another tool used them. "
                f"Their counts are unknown from this sample on: {samples}."
            )
        columns = {"time_s": frame["sample"].map(ends).to_numpy()}
        columns |= {name: frame[name].array for name in ("place", "event", "value")}
        columns["running"] = np.where(frame["value"].isna(), 0.0, 1.0)
        return Readings((Program(make_counts(columns)),), notes=tuple(notes))

    @classmethod
    def _parse_statements(cls, text: str) -> tuple[pd.DataFrame, _Times]:
        """Return a frame with the columns place, event, sample and value, and the times."""
        counts, times = [], {}
        for number, line in enumerate(text.splitlines(), 1):
            if count := cls._COUNT.fullmatch(line):
                counts.append((count[1], count[2], int(count[3]), float(count[4])))
            elif time := cls._TIME.fullmatch(line):
                microseconds = int(time[3]) * (1 if time[1] == "1" else 1_000_000)
                times.setdefault(int(time[2]), {})[time[1]] = microseconds
            elif line.startswith("walltime[") or cls._COUNT_BEGINNING.match(line):
                raise FormatError(
                    f"line {number} is a damaged statement of a count or a time: {line[:80]!r}."
                )
        frame = pd.DataFrame(counts, columns=["place", "event", "sample", "value"]).drop_duplicates()
        if frame.duplicated(["place", "event", "sample"]).any():
            raise FormatError(
                "a sample has two counts of the same event. Save each recording in a separate file."
            )
        if frame["sample"].nunique() < 2:
            raise FormatError(
                "the file has fewer than two samples. Counters are cumulative, and counts are differences of samples."
            )
        return frame, times

    @staticmethod
    def _find_ends(samples: list[int], times: _Times, options: ReadOptions) -> dict[int, float]:
        """Return the time of each sample since the first one [s], keyed by sample."""
        if not times:
            if options.interval_ms is None:
                raise FormatError(
                    "the file has no walltime. Give the time between samples with --interval-ms."
                )
            return {sample: k * options.interval_ms / 1000 for k, sample in enumerate(samples)}
        for sample in samples:
            if len(times.get(sample, {})) != 2:
                raise FormatError(f"walltime[0] or walltime[1] of sample {sample} is missing.")
        begin = sum(times[samples[0]].values())
        ends = {sample: (sum(times[sample].values()) - begin) / 1e6 for sample in samples}
        if (np.diff(list(ends.values())) <= 0).any():
            raise FormatError("times do not increase from sample to sample.")
        return ends

    @staticmethod
    def _replace_totals(frame: pd.DataFrame) -> pd.Series:
        """Replace totals in the column ``value`` by differences to the previous sample.

        Returns
        -------
        Series of bool
            True if the counter decreased. Its counts are NaN from this sample on.
        """
        counters = [frame["place"], frame["event"]]
        frame["value"] = frame.groupby(counters, sort=False)["value"].diff()
        has_decreased = frame["value"] < 0
        is_unknown = has_decreased.groupby(counters, sort=False).cummax()
        frame.loc[is_unknown, "value"] = np.nan
        return has_decreased
