"""Choose the top-down table whose formulas can be computed from the events of a recording.

:func:`choose_table` takes names of events, and gives a TopdownTable (categories of slots with formulas of events),
or None if nothing fits; :func:`fitting_tables` gives a list of several equal ones, empty if there is none. Level 1
are the categories that all slots (places for one operation in a cycle) are divided into: retired, front end, back
end, bad speculation. Unknown events and machines are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd

from cmlib.spelling import spelling
from cmlib.topdown.category_tables import evaluate, names_in, read_table, tables
from cmlib.topdown.slot_account import account, sum_gap

if TYPE_CHECKING:
    from cmlib.topdown.category_tables import TopdownTable

_LINUX = "slots"  # the table of Linux's top-down events, which are the same on every processor
_LIKE_WIDTH = 0.05  # relative difference up to which counted slots per cycle agree with the width of the core
_TIE = 0.01  # misfits of two tables [share of the slots] that differ by no more than this count as equal


def fitting_tables(events, machine="", rates=None):
    """Find the tables that fit some events best: the machine's own if it fits, or else others.

    A table fits if the events are enough for at least one category of its level 1. It fits best if no other table
    has more such categories. There are three exceptions. On an Arm machine, the generic table of Arm's slot events
    is preferred if more of its categories can be computed than of the machine's own table. The table for Arm cores
    that count one slot too many is preferred if it fits the core's width. If the machine has no table that fits,
    Linux's generic events are preferred to formulas of single processors.

    Parameters
    ----------
    events : iterable of str
        Names of the counted events, in any spelling.
    machine : str, optional
        Name of the machine's table, if it has one.
    rates : Series, optional
        Events per cycle, by event. Where several tables fit best, those are kept whose slots per cycle are nearest
        to a width that the processors have, and of these those whose level 1 adds up best to all slots.

    Returns
    -------
    list of cmlib.topdown.category_tables.TopdownTable
        Formulas of the categories, a table each: one, several where they can't be distinguished, or none if none fits.
    """
    spelled = set(map(spelling, events))
    scores = {name: _computable(read_table(name), spelled) for name in tables()}
    if arm := _arm_slots(scores, machine, rates):
        return [arm]
    if scores.get(machine):
        return [read_table(machine)]
    most = max(scores.values(), default=0)
    # Preferred, because many processors' formulas divide by the sum of their four categories, so that these always add
    # up to 1, even where the table is of another processor.
    if scores[_LINUX] == most > 0:
        return [read_table(_LINUX)]
    fitting = [read_table(name) for name, score in scores.items() if score == most > 0]
    if rates is None or len(fitting) < 2:
        return fitting
    accounts = [account(pd.DataFrame([rates]), table) for table in fitting]
    for misfit in (_off_width, lambda computed: abs(sum_gap(computed))):
        misfits = [misfit(computed) for computed in accounts]
        limit = min(misfits) + _TIE
        accounts = [computed for computed, by in zip(accounts, misfits, strict=True) if by <= limit]
    return [computed.table for computed in accounts]


def _arm_slots(scores, machine, rates):
    """Find the generic table of Arm's slot events that fits a machine named arm_*; None if none does.

    ``arm_slots_off_by_one`` is for cores with an erratum in the count of slots; it is taken wherever it can be
    computed. ``arm_slots`` is taken if more of its categories can be computed than of the machine's own table. The
    slots per cycle must agree with the machine's width.
    """
    own_score = scores.get(machine) if (machine or "").startswith("arm_") and rates is not None else None
    for name in ("arm_slots_off_by_one", "arm_slots") if own_score is not None else ():
        lacks = name != "arm_slots" or own_score < scores[name]
        if scores[name] and lacks:
            computed = account(pd.DataFrame([rates]), read_table(name))
            slots = evaluate(read_table(machine).slots[0], {"cycles": 1.0})
            if abs(computed.slots.iloc[0] / slots - 1) < _LIKE_WIDTH:
                return computed.table
    return None


def _off_width(computed):
    """Compare the slots per cycle with the nearest width of the table's processors: a relative difference.

    Returns 0 if the table has no widths.
    """
    return min((abs(computed.slots.iloc[0] / width - 1) for width in computed.table.widths), default=0.0)


def linux_tables(events):
    """Return a list of Linux's generic table if the `events` are enough for its level 1; else an empty list."""
    table = read_table(_LINUX)
    return [table] if _computable(table, set(map(spelling, events))) == len(table.parts()) else []


def slots_as_cycles(counts, running):
    """Take the slots of Linux's generic table for cycles where no cycles were counted: two DataFrames.

    `counts` and `running` (shares, 0-1) have a row per interval, a column per event; a column ``cycles`` is added, and
    only the events of that table are kept, as rates of others per slot mean nothing. Unchanged if cycles were counted,
    or slots were not.
    """
    table, named = read_table(_LINUX), {spelling(event): event for event in counts}
    of_slots = ({name: named.get(spelling(name)) for name in names_in(text)} for text in table.slots)
    events = next((events for events in of_slots if all(events.values())), {})
    if "cycles" in counts or not events:
        return counts, running
    names, added = table.takes(counts), [*events.values()]
    return (
        counts[names].assign(cycles=counts[added].sum(axis=1, skipna=False)),
        running[names].assign(cycles=running[added].min(axis=1, skipna=False)),
    )


def choose_table(
    events: Iterable[str], machine: str | None = None, rates: pd.Series | None = None
) -> TopdownTable | None:
    """Choose the top-down table that fits some events best: the first of :func:`fitting_tables`.

    Parameters
    ----------
    events : iterable of str
        Names of the counted events, in any spelling.
    machine : str, optional
        Name of the machine's table, if it has one; preferred if any category of its level 1 can be computed.
    rates : Series, optional
        Events per cycle, by event. Of tables of which as much can be computed, those are kept whose slots per cycle
        are nearest to a processor's width, and of these those whose level 1 adds up best.

    Returns
    -------
    cmlib.topdown.category_tables.TopdownTable or None
        Formulas of the categories; None if no category of any table's level 1 can be computed.
    """
    return next(iter(fitting_tables(events, machine, rates)), None)


def _computable(table, spelled):
    """Count the table's level-1 categories that can be computed from `spelled`, a set of spelled event names.

    Returns 0 if the number of slots can't be computed. A formula of cycles alone does not count.
    """
    slots = any(set(map(spelling, names_in(text))) <= spelled | {"cycles"} for text in table.slots)
    return slots * sum(any(_has(text, spelled) for text in part.formulas) for part in table.parts())


def _has(formula, spelled):
    """Return True if a formula takes events other than cycles, and all of them are in the set."""
    needed = set(map(spelling, set(names_in(formula)) - {"parent", "slots", "cycles"}))
    return bool(needed) and needed <= spelled
