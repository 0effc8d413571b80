"""John McCalpin's periodic-performance-counters: statements ``core_counts[3]["INST_RETIRED.ANY"][17] = 1407…``.

They name a kind of counter, its places, the event and the number of the sample; ``walltime[0][17]`` and
``walltime[1][17]`` are the sample's time [s, µs]. Counters run on, so that counts are differences of samples.
"""

import re

import numpy as np
import pandas as pd

from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts


class PeriodicCounters:
    """Statements of Lua or Python."""

    name = "periodic-counters"
    recorded_by = "periodic-performance-counters: c591-803.perfcounts.lua"
    sample = "tests/golden/formats/periodic-counters.lua"

    _COUNT = re.compile(
        r"""(\w{1,80}(?:\[[0-9]{1,9}\]){0,8})\[["']([^"'\n]{1,200})["']\]\[([0-9]{1,9})\]"""
        r""" {0,8}= {0,8}([0-9]{1,20})\s{0,8}"""
    )
    _TIME = re.compile(r"walltime\[([01])\]\[([0-9]{1,9})\] {0,8}= {0,8}([0-9]{1,12})\s{0,8}")

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text has a statement of a count."""
        if "]" not in text or ('"][' not in text and "'][" not in text):
            return False
        return any(cls._COUNT.fullmatch(line) for line in text.splitlines() if "][" in line[:400])

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the counts, a place per core, socket or box; other statements are passed over.

        Where a counter is lower than at the sample before, another tool took it, and its counts are unknown from there
        on.

        Raises
        ------
        FormatError
            If a statement is damaged, a sample has two counts or no time, or there is only one sample.
        """
        counts, times = [], {}
        for number, line in enumerate(text.splitlines(), 1):
            if count := cls._COUNT.fullmatch(line):
                counts.append((count[1], count[2], int(count[3]), float(count[4])))
            elif time := cls._TIME.fullmatch(line):
                microseconds = int(time[3]) * (1 if time[1] == "1" else 1_000_000)
                times.setdefault(int(time[2]), {})[time[1]] = microseconds
            elif line.startswith("walltime[") or re.match(r"\w{1,80}(?:\[[0-9]{1,9}\]){0,8}\[[\"']", line):
                raise FormatError(f"line {number} is no statement of a count or a time: {line[:80]!r}.")
        frame = pd.DataFrame(counts, columns=["place", "event", "sample", "value"]).drop_duplicates()
        if frame.duplicated(["place", "event", "sample"]).any():
            raise FormatError("a sample has two counts: save each recording in a file of its own.")
        if frame["sample"].nunique() < 2:
            raise FormatError("counters run on, and there is only one sample: no difference is known.")
        ends = cls._find_ends(frame, times, options)
        frame = frame.sort_values("sample", kind="stable")
        by_counter = frame.groupby(["place", "event"], sort=False)
        frame["value"] = by_counter["value"].diff()
        fell = frame["value"] < 0
        has_fallen = fell.groupby([frame["place"], frame["event"]], sort=False).cummax()
        frame.loc[has_fallen, "value"] = np.nan
        first = int(frame["sample"].min())
        frame = frame[frame["sample"] > first]
        notes = ["Counters run on: counts are the differences of samples."]
        fallen = frame[fell.reindex(frame.index)].drop_duplicates("event")
        if len(fallen):
            listed = ", ".join(
                f"{event} (sample {sample})" for event, sample in fallen[["event", "sample"]].to_numpy()
            )
            notes.append(
                f"Counters fell, as if another tool took them, and their counts are unknown from there on: {listed}."
            )
        columns = {"time_s": frame["sample"].map(ends).to_numpy()}
        columns |= {name: frame[name].array for name in ("place", "event", "value")}
        columns["running"] = np.where(frame["value"].isna(), 0.0, 1.0)
        return Readings((Program(make_counts(columns)),), notes=tuple(notes))

    @staticmethod
    def _find_ends(frame: pd.DataFrame, times: dict, options: ReadOptions) -> dict[int, float]:
        """Find the time of each sample since the first one [s]."""
        samples = sorted(frame["sample"].unique())
        if not times:
            if options.interval_ms is None:
                raise FormatError("no walltime says when samples were taken. Give --interval-ms.")
            return {sample: k * options.interval_ms / 1000 for k, sample in enumerate(samples)}
        missing = [sample for sample in samples if len(times.get(sample, {})) != 2]
        if missing:
            raise FormatError(f"sample {missing[0]} lacks its walltime[0] or walltime[1].")
        begin = sum(times[samples[0]].values())
        ends = {sample: (sum(times[sample].values()) - begin) / 1e6 for sample in samples}
        if (np.diff(list(ends.values())) <= 0).any():
            raise FormatError("times go back from one sample to the next.")
        return ends
