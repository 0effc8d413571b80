"""Choose the top-down table by which some events are an account: the machine's own, or those that fit best."""

import pandas as pd

from cmlib.spelling import spelling
from cmlib.topdown.category_tables import evaluate, names_in, read_table, tables
from cmlib.topdown.slot_account import account, sum_gap

_LINUX = "slots"  # the table of Linux's top-down events, which are the same on every processor
_LIKE_WIDTH = 0.05  # share by which slots a cycle may be other than a core has
_ADDS_UP = 0.01  # share of the slots by which tables that fit may differ in how well they add up


def fitting_tables(events, machine="", rates=None, printed=None):
    """The machine's own table where it fits some events, or else those that fit them best.

    Parameters
    ----------
    events : iterable of str
        In any spelling.
    machine : str, optional
        Name of the machine's table, if it has one.
    rates : Series, optional
        Events per cycle: of the tables that fit, those by which level 1 adds up best.
    printed : dict of str to float, optional
        Shares that the recording tool printed (0–1), by category: of the tables that fit as well, those nearest to it.

    Returns
    -------
    list of TopdownTable
        Several where they can't be told apart; empty if none fits.
    """
    spelled = set(map(spelling, events))
    scores = {name: _computable(read_table(name), spelled) for name in tables()}
    if arm := _arm_slots(scores, machine, rates):
        return [arm]
    if scores.get(machine):
        return [read_table(machine)]
    most = max(scores.values(), default=0)
    # Processors' own formulas divide by the sum of the four, whatever it is of the slots.
    if scores[_LINUX] == most > 0:
        return [read_table(_LINUX)]
    fitting = [read_table(name) for name, score in scores.items() if score == most > 0]
    if rates is None or len(fitting) < 2:
        return fitting
    accounts = [account(pd.DataFrame([rates]), table) for table in fitting]
    for misfit in (
        _off_width,
        lambda computed: abs(sum_gap(computed)),
        lambda computed: _off_printed(computed, printed or {}),
    ):
        misfits = [misfit(computed) for computed in accounts]
        accounts = [
            computed for computed, by in zip(accounts, misfits, strict=True) if by <= min(misfits) + _ADDS_UP
        ]
    return [computed.table for computed in accounts]


def _arm_slots(scores, machine, rates):
    """The table of Arm's slots, of an Arm core told: by the erratum's count of them, or where its own lacks events."""
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
    """By what share the slots of a cycle are other than those of any processor that the table can be of."""
    return min((abs(computed.slots.iloc[0] / width - 1) for width in computed.table.widths), default=0.0)


def _off_printed(computed, printed):
    """By how much the account differs most from what the recording tool printed."""
    level = computed.level()
    return max((abs(level[name].iloc[0] - printed[name]) for name in level if name in printed), default=0.0)


def linux_tables(events):
    """The table of Linux's top-down events, where all of level 1 was counted by them; else none."""
    table = read_table(_LINUX)
    return [table] if _computable(table, set(map(spelling, events))) == len(table.parts()) else []


def choose_table(events, machine=None, rates=None):
    """Choose the top-down table that fits some events best.

    Parameters
    ----------
    events, machine, rates : iterable of str, str, Series
        As of :func:`cmlib.topdown.fitting_tables`, whose first table it is.

    Returns
    -------
    TopdownTable or None
        None if no table fits.
    """
    return next(iter(fitting_tables(events, machine, rates)), None)


def _computable(table, spelled):
    """How many categories of level 1 take events, cycles aside, that are all there."""
    slots = any(set(map(spelling, names_in(text))) <= spelled | {"cycles"} for text in table.slots)
    return slots * sum(any(_has(text, spelled) for text in part.formulas) for part in table.parts())


def _has(formula, spelled):
    needed = set(map(spelling, set(names_in(formula)) - {"parent", "slots", "cycles"}))
    return bool(needed) and needed <= spelled
