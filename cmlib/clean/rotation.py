"""Simulate multiplexing on events that were counted all the time, so that the true counts are known.

:func:`replay` takes such counts and groups of events, and returns a :class:`Replay`: the counts that perf would have
printed, their running shares (share of each interval in which an event was counted), and the true counts. Raises a
ValueError if an event of a group was not counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.errors import InputError


class Replay(NamedTuple):
    """Counts as multiplexing would have shown them, and the true ones.

    Attributes
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        Scaled by 1 / running [events per interval]; NaN where an event had no turn.
    running : DataFrame of float, same shape
        Running shares, 0 to 1.
    truth : DataFrame of float, same shape
        True counts [events per interval].
    """

    counts: pd.DataFrame
    running: pd.DataFrame
    truth: pd.DataFrame


def replay(counted: pd.DataFrame, groups: list[list[str]], *, slots: int = 1, phase: int = 0) -> Replay:
    """Simulate multiplexing: take out the counts of the time in which an event's group was not on the counters.

    In each slot of time one group is on the counters: group ``(slot + phase) % len(groups)``.

    Parameters
    ----------
    counted : DataFrame of float, shape (n_slots, n_events)
        Counts of slots of equal length; index: end of the slot [s]. Never modified.
    groups : list of lists of str
        Events that are on the counters together; those in no group are counted all the time.
    slots : int, default 1
        Slots that are added up to an interval; with 1, an interval has counts of one group only. Slots at the end that
        fill no interval are left out.
    phase : int, default 0
        Number of the group that has the first slot.

    Returns
    -------
    Replay
        Frames of shape (n_intervals, n_events): `counts` as perf would have printed them, `running` shares, and the
        `truth` [events per interval].

    Raises
    ------
    ValueError
        If `slots` is below 1, a group's event was not counted, or there is no whole interval.
    """
    if unknown := [event for group in groups for event in group if event not in counted]:
        raise InputError(f"{', '.join(unknown)}: not among the events that were counted")
    if not 1 <= slots <= len(counted):
        raise InputError(f"slots is {slots}; an interval has 1 slot to {len(counted)}, as many as there are")
    n_intervals = len(counted) // slots
    exact = counted.to_numpy(dtype=np.float64)[: n_intervals * slots]
    has_turn = _schedule(counted.columns, groups, len(exact), phase)
    truth = _add_up(exact, slots)
    observed = _add_up(exact * has_turn, slots)
    share = _add_up(has_turn, slots) / slots
    counts = np.divide(observed, share, out=np.full_like(observed, np.nan), where=share > 0)
    index = counted.index[slots - 1 :: slots][:n_intervals]
    return Replay(*(pd.DataFrame(values, index, counted.columns) for values in (counts, share, truth)))


def _schedule(events, groups, n_slots, phase):
    """Return 1 where an event is on the counters in a slot, else 0: array, shape (n_slots, n_events)."""
    has_turn = np.ones((n_slots, len(events)))
    for number, group in enumerate(groups):
        is_on = (np.arange(n_slots) + phase) % len(groups) == number
        has_turn[:, events.get_indexer(group)] = is_on[:, None]
    return has_turn


def _add_up(values, slots):
    """Add up the slots of each interval."""
    return values.reshape(-1, slots, values.shape[1]).sum(axis=1)
