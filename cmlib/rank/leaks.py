"""Target leakage: columns that contain what is explained, such as instructions and cycles under other names."""

import re
from fnmatch import fnmatch
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from cmlib.errors import UnfitRecordingError
from cmlib.spelling import PINNED

_NAMES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
# What the kernel does by the clock, or when others want the processor.
_SCHEDULING = re.compile(
    r"context-switches|cs|(cpu-)?migrations|cgroup-switches|ls_(int_taken|smi_rx)|hw_interrupts\..*"
    r"|(h?r?timer|\w*irq\w*|sched|rcu|workqueue|power|kvm|tick\w*):\w+",
    re.IGNORECASE,
)
_N_BLOCKS = 20  # of neighbouring intervals, which are not independent
# That an event can cost: memory takes some hundreds, a page fault or a system call some thousands.
_MOST_CYCLES = 5000
_CLOCK = 0.01  # relative standard deviation of the rate in time of what is a clock itself
_UNRELATED = 0.5  # elasticity below which a rate in time doesn't go with what is explained


def is_named_leak(event):
    """Whether the name of an event says that it counts instructions, cycles or their equal."""
    return any(fnmatch(event.lower(), pattern) for pattern in (*_NAMES["instructions"], *_NAMES["cycles"]))


def is_simulated_leak(event, target):
    """Whether a simulated event counts some of what a target counts, or the same misses at another level."""
    return any(
        _matches(event, parts) and (target == whole or _matches(target, parts))
        for whole, parts in _NAMES["parts"].items()
    )


def find_ticking(runs, base="instructions"):
    """Find events whose rate in time is all the same, so that only what they are divided by explains anything.

    Parameters
    ----------
    runs : iterable of (DataFrame, Series)
        Counts of a run, a row an interval, a column an event, and the length of each interval [s].
    base : str, default "instructions"
        The event that counts are divided by, and so is what they explain.

    Returns
    -------
    Series of float
        By event, its rate [1/s].

    Notes
    -----
    With n events in a time T and a base of I, n/I = (n/T)(T/I). Where n/T is constant, n/I is T/I, or cycles per
    instruction at a constant clock. A cause of cycles happens more often in time where these are many, and what goes
    with instructions less often. So the elasticity of n/T in T/I is estimated, with its standard error by the
    jackknife over blocks of neighbours; T is the time that passed, or that of the processor in cycles. Interrupts and
    what the scheduler does tick where it is 0 within three errors (or 0.1). Other events tick where it is surely
    between -0.5 and 0.5, and each would have to cost more cycles than an event can, or n/T varies by less than 1 %:
    misses in a program that only waits for them come at a constant rate too, and are its cause.
    """
    times = []
    for counts, seconds in runs:
        if base in counts:
            known = {"seconds": seconds, "base": counts[base]}
            known |= {"cycles": counts["cycles"]} if "cycles" in counts else {}
            times.append((counts, pd.DataFrame(known)))
    rates = {}
    for event in dict.fromkeys(event for counts, _ in times for event in counts):
        rows = [time.assign(n=counts[event]).dropna() for counts, time in times if event in counts]
        rows = pd.concat([part[(part.drop(columns="n") > 0).all(axis=1)] for part in rows])
        untold = event in (base, "cycles") or is_named_leak(event)
        if not untold and len(rows) >= _N_BLOCKS and rows["n"].any() and _ticks(event, rows):
            rates[event] = rows["n"].sum() / rows["seconds"].sum()
    return pd.Series(rates, dtype=float)


def _ticks(event, rows):
    clocks = [clock for clock in ("seconds", "cycles") if clock in rows]
    cost = rows["cycles"].sum() / rows["n"].sum() if "cycles" in rows else np.inf
    for clock in clocks:
        rate, time = rows["n"] / rows[clock], np.log(rows[clock] / rows["base"])
        elasticity, error = _elasticity((rate / rate.mean()).to_numpy(), time.to_numpy())
        if _SCHEDULING.fullmatch(event):
            ticks = abs(elasticity) <= max(3 * error, 0.1)
        else:
            no_cause = cost > _MOST_CYCLES or rate.std() < _CLOCK * rate.mean()
            ticks = no_cause and abs(elasticity) + 2 * error < _UNRELATED
        if ticks:
            return True
    return False


def _elasticity(rate, time):
    """Slope of a rate over its mean on the logarithm of a time, and its standard error."""
    if np.ptp(time) < 1e-9:
        return 0.0, np.inf
    blocks = np.arange(len(time)) * _N_BLOCKS // len(time)
    slopes = []
    for left_out in range(-1, _N_BLOCKS):
        apart = time[blocks != left_out] - time[blocks != left_out].mean()
        slopes.append(apart @ rate[blocks != left_out] / max(apart @ apart, 1e-12))
    whole, *partial = slopes
    return whole, np.sqrt((_N_BLOCKS - 1) * np.var(partial))


def require_ipc(run, label):
    """Raise a ValueError unless a run counts both instructions and cycles."""
    missing = [event for event in PINNED if event not in run]
    if missing:
        raise UnfitRecordingError(
            f"{label} has no column {' and no column '.join(missing)}; without both there is no IPC. "
            f"Its columns: {', '.join(map(str, run.columns[:8]))}. Record with both pinned."
        )


def _matches(event, patterns):
    return any(fnmatch(event, pattern) for pattern in patterns)
