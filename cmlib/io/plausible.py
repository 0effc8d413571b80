"""Whether what a file says can have been counted."""

import numpy as np

from cmlib.io import perf
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import MOST_EVENTS

# Counts in a run: 480 events in 4,000 intervals, or 12 in 160,000.
MOST_COUNTS = 2_000_000
_HEAD = 1 << 18
# perf's shortest interval is 1 ms; no machine runs a third of a year without a count; no counter has more than 64 bits,
# and what is added up are those of a thousand processors, scaled a hundred times.
_SHORTEST_S, _LONGEST_S, _MOST = 1e-4, 1e7, 2.0**80


def check_size(file, raw):
    """Raise RecordError for more counts than a run is studied with, before they are read."""
    n_counts = raw.count(b"\n") * perf.counts_a_line(raw[:_HEAD].decode("latin-1"))
    if n_counts > MOST_COUNTS:
        raise RecordError(
            f"{file} holds up to {n_counts:,} counts, and a run has {MOST_COUNTS:,} at most: record fewer events or "
            "longer intervals, or take parts of the file by --marks."
        )


def check_plausible(file, frame):
    """Raise RecordError for counts and times that no counter and no clock gave.

    Parameters
    ----------
    file : path
        For messages.
    frame : DataFrame
        As from :func:`cmlib.io.perf.parse_stat`.
    """
    if len(large := frame[frame["value"] > _MOST]):
        row = large.iloc[0]
        raise RecordError(f"{file} counts {row['value']:.3g} {row['event']} at once, which no counter holds.")
    if (n_events := frame["event"].nunique()) > MOST_EVENTS:
        raise RecordError(f"{file} counts {n_events} events, and a run has {MOST_EVENTS} at most.")
    starts = np.flatnonzero(np.diff(frame["time_s"], prepend=np.nan) != 0)
    times = frame["time_s"].to_numpy()[starts]
    steps = np.diff(times, prepend=0.0)
    if times[0] <= 0 or np.median(steps) < _SHORTEST_S or steps.max() > _LONGEST_S:
        raise RecordError(
            f"{file} has intervals of {steps.min():.3g} to {steps.max():.3g} s: are its times those of intervals' ends "
            "since the recording began, in seconds?"
        )
    _check_listed_once(file, frame, starts, times)


def _check_listed_once(file, frame, starts, times):
    """Raise RecordError if an interval has every event more often than usual."""
    interval = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(frame)))
    readings = frame.groupby([interval, "event"], sort=False).size().groupby(level=0).min().to_numpy()
    usual = np.sort(readings)[(len(readings) - 1) // 2]
    if len(twice := np.flatnonzero(readings > usual)):
        raise RecordError(
            f"{file} lists the interval that ends at {times[twice[0]]} s {readings[twice[0]]} times: remove the copy."
        )
