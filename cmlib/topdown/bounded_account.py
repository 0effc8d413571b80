"""Bound the share of slots in each top-down category, from whatever events were counted.

A slot is a place for one operation that the processor can begin in a cycle. Level 1 divides all slots into retired,
front end, back end and bad speculation; level 2 has their parts.

:func:`bounds` takes the totals of events (DataFrame), and returns :class:`Bounds`. An event that counts cycles or
slots is itself a share of them. An event that counts misses, page walks or mispredictions costs between 0 cycles
(hidden by other work) and its latency on the processor. No input is refused: the attribute `contradiction` shows
how far counts contradict each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from cmlib.spelling import spelling
from cmlib.topdown.category_tables import names_in
from cmlib.topdown.costs import UNKNOWN, common
from cmlib.topdown.slot_account import REMAINDER, account, sum_gap
from cmlib.topdown.table_choice import fitting_tables, linux_tables

if TYPE_CHECKING:
    from cmlib.topdown.costs import Costs

SIBLING = "sibling thread"
LOSSES = ("front end", "back end", "bad speculation")
_ROUNDS = 60  # most passes over all inequalities
# L1D misses per cycle above which, and L2 misses per L1D miss below which, the counts of L2 misses are not believed.
_MANY, _HARDLY = 0.005, 0.005
_LIKE = 0.05  # share of the slots by which the sum of level 1 may differ from 1, and printed shares from their bounds
_ROUNDED, _WHOLE = 0.0006, 0.0051  # error of a printed share: perf prints percent with one decimal, or none
_AGREES = 0.01  # share of the slots up to which a contradiction between counts is not reported


@dataclass(frozen=True)
class Bound:
    """A bound on a sum of shares, from one event or formula.

    Attributes
    ----------
    categories : tuple of str
        Names of the categories whose shares are added up.
    low, high : float
        Lower and upper bound of the sum [share of the slots, 0-1].
    events : tuple of str
        Names of the events that it is computed from.
    """

    categories: tuple
    low: float
    high: float
    events: tuple


@dataclass(frozen=True)
class Bounds:
    """Lower and upper bounds of the account's shares.

    Attributes
    ----------
    shares : DataFrame
        Index: category, parents before their parts. ``parent``; ``low`` and ``high`` [share of all slots, 0–1];
        ``events``: those that bound it directly.
    exact : bool
        Whether every category of level 1 was counted, so that this is the account of :func:`cmlib.topdown.account`.
    gap : float
        Sum of level 1 minus 1 [share of slots], if each category was counted by itself; 0 if one was not, or if the
        difference is within the errors of the counts.
    contradiction : float
        Largest difference between bounds that contradict each other [share of slots]; 0 if none do.
    doubtful : tuple of str
        Events that were left out, because on this processor they can't count what they are named after.
    printed : bool
        True if the shares are those that the recording tool itself printed.
    printed_gap : float
        Sum of the printed level 1 minus 1 [share of slots], if it is not used because it does not add up; else 0.
    disputed : dict of str to float
        Printed shares of level 1 and those outside the bounds, by category, where no printed share is used because
        they do not add up or contradict the counts; else empty.
    """

    shares: pd.DataFrame
    exact: bool
    gap: float
    contradiction: float
    doubtful: tuple
    printed: bool = False
    printed_gap: float = 0.0
    disputed: dict = field(default_factory=dict)


def bounds(
    totals: pd.DataFrame,
    costs: Costs,
    *,
    ghz: float | None = None,
    printed: dict[str, float] | None = None,
    savings: Sequence[dict] = (),
) -> Bounds:
    """Bound the share of each category of the account.

    Parameters
    ----------
    totals : DataFrame
        Index: event. ``rate``, events per cycle over the whole recording, and ``error``, the relative error that is
        exceeded in one recording of twenty. :func:`cmlib.topdown.totals` makes it.
    costs : cmlib.topdown.costs.Costs
        Latencies, width and kinds of events of the processor, from :func:`cmlib.topdown.read_costs`.
    ghz : float, optional
        Clock of the recording, to convert latencies of memory from ns to cycles. Default: the processor's fastest.
    printed : dict of str to float, optional
        Shares of slots that the recording tool itself printed (0–1), by category. They are used if level 1 was not
        counted, they add up, and they lie within the bounds of the counts.
    savings : sequence of dict, optional
        From :func:`cmlib.cost.savings_without_misses`; their lower ends are lower bounds of the back end.

    Returns
    -------
    Bounds
        Lower and upper bound of each category's share of the slots, and contradictions between counts.

    Notes
    -----
    Every event gives a linear inequality in the shares of the categories, and so does every sum: parts add up to their
    category, level 1 to all slots. Each inequality tightens the bounds of its categories, in turn, until none moves.
    Pipeline restarts that no event counts are taken as 2 % at most, and slots of a sibling thread as none, which are
    then part of the back end's upper bound.
    """
    doubtful = _find_doubtful(totals, costs)
    totals = totals.drop(index=list(doubtful))
    counted, direct_bounds = _list_direct_bounds(totals, costs, savings, ghz)
    ranges = _tighten(direct_bounds, abs(counted.gap))
    tool = _ToolShares.of(printed or {}, ranges) if not counted.exact else _ToolShares()
    if tool.can_be_used():
        return _bound_by_tool(tool, direct_bounds, doubtful)
    if not counted.exact:
        ranges = _tighten_by_restarts(ranges, direct_bounds, totals, costs, abs(counted.gap))
    return Bounds(
        shares=_make_frame(ranges, direct_bounds),
        exact=counted.exact,
        gap=_drop_small_gap(counted.gap, counted.error),
        contradiction=ranges.contradiction,
        doubtful=doubtful,
        printed_gap=-tool.missing,
        disputed=tool.level | tool.disputed,
    )


class _Counted(NamedTuple):
    """What the tables of categories give from the counts.

    Attributes
    ----------
    bounds : list of Bound
        Bounds of the categories that could be computed.
    exact : bool
        True if all of level 1 was counted.
    gap : float
        By how much the sum of level 1 differs from 1.
    error : float
        Error of that sum.
    """

    bounds: list
    exact: bool
    gap: float
    error: float


class _Ranges(NamedTuple):
    """Bounds of all categories.

    Attributes
    ----------
    low, high : dict of str to float
        Lower and upper bound of each category [share of the slots].
    contradiction : float
        Largest difference between bounds that contradict each other; 0 if none do.
    """

    low: dict
    high: dict
    contradiction: float


@dataclass(frozen=True)
class _ToolShares:
    """Shares of the slots that the recording tool printed, by category.

    Attributes
    ----------
    shares, level : dict of str to float
        All printed shares of categories; those of level 1.
    missing : float
        Share of the slots that level 1 lacks; below 0 if its sum exceeds all slots, 0 if it adds up.
    disputed : dict of str to float
        Shares outside the bounds by the counts.
    """

    shares: dict = field(default_factory=dict)
    level: dict = field(default_factory=dict)
    missing: float = 0.0
    disputed: dict = field(default_factory=dict)

    @classmethod
    def of(cls, printed, ranges):
        """Select the shares among what the tool printed, and compare them with the bounds by the counts."""
        shares = {name: share for name, share in printed.items() if name in ranges.low}
        level = {name: printed[name] for name in (*LOSSES, "retired") if name in printed}
        return cls(shares, level, _find_missing(level, printed), _find_disputed(shares, ranges))

    def can_be_used(self):
        """Return True if level 1 was printed, adds up, and does not contradict the counts."""
        return bool(self.level) and not self.missing and not self.disputed


def _list_direct_bounds(totals, costs, savings, ghz):
    """List the bounds that the counts set directly: a :class:`_Counted`, and a list of all :class:`Bound`.

    Rates are per cycle of one thread. Two threads that run at the same time share the slots of each core cycle, so a
    thread has fewer slots per cycle than the core is wide. Hence the width is multiplied by the core cycles per cycle
    of the thread, and rates are divided by them for the formulas of the tables, which are per core cycle.
    """
    core_cycles = _measure_core_cycles(totals["rate"])
    costs = replace(costs, width=tuple(core_cycles * slots for slots in costs.width))
    counted = _compute_categories(totals.assign(rate=totals["rate"] / core_cycles), costs)
    # Where two threads share the core, counts of its slots can't be taken as costs in one thread's cycles.
    is_shared = core_cycles < 1
    slot_events = {event for bound in counted.bounds for event in bound.events} if is_shared else set()
    other_totals = totals.drop(index=list(slot_events))
    direct_bounds = [
        *counted.bounds,
        *_bound_retired(totals, costs),
        *_bound_by_costs(other_totals, costs, ghz),
    ]
    if not counted.exact:
        direct_bounds += [Bound(("back end",), low, 1.0, (event,)) for event, low in surely_saved(savings)]
    return counted, direct_bounds


def _find_missing(level, printed):
    """Return the share of the slots that printed level 1 lacks; below 0 if its sum exceeds 1, 0 if it adds up."""
    missing = 1 - sum(level.values())
    is_whole = len(level) == 1 + len(LOSSES)
    is_short = is_whole and missing - printed.get(SIBLING, 0.0) >= _LIKE
    return missing if is_short or missing <= -_LIKE else 0.0


def _find_disputed(shares, ranges):
    """Select the printed shares that lie outside the bounds by the counts."""
    disputed = {}
    for name, share in shares.items():
        if not ranges.low[name] - _LIKE <= share <= ranges.high[name] + _LIKE:
            disputed[name] = share
    return disputed


def _bound_by_tool(tool, direct_bounds, doubtful):
    """Bound the categories by the shares that the tool printed, with their rounding, and by the counts."""
    is_whole = len(tool.level) == 1 + len(LOSSES)
    # If a category was not printed, the sum of level 1 may still differ from all slots by the usual tolerance.
    gap = sum(tool.level.values()) - 1 if is_whole else _LIKE
    are_whole_percent = all(abs(100 * share - round(100 * share)) < 1e-6 for share in tool.shares.values())
    rounding = _WHOLE if are_whole_percent else _ROUNDED
    tool_bounds = [
        Bound((name,), share - rounding, share + rounding, ()) for name, share in tool.shares.items()
    ]
    direct_bounds = [*tool_bounds, *direct_bounds]
    ranges = _tighten(direct_bounds, abs(gap))
    return Bounds(
        shares=_make_frame(ranges, direct_bounds),
        exact=is_whole,
        gap=0.0,
        contradiction=ranges.contradiction,
        doubtful=doubtful,
        printed=True,
    )


def _make_frame(ranges, direct_bounds):
    """Put the bounds of all categories into a DataFrame, with each one's parent and the events that bound it."""
    parents = _map_parents()
    events = {name: () for name in parents}
    for bound in direct_bounds:
        if len(bound.categories) == 1:
            (name,) = bound.categories
            events[name] = tuple(dict.fromkeys([*events[name], *bound.events]))
    shares = pd.DataFrame({"parent": parents, "low": ranges.low, "high": ranges.high, "events": events})
    return shares.loc[list(parents)]


