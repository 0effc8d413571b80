"""Distribute the pipeline's slots over the categories of a top-down table, by counted events."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib.spelling import PINNED, spelling
from cmlib.topdown.category_tables import TopdownTable, evaluate, names_in, read_table, tables

REMAINDER = "what the others leave"
_SLOTS, _PARENT = "SLOTS", "PARENT"  # all slots, and those of the category above, among values


@dataclass(frozen=True)
class Account:
    """Shares of the pipeline's slots by category.

    Attributes
    ----------
    table : TopdownTable
        The table that was used.
    shares : DataFrame, shape (steps, categories)
        Of all slots (0–1, a little less or more where counts are uncertain); categories that could not be
        computed are absent.
    formulas : dict of str to str
        The formula that each category was computed by.
    missing : dict of str to tuple of str
        Events that a category would take and that were not counted.
    slots : Series, shape (steps,)
        All slots of a cycle.
    """

    table: TopdownTable
    shares: pd.DataFrame
    formulas: dict
    missing: dict
    slots: pd.Series

    def level(self, parent=""):
        """Shares of the categories right below one; those of level 1 without a name."""
        names = [part.name for part in self.table.parts(parent) if part.name in self.shares]
        return self.shares[names]


def account(rates, table):
    """Distribute the slots of every step over the categories of a table (Yasin 2014).

    Parameters
    ----------
    rates : DataFrame, shape (n_steps, n_events)
        Events per cycle, in any spelling; ``cycles`` itself need not be there.
    table : TopdownTable
        Of the processor, as :func:`read_table` gives it.

    Returns
    -------
    Account
        The shares of the slots, the formulas used, and the events that are missing.

    Raises
    ------
    ValueError
        If not even the number of slots can be computed; names the events it takes.
    """
    values = {spelling(name): rates[name] for name in reversed(rates.columns)}
    values |= {"cycles": pd.Series(1.0, index=rates.index)}
    slots, _ = _first(table.slots, values)
    if slots is None:
        lacking = ", ".join(_lacking(table.slots[0], values))
        raise ValueError(f"the slots of {table.name} are counted by {lacking}, which was not recorded.")
    values[_SLOTS], shares, formulas, missing = slots, {}, {}, {}
    for parent in ["", *(category.name for category in table.categories)]:
        if parent and parent not in shares:
            continue
        whole = slots if not parent else shares[parent] * slots
        _add_parts(table.parts(parent), values | {_PARENT: whole}, slots, shares, formulas, missing)
    ordered = [category.name for category in table.categories if category.name in shares]
    return Account(table, pd.DataFrame(shares, index=rates.index)[ordered], formulas, missing, slots)


def _add_parts(parts, values, slots, shares, formulas, missing):
    computed = {}
    for part in (part for part in parts if part.formulas):
        taken, formula = _first(part.formulas, values)
        if taken is None:
            missing[part.name] = tuple(_lacking(part.formulas[0], values))
        else:
            computed[part.name], formulas[part.name] = taken, formula
    for part in (part for part in parts if not part.formulas):
        if len(computed) == len(parts) - 1:
            computed[part.name] = values[_PARENT] - sum(computed.values())
            formulas[part.name] = REMAINDER
        else:
            missing[part.name] = ()
    # A category is split where all its parts can be told; level 1 is shown as far as it was counted.
    if parts and (not parts[0].parent or len(computed) == len(parts)):
        shares.update(
            {name: (part / slots).replace([np.inf, -np.inf], np.nan) for name, part in computed.items()}
        )


def _first(formulas, values):
    """The first formula whose events all have a value, computed: (values, formula), or (None, "")."""
    for formula in formulas:
        if not _lacking(formula, values):
            return evaluate(
                formula, {name: values[_key(name, values)] for name in names_in(formula)}
            ), formula
    return None, ""


def _lacking(formula, values):
    return [name for name in names_in(formula) if _key(name, values) not in values]


def _key(name, values):
    """How a name in a formula stands among the values; ``slots`` is an event until all slots are known."""
    word = {"slots": _SLOTS, "parent": _PARENT}.get(name)
    return word if word in values else spelling(name)


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
    events : iterable of str
        In any spelling.
    machine : str, optional
        Name of the machine's table, if it has one.
    rates : Series, optional
        Events per cycle: of the tables that fit, those by which level 1 adds up best.

    Returns
    -------
    TopdownTable or None
        None if no table fits.
    """
    return next(iter(fitting_tables(events, machine, rates)), None)


def sum_gap(computed):
    """By how much level 1 is more than all slots; 0 where a category is not counted, or is what the others leave."""
    level = computed.level()
    complete = {part.name for part in computed.table.parts()} <= set(level)
    complete &= all(computed.formulas[name] != REMAINDER for name in level)
    return float(level.iloc[0].sum() - 1) if complete else 0.0


def _computable(table, spelled):
    """How many categories of level 1 take events, cycles aside, that are all there."""
    slots = any(set(map(spelling, names_in(text))) <= spelled | {"cycles"} for text in table.slots)
    return slots * sum(any(_has(text, spelled) for text in part.formulas) for part in table.parts())


def _has(formula, spelled):
    needed = set(map(spelling, set(names_in(formula)) - {"parent", "slots", "cycles"}))
    return bool(needed) and needed <= spelled


def merge_steps(steps, *, adjust=True):
    """Merge the steps of several runs of one program into rates per cycle.

    Parameters
    ----------
    steps : sequence of DataFrame, shape (n_steps, n_events)
        Counts of each run, as :func:`cmlib.merge.step_runs` cuts it, ``instructions`` and ``cycles`` among them.
    adjust : bool, default True
        Whether each run's rates are moved, along their slope over IPC, to the runs' mean IPC in that step.

    Returns
    -------
    rates : DataFrame, shape (n_steps, events of all runs)
        Events per cycle, means over the runs that counted them.
    ipc : Series, shape (n_steps,)
        Mean instructions per cycle.

    Raises
    ------
    ValueError
        If the runs have different numbers of steps.
    """
    if not steps or len({len(step) for step in steps}) != 1:
        raise ValueError(
            f"runs of {[len(step) for step in steps]} steps can't be merged; cut all into the same number."
        )
    index = steps[0].index
    ipcs = np.array([step["instructions"] / step["cycles"] for step in steps])
    reference, rates = ipcs.mean(axis=0), {}
    for step, ipc in zip(steps, ipcs, strict=True):
        for event in step.columns.difference(PINNED, sort=False):
            rate = (step[event] / step["cycles"]).to_numpy()
            rates.setdefault(event, []).append(_moved(rate, ipc, reference) if adjust else rate)
    merged = {event: np.mean(several, axis=0) for event, several in rates.items()}
    return pd.DataFrame(merged, index=index), pd.Series(reference, index=index, name="ipc")


def _moved(rate, ipc, reference):
    """A run's rate as it would be at the reference IPC; never below zero."""
    spread = ipc - ipc.mean()
    if not spread.any():
        return rate
    slope = (spread @ (rate - rate.mean())) / (spread @ spread)
    return np.maximum(rate + slope * (reference - ipc), 0.0)
