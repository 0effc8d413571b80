"""Compute the share of slots in each category of a top-down table.

:func:`account` takes rates of events and a table, and returns an :class:`Account`. A slot is an opportunity to begin
one operation in a cycle. A category is one use or loss of slots, for example "back end". Level 1 divides all slots, and
each category can have parts on the next level. Categories without counted events are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib.errors import InputError
from cmlib.spelling import spelling
from cmlib.topdown.category_tables import TopdownTable, evaluate, names_in

REMAINDER = "what the others leave"  # stands for the formula of a remainder in Account.formulas
# Keys of the number of all slots, and of the slots of the parent category, among the values of events.
_SLOTS = "SLOTS"
_PARENT = "PARENT"


@dataclass(frozen=True)
class Account:
    """Share of the slots in each top-down category.

    A slot is an opportunity to begin one operation in a cycle. A category is one use or loss of slots, for example
    "back end". The categories of level 1 divide all slots, and level 2 has their parts.

    Attributes
    ----------
    table : cmlib.topdown.category_tables.TopdownTable
        The formulas that compute the categories from events.
    shares : DataFrame, shape (n_steps, n_categories)
        Shares of all slots, usually between 0 and 1. They may lie slightly outside, because counts have errors. NaN if
        a step has no slots. The parts of a category are included only if all of them were computed.
    formulas : dict of str to str
        Formula that was used, keyed by category. Some categories are computed as a remainder: all slots of the parent
        minus the slots of the other parts. Their formula is ``what the others leave``.
    missing : dict of str to tuple of str
        Events that would be needed, keyed by category that was not computed.
    slots : Series, shape (n_steps,)
        Slots per cycle. Index: step.
    """

    table: TopdownTable
    shares: pd.DataFrame
    formulas: dict
    missing: dict
    slots: pd.Series

    def level(self, parent=""):
        """Return the share of each part of a category.

        Parameters
        ----------
        parent : str, default ""
            Name of the category. Default: all slots. Their parts are the categories of level 1.

        Returns
        -------
        DataFrame
            One row per step, one column per part that was computed.
        """
        names = [part.name for part in self.table.parts(parent) if part.name in self.shares]
        return self.shares[names]

    def is_tested(self):
        """Return True if the sum of level 1 shows whether the counts are right.

        This requires that every category of level 1 was computed from separate events.
        """
        level_1 = {part.name for part in self.table.parts()}
        return self.table.has_testable_sum and not level_1 & self.missing.keys()


def account(rates: pd.DataFrame, table: TopdownTable) -> Account:
    """Compute the share of the slots in each top-down category (Yasin 2014).

    Parameters
    ----------
    rates : DataFrame, shape (n_steps, n_events)
        Events per cycle. The column ``cycles`` is not needed. Event names may have any spelling.
    table : cmlib.topdown.category_tables.TopdownTable
        Formulas of the categories, from :func:`cmlib.topdown.read_table`.

    Returns
    -------
    Account
        The shares, the formulas that were used, and the missing events.

    Raises
    ------
    ValueError
        If the number of slots cannot be computed. The message names the missing events.
    """
    values = {spelling(name): rates[name] for name in reversed(rates.columns)}
    values |= {"cycles": pd.Series(1.0, index=rates.index)}
    slots, _ = _compute_first(table.slots, values)
    if slots is None:
        missing_events = ", ".join(_list_missing(table.slots[0], values))
        raise InputError(
            f"the number of slots of {table.name} cannot be computed, because {missing_events} was not recorded."
        )
    values[_SLOTS] = slots
    shares = {}
    formulas = {}
    missing = {}
    for parent in ["", *(category.name for category in table.categories)]:
        if not parent or parent in shares:
            parent_slots = shares[parent] * slots if parent else slots
            _add_parts(
                table.parts(parent), values | {_PARENT: parent_slots}, slots, shares, formulas, missing
            )
    ordered = [category.name for category in table.categories if category.name in shares]
    return Account(table, pd.DataFrame(shares, index=rates.index)[ordered], formulas, missing, slots)


def sum_gap(computed):
    """Return the sum of the shares of level 1, minus 1.

    A value other than 0 shows that the counts are wrong. The result is 0 if a share was not computed, or if one is a
    remainder (the sum is then always 1). Only the first step is used.

    Parameters
    ----------
    computed : Account

    Returns
    -------
    float
    """
    level_1 = computed.level()
    are_all_computed = {part.name for part in computed.table.parts()} <= set(level_1)
    has_remainder = any(computed.formulas[name] == REMAINDER for name in level_1)
    if not are_all_computed or has_remainder:
        return 0.0
    return float(level_1.iloc[0].sum() - 1)


def _add_parts(parts, values, slots, shares, formulas, missing):
    """Compute the parts of one category and add them to the dicts `shares`, `formulas` and `missing`."""
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
    # A part without formulas is the remainder. It can be computed if all other parts are known.
    for part in parts:
        if part.formulas:
            continue
        if len(slots_by_part) == len(parts) - 1:
            slots_by_part[part.name] = values[_PARENT] - sum(slots_by_part.values())
            formulas[part.name] = REMAINDER
        else:
            missing[part.name] = ()
    is_level_1 = parts and not parts[0].parent
    if is_level_1 or len(slots_by_part) == len(parts):
        for name, part_slots in slots_by_part.items():
            shares[name] = (part_slots / slots).replace([np.inf, -np.inf], np.nan)


def _compute_first(formulas, values):
    """Compute the first formula with a value for every name.

    Returns the result and the formula, or (None, "") if every formula has a name without a value.
    """
    for formula in formulas:
        if not _list_missing(formula, values):
            value_by_name = {name: values[_find_key(name, values)] for name in names_in(formula)}
            return evaluate(formula, value_by_name), formula
    return None, ""


def _list_missing(formula, values):
    """List the names in a formula that have no value."""
    return [name for name in names_in(formula) if _find_key(name, values) not in values]


def _find_key(name, values):
    """Return the key in `values` for a name in a formula.

    The name ``slots`` means an event as long as the number of slots is not known.
    """
    key = {"slots": _SLOTS, "parent": _PARENT}.get(name)
    return key if key in values else spelling(name)
