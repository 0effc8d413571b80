"""The account: shares of the pipeline's slots by category."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib.topdown.tables import TopdownTable, evaluate, names_in


@dataclass(frozen=True)
class Account:
    """Where the slots went.

    Attributes
    ----------
    table : TopdownTable
    shares : DataFrame, shape (steps, categories)
        Of all slots (0–1, a little less or more where counts are uncertain); categories that could not be
        computed are absent.
    formulas : dict of str to str
        The formula that each category was computed by.
    missing : dict of str to tuple of str
        Events that a category would take and that were not counted.
    """

    table: TopdownTable
    shares: pd.DataFrame
    formulas: dict
    missing: dict

    def level(self, parent=""):
        """Shares of the categories right below one; those of level 1 without a name."""
        names = [part.name for part in self.table.parts(parent) if part.name in self.shares]
        return self.shares[names]


def account(rates, table):
    """Distribute the slots of every step over the categories of a table.

    Parameters
    ----------
    rates : DataFrame, shape (steps, events)
        Events per cycle; ``cycles`` itself need not be there.
    table : TopdownTable

    Returns
    -------
    Account

    Raises
    ------
    ValueError
        If not even the number of slots can be computed; names the events it takes.
    """
    values = {name: rates[name] for name in rates} | {"cycles": pd.Series(1.0, index=rates.index)}
    slots, _ = _first(table.slots, values)
    if slots is None:
        lacking = ", ".join(name for name in names_in(table.slots[0]) if name not in values)
        raise ValueError(f"the slots of {table.name} are counted by {lacking}, which was not recorded.")
    values["slots"], shares, formulas, missing = slots, {}, {}, {}
    for parent in ["", *(category.name for category in table.categories)]:
        if parent and parent not in shares:
            continue
        whole = slots if not parent else shares[parent] * slots
        _add_parts(table.parts(parent), values | {"parent": whole}, slots, shares, formulas, missing)
    ordered = [category.name for category in table.categories if category.name in shares]
    return Account(table, pd.DataFrame(shares, index=rates.index)[ordered], formulas, missing)


def _add_parts(parts, values, slots, shares, formulas, missing):
    computed = {}
    for part in (part for part in parts if part.formulas):
        taken, formula = _first(part.formulas, values)
        if taken is None:
            missing[part.name] = tuple(name for name in names_in(part.formulas[0]) if name not in values)
        else:
            computed[part.name], formulas[part.name] = taken, formula
    for part in (part for part in parts if not part.formulas):
        if len(computed) == len(parts) - 1:
            computed[part.name] = values["parent"] - sum(computed.values())
            formulas[part.name] = "what the others leave"
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
        if all(name in values for name in names_in(formula)):
            return evaluate(formula, values), formula
    return None, ""


PINNED = ("instructions", "cycles")


def merge_steps(steps, *, adjust=True):
    """Merge the steps of several runs of one program into rates per cycle."""
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
