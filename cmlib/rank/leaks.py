"""Find events that a model of IPC (instructions per cycle) must not use, because they contain IPC (target leakage).

:func:`is_named_leak` recognizes such events by name. :func:`find_ticking` finds events at a constant rate in time, and
:func:`find_proportional` finds events at a constant rate per instruction. Both use the counts of a run.
"""

import re
from fnmatch import fnmatch

import numpy as np
import pandas as pd

from cmlib.errors import UnfitRecordingError
from cmlib.places import yaml_beside
from cmlib.spelling import PINNED

__all__ = ["is_named_leak"]

_NAMES = yaml_beside(__file__)
# Events of the kernel's timers and of its scheduler.
_SCHEDULING = re.compile("|".join(_NAMES["scheduling"]), re.IGNORECASE)
_N_BLOCKS = 20  # blocks of neighboring intervals for the jackknife, because neighbors are not independent
# Largest number of cycles that one event can cost: some hundreds for memory, some thousands for a page fault.
_MOST_CYCLES = 5000
_CLOCK = 0.01  # largest relative standard deviation of a clock's rate in time
_UNRELATED = 0.5  # largest elasticity of an event at a constant rate
_SMALL = 0.5  # largest variation of an event at a constant rate per instruction [share of IPC's variation]


def is_named_leak(event: str) -> bool:
    """Return True if an event counts all instructions or all cycles, according to its name.

    Parameters
    ----------
    event : str
        Name of the event. For example, ``inst_retired.any``.

    Returns
    -------
    bool
        False for unknown names.
    """
    return any(fnmatch(event.lower(), pattern) for pattern in (*_NAMES["instructions"], *_NAMES["cycles"]))


def is_simulated_leak(event, target):
    """Return True if a simulated event counts a part of the target.

    Also return True if both count parts of the same event. For example, the misses of two caches are parts of
    ``sim.loads``. The file leaks.yaml lists the parts.

    Parameters
    ----------
    event, target : str
        Names of simulated events.

    Returns
    -------
    bool
        False if the counts do not overlap.
    """
    for whole, parts in _NAMES["parts"].items():
        if _is_matched(event, parts) and (target == whole or _is_matched(target, parts)):
            return True
    return False


def find_ticking(runs, base="instructions"):
    """Find events at a constant rate in time, for example timer interrupts.

    Their counts only measure the time. Divided by instructions, they would explain cycles per instruction perfectly.

    Parameters
    ----------
    runs : iterable of (DataFrame, Series)
        Counts of each run, with one row per interval and one column per event, and the length of each interval [s].
    base : str, default "instructions"
        Event by which counts are divided. Runs without it are ignored.

    Returns
    -------
    Series of float
        Rate of each event found [1/s], mean over all runs, indexed by event name. `base`, cycles, events of
        :func:`is_named_leak`, and events with fewer than 20 intervals are never included.

    Notes
    -----
    Let n be the count of an event, T the time and I the count of `base`. Then n/I = (n/T)(T/I). If n/T is constant, n/I
    is proportional to T/I. If an event costs time, n/T increases with T/I. If an event belongs to certain instructions,
    n/T decreases with T/I. Therefore, the elasticity of n/T with respect to T/I is estimated. Its standard error comes
    from a jackknife over 20 blocks of neighboring intervals. T is measured in seconds and, if counted, in cycles. It is
    sufficient if one of them shows a constant rate.

    An interrupt or an event of the scheduler has a constant rate if the elasticity is within three standard errors of
    0, or within 0.1. Any other event must fulfill two conditions:

    - The elasticity is between -0.5 and 0.5, with a margin of two standard errors.
    - One event would cost more than 5000 cycles, or cycles were not counted, or n/T varies by less than 1 %. Otherwise,
      cache misses would be included for a program that only waits for misses, although they are the cause.
    """
    times = []
    for counts, seconds in runs:
        if base in counts:
            known = {"seconds": seconds, "base": counts[base]}
            known |= {"cycles": counts["cycles"]} if "cycles" in counts else {}
            time = pd.DataFrame(known)
            is_known = (time > 0).all(axis=1)
            times.append((counts[is_known], time[is_known]))
    rates = {}
    events = dict.fromkeys(event for counts, _ in times for event in counts)
    for event in (event for event in events if event not in (base, "cycles") and not is_named_leak(event)):
        rows = pd.concat([time.assign(n=of[event]).dropna() for of, time in times if event in of])
        if len(rows) >= _N_BLOCKS and rows["n"].any() and _is_ticking(event, rows):
            rates[event] = rows["n"].sum() / rows["seconds"].sum()
    return pd.Series(rates, dtype=float)