def _drop_small_gap(gap, error):
    """Return the gap of level 1, or 0 if it is within the errors of the counts."""
    return 0.0 if abs(gap) <= max(_LIKE, error) else gap


def _tighten_by_restarts(ranges, direct_bounds, totals, costs, gap):
    """Tighten the bounds by the restarts of mispredictions, unless these contradict what was counted.

    The penalties of restarts are nominal.
    """
    restarts = _bound_restarts(totals, costs)
    if not restarts:
        return ranges
    tighter = _tighten([*direct_bounds, *restarts], gap)
    return tighter if tighter.contradiction <= ranges.contradiction else ranges


def _bound_restarts(totals, costs):
    """List the lower bound that mispredictions set: in the cycles of a restart no useful operation begins."""
    bounds_of_events = []
    for event, rate, error in totals[["rate", "error"]].itertuples():
        if costs.kind(event) == "misprediction":
            low = min(rate * costs.restart[0] * max(0.0, 1 - error), 1.0)
            bounds_of_events.append(Bound(("mispredicted branches", "branch resteers"), low, 1.0, (event,)))
    return bounds_of_events


def _measure_core_cycles(rates):
    """Return the core's cycles (0.5–1) per cycle of one of its two threads.

    While both threads run, each counts every core cycle, so that a core cycle is two thread cycles. While one runs
    alone, they are the same. Intel's ONE_THREAD_ACTIVE per REF_XCLK is the share of the time in which one runs alone
    (Yasin's formula of the core clocks). Without these events the core is assumed to run one thread.
    """
    rate_by_event = {spelling(event.rpartition(".")[2]): rate for event, rate in rates.items()}
    active_alone = rate_by_event.get("onethreadactive", np.nan) / (rate_by_event.get("refxclk") or np.nan)
    return 0.5 + 0.5 * min(active_alone, 1.0) if active_alone >= 0 else 1.0


