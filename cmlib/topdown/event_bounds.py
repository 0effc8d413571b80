"""Compute the bounds that counted events set on the shares of top-down categories.

:func:`compute_event_bounds` returns one :class:`Bound` per event or formula. There are four kinds of bounds:

- The formulas of a top-down table give the share of a category.
- The number of instructions bounds the retired slots.
- An event with a known cost takes at most this cost, for example the latency of a cache miss. It takes 0 cycles if
  other work hides it completely.
- Cycles that would be saved without cache misses are a lower bound of the back end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.spelling import spelling
from cmlib.topdown.category_tables import LOSSES, OTHER_THREAD, names_in
from cmlib.topdown.costs import common
from cmlib.topdown.slot_account import REMAINDER, account, sum_gap
from cmlib.topdown.table_choice import fitting_tables, linux_tables

SHARE_TOLERANCE = 0.05  # difference between shares of the slots (0–1) up to which they agree
_LEAST_SAVING = 1  # savings below this share of the cycles [%] are not used as bounds


@dataclass(frozen=True)
class Bound:
    """A bound on the share of one category, or on the sum of several shares.

    Attributes
    ----------
    categories : tuple of str
        Names of the categories.
    low, high : float
        Lower and upper bound (0–1).
    events : tuple of str
        Names of the events that the bound is computed from.
    """

    categories: tuple
    low: float
    high: float
    events: tuple


class CountedCategories(NamedTuple):
    """Results of the formulas of top-down tables.

    Attributes
    ----------
    bounds : list of Bound
        One bound per category. Its ends are the computed share minus and plus the error.
    exact : bool
        True if all categories of level 1 were computed.
    gap : float
        Sum of the shares of level 1, minus 1. It is 0 if some category of level 1 was not computed.
    error : float
        Error of the sum of the shares of level 1.
    """

    bounds: list
    exact: bool
    gap: float
    error: float


def compute_event_bounds(totals, costs, savings, ghz):
    """Bound the share of slots in each category, by each counted event alone.

    A slot is an opportunity to begin one operation in a cycle. A category is one use or loss of slots, for example
    "back end".

    Parameters
    ----------
    totals : DataFrame
        One row per event. Column ``rate``: events per cycle. Column ``error``: relative error of the rate.
    costs : cmlib.topdown.costs.Costs
        Costs of the processor's events.
    savings : sequence of dict
        Cycles that the program would save if a cache had no misses, from :func:`cmlib.cost.savings_without_misses`.
    ghz : float or None
        Clock [GHz]. None for the processor's fastest clock.

    Returns
    -------
    counted : CountedCategories
        Bounds from the formulas of top-down tables.
    bounds : list of Bound
        All bounds. The bounds of `counted` are included.
    """
    core_cycles = _measure_core_cycles(totals["rate"])
    # Counts are per cycle of one thread. If two threads share the core, each cycle of a thread is only a part of a core
    # cycle, so the thread has fewer slots per cycle. The formulas need rates per core cycle.
    costs = replace(costs, width=tuple(core_cycles * slots for slots in costs.width))
    counted = _compute_categories(totals.assign(rate=totals["rate"] / core_cycles), costs)
    totals_with_costs = totals
    if core_cycles < 1:
        # Counts of the core's slots are not costs in cycles of one thread.
        slot_events = {event for bound in counted.bounds for event in bound.events}
        totals_with_costs = totals.drop(index=list(slot_events))
    bounds = [
        *counted.bounds,
        *_bound_retired(totals, costs),
        *_bound_by_costs(totals_with_costs, costs, ghz),
    ]
    if not counted.exact:
        bounds += [Bound(("back end",), low, 1.0, (event,)) for event, low in select_sure_savings(savings)]
    return counted, bounds


def _measure_core_cycles(rates):
    """Return how many core cycles (0.5–1) take place per counted cycle of a thread.

    While the two threads of a core run at the same time, each of them counts all core cycles. One core cycle is then
    two counted cycles. While a thread runs alone, both are the same. Intel's event ONE_THREAD_ACTIVE, divided by
    REF_XCLK, is the fraction of the time with one running thread (Yasin 2014). Without these events the result is 1.
    """
    rate_by_event = {spelling(event.rpartition(".")[2]): rate for event, rate in rates.items()}
    reference_rate = rate_by_event.get("refxclk") or np.nan
    share_alone = rate_by_event.get("onethreadactive", np.nan) / reference_rate
    if not share_alone >= 0:  # negative or NaN
        return 1.0
    return 0.5 + 0.5 * min(share_alone, 1.0)


def select_sure_savings(savings):
    """Select the savings that are lower bounds of the back end.

    These savings are ignored:

    - The event counts more than misses of loads.
    - No estimate was possible.
    - The saving is below 1 % of the cycles.

    Parameters
    ----------
    savings : sequence of dict
        Cycles that the program would save if a cache had no misses, from :func:`cmlib.cost.savings_without_misses`.

    Returns
    -------
    list of (str, float)
        Event of the misses, and smallest saving [share of the cycles, 0–1].
    """
    selected = []
    for saving in savings:
        if not saving["overstates"] and not saving["reason"] and saving["low"] >= _LEAST_SAVING:
            selected.append((saving["event"], saving["low"] / 100))
    return selected


def _compute_categories(totals, costs):
    """Compute the shares of the categories with the formulas of the best top-down table.

    If several tables are equally good, the bounds of a category include the results of all these tables.
    """
    rates = totals["rate"]
    varied_rates = _correct_slots(_vary_rates(totals))
    tables = [table for table in fitting_tables(rates.index, costs.table, rates) if table.divides_all_slots]
    accounts = [account(varied_rates, table) for table in tables]
    if not accounts:
        return CountedCategories([], exact=False, gap=0.0, error=0.0)
    bound_by_category = _combine_tables([_bound_by_formulas(computed, rates) for computed in accounts])
    is_exact = all(_list_level_1(computed) <= set(bound_by_category) for computed in accounts)
    gap = _find_largest_gap(accounts, varied_rates, rates) if is_exact else 0.0
    level_1 = [bound for name, bound in bound_by_category.items() if name in (*LOSSES, "retired")]
    error = float(np.sqrt(sum((bound.high - bound.low) ** 2 for bound in level_1))) / 2
    return CountedCategories([*bound_by_category.values()], is_exact, gap, error)


def _vary_rates(totals):
    """Return a DataFrame of rates with one column per event.

    The first row has the measured rates. In each further row, the rate of one event is raised by its error.
    """
    factors = np.vstack([np.ones(len(totals)), 1 + np.diag(totals["error"])])
    return pd.DataFrame(factors * totals["rate"].to_numpy(), columns=totals.index)


def _correct_slots(rates):
    """Replace the counted slots by the sum of Linux's four top-down events, if both agree.

    The processor rounds each of the four events to 1/255 of the slots in every reading. Their shares of the counted
    slots therefore do not add up to 1. Their shares of the sum do. Intel and perf also divide by the sum.

    A larger difference shows that the counts are wrong. The counted slots are then kept, and the sum of level 1 differs
    from 1.
    """
    for table in linux_tables(rates):
        sums = account(rates, table).level().sum(axis=1)
        error = np.sqrt(((sums - sums.iloc[0]) ** 2).sum())
        if abs(sums.iloc[0] - 1) <= max(SHARE_TOLERANCE, error):
            slots = [event for event in rates if spelling(event) == spelling(table.slots[0])]
            rates = rates.assign(**rates[slots].mul(sums, axis=0))
    return rates


def _bound_by_formulas(computed, rates):
    """Return a Bound for each category that was computed from counted events.

    `computed` is an Account with the rows of :func:`_vary_rates`. The first row has the shares. The differences between
    the other rows and the first row are the errors. Categories that depend on cycles alone are left out.
    """
    shares = computed.shares.iloc[0]
    errors = np.sqrt(((computed.shares - shares) ** 2).sum())
    categories = common()["parts"] | common()["more"]
    known_categories = {part for parts in categories.values() for part in parts}
    bound_by_category = {}
    for name, formula in computed.formulas.items():
        names = {spelling(event) for event in names_in(formula)}
        events = tuple(event for event in rates.index if spelling(event) in names)
        if name in known_categories and (events or formula == REMAINDER):
            low = shares[name] - errors[name]
            high = shares[name] + errors[name]
            bound_by_category[name] = Bound((name,), low, high, events)
    return bound_by_category


def _combine_tables(bounds_by_table):
    """Combine the bounds of several tables (a list of dicts) to one dict.

    Each combined bound includes the bounds of all tables. A category is left out if some table does not have it.
    """
    first_table = bounds_by_table[0]
    combined = {}
    for name in first_table:
        if all(name in table for table in bounds_by_table):
            low = min(table[name].low for table in bounds_by_table)
            high = max(table[name].high for table in bounds_by_table)
            combined[name] = Bound((name,), low, high, first_table[name].events)
    return combined


def _list_level_1(computed):
    """Return the names of level 1 in an account's table, without the slots of the core's other thread."""
    return {part.name for part in computed.table.parts()} - {OTHER_THREAD}


def _find_largest_gap(accounts, varied_rates, rates):
    """Return the sum of the shares of level 1, minus 1, for the account with the largest difference.

    Linux's table is included, because it divides by counted slots. Most other tables divide by the sum of the four
    categories, so the sum of the shares is always 1.
    """
    linux_accounts = [account(varied_rates, table) for table in linux_tables(rates.index)]
    gaps = [sum_gap(computed) for computed in [*accounts, *linux_accounts]]
    return max(gaps, key=abs)


def _bound_retired(totals, costs):
    """Bound the retired slots by the number of instructions.

    An instruction takes one or two slots, or no slot if it is fused with a branch. The list is empty if instructions
    were not counted.
    """
    if "instructions" not in totals.index:
        return []
    rate, error = totals.loc["instructions", ["rate", "error"]]
    least_slot, most_slot = costs.cycles("slot")
    fused_rate = 0.0
    if costs.fused:
        branches = [row for row in totals.itertuples() if costs.kind(row.Index) == "branch"]
        fused_rate = min([0.5 * rate, *(branch.rate * (1 + branch.error) for branch in branches)])
    low = (rate * (1 - error) - fused_rate) * least_slot
    high = min(1.0, 2 * rate * (1 + error) * most_slot)
    return [Bound(("retired",), low, high, ("instructions",))]


def _bound_by_costs(totals, costs, ghz):
    """Yield the bounds of events with a known cost.

    `data/topdown/costs/common.yaml` lists the costs of each kind of event under ``kinds``. For example, the kind
    ``misprediction`` costs the category ``mispredicted branches`` between 0 cycles and ``flush``. If several categories
    are joined by " + ", their sum is bounded.
    """
    costs_by_kind = common()["kinds"]
    for event, rate, error in totals[["rate", "error"]].itertuples():
        kind = costs.kind(event)
        if not kind:
            continue
        for categories, (least, most) in costs_by_kind[kind].items():
            least_cycles, _ = costs.cycles(least, ghz)
            _, most_cycles = costs.cycles(most, ghz)
            low = min(rate * least_cycles * max(0.0, 1 - error), 1.0)
            high = 1.0
            if np.isfinite(most_cycles):
                high = min(rate * most_cycles * (1 + error), 1.0)
            yield Bound(tuple(categories.split(" + ")), low, high, (event,))


def bound_mispredictions(totals, costs):
    """Return the lower bound that each event of mispredictions sets.

    After a misprediction, no useful operation begins until the core has restarted. The typical duration of a restart is
    known for each processor.
    """
    misprediction_bounds = []
    least_cycles, _ = costs.restart
    for event, rate, error in totals[["rate", "error"]].itertuples():
        if costs.kind(event) == "misprediction":
            low = min(rate * least_cycles * max(0.0, 1 - error), 1.0)
            misprediction_bounds.append(
                Bound(("mispredicted branches", "branch resteers"), low, 1.0, (event,))
            )
    return misprediction_bounds