def find_proportional(X, ipc):
    """Find events at a constant rate per instruction.

    Divided by cycles, they are IPC times a constant.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Counts per cycle, with rows in the order of time.
    ipc : Series of float > 0, shape (n_rows,)
        Instructions per cycle.

    Returns
    -------
    list of str
        Event names in the order of the columns.

    Notes
    -----
    Let n be the count of an event, C cycles and I instructions. Then n/C = (n/I)(I/C). If an event costs cycles, n/I
    increases with C/I. Therefore, the elasticity of n/I with respect to C/I is estimated. Its standard error comes
    from a jackknife over 20 blocks of neighboring rows. An event is found if both conditions are true:

    - The elasticity is between -0.5 and 0.5, with a margin of two standard errors.
    - n/I varies less than half as much as IPC. Then most of the variation of n/C is the variation of IPC.
    """
    cycles_per_instruction = -np.log(ipc.to_numpy())
    most = _SMALL * np.std(cycles_per_instruction)
    proportional = []
    for event, per_cycle in X.items():
        per_instruction = (per_cycle / ipc).to_numpy()
        if len(ipc) < _N_BLOCKS or not per_instruction.any():
            continue
        per_instruction = per_instruction / per_instruction.mean()
        if per_instruction.std() >= most:
            continue
        elasticity, error = _fit_elasticity(per_instruction, cycles_per_instruction)
        if abs(elasticity) + 2 * error < _UNRELATED:
            proportional.append(event)
    return proportional


def _is_ticking(event, rows):
    """Return True if an event has a constant rate in time.

    `rows` has the columns n (counts of the event), seconds, base and, if counted, cycles.
    """
    clocks = [clock for clock in ("seconds", "cycles") if clock in rows]
    cost = rows["cycles"].sum() / rows["n"].sum() if "cycles" in rows else np.inf
    for clock in clocks:
        rate, time = rows["n"] / rows[clock], np.log(rows[clock] / rows["base"])
        elasticity, error = _fit_elasticity((rate / rate.mean()).to_numpy(), time.to_numpy())
        if _SCHEDULING.fullmatch(event):
            ticks = abs(elasticity) <= max(3 * error, 0.1)
        else:
            no_cause = cost > _MOST_CYCLES or rate.std() < _CLOCK * rate.mean()
            ticks = no_cause and abs(elasticity) + 2 * error < _UNRELATED
        if ticks:
            return True
    return False


def _fit_elasticity(rate, time):
    """Return the slope of a rate (divided by its mean) on the logarithm of a time, and its standard error."""
    if np.ptp(time) < 1e-9:
        return 0.0, np.inf
    blocks = np.arange(len(time)) * _N_BLOCKS // len(time)
    slopes = []
    for left_out in range(-1, _N_BLOCKS):
        centered_time = time[blocks != left_out] - time[blocks != left_out].mean()
        slopes.append(centered_time @ rate[blocks != left_out] / max(centered_time @ centered_time, 1e-12))
    slope, *jackknife_slopes = slopes
    return slope, np.sqrt((_N_BLOCKS - 1) * np.var(jackknife_slopes))


def require_ipc(run, label):
    """Raise an UnfitRecordingError if a run has no column of instructions or cycles.

    Parameters
    ----------
    run : DataFrame
        Counts, one column per event.
    label : str
        Name of the run for the message.
    """
    if missing := [event for event in PINNED if event not in run]:
        raise UnfitRecordingError(
            f"{label} has no column {' and no column '.join(missing)}; without both there is no IPC. "
            f"Its columns: {', '.join(map(str, run.columns[:8]))}. Record with both pinned."
        )


def _is_matched(event, patterns):
    """Return True if an event's name matches one of the patterns."""
    return any(fnmatch(event, pattern) for pattern in patterns)