def surely_saved(savings):
    """List the events of cache misses with the least share of the cycles (0–1) that is surely saved without them.

    `savings` is a list of dicts as :func:`cmlib.cost.savings_without_misses` returns it. Estimates that are too
    high or have a reason against them are left out, as are those below 1 %. Returns a list of pairs (event, share).
    """
    sure = (row for row in savings if not row["overstates"] and not row["reason"] and row["low"] >= 1)
    return [(row["event"], row["low"] / 100) for row in sure]


# Before Linux 6.9 perf takes both from PMCx087, which Zen 2 and later do not have; since then there is only the first,
# of cycles with no op queued ("perf/x86/amd/core: Update and fix stalled-cycles-* events for Zen 2 and later").
_STALLED = ("stalled-cycles-frontend", "stalled-cycles-backend")
_WITHOUT_STALLED = ("amd_zen2", "amd_zen3", "amd_zen4", "amd_zen5")


def _find_doubtful(totals, costs):
    """List the events that do not count what their names say; the bounds leave them out.

    These are:

    - misses of the last level, if another event counts many times as many;
    - perf's generic stalled cycles on Zen 2 and later, if both were counted;
    - misses of L2 and L3, if there are many misses of the L1D and hardly any of the L2, which means that these events
      are not implemented.
    """
    rates = {kind: {} for kind in ("L1D miss", "L2 miss", "L3 miss")}
    for event, rate in totals["rate"].items():
        rates.get(costs.kind(event), {})[event] = rate
    last_level = rates["L3 miss"]
    rare_misses = [event for event, rate in last_level.items() if rate < _HARDLY * max(last_level.values())]
    if costs.name == UNKNOWN:  # nobody knows which cache is the last level
        return tuple(rare_misses)
    stalls = [event for event in totals.index if spelling(event) in map(spelling, _STALLED)]
    if costs.name not in _WITHOUT_STALLED or len(stalls) < len(_STALLED):
        stalls = []
    l1_misses = max(rates["L1D miss"].values(), default=np.nan)
    l2_misses = max(rates["L2 miss"].values(), default=np.nan)
    if l1_misses > _MANY and l2_misses < _HARDLY * l1_misses:
        return (*stalls, *rates["L2 miss"], *last_level)
    return (*stalls, *rare_misses)


