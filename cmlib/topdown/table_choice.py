"""Choose the top-down table that can be computed from the events of a recording.

:func:`choose_table` returns one table, and :func:`fitting_tables` all tables that fit equally well. A top-down table
has formulas for the use of the slots. A slot is an opportunity to begin one operation in a cycle.
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

_LINUX = "slots"  # the table of Linux's top-down events, which exist on all processors
_LIKE_WIDTH = 0.05  # relative difference up to which counted slots per cycle agree with the width of the core
_TIE = 0.01  # difference between two misfits [share of the slots] up to which they are equal


def fitting_tables(events, machine="", rates=None):
    """Find the top-down tables that fit some events best.

    A table fits if at least one category of level 1 can be computed. The tables are chosen by these rules:

    - On an Arm machine, a generic table of Arm's slot events is used if it fits better than the machine's table.
    - Otherwise the machine's table is used if it fits.
    - Otherwise the table with the most categories of level 1 is used. Linux's generic table is preferred to tables of
      single processors.

    Parameters
    ----------
    events : iterable of str
        Names of the counted events, in any spelling.
    machine : str, optional
        Name of the machine's table. Default: not known.
    rates : Series, optional
        Events per cycle. Index: event. If several tables fit, the rates exclude the tables with an implausible number
        of slots per cycle or with an implausible sum of level 1.

    Returns
    -------
    list of cmlib.topdown.category_tables.TopdownTable
        Empty if no table fits.
    """
    spelled = set(map(spelling, events))
    scores = {name: _count_computable(read_table(name), spelled) for name in tables()}
    arm_table = _find_arm_table(scores, machine, rates)
    if arm_table is not None:
        return [arm_table]
    if scores.get(machine):
        return [read_table(machine)]
    highest_score = max(scores.values(), default=0)
    # Many processors' formulas divide by the sum of their four categories. Their shares always add up to 1, even if the
    # table is for another processor. Linux's table is therefore preferred.
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
    """Keep the accounts with the smallest misfit, and those with about the same misfit."""
    misfits = [measure_misfit(computed) for computed in accounts]
    limit = min(misfits) + _TIE
    return [computed for computed, misfit in zip(accounts, misfits, strict=True) if misfit <= limit]


def _find_arm_table(scores, machine, rates):
    """Return the generic table of Arm's slot events that fits an Arm machine, or None.

    ``arm_slots_off_by_one`` is for cores that count one slot too many per cycle because of an erratum. ``arm_slots``
    must have more categories than the machine's own table. In both, the slots per cycle must agree with the machine's
    width.
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
    """Return the relative difference between the slots per cycle and the nearest width of the table's processors.

    Returns 0 if the table has no widths.
    """
    return min((abs(computed.slots.iloc[0] / width - 1) for width in computed.table.widths), default=0.0)


def linux_tables(events):
    """Return a list with Linux's generic table if the events suffice for it.

    The events suffice if they determine all level-1 categories of the table. Otherwise, the list is empty.
    """
    table = read_table(_LINUX)
    return [table] if _count_computable(table, set(map(spelling, events))) == len(table.parts()) else []


def slots_as_cycles(counts, running):
    """Use the slots of Linux's generic table as cycles, if cycles were not counted.

    Only the events of that table are kept, because rates of other events per slot have no meaning. If cycles were
    counted or slots were not, both DataFrames are returned unchanged.

    Parameters
    ----------
    counts, running : DataFrame, shape (n_intervals, n_events)
        Counts, and running shares (fraction of the interval in which the event was counted).

    Returns
    -------
    counts, running : DataFrame
        With a column ``cycles``.
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
    """Return the columns that add up to the number of slots, or an empty list."""
    column_by_name = {spelling(event): event for event in counts}
    for formula in table.slots:
        columns = [column_by_name.get(spelling(name)) for name in names_in(formula)]
        if all(columns):
            return columns
    return []


def choose_table(
    events: Iterable[str], machine: str | None = None, rates: pd.Series | None = None
) -> TopdownTable | None:
    """Choose the top-down table that fits some events best.

    Parameters
    ----------
    events : iterable of str
        Names of the counted events, in any spelling.
    machine : str, optional
        Name of the machine's table. It is preferred if any category of its level 1 can be computed. Default: not known.
    rates : Series, optional
        Events per cycle. Index: event. If several tables fit, the rates select the most plausible one.

    Returns
    -------
    cmlib.topdown.category_tables.TopdownTable or None
        None if no table fits.
    """
    return next(iter(fitting_tables(events, machine, rates)), None)


def _count_computable(table, spelled):
    """Count the categories of level 1 that can be computed from a set of events.

    Returns 0 if the number of slots cannot be computed. Formulas that need cycles alone do not count.
    """
    slot_names = [{spelling(name) for name in names_in(formula)} for formula in table.slots]
    if not any(names <= spelled | {"cycles"} for names in slot_names):
        return 0
    is_computable = [
        any(_is_computable(formula, spelled) for formula in part.formulas) for part in table.parts()
    ]
    return sum(is_computable)


def _is_computable(formula, spelled):
    """Return True if a formula needs other events than cycles, and all of them are in the set."""
    needed = set(map(spelling, set(names_in(formula)) - {"parent", "slots", "cycles"}))
    return bool(needed) and needed <= spelled
