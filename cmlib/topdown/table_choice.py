"""Choose the top-down table whose formulas can be computed from the events of a recording.

:func:`choose_table` takes names of events, and returns a TopdownTable (categories of slots with formulas of
events), or None if nothing fits. :func:`fitting_tables` returns a list of all tables that fit equally well, empty
if there is none. The categories of level 1 divide all slots (places for one operation in a cycle): retired, front
end, back end, bad speculation. Unknown events and machines are ignored.
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
    scores = {name: _count_computable(read_table(name), spelled) for name in tables()}
    arm_table = _find_arm_table(scores, machine, rates)
    if arm_table is not None:
        return [arm_table]
    if scores.get(machine):
        return [read_table(machine)]
    highest_score = max(scores.values(), default=0)
    # Preferred, because many processors' formulas divide by the sum of their four categories, so that these always add
    # up to 1, even where the table is of another processor.
    if scores[_LINUX] == highest_score > 0:
        return [read_table(_LINUX)]
    fitting = [read_table(name) for name, score in scores.items() if score == highest_score > 0]
    if rates is None or len(fitting) < 2:
        return fitting
    accounts = [account(pd.DataFrame([rates]), table) for table in fitting]
    accounts = _keep_best(accounts, _compare_width)
    accounts = _keep_best(accounts, lambda computed: abs(sum_gap(computed)))
    return [computed.table for computed in accounts]


def _keep_best(accounts, measure_misfit):
    """Keep the accounts with the smallest misfit, and those that are about as good."""
    misfits = [measure_misfit(computed) for computed in accounts]
    limit = min(misfits) + _TIE
    return [computed for computed, misfit in zip(accounts, misfits, strict=True) if misfit <= limit]


def _find_arm_table(scores, machine, rates):
    """Find the generic table of Arm's slot events that fits a machine named arm_*; None if none does.

    ``arm_slots_off_by_one`` is for cores with an erratum in the count of slots; it is taken wherever it can be
    computed. ``arm_slots`` is taken if more of its categories can be computed than of the machine's own table. The
    slots per cycle must agree with the machine's width.
    """
    if rates is None or not machine or not machine.startswith("arm_") or machine not in scores:
        return None
    candidates = []
    if scores["arm_slots_off_by_one"]:
        candidates.append("arm_slots_off_by_one")
    if scores["arm_slots"] > scores[machine]:
        candidates.append("arm_slots")
    width = evaluate(read_table(machine).slots[0], {"cycles": 1.0}) if candidates else None
    for name in candidates:
        computed = account(pd.DataFrame([rates]), read_table(name))
        if abs(computed.slots.iloc[0] / width - 1) < _LIKE_WIDTH:
            return computed.table
    return None


def _compare_width(computed):
    """Compare the slots per cycle with the nearest width of the table's processors: a relative difference.

    Returns 0 if the table has no widths.
    """
    return min((abs(computed.slots.iloc[0] / width - 1) for width in computed.table.widths), default=0.0)


def linux_tables(events):
    """Return a list of Linux's generic table if the `events` are enough for its level 1; else an empty list."""
    table = read_table(_LINUX)
    return [table] if _count_computable(table, set(map(spelling, events))) == len(table.parts()) else []


def slots_as_cycles(counts, running):
    """Use the slots of Linux's generic table as cycles, if no cycles were counted: two DataFrames.

    `counts` and `running` (shares, 0-1) have a row per interval, a column per event. A column ``cycles`` is added.
    Only the events of that table are kept, because the rates of other events per slot mean nothing. Both are returned
    unchanged if cycles were counted, or slots were not.
    """
    table = read_table(_LINUX)
    slot_columns = _find_slot_columns(counts, table)
    if "cycles" in counts or not slot_columns:
        return counts, running
    columns = table.select_events(counts)
    return (
        counts[columns].assign(cycles=counts[slot_columns].sum(axis=1, skipna=False)),
        running[columns].assign(cycles=running[slot_columns].min(axis=1, skipna=False)),
    )


def _find_slot_columns(counts, table):
    """Find the columns whose sum is the number of slots, by the first formula that has all; [] if none has."""
    column_by_name = {spelling(event): event for event in counts}
    for formula in table.slots:
        columns = [column_by_name.get(spelling(name)) for name in names_in(formula)]
        if all(columns):
            return columns
    return []


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


def _count_computable(table, spelled):
    """Count the table's level-1 categories that can be computed from `spelled`, a set of spelled event names.

    Returns 0 if the number of slots can't be computed. A formula of cycles alone does not count.
    """
    slot_names = [{spelling(name) for name in names_in(formula)} for formula in table.slots]
    if not any(names <= spelled | {"cycles"} for names in slot_names):
        return 0
    is_computable = [
        any(_is_computable(formula, spelled) for formula in part.formulas) for part in table.parts()
    ]
    return sum(is_computable)


def _is_computable(formula, spelled):
    """Return True if a formula takes events other than cycles, and all of them are in the set."""
    needed = set(map(spelling, set(names_in(formula)) - {"parent", "slots", "cycles"}))
    return bool(needed) and needed <= spelled