def _compute_categories(totals, costs):
    """Compute the categories of tables from the counts: a :class:`_Counted`.

    Each bound is the share with the errors of its events. Where several tables fit equally well, a bound spans theirs.
    """
    rates = totals["rate"]
    steps = _replace_slots_by_sum(_raise_by_errors(totals))
    tables = [table for table in fitting_tables(rates.index, costs.table, rates) if table.divides_all_slots]
    accounts = [account(steps, table) for table in tables]
    if not accounts:
        return _Counted([], exact=False, gap=0.0, error=0.0)
    bounds_by_category = _span([_bound_known_shares(computed, rates) for computed in accounts])
    is_exact = all(_list_level_names(computed) <= set(bounds_by_category) for computed in accounts)
    gap = _find_largest_gap(accounts, steps, rates) if is_exact else 0.0
    level = [bound for name, bound in bounds_by_category.items() if name in (*LOSSES, "retired")]
    error = float(np.sqrt(sum((bound.high - bound.low) ** 2 for bound in level))) / 2
    return _Counted([*bounds_by_category.values()], is_exact, gap, error)


def _raise_by_errors(totals):
    """Return the rates as a row, and below it a row for each event in which its rate is raised by its error."""
    factors = np.vstack([np.ones(len(totals)), 1 + np.diag(totals["error"])])
    return pd.DataFrame(factors * totals["rate"].to_numpy(), columns=totals.index)


