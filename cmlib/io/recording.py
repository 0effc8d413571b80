"""The recording of one run, or of the totals of several, in memory: counts, running shares, intervals and metadata.

:func:`make_recording` makes a :class:`Recording` of two tables and metadata. A running share (0 to 1) is the share of
an interval in which an event was on a counter. Nothing is checked here: :mod:`cmlib.io.store` does that when it reads
a run.
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
    """What a recording's intervals are, in words for figures.

    Attributes
    ----------
    label : str
        Label of the axis, such as ``time [s]``.
    rate : str
        Unit of the rates that counts become, such as ``per second``.
    """

    label: str
    rate: str


# By the name of the index.
AXES = {
    "time_s": Axis("time [s]", "per second"),
    "million_instructions": Axis("instructions executed [million]", "per 1,000 instructions"),
    "run": Axis("run", "per second"),
}


@dataclass(frozen=True)
class Recording:
    """One run of a program, or totals of several, counted by perf, simulated by Callgrind, or imported from elsewhere.

    Attributes
    ----------
    meta : dict
        What was recorded, how and where: the content of the recording's metadata file, and `cpus` where it is known how
        many a run used. It always has mode (``ocoe``, ``mlpx``, ``unknown``, or ``lines`` for piecewise-linear
        segments), pinned, groups and interval_ms; where the file of a recording of lines lacks these, they are added.
    counts : DataFrame, shape (n_intervals, n_events)
        Events per interval as perf prints them (multiplexed ones scaled), NaN where not counted. The index is the
        interval's end: `time_s` [s], `million_instructions` where no clock ran, or the number of the `run` (from 1)
        whose totals they are. Columns are events.
    running : DataFrame, shape (n_intervals, n_events)
        Share of the time each event was counted, 0 to 1; 1 if simulated, NaN where the file that was imported told
        none.
    interval_s : Series, shape (n_intervals,)
        Lengths of the intervals [s]; the last one may be shorter. Of a simulated run [10⁹ instructions]. 1 s each for
        totals of runs whose length is not known.
    counts_again, running_again : DataFrame, shape (n_intervals, n_readings)
        Second readings of events that the run counted twice, columns ``EVENT#2``: the same as `counts` and
        `running`, in other groups of a multiplexed run. They test its errors, and are no further events.
    """

    meta: dict
    counts: pd.DataFrame
    running: pd.DataFrame
    interval_s: pd.Series
    counts_again: pd.DataFrame = field(default_factory=pd.DataFrame)
    running_again: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def source(self) -> str:
        """What counted (str): ``perf``, ``callgrind``, or ``imported`` for a file that was recorded elsewhere."""
        if source_of(self.meta) == VALGRIND:
            return "callgrind"
        return "imported" if self.meta.get("imported") else "perf"

    @property
    def simulated(self) -> bool:
        """True if its counts are simulated by Callgrind, so that no measured ones are comparable."""
        return self.source == "callgrind"

    @property
    def provenance(self) -> Provenance:
        """Provenance of its counts."""
        return provenance_of_run(self.meta)

    @property
    def kind(self) -> str:
        """How events shared the counters, in a word for tables (str).

        ``OCOE`` (one counter, one event: each was counted all the time), ``MLPX`` (multiplexed: events took turns),
        ``simulated``, or ``shares not known``.
        """
        modes = {"ocoe": "OCOE", "mlpx": "MLPX"}
        return "simulated" if self.simulated else modes.get(self.meta["mode"], "shares not known")

    @property
    def axis(self) -> Axis:
        """The :class:`Axis` along which its intervals lie: a label, and the unit of rates."""
        axis = AXES[self.counts.index.name]
        # Runs whose length is not known have intervals of one second each, so that rates are counts per run.
        timed = not self.holds_totals or "duration_time" in self.counts
        return axis if timed else axis._replace(rate="per run")

    @property
    def holds_totals(self) -> bool:
        """True if an interval is a whole run, so that counts are its totals."""
        return are_totals(self.meta)

    @property
    def machine(self) -> dict:
        """The machine's description (dict: vendor, family, model, kernel and more), empty if unknown."""
        return self.meta.get("machine") or {}

    @property
    def knows_shares(self) -> bool:
        """True if its running shares are known."""
        return knows_shares(self.meta)

    @property
    def studied(self) -> list[str]:
        """Names (list of str) of its events without those counted in every run; all if there are no others."""
        others = [event for event in self.counts if event not in self.meta["pinned"]]
        return others or list(self.counts)

    def whole(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return its counts and running shares without a last interval that is shorter than half the median.

        Returns
        -------
        counts, running : DataFrame
        """
        if self.holds_totals:
            return self.counts, self.running
        whole = whole_intervals(self.interval_s)
        return self.counts[whole], self.running[whole]

    def rates(self) -> pd.DataFrame:
        """Compute the rates of its events in whole intervals.

        Returns
        -------
        DataFrame
            Columns of `counts`, in the unit that ``axis.rate`` names: per second, per 1,000 instructions in a simulated
            run, or per run if the lengths of runs are not known.
        """
        counts, _ = self.whole()
        if self.simulated:
            return 1000 * counts.div(counts[INSTRUCTIONS], axis=0)
        return counts.div(self.interval_s[counts.index], axis=0)


def make_recording(
    meta: dict, counts: pd.DataFrame, running: pd.DataFrame, interval_s: np.ndarray | None = None
) -> Recording:
    """Make a Recording from the metadata, counts and running shares in the file of a run.

    Parameters
    ----------
    meta : dict
    counts, running : DataFrame, shape (n_intervals, n_events)
        Index: `time_s`. Columns: events, with second readings (``EVENT#2``) among them.
    interval_s : ndarray, optional
        Lengths of the intervals [s]. Default: the differences of `time_s`.

    Returns
    -------
    Recording
        Its index is the time [s] of a measured run, and millions of instructions of a simulated run. If each interval
        is a whole run, it is the number of the run.
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


def by_instructions(frame):
    """Index the intervals of a simulated run by millions of instructions.

    Parameters
    ----------
    frame : DataFrame
        Index: Callgrind's time, a second for 10⁹ instructions.

    Returns
    -------
    DataFrame
        The same; index: ``million_instructions``.
    """
    index = pd.Index(frame.index * INSTRUCTIONS_PER_SECOND / 1e6, name="million_instructions")
    return frame.set_axis(index, axis=0)
