"""Represent a recording in memory: counts, running shares and metadata.

:func:`make_recording` makes a :class:`Recording` from tables and metadata that :mod:`cmlib.io.store` has read and
checked. A running share is the fraction of an interval in which an event was counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends, whole_intervals
from cmlib.io.archive.runs import VALGRIND, are_totals, knows_shares, source_of
from cmlib.io.callgrind import INSTRUCTIONS_PER_SECOND
from cmlib.io.events import second_readings
from cmlib.io.provenance import Provenance, provenance_of_run

__all__ = ["INSTRUCTIONS", "Recording"]

INSTRUCTIONS = "sim.instructions"


class Axis(NamedTuple):
    """Labels for figures of a recording.

    Attributes
    ----------
    label : str
        Label of the axis of intervals. For example, ``time [s]``.
    rate : str
        Unit of rates. For example, ``per second``.
    """

    label: str
    rate: str


# Keyed by the name of the index of the counts.
_AXES = {
    "time_s": Axis("time [s]", "per second"),
    "million_instructions": Axis("instructions executed [million]", "per 1,000 instructions"),
    "run": Axis("run", "per second"),
}


@dataclass(frozen=True)
class Recording:
    """Counts of one run of a program, or totals of several runs.

    Attributes
    ----------
    meta : dict
        Metadata. The keys are described in ``metadata.yaml`` of :mod:`cmlib.io.archive`. There is a further key `cpus`,
        the average number of CPUs used, if it is known.
    counts : DataFrame, shape (n_intervals, n_events)
        Counts per interval, NaN if not counted. Counts of multiplexed events are extrapolated by perf. Columns: names
        of events. The index has one of these names:

        - ``time_s`` : end of the interval [s].
        - ``million_instructions`` : end of the interval of a simulated run [million instructions].
        - ``run`` : number of the run, from 1, if each row has the totals of a run.
    running : DataFrame, shape (n_intervals, n_events)
        Running share of each event: the fraction of the interval in which the event was counted, 0 to 1. The value is 1
        if simulated, and NaN if unknown.
    interval_s : Series, shape (n_intervals,)
        Length of each interval [s]. There are two exceptions:

        - Simulated runs: number of instructions executed in the interval [billion].
        - Totals of runs with unknown durations: always 1.
    counts_again, running_again : DataFrame, shape (n_intervals, n_readings)
        Counts and running shares of events that were counted a second time in another group. The columns are named
        ``EVENT#2``. They are used to estimate the errors of multiplexing.
    """

    meta: dict
    counts: pd.DataFrame
    running: pd.DataFrame
    interval_s: pd.Series
    counts_again: pd.DataFrame = field(default_factory=pd.DataFrame)
    running_again: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def source(self) -> str:
        """Source of the counts.

        It is ``perf``, ``callgrind``, or ``imported`` if the user imported a file.
        """
        if source_of(self.meta) == VALGRIND:
            return "callgrind"
        return "imported" if self.meta.get("imported") else "perf"

    @property
    def simulated(self) -> bool:
        """True if the counts were simulated by Callgrind."""
        return self.source == "callgrind"

    @property
    def provenance(self) -> Provenance:
        """Provenance of the counts."""
        return provenance_of_run(self.meta)

    @property
    def kind(self) -> str:
        """How the events were counted.

        - ``OCOE`` : one counter, one event. Each event was counted all the time.
        - ``MLPX`` : multiplexed. Events took turns on the counters.
        - ``simulated`` : simulated by Callgrind.
        - ``shares not known`` : unknown.
        """
        if self.simulated:
            return "simulated"
        kind_by_mode = {"ocoe": "OCOE", "mlpx": "MLPX"}
        return kind_by_mode.get(self.meta["mode"], "shares not known")

    @property
    def axis(self) -> Axis:
        """Label of the axis of intervals, and unit of rates."""
        axis = _AXES[self.counts.index.name]
        if self.holds_totals and "duration_time" not in self.counts:
            # The durations of the runs are unknown, and `interval_s` is 1.
            return axis._replace(rate="per run")
        return axis

    @property
    def holds_totals(self) -> bool:
        """True if each interval is a complete run."""
        return are_totals(self.meta)

    @property
    def machine(self) -> dict:
        """Description of the machine.

        For example, vendor, family, model and kernel. Empty if unknown.
        """
        return self.meta.get("machine") or {}

    @property
    def knows_shares(self) -> bool:
        """True if the running shares are known."""
        return knows_shares(self.meta)

    @property
    def studied(self) -> list[str]:
        """Names of the events that were not pinned.

        Pinned events are counted in every run. If all events were pinned, all are returned.
        """
        unpinned = [event for event in self.counts if event not in self.meta["pinned"]]
        return unpinned or list(self.counts)

    def whole(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the counts and running shares of the complete intervals.

        The last interval is omitted if it is shorter than half of the median length.

        Returns
        -------
        counts, running : DataFrame
        """
        if self.holds_totals:
            return self.counts, self.running
        is_complete = whole_intervals(self.interval_s)
        return self.counts[is_complete], self.running[is_complete]

    def rates(self) -> pd.DataFrame:
        """Compute the rates of the events in the complete intervals.

        Returns
        -------
        DataFrame
            One row per interval, one column per event. The unit is ``axis.rate``: per second, per 1,000 instructions if
            simulated, or per run for totals of runs of unknown duration.
        """
        counts, _ = self.whole()
        if self.simulated:
            return 1000 * counts.div(counts[INSTRUCTIONS], axis=0)
        return counts.div(self.interval_s[counts.index], axis=0)


def make_recording(
    meta: dict, counts: pd.DataFrame, running: pd.DataFrame, interval_s: np.ndarray | None = None
) -> Recording:
    """Make a Recording from counts, running shares and metadata.

    For simulated runs, the new index is `million_instructions`. For totals of runs, it is the number of the run. Events
    that were counted a second time are moved to separate tables.

    Parameters
    ----------
    meta : dict
        Metadata of the run.
    counts, running : DataFrame, shape (n_intervals, n_events)
        Counts and running shares. Index: `time_s`. Columns: events, and second readings of events (``EVENT#2``).
    interval_s : ndarray, optional
        Length of each interval [s]. Default: the differences of `time_s`.

    Returns
    -------
    Recording
    """
    lengths = lengths_by_ends(counts.index) if interval_s is None else interval_s
    index = counts.index
    if source_of(meta) == VALGRIND:
        index = by_instructions(counts).index
    elif are_totals(meta):
        index = pd.RangeIndex(1, len(counts) + 1, name="run")
    counts, running = counts.set_axis(index), running.set_axis(index)
    lengths = pd.Series(lengths, index, name="interval_s")
    second_events = list(second_readings(counts.columns))
    first_events = [event for event in counts if event not in second_events]
    return Recording(
        meta,
        counts[first_events],
        running[first_events],
        lengths,
        counts[second_events],
        running[second_events],
    )


def by_instructions(frame: pd.DataFrame) -> pd.DataFrame:
    """Replace the time of a simulated run by the number of instructions.

    Parameters
    ----------
    frame : DataFrame
        One row per interval. Index: executed instructions [billion].

    Returns
    -------
    DataFrame
        The same rows. Index ``million_instructions``: executed instructions [million].
    """
    index = pd.Index(frame.index * INSTRUCTIONS_PER_SECOND / 1e6, name="million_instructions")
    return frame.set_axis(index, axis=0)
