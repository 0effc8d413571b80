"""Find counts that no rate should be computed from: counted for a few milliseconds, or at half the clock of others."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends
from cmlib.spelling import PINNED

# An extrapolated count that was on a counter for less than this [s] is not used for IPC: perf rotates every 4 ms.
_SHORTEST_S = 0.005
# A clock below this share of another run's in the same file comes from cycles that were not counted all the time.
_LOWEST_CLOCK = 0.5


class Measured(NamedTuple):
    """Cycles and instructions of one recording, to be compared with the other recordings of the same file.

    Attributes
    ----------
    counts, running : DataFrame, shape (n_intervals, n_events)
        ``counts`` has the counts, ``running`` the part of each interval [0–1] for which an event was counted. Index:
        end of each interval [s], or the number of the interval if the file has no times.
    are_lengths_known : bool
        True if the file has times.
    cpu_s : float
        Processor time in the mode that was counted [s]; NaN if the file does not say.
    kind : str
        Kind of core; clocks of different kinds are not compared.
    """

    counts: pd.DataFrame
    running: pd.DataFrame
    are_lengths_known: bool
    cpu_s: float
    kind: str = ""


def find_doubtful(recordings: Sequence[Measured]) -> list[dict[str, str]]:
    """Say which counts of each recording are not to be used for IPC or rates, and why.

    Parameters
    ----------
    recordings : sequence of Measured
        All recordings of one file.

    Returns
    -------
    list of dict of str to str
        For each recording, from an event to a clause that states its count and the reason.
    """
    clocks = [_measure_clock(recording) for recording in recordings]
    doubtful = []
    for recording, clock in zip(recordings, clocks, strict=True):
        found = _find_short(recording)
        comparable_clocks = [
            other_clock
            for other_clock, compared in zip(clocks, recordings, strict=True)
            if compared.kind == recording.kind and np.isfinite(other_clock)
        ]
        if np.isfinite(clock) and clock < _LOWEST_CLOCK * max(comparable_clocks):
            cycles = recording.counts["cycles"].sum()
            found.setdefault(
                "cycles",
                f"{cycles:,.0f} cycles, a clock of {clock:.2g} GHz where another run of the file has "
                f"{max(comparable_clocks):.2g} GHz",
            )
        doubtful.append(found)
    return doubtful


def _find_short(recording: Measured) -> dict[str, str]:
    """Find extrapolated cycles and instructions that were on a counter for less than 5 ms."""
    if not recording.are_lengths_known:
        return {}
    lengths = lengths_by_ends(recording.counts.index)
    found = {}
    for event in PINNED:
        if event not in recording.counts:
            continue
        share = recording.running[event].to_numpy(float)
        counted = recording.counts[event].notna().to_numpy() & np.isfinite(share)
        seconds = float((share * lengths)[counted].sum())
        if counted.any() and (share[counted] < 1).any() and seconds < _SHORTEST_S:
            count = recording.counts[event].sum()
            found[event] = f"{count:,.0f} {event}, extrapolated from {1000 * seconds:.2g} ms on a counter"
    return found


def _measure_clock(recording: Measured) -> float:
    """Return the cycles per second of processor time [GHz]; NaN if one of them is not known."""
    if "cycles" not in recording.counts:
        return np.nan
    seconds = recording.cpu_s
    if "task-clock" in recording.counts:
        seconds = recording.counts["task-clock"].sum() / 1e3
    if not seconds > 0:
        return np.nan
    cycles = recording.counts["cycles"].sum(min_count=1)
    return float(cycles / seconds / 1e9) if cycles > 0 else np.nan
