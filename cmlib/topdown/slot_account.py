"""Compute the share of the pipeline's slots in each category of a top-down table from counted events.

:func:`account` takes rates of events (DataFrame, a row per step) and a table, and returns an :class:`Account`. A
slot is a place for one operation that the processor can begin in a cycle; categories are kinds of its use or loss.
Categories whose events were not counted are left out. Raises a ValueError if not even the number of slots was
counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib.errors import InputError
from cmlib.spelling import spelling
from cmlib.topdown.category_tables import TopdownTable, evaluate, names_in

REMAINDER = "what the others leave"
_SLOTS, _PARENT = "SLOTS", "PARENT"  # keys, beside events, of all slots and of the parent's slots


@dataclass(frozen=True)
class Account:
    """Shares of the pipeline's slots by category.

    Attributes
    ----------
    table : cmlib.topdown.category_tables.TopdownTable
        The table (formulas of the categories) that was used.
    shares : DataFrame, shape (steps, categories)
        Shares of all slots (0–1, or slightly outside where counts are uncertain; NaN without slots). It has the
        categories of level 1 that could be computed. Below level 1, the parts of a category are included if all of
        them could be computed.
    formulas : dict of str to str
        The formula by which each category was computed, also of categories that are not in `shares`; ``what the
        others leave`` for a remainder.
    missing : dict of str to tuple of str
        Events that were not counted, by category that could not be computed; () for a remainder. It has categories
        of level 1 and parts of categories in `shares`.
    slots : Series, shape (steps,)
        Slots per cycle.
    """

    table: TopdownTable
    shares: pd.DataFrame
    formulas: dict
    missing: dict
    slots: pd.Series

    def level(self, parent=""):
        """Return the shares of one level of categories, as far as they were computed.

        Parameters
        ----------
        parent : str, default ""
            Category whose parts are returned. Default: the categories of level 1.

        Returns
        -------
        DataFrame
            One row per step, one column per category.
        """
        names = [part.name for part in self.table.parts(parent) if part.name in self.shares]
        return self.shares[names]

    def is_tested(self):
        """Return True if the sum of level 1 tests the counts: all of it was counted, and nothing is a remainder."""
        return (
            self.table.has_testable_sum
            and not {part.name for part in self.table.parts()} & self.missing.keys()
        )


def account(rates: pd.DataFrame, table: TopdownTable) -> Account:
    """Distribute the slots of every step over the categories of a table (Yasin 2014).

    Parameters
    ----------
    rates : DataFrame, shape (n_steps, n_events)
        Events per cycle, in any spelling; ``cycles`` itself need not be there.
    table : cmlib.topdown.category_tables.TopdownTable
        Table of the processor (formulas of the categories), from :func:`cmlib.topdown.read_table`.

    Returns
    -------
    Account
        The shares of the slots, the formulas used, and the events that are missing.

    Raises
    ------
    ValueError
        If the number of slots cannot be computed. The message names the events that this needs.
    """
    values = {spelling(name): rates[name] for name in reversed(rates.columns)}
    values |= {"cycles": pd.Series(1.0, index=rates.index)}
    slots, _ = _compute_first(table.slots, values)
    if slots is None:
        lacking = ", ".join(_list_missing(table.slots[0], values))
        raise InputError(f"the slots of {table.name} are counted by {lacking}, which was not recorded.")
    values[_SLOTS] = slots
    shares = {}
    formulas = {}
    missing = {}
    for parent in ["", *(category.name for category in table.categories)]:
        if not parent or parent in shares:
            whole = shares[parent] * slots if parent else slots
            _add_parts(table.parts(parent), values | {_PARENT: whole}, slots, shares, formulas, missing)
    ordered = [category.name for category in table.categories if category.name in shares]
    return Account(table, pd.DataFrame(shares, index=rates.index)[ordered], formulas, missing, slots)


def sum_gap(computed):
    """Compute by how much the four shares of level 1 exceed 1 in sum, in the first step of an :class:`Account`.

    Returns 0 if a category could not be computed, or if one was computed as what the others leave: then they add up
    in any case.
    """
    level = computed.level()
    are_all_computed = {part.name for part in computed.table.parts()} <= set(level)
    has_remainder = any(computed.formulas[name] == REMAINDER for name in level)
    if not are_all_computed or has_remainder:
        return 0.0
    return float(level.iloc[0].sum() - 1)


def _add_parts(parts, values, slots, shares, formulas, missing):
    """Compute the categories of one parent and add them to the dicts `shares`, `formulas` and `missing`."""
    slots_by_part = {}
    for part in parts:
        if not part.formulas:
            continue
        part_slots, formula = _compute_first(part.formulas, values)
        if part_slots is None:
            missing[part.name] = tuple(_list_missing(part.formulas[0], values))
        else:
            slots_by_part[part.name] = part_slots
            formulas[part.name] = formula
    for part in parts:
        if part.formulas:
            continue
        if len(slots_by_part) == len(parts) - 1:
            slots_by_part[part.name] = values[_PARENT] - sum(slots_by_part.values())
            formulas[part.name] = REMAINDER
        else:
            missing[part.name] = ()
    # Parts below level 1 are shown only if all parts of their parent are known.
    if parts and (not parts[0].parent or len(slots_by_part) == len(parts)):
        for name, part_slots in slots_by_part.items():
            shares[name] = (part_slots / slots).replace([np.inf, -np.inf], np.nan)


def _compute_first(formulas, values):
    """Compute the first formula whose names all have a value: (values, formula), or (None, "") if there is none."""
    for formula in formulas:
        if not _list_missing(formula, values):
            value_by_name = {name: values[_find_key(name, values)] for name in names_in(formula)}
            return evaluate(formula, value_by_name), formula
    return None, ""


def _list_missing(formula, values):
    """List the names in a formula that have no value."""
    return [name for name in names_in(formula) if _find_key(name, values) not in values]


def _find_key(name, values):
    """Return the key of a formula's name in `values`; ``slots`` is an event until the number of slots is known."""
    word = {"slots": _SLOTS, "parent": _PARENT}.get(name)
    return word if word in values else spelling(name)
