"""Find target leakage: events that contain what a model is to explain, as instructions or cycles contain IPC.

IPC is instructions per cycle. :func:`is_named_leak` knows such events by name. :func:`find_ticking` finds events
that happen at a constant rate in time, :func:`find_proportional` events that happen at a constant rate per
instruction, both by their counts. :func:`require_ipc` raises an UnfitRecordingError if a run lacks instructions or
cycles.
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
_N_BLOCKS = 20  # blocks of neighboring intervals for the jackknife, as neighbors are not independent
# The most cycles that one event can cost: memory takes some hundreds, a page fault or a system call some thousands.
_MOST_CYCLES = 5000
_CLOCK = 0.01  # an event whose rate in time has a smaller relative standard deviation is taken for a clock
_UNRELATED = 0.5  # an event ticks, or is in proportion to instructions, if its elasticity is surely smaller
_SMALL = 0.5  # an event is in proportion to instructions if its rate varies by less than this share of IPC's variation


def is_named_leak(event: str) -> bool:
    """Return True if an event counts instructions or cycles, or something in proportion to them, by its name.

    Parameters
    ----------
    event : str
        Name of the event.

    Returns
    -------
    bool
        False for other names, even if such an event counts something in proportion to them.
    """
    return any(fnmatch(event.lower(), pattern) for pattern in (*_NAMES["instructions"], *_NAMES["cycles"]))


def is_simulated_leak(event, target):
    """Return True if a simulated event is a part of the target, or another part of the same whole.

    The parts are listed in leaks.yaml. `event` and `target` are names of events of a simulation (such as
    ``sim.loads``).
    """
    of_event = {whole: parts for whole, parts in _NAMES["parts"].items() if _is_matched(event, parts)}
    return any(target == whole or _is_matched(target, parts) for whole, parts in of_event.items())


def find_ticking(runs, base="instructions"):
    """Find events that come at a constant rate in time, such as timer ticks, whose counts only measure the time.

    Such an event per instruction is in proportion to cycles per instruction, and would explain them by themselves.

    Parameters
    ----------
    runs : iterable of (DataFrame, Series)
        Of each run its counts, a row per interval, a column per event, and the length of each interval [s].
    base : str, default "instructions"
        The event that counts, and the quantity to be explained, are divided by. Runs without it are left out.

    Returns
    -------
    Series of float
        Rate of each event found [1/s], total over all runs; index: event. `base`, cycles, events that
        :func:`is_named_leak` names, and events counted in fewer than 20 intervals are never among them.

    Notes
    -----
    With n events in a time T and a base of I, n/I = (n/T)(T/I). Where n/T is constant, n/I is T/I, or cycles per
    instruction at a constant clock. An event that causes cycles happens more often in time where cycles per instruction
    are many, and one that goes with instructions less often. So the elasticity of n/T in T/I is estimated, with its
    standard error by the jackknife over 20 blocks of neighbors; T is in seconds or, where they were counted, in
    cycles; either may show it. Interrupts and events of the scheduler tick if the elasticity is within three standard
    errors of 0, or within 0.1 if that is more. Other events tick if it is between -0.5 and 0.5 by two standard errors,
    and if one of them would have to cost more than 5000 cycles (always, if no cycles were counted) or n/T varies by
    less than 1 %: in a program that only waits for misses, these come at a constant rate too, but are its cause.
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
    """Find events that come at a constant rate per instruction: counted per cycle, they are IPC times a constant.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Counts per cycle, rows in the order of time or progress.
    ipc : Series of float > 0, shape (n_rows,)
        Instructions per cycle.

    Returns
    -------
    list of str
        The events, in the order of the columns.

    Notes
    -----
    With n events in C cycles and I instructions, n/C is (n/I)(I/C). An event that costs cycles happens more often per
    instruction where cycles per instruction are many. So the elasticity of n/I in C/I is estimated, with its standard
    error by the jackknife over 20 blocks of neighbors. An event is in proportion to instructions if the elasticity is
    between -0.5 and 0.5 by two standard errors, and if n/I varies by less than half as much as IPC does, so that most
    of the variation of n/C is IPC's.
    """
    cycles_per_instruction = -np.log(ipc.to_numpy())
    most = _SMALL * np.std(cycles_per_instruction)
    found = []
    for event, per_cycle in X.items():
        per_instruction = (per_cycle / ipc).to_numpy()
        if len(ipc) < _N_BLOCKS or not per_instruction.any():
            continue
        per_instruction = per_instruction / per_instruction.mean()
        if per_instruction.std() >= most:
            continue
        elasticity, error = _fit_elasticity(per_instruction, cycles_per_instruction)
        if abs(elasticity) + 2 * error < _UNRELATED:
            found.append(event)
    return found


def _is_ticking(event, rows):
    """Return True if an event comes at a constant rate.

    `rows` has the event's counts as n, and seconds, base and maybe cycles.
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
    """Fit the slope of a rate (divided by its mean) on the logarithm of a time; return it and its standard error."""
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
    """Raise an UnfitRecordingError unless a run (DataFrame) has columns instructions and cycles; `label` names it."""
    if missing := [event for event in PINNED if event not in run]:
        raise UnfitRecordingError(
            f"{label} has no column {' and no column '.join(missing)}; without both there is no IPC. "
            f"Its columns: {', '.join(map(str, run.columns[:8]))}. Record with both pinned."
        )


def _is_matched(event, patterns):
    """Return True if an event's name matches one of the patterns."""
    return any(fnmatch(event, pattern) for pattern in patterns)
