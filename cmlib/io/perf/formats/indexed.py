"""Counters as statements of Lua or Python: ``core_counts[3]["INST_RETIRED.ANY"][17] = 140747545137405``.

So John McCalpin's periodic-performance-counters writes what it reads of cores, caches and memory controllers: places,
the event, the number of the sample; and ``walltime[0][17]``, ``walltime[1][17]``, its time [s, µs]. Counters run on,
so that counts are differences of neighbouring samples.

A row is a tuple: end of the interval [s] since the first sample (str), event, count (float or "<not counted>"),
running share (1), unit (""). Other statements are passed over; ParseError for a count or time of another form, a single
sample, or neither times nor the length of an interval.
"""

import functools
import re

import numpy as np
import pandas as pd

from cmlib.io.perf.formats.base import Format
from cmlib.io.perf.formats.lines import check_density, match_lines
from cmlib.io.perf.grammar import ParseError

# Lines that match _OTHER are neither counts nor times, and are skipped; all others must match _STATEMENT.
_OTHER = re.compile(r"(?!\w++(?:\[[0-9]+\])*\[[\"']|walltime\[)")
_COUNT = re.compile(
    r"""^(\w++)((?:\[[0-9]+\])*)\[["']([^"'\n]+)["']\]\[([0-9]{1,9})\] *= *([0-9]{1,20})[ \t\r]*+$""",
    re.MULTILINE,
)
_TIME = re.compile(r"^walltime\[([01])\]\[([0-9]{1,9})\] *= *([0-9]{1,12})[ \t\r]*+$", re.MULTILINE)

_STATEMENT = re.compile(f"{_COUNT.pattern}|{_TIME.pattern}")


class Indexed(Format):
    """Reader of counts as statements (a Format): differences of the counters, summed over places (cores, sockets and
    so on).
    """

    name = "name[place][event][sample] = count"

    def recognises(self):
        """Whether the text has a statement of a count."""
        # Finding a few characters takes a tenth of the time.
        return ('"][' in self.text or "'][" in self.text) and bool(_COUNT.search(self.text))

    def rows(self, interval_ms=None):
        """Yield a row for each sample but the first and each event: counted all the time (1.0), or ``<not
        counted>``.

        `interval_ms` is the length of an interval, needed where the text has no times. ParseError for a statement of
        another form, two counts of one sample, one sample only, or if times are not known.
        """
        expected = "is no statement of a count or a time, of whole numbers."
        for _ in match_lines(self.text, _STATEMENT, _OTHER, expected):
            pass
        ends = self._ends(interval_ms)
        counts, _ = self._counts
        check_density(len(ends), counts.shape[1], self.text.count("\n"))
        for sample, row in counts.reindex(ends.index).iterrows():
            for event, count in row.items():
                yield f"{ends[sample]:.9f}", event, "<not counted>" if np.isnan(count) else count, 1.0, ""

    def remarks(self, columns=None):
        """Sentences (list of str) on differences and sums, and on counters smaller than at the sample before.

        `columns` is not used.
        """
        _, fell = self._counts
        notes = ["Counters run on: counts are their differences, added up over CPUs, sockets and boxes."]
        if fell:
            listed = ", ".join(f"{event} (sample {sample})" for event, sample in fell.items())
            notes.append(
                f"Counters fell back, as where another tool takes them, and are not believed from there on: {listed}."
            )
        return notes

    def _ends(self, interval_ms):
        """Series by sample but the first: its time since the first sample [s]; ParseError if times are not known."""
        parts = pd.DataFrame(_TIME.findall(self.text), columns=["unit", "sample", "n"]).astype(int)
        if parts.empty and interval_ms is None:
            raise ParseError("line 1: no walltime tells when samples were taken. Give --interval-ms N.")
        if parts.empty:
            samples = sorted({int(count[4]) for count in _COUNT.finditer(self.text)})[1:]
            return pd.Series(np.arange(1, len(samples) + 1) * interval_ms / 1000, samples)
        parts = parts.drop_duplicates(["unit", "sample"])
        ends = parts["n"].div(1e6 ** parts["unit"]).groupby(parts["sample"]).sum()  # s, µs
        return (ends - ends.iloc[0]).iloc[1:]

    @functools.cached_property
    def _counts(self):
        """(Counts by sample and event, summed over places: a DataFrame; dict from event to the first sample with a
        decrease).

        Counters decrease if they are reset or programmed by another tool; counts from there on are NaN.
        """
        types = {"place": str, "more": str, "event": str, "sample": int, "count": float}
        read = pd.DataFrame(_COUNT.findall(self.text), columns=[*types]).astype(types)
        read["place"] += read.pop("more")
        check_density(read["sample"].nunique(), len(read[["event", "place"]].drop_duplicates()), len(read))
        read = read.drop_duplicates()
        if (again := read.duplicated(["place", "event", "sample"])).any():
            name = "{}[{!r}][{}]".format(*read[again].iloc[0])
            raise ParseError(f"line 1: {name} has two counts: import each recording by itself.")
        counters = read.pivot_table(index="sample", columns=["event", "place"], values="count", sort=False)
        if len(counters) < 2:
            raise ParseError("line 1: counters run on, and were read only once: no difference is known.")
        steps = counters.sort_index().diff().iloc[1:]
        fallen = (steps < 0).cummax()
        by_event = fallen.T.groupby(level="event", sort=False).any().T
        fell = by_event.idxmax()[by_event.any()].to_dict()
        added = steps.mask(fallen).T.groupby(level="event", sort=False).sum(skipna=False).T
        return added, fell