def _span(bounds_by_table):
    """Span the bounds (dicts by category) of several tables, for the categories that all of them have."""
    first = bounds_by_table[0]
    spanned = {}
    for name in first:
        if all(name in table for table in bounds_by_table):
            low = min(table[name].low for table in bounds_by_table)
            high = max(table[name].high for table in bounds_by_table)
            spanned[name] = Bound((name,), low, high, first[name].events)
    return spanned


def _list_level_names(computed):
    """Return the names of level 1 in the table of an account."""
    return {part.name for part in computed.table.parts()} - {SIBLING}


def _find_largest_gap(accounts, steps, rates):
    """Find the largest gap of level 1 among the accounts and that by Linux's events.

    Linux's table divides by counted slots. So it has a gap also where another table divides by its own sum.
    """
    linux_accounts = [account(steps, table) for table in linux_tables(rates.index)]
    return max((sum_gap(computed) for computed in [*accounts, *linux_accounts]), key=abs)


def _replace_slots_by_sum(steps):
    """Replace the slots in rates (a row per step) by the sum of Linux's four top-down events.

    The processor rounds each of the four to 1/255 of the slots whenever they are read, so that their shares of the
    counted slots do not add up to 1. Shares of their own sum do; Intel and perf divide by it, too. A larger
    difference than rounding and errors explain shows that the counts are wrong. Then the counted slots stay, and the
    gap of level 1 shows the difference.
    """
    for table in linux_tables(steps):
        sums = account(steps, table).level().sum(axis=1)
        if abs(sums.iloc[0] - 1) <= max(_LIKE, np.sqrt(((sums - sums.iloc[0]) ** 2).sum())):
            slots = [event for event in steps if spelling(event) == spelling(table.slots[0])]
            steps = steps.assign(**steps[slots].mul(sums, axis=0))
    return steps


def _bound_known_shares(computed, rates):
    """Bound the categories that were computed from counted events, not from cycles alone: a dict by category.

    The first row of `computed` has the shares; each further row has the shares with one event raised by its error.
    """
    shares = computed.shares.iloc[0]
    errors = np.sqrt(((computed.shares - shares) ** 2).sum())
    bounds_by_name = {}
    for name, formula in computed.formulas.items():
        names = set(map(spelling, names_in(formula)))
        events = tuple(event for event in rates.index if spelling(event) in names)
        if name in _map_parents() and (events or formula == REMAINDER):
            bounds_by_name[name] = Bound(
                (name,), shares[name] - errors[name], shares[name] + errors[name], events
            )
    return bounds_by_name


def _bound_retired(totals, costs):
    """Bound the retired slots by the count of instructions: a list of one bound, empty without that count.

    An instruction takes one or two slots, except that one fused with a branch takes none.
    """
    if "instructions" not in totals.index:
        return []
    rate, error = totals.loc["instructions", ["rate", "error"]]
    slot = costs.cycles("slot")
    branches = (row for row in totals.itertuples() if costs.kind(row.Index) == "branch")
    fused = (
        min([0.5 * rate, *(branch.rate * (1 + branch.error) for branch in branches)]) if costs.fused else 0.0
    )
    low = (rate * (1 - error) - fused) * slot[0]
    return [Bound(("retired",), low, min(1.0, 2 * rate * (1 + error) * slot[1]), ("instructions",))]


def _bound_by_costs(totals, costs, ghz):
    """Yield the bounds that each event of a known kind sets by its least and most cost in cycles.

    The part ``kinds`` of data/topdown/costs/common.yaml has a dict for each kind of event, such as
    ``{mispredicted branches: [0, flush], branch resteers: [0, misprediction]}``. A key is a category, or several
    joined by " + " if only their sum is bounded. A value is the least and the most cost of one event, as
    :meth:`cmlib.topdown.costs.Costs.cycles` reads them.
    """
    kinds = common()["kinds"]
    for event, rate, error in totals[["rate", "error"]].itertuples():
        kind = costs.kind(event)
        for categories, (least, most) in kinds[kind].items() if kind else ():
            lowest_cost = costs.cycles(least, ghz)[0]
            highest_cost = costs.cycles(most, ghz)[1]
            low = min(rate * lowest_cost * max(0.0, 1 - error), 1.0)
            if np.isfinite(highest_cost):
                high = min(rate * highest_cost * (1 + error), 1.0)
            else:
                high = 1.0
            yield Bound(tuple(categories.split(" + ")), low, high, (event,))


