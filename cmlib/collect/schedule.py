"""Which events are counted together, in which run: plans without and with multiplexing."""

import re
from dataclasses import dataclass, replace
from itertools import chain

from cmlib.io.events.naming import SOFTWARE_NAMES, copy_name

PINNED = ("instructions", "cycles")
PROBE = "probe"

# As in sched:sched_switch; what follows a processor's event behind a colon are modifiers.
_TRACEPOINT = re.compile(r"\w+:(?![ukhIGHpPSDWeb]+$)\w+")


@dataclass(frozen=True)
class Plan:
    """What one run counts."""

    set: str
    mode: str
    part: int
    pinned: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    interval_ms: int = 100
    modifier: str = "u"

    @property
    def events(self):
        """The events of all groups in order, without the pinned ones."""
        return tuple(chain.from_iterable(self.groups))


def plan_ocoe(
    events, n_counters, *, counters_of=None, set_name="ocoe", pinned=PINNED, interval_ms=100, modifier="u"
):
    """Plan runs in which every event keeps its counter (one counter, one event)."""
    groups = _groups(events, n_counters, pinned, counters_of)
    return [
        Plan(set_name, "ocoe", part, tuple(pinned), (group,), interval_ms, modifier)
        for part, group in enumerate(groups)
    ]


def plan_mlpx(
    events,
    n_counters,
    *,
    counters_of=None,
    per_run=12,
    set_name=None,
    pinned=PINNED,
    interval_ms=100,
    modifier="u",
):
    """Plan runs in which groups of events take turns on the counters."""
    if per_run < 1:
        raise ValueError(f"a run counts at least one event, got per_run={per_run}.")
    _groups(events, n_counters, pinned, counters_of)
    return [
        Plan(
            set_name or f"mlpx{per_run}",
            "mlpx",
            part,
            tuple(pinned),
            tuple(_groups(chunk, n_counters, pinned, counters_of)),
            interval_ms,
            modifier,
        )
        for part, chunk in enumerate(_chunks(events, per_run))
    ]


def plan_ungrouped(
    events,
    n_counters,
    *,
    counters_of=None,
    set_name="ungrouped",
    pinned=PINNED,
    interval_ms=100,
    modifier="u",
):
    """Plan one run of all events without groups, as ``perf stat -e`` takes a plain list of them."""
    _groups(events, n_counters, pinned, counters_of)
    groups = tuple((event,) for event in events)
    return [Plan(set_name, "mlpx", 0, tuple(pinned), groups, interval_ms, modifier)]


def plan_probe(
    events, n_counters, *, counters_of=None, per_run=48, pinned=PINNED, interval_ms=100, modifier="u"
):
    """Plan the runs that find out which events count at all under a command."""
    return plan_mlpx(
        events,
        n_counters,
        counters_of=counters_of,
        per_run=per_run,
        set_name=PROBE,
        pinned=pinned,
        interval_ms=interval_ms,
        modifier=modifier,
    )


def with_second_reading(plan, n_counters, *, counters_of=None):
    """Count one event of a multiplexed run twice, half a rotation apart."""
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


def needs_counter(event):
    """Whether an event takes one of the processor's counters; software events and tracepoints do not."""
    return not (_TRACEPOINT.fullmatch(event) or event.partition(":")[0] in SOFTWARE_NAMES)


def _groups(events, n_counters, pinned, counters_of):
    """Fill one group after the other, in the order given, with what the counters hold."""
    _check_names(events, pinned)
    if not any(map(needs_counter, events)):
        return [tuple(events)]
    width = n_counters - sum(map(needs_counter, pinned))
    groups, free = [], 0
    for event in events:
        needed = (counters_of or {}).get(event, 1)
        if needed > width:
            left = (
                "none is left to count others"
                if width < 1
                else f"{event} needs {needed} and {width} are left"
            )
            raise ValueError(
                f"{n_counters} counters are good and {len(pinned)} events are pinned ({', '.join(pinned)}): {left}. "
                "See `cmlib doctor`; leave the event out, pin fewer, or count software events."
            )
        if needed > free:
            groups.append(())
            free = width
        groups[-1] += (event,)
        free -= needed
    return groups


def _check_names(events, pinned):
    if not events:
        raise ValueError("no events to count.")
    names = [*pinned, *events]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"named more than once, or pinned and named: {', '.join(twice)}; name every event once."
        )


def _chunks(items, size):
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]
