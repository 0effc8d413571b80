"""Find unreliable counts of cycles and instructions.

:func:`find_doubtful` compares the recordings of a file. A count is unreliable if it was counted for a few milliseconds
only, or if the clock rate is much lower than in another recording.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends
from cmlib.spelling import PINNED

# Shortest time on a counter for a reliable extrapolation [s]. perf changes the events on the counters every 4 ms, so a
# shorter time is about one turn of the event.
_SHORTEST_S = 0.005
# Lowest plausible clock rate, as a fraction of the highest clock rate in the file. A lower rate means that not all
# cycles were counted.
_LOWEST_CLOCK = 0.5


class Measured(NamedTuple):
    """Counts of one recording, for the comparison with other recordings of the file.

    Attributes
    ----------
    counts, running : DataFrame, shape (n_intervals, n_events)
        Counts and running shares (the fraction of each interval in which the event was counted). Index: end of each
        interval [s], or its number if the file has no times.
    are_lengths_known : bool
        True if the file has times.
    cpu_s : float
        Processor time in the counted mode [s]. NaN if unknown.
    kind : str
        Kind of core. Only recordings with the same kind are compared.
    """

    counts: pd.DataFrame
    running: pd.DataFrame
    are_lengths_known: bool
    cpu_s: float
    kind: str = ""


def find_doubtful(recordings: Sequence[Measured]) -> list[dict[str, str]]:
    """Find the unreliable counts of each recording, and the reasons.

    Parameters
    ----------
    recordings : sequence of Measured
        All recordings of one file.

    Returns
    -------
    list of dict of str to str
        Description of the count and the reason, keyed by event name. One dict per recording.
    """
    clocks = [_measure_clock(recording) for recording in recordings]
    doubtful = []
    for recording, clock in zip(recordings, clocks, strict=True):
        reasons = _find_short(recording)
        comparable_clocks = [
            other_clock
            for other_clock, compared in zip(clocks, recordings, strict=True)
            if compared.kind == recording.kind and np.isfinite(other_clock)
        ]
        if np.isfinite(clock) and clock < _LOWEST_CLOCK * max(comparable_clocks):
            cycles = recording.counts["cycles"].sum()
            reasons.setdefault(
                "cycles",
                f"{cycles:,.0f} cycles, a clock of {clock:.2g} GHz where another run of the file has "
                f"{max(comparable_clocks):.2g} GHz",
            )
        doubtful.append(reasons)
    return doubtful


def _find_short(recording: Measured) -> dict[str, str]:
    """Find extrapolated cycles and instructions that were counted for less than 5 ms."""
    if not recording.are_lengths_known:
        return {}
    lengths = lengths_by_ends(recording.counts.index)
    reasons = {}
    for event in PINNED:
        if event not in recording.counts:
            continue
        share = recording.running[event].to_numpy(float)
        counted = recording.counts[event].notna().to_numpy() & np.isfinite(share)
        seconds = float((share * lengths)[counted].sum())
        if counted.any() and (share[counted] < 1).any() and seconds < _SHORTEST_S:
            count = recording.counts[event].sum()
            reasons[event] = f"{count:,.0f} {event}, extrapolated from {1000 * seconds:.2g} ms on a counter"
    return reasons


def _measure_clock(recording: Measured) -> float:
    """Return the cycles per second of processor time [GHz]. NaN if the cycles or the time are unknown."""
    if "cycles" not in recording.counts:
        return np.nan
    seconds = recording.cpu_s
    if "task-clock" in recording.counts:
        seconds = recording.counts["task-clock"].sum() / 1e3
    if not seconds > 0:
        return np.nan
    cycles = recording.counts["cycles"].sum(min_count=1)
    return float(cycles / seconds / 1e9) if cycles > 0 else np.nan