def _map_parents():
    """Map every category to its parent; "" for those of level 1."""
    parts = common()["parts"] | common()["more"]
    return {part: "" if name == "all" else name for name, inside in parts.items() for part in inside}


def _tighten(direct_bounds, gap):
    """Propagate bounds through the sums of categories, until none moves: :class:`_Ranges`.

    `direct_bounds` is a list of :class:`Bound`; level 1 may differ from all slots by `gap`. Categories that
    data/topdown/costs/common.yaml lists as rare are bounded by it where nothing else does, from above only. SciPy's
    linear programs give the same where there is a solution, in 80 times the time (105 against 1.3 ms).
    """
    rare = _bound_rare(direct_bounds)
    inequalities = _list_inequalities([*direct_bounds, *rare], gap)
    low = dict.fromkeys(_map_parents(), 0.0) | {"all": 1.0}
    high = dict.fromkeys(low, 1.0)
    contradiction = 0.0
    for _ in range(_ROUNDS):
        moved = 0.0
        for inequality in inequalities:
            for name in inequality[0]:
                step, excess = _narrow(name, inequality, low, high)
                moved += step
                contradiction = max(contradiction, excess)
        if moved < 1e-6:
            break
    _restore_lower_bounds(low, direct_bounds, rare)
    return _Ranges(low, high, contradiction if contradiction > _AGREES else 0.0)


def _bound_rare(direct_bounds):
    """Bound from above the categories that are rare and that no event bounds."""
    named = {name for bound in direct_bounds for name in bound.categories}
    return [Bound((name,), 0.0, most, ()) for name, most in common()["rare"].items() if name not in named]


def _list_inequalities(direct_bounds, gap):
    """List all inequalities ``least <= sum of factor * category <= most``: (factors by category, least, most)."""
    parts = common()["parts"]
    more = common()["more"]
    inequalities = []
    for whole, inside in (parts | more).items():
        least, most = (0.0, 1.0) if whole in more else (0.0, 0.0)
        if whole == "all":
            least, most = -gap, gap
        factors = {whole: 1.0} | dict.fromkeys(inside, -1.0)
        inequalities.append((factors, least, most))
    inequalities += [(dict.fromkeys(bound.categories, 1.0), bound.low, bound.high) for bound in direct_bounds]
    return inequalities


def _narrow(name, inequality, low, high):
    """Narrow the range of a category in `low` and `high` by an inequality, unless it contradicts the range.

    Returns by how much the range became narrower, and by how much the inequality contradicts it.
    """
    factors, least, most = inequality
    new_low, new_high = _compute_range(factors, name, low, high, least, most)
    new_low = max(new_low, low[name])
    new_high = min(new_high, high[name])
    if new_low > new_high:
        return 0.0, new_low - new_high
    step = new_low - low[name] + high[name] - new_high
    low[name] = new_low
    high[name] = new_high
    return step, 0.0


def _restore_lower_bounds(low, direct_bounds, rare):
    """Set the lower bounds of rare categories and their siblings back to those that the counts set directly.

    The upper bound of a rare category is an assumption. In the sum with its siblings it raises their lower bounds: if
    pipeline restarts take 2 % at most, mispredicted branches take the rest of bad speculation. These lower bounds
    would rest on the assumption alone, so they are dropped.
    """
    rare_names = {bound.categories[0] for bound in rare}
    for parts in common()["parts"].values():
        if rare_names & set(parts):
            for part in parts:
                low[part] = max(
                    (bound.low for bound in direct_bounds if bound.categories == (part,)), default=0.0
                )


def _compute_range(factors, name, low, high, least, most):
    """Compute the range (low, high) of one category from a sum with other categories.

    The sum is ``least <= sum of factor * category <= most``; the others have the ranges `low` to `high`. `factors` has
    the factors, 1 or -1, by category.
    """
    sign = factors[name]
    other_terms = [(part, factor) for part, factor in factors.items() if part != name]
    smallest = sum(factor * (low if factor > 0 else high)[part] for part, factor in other_terms)
    largest = sum(factor * (high if factor > 0 else low)[part] for part, factor in other_terms)
    ends = sign * (least - largest), sign * (most - smallest)
    return min(ends), max(ends)
