"""Plan which events are counted together in a run.

:func:`make_plans` divides events among runs and returns one :class:`Plan` per run. Without multiplexing (OCOE: one
counter, one event) each event has a counter of its own, and many events need many runs. With multiplexing (MLPX)
groups of events take turns on the counters within a run.
"""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain

from cmlib.errors import InputError
from cmlib.io.events.naming import copy_name, needs_counter
from cmlib.spelling import PINNED

PROBE = "probe"  # name of the set that finds out which events can be counted at all


@dataclass(frozen=True)
class Plan:
    """The events of one run and how they are counted.

    Attributes
    ----------
    set : str
        Name of the set of plans that together count all events.
    mode : {"ocoe", "mlpx"}
        Without or with multiplexing.
    part : int
        Number of this plan in its set.
    pinned : tuple of str
        Events that are counted all the time.
    groups : tuple of tuple of str
        Groups of events. The events of a group are counted at the same time.
    interval_ms : int
        Length of an interval [ms].
    modifier : str
        Perf's modifier. For example, "u" counts in user mode only.
    """

    set: str
    mode: str
    part: int
    pinned: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    interval_ms: int = 100
    modifier: str = "u"

    @property
    def events(self):
        """Events of all groups (tuple of str), without the pinned events."""
        return tuple(chain.from_iterable(self.groups))


def make_plans(
    mode, events, n_counters, *, counters_of=None, per_run=12, set_name=None, pinned=PINNED, **plan
):
    """Plan the runs that together count each event once.

    Parameters
    ----------
    mode : {"ocoe", "mlpx", "ungrouped"}
        "ocoe": each event has a counter of its own, in as many runs as needed. "mlpx": runs of `per_run` events, with
        groups that take turns. "ungrouped": one run in which single events take turns, as in a plain list for
        ``perf stat -e``.
    events : sequence of str
        Names of the events.
    n_counters : int
        Number of good counters of the machine, including the counters of pinned events.
    counters_of : dict of str to int, optional
        Number of counters of events that need more than one.
    per_run : int, default 12
        Number of events in a run of "mlpx".
    set_name : str, optional
        Name of the set. By default it is derived from the mode, for example "mlpx12".
    pinned : sequence of str
        Events that every run counts all the time.
    **plan
        Further fields of Plan: interval_ms and modifier.

    Returns
    -------
    list of Plan
        One Plan per run.

    Raises
    ------
    ValueError
        If there are no events, an event is named twice, or an event needs more counters than the machine has.
    """
    groups = _groups(events, n_counters, pinned, counters_of)
    if mode == "ocoe":
        in_runs = [(group,) for group in groups]
    elif mode == "ungrouped":
        in_runs = [tuple((event,) for event in events)]
    else:
        chunks = [events[start : start + per_run] for start in range(0, len(events), per_run)]
        in_runs = [tuple(_groups(chunk, n_counters, pinned, counters_of)) for chunk in chunks]
    name = {"mlpx": f"mlpx{per_run}"}.get(mode, mode) if set_name is None else set_name
    counted = "ocoe" if mode == "ocoe" else "mlpx"
    return [Plan(name, counted, part, tuple(pinned), of_run, **plan) for part, of_run in enumerate(in_runs)]


def with_second_reading(plan, n_counters, *, counters_of=None):
    """Add a second reading of one event to a plan.

    The second reading is named ``EVENT#2`` and counted half a rotation later, in another group. The difference between
    the two readings shows how large the error of multiplexing is.

    Parameters
    ----------
    plan : Plan
        Events of one run.
    n_counters : int
        Number of good counters of the machine.
    counters_of : dict of str to int, optional
        Number of counters of events that need more than one.

    Returns
    -------
    Plan
        The plan is unchanged if all events fit on the counters, or if no event can be counted twice.
    """
    needed = {event: (counters_of or {}).get(event, 1) for event in plan.events}
    width = n_counters - sum(map(needs_counter, plan.pinned))
    if sum(needed[event] for event in filter(needs_counter, plan.events)) <= width:
        return plan
    free = width - sum(needed[event] for event in plan.groups[-1])
    in_groups = max(map(len, plan.groups)) > 1
    groups = list(plan.groups) if in_groups and free > 0 else [*plan.groups, ()]
    opposite = groups[(len(groups) - 1 + len(groups) // 2) % len(groups)]
    chosen = next((event for event in opposite if needed[event] == 1 and needs_counter(event)), None)
    if chosen is None:
        return plan
    groups[-1] += (copy_name(chosen, 2),)
    return replace(plan, groups=tuple(groups))


def _groups(events, n_counters, pinned, counters_of):
    """Divide events into tuples that fit on the counters next to the pinned events, in input order."""
    if not events:
        raise InputError("no events to count.")
    if twice := sorted(name for name, n in Counter([*pinned, *events]).items() if n > 1):
        raise InputError(f"named more than once, or pinned and named: {', '.join(twice)}; name each once.")
    if not any(map(needs_counter, events)):
        return [tuple(events)]
    width = n_counters - sum(map(needs_counter, pinned))
    groups, free = [], 0
    for event in events:
        needed = (counters_of or {}).get(event, 1)
        if needed > width:
            left = f"{event} needs {needed} and {width} are left"
            left = left if width > 0 else "none is left to count others"
            raise InputError(
                f"{n_counters} counters are good and {len(pinned)} events are pinned ({', '.join(pinned)}): {left}. "
                "See `cmlib doctor`; leave the event out, pin fewer, or count software events."
            )
        if needed > free:
            groups.append(())
            free = width
        groups[-1] += (event,)
        free -= needed
    return groups
