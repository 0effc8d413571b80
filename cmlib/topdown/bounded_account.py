"""Lower and upper bounds of the share of slots in each top-down category, from whatever events were counted.

A slot is a place for one operation that the processor can begin in a cycle; the top-down method divides all slots
into categories: level 1 is retired, front end, back end and bad speculation, level 2 their parts. An account is
these shares. :func:`bounds` takes the totals of events (DataFrame), and gives a :class:`Bounds`. An event that
counts cycles or slots is itself a share of them. One that counts misses, page walks or mispredictions costs between
0 cycles (hidden by other work) and its latency on the processor. Nothing is refused: counts that contradict each
other are told in its `contradiction`.
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
    """One statement of an event or a formula: a sum of shares is between `low` and `high` [share of slots, 0-1].

    `categories` are the names of those that are added up, `events` the names of those that it is computed from.
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
        Sum of level 1 minus 1 of what the tool printed [share of slots], where it is not used for that; else 0.
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
        Of the processor (latencies, width, kinds of events): :func:`cmlib.topdown.read_costs`.
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
    doubtful = _doubtful(totals, costs)
    totals = totals.drop(index=list(doubtful))
    counted, stated = _state(totals, costs, savings, ghz)
    low, high, contradiction = _tighten(stated, abs(counted.gap))
    level, disputed, missing = {}, {}, 0.0
    if printed and not counted.exact:
        shares = {name: share for name, share in printed.items() if name in low}
        level = {name: printed[name] for name in (*LOSSES, "retired") if name in printed}
        missing = _missing(level, printed)
        disputed = _disputed(shares, low, high)
        if level and not missing and not disputed:
            return _bounds_by_tool(shares, level, stated, doubtful)
    restarts = [] if counted.exact else _restarts(totals, costs)
    if restarts:
        tighter = _tighten([*stated, *restarts], abs(counted.gap))
        if tighter[-1] <= contradiction:  # penalties are nominal, and do not contradict what was counted
            low, high, contradiction = tighter
    return Bounds(
        shares=_frame(low, high, stated),
        exact=counted.exact,
        gap=_beyond_errors(counted.gap, counted.error),
        contradiction=contradiction,
        doubtful=doubtful,
        printed_gap=-missing,
        disputed=level | disputed,
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


def _state(totals, costs, savings, ghz):
    """State what the counts say of the shares: a :class:`_Counted`, and a list of all :class:`Bound`."""
    core = _core_cycles(totals["rate"])
    costs = replace(costs, width=tuple(core * slots for slots in costs.width))
    counted = _counted(totals.assign(rate=totals["rate"] / core), costs)
    # Where two threads share the core, the events of its slots say nothing of one thread's cycles.
    of_slots = {event for bound in counted.bounds for event in bound.events} if core < 1 else set()
    others = totals.drop(index=list(of_slots))
    stated = [*counted.bounds, *_instructions(totals, costs), *_costs(others, costs, ghz)]
    if not counted.exact:
        stated += [Bound(("back end",), low, 1.0, (event,)) for event, low in surely_saved(savings)]
    return counted, stated


def _missing(level, printed):
    """Return what the printed shares of level 1 lack of all slots; below 0 if they exceed them, 0 if they add up."""
    missing = 1 - sum(level.values())
    is_whole = len(level) == 1 + len(LOSSES)
    is_short = is_whole and missing - printed.get(SIBLING, 0.0) >= _LIKE
    return missing if is_short or missing <= -_LIKE else 0.0


def _bounds_by_tool(shares, level, stated, doubtful):
    """Bound the categories by the shares that the tool printed, with their rounding, and by the counts."""
    is_whole = len(level) == 1 + len(LOSSES)
    gap = sum(level.values()) - 1 if is_whole else _LIKE  # what was not printed is not all that is left
    are_whole_percent = all(abs(100 * share - round(100 * share)) < 1e-6 for share in shares.values())
    rounding = _WHOLE if are_whole_percent else _ROUNDED
    stated = [
        *(Bound((name,), share - rounding, share + rounding, ()) for name, share in shares.items()),
        *stated,
    ]
    low, high, contradiction = _tighten(stated, abs(gap))
    return Bounds(
        shares=_frame(low, high, stated),
        exact=is_whole,
        gap=0.0,
        contradiction=contradiction,
        doubtful=doubtful,
        printed=True,
    )


def _frame(low, high, stated):
    """Put bounds by category (dicts) into a DataFrame, with each category's parent and the events that bound it."""
    parents = _parents()
    events = {name: () for name in parents}
    for bound in stated:
        if len(bound.categories) == 1:
            (name,) = bound.categories
            events[name] = tuple(dict.fromkeys([*events[name], *bound.events]))
    shares = pd.DataFrame({"parent": parents, "low": low, "high": high, "events": events})
    return shares.loc[list(parents)]


def _beyond_errors(gap, error):
    """Return the gap of level 1, or 0 if it is within the errors of the counts."""
    return 0.0 if abs(gap) <= max(_LIKE, error) else gap


def _restarts(totals, costs):
    """List the lower bound that mispredictions set: in the cycles of a restart no useful operation begins."""
    bounds_of_events = []
    for event, rate, error in totals[["rate", "error"]].itertuples():
        if costs.kind(event) == "misprediction":
            low = min(rate * costs.restart[0] * max(0.0, 1 - error), 1.0)
            bounds_of_events.append(Bound(("mispredicted branches", "branch resteers"), low, 1.0, (event,)))
    return bounds_of_events


def _disputed(printed, low, high):
    """Select the printed shares that lie outside the bounds by the counts (all dicts by category)."""
    ends = {name: (low[name] - _LIKE, high[name] + _LIKE) for name in printed}
    return {name: share for name, share in printed.items() if not ends[name][0] <= share <= ends[name][1]}


def _core_cycles(rates):
    """Return the core's cycles (0.5–1) per cycle of one of its two threads, which share its slots while both run."""
    counted = {spelling(event.rpartition(".")[2]): rate for event, rate in rates.items()}
    alone = counted.get("onethreadactive", np.nan) / (counted.get("refxclk") or np.nan)
    return 0.5 + 0.5 * min(alone, 1.0) if alone >= 0 else 1.0


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


def _doubtful(totals, costs):
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
    last = rates["L3 miss"]
    hardly = [event for event, rate in last.items() if rate < _HARDLY * max(last.values())]
    if costs.name == UNKNOWN:  # nobody knows which cache is the last level
        return tuple(hardly)
    stalled = [event for event in totals.index if spelling(event) in map(spelling, _STALLED)]
    stalled = stalled if costs.name in _WITHOUT_STALLED and len(stalled) == len(_STALLED) else ()
    first, second = (max(rates[kind].values(), default=np.nan) for kind in ("L1D miss", "L2 miss"))
    failed = first > _MANY and second < _HARDLY * first
    return (*stalled, *rates["L2 miss"], *last) if failed else (*stalled, *hardly)


def _counted(totals, costs):
    """Compute the categories of tables from the counts: a :class:`_Counted`.

    Each bound is the share with the errors of its events. Where several tables fit equally well, a bound spans theirs.
    """
    rates = totals["rate"]
    factors = np.vstack([np.ones(len(rates)), 1 + np.diag(totals["error"])])
    steps = pd.DataFrame(factors * rates.to_numpy(), columns=rates.index)
    steps = _with_slots_of_sum(steps)
    fitting = fitting_tables(rates.index, costs.table, rates)
    accounts = [account(steps, table) for table in fitting if table.of_slots]
    tables = [_known_shares(computed, rates) for computed in accounts]
    if not tables:
        return _Counted([], exact=False, gap=0.0, error=0.0)
    same = [name for name in tables[0] if all(name in table for table in tables)]
    counted = []
    for name in same:
        low, high = min(table[name].low for table in tables), max(table[name].high for table in tables)
        counted.append(Bound((name,), low, high, tables[0][name].events))
    parts = ({part.name for part in computed.table.parts()} - {SIBLING} for computed in accounts)
    exact = all(names <= set(same) for names in parts)
    # Linux's table divides by counted slots, and so tells a gap also where the other table divides by its own sum.
    counts = [account(steps, table) for table in linux_tables(rates.index)]
    gap = max(map(sum_gap, [*accounts, *counts]), key=abs) if exact else 0.0
    level = [bound for bound in counted if bound.categories[0] in (*LOSSES, "retired")]
    error = float(np.sqrt(sum((bound.high - bound.low) ** 2 for bound in level))) / 2
    return _Counted(counted, exact, gap, error)


def _with_slots_of_sum(steps):
    """Replace the slots in rates (a row per step) by the sum of Linux's four top-down events.

    Intel and perf divide the four events by this sum. It replaces the slots only if it is near them: as near as
    errors of the counts, or the tolerance of any sum, explain. The processor itself rounds the four to 1/255 of the
    slots whenever they are read.
    """
    for table in linux_tables(steps):
        sums = account(steps, table).level().sum(axis=1)
        if abs(sums.iloc[0] - 1) <= max(_LIKE, np.sqrt(((sums - sums.iloc[0]) ** 2).sum())):
            slots = [event for event in steps if spelling(event) == spelling(table.slots[0])]
            steps = steps.assign(**steps[slots].mul(sums, axis=0))
    return steps


def _known_shares(computed, rates):
    """Bound the categories that were computed from counted events, not from cycles alone: a dict by category.

    The first row of `computed` has the shares; each further row has the shares with one event raised by its error.
    """
    at = computed.shares.iloc[0]
    error = np.sqrt(((computed.shares - at) ** 2).sum())
    known = {}
    for name, formula in computed.formulas.items():
        taken = set(map(spelling, names_in(formula)))
        events = tuple(event for event in rates.index if spelling(event) in taken)
        if name in _parents() and (events or formula == REMAINDER):
            known[name] = Bound((name,), at[name] - error[name], at[name] + error[name], events)
    return known


def _instructions(totals, costs):
    """Bound the retired slots by the count of instructions: a list of one bound, empty without that count.

    An instruction takes one or two slots, except that one fused with a branch takes none.
    """
    if "instructions" not in totals.index:
        return []
    rate, error = totals.loc["instructions", ["rate", "error"]]
    slot = costs.cycles("slot")
    branches = (row for row in totals.itertuples() if costs.kind(row.Index) == "branch")
    fused = min([0.5 * rate, *(of.rate * (1 + of.error) for of in branches)]) if costs.fused else 0.0
    low = (rate * (1 - error) - fused) * slot[0]
    return [Bound(("retired",), low, min(1.0, 2 * rate * (1 + error) * slot[1]), ("instructions",))]


def _costs(totals, costs, ghz):
    """Yield the bound that each event of a known kind sets by its least and most cost in cycles."""
    kinds = common()["kinds"]
    for event, rate, error in totals[["rate", "error"]].itertuples():
        kind = costs.kind(event)
        for categories, (least, most) in kinds[kind].items() if kind else ():
            low, high = costs.cycles(least, ghz)[0], costs.cycles(most, ghz)[1]
            yield Bound(
                tuple(categories.split(" + ")),
                min(rate * low * max(0.0, 1 - error), 1.0),
                min(rate * high * (1 + error), 1.0) if rate else (0.0 if np.isfinite(high) else 1.0),
                (event,),
            )


def _parents():
    """Map every category to its parent; "" for those of level 1."""
    parts = common()["parts"] | common()["more"]
    return {part: "" if name == "all" else name for name, inside in parts.items() for part in inside}


def _tighten(stated, gap):
    """Propagate bounds through the sums of categories: (low by category, high by category, largest contradiction).

    `stated` is a list of :class:`Bound`; level 1 may differ from all slots by `gap`. Categories that
    data/topdown/costs/common.yaml lists as rare are bounded by it where nothing else does, from above only. SciPy's
    linear programs give the same where there is a solution, in 80 times the time (105 against 1.3 ms).
    """
    named = {name for bound in stated for name in bound.categories}
    rare = [Bound((name,), 0.0, most, ()) for name, most in common()["rare"].items() if name not in named]
    ends = dict.fromkeys(common()["parts"], (0.0, 0.0)) | {"all": (-gap, gap)}
    ends |= dict.fromkeys(common()["more"], (0.0, 1.0))
    sums = common()["parts"] | common()["more"]
    forms = [({name: 1.0} | dict.fromkeys(sums[name], -1.0), *both) for name, both in ends.items()]
    forms += [(dict.fromkeys(bound.categories, 1.0), bound.low, bound.high) for bound in [*stated, *rare]]
    low = dict.fromkeys(_parents(), 0.0) | {"all": 1.0}
    high = dict.fromkeys(low, 1.0)
    worst = 0.0
    for _ in range(_ROUNDS):
        moved = 0.0
        for form, least, most in forms:
            for name in form:
                new_low, new_high = _range(form, name, low, high, least, most)
                new_low, new_high = max(new_low, low[name]), min(new_high, high[name])
                if new_low > new_high:  # a contradiction: the range that was there stays
                    worst = max(worst, new_low - new_high)
                    new_low, new_high = low[name], high[name]
                moved += new_low - low[name] + high[name] - new_high
                low[name], high[name] = new_low, new_high
        if moved < 1e-6:
            break
    for parts in common()["parts"].values():
        for part in parts if any(bound.categories[0] in parts for bound in rare) else ():
            low[part] = max((bound.low for bound in stated if bound.categories == (part,)), default=0.0)
    return low, high, worst if worst > _AGREES else 0.0


def _range(form, name, low, high, least, most):
    """Compute the range (low, high) of one category from a sum with other categories.

    The sum is ``least <= sum of factor * category <= most``; the others have the ranges `low` to `high`. `form` has
    the factors, 1 or -1, by category.
    """
    sign = form[name]
    others = [(part, by) for part, by in form.items() if part != name]
    smallest = sum(by * (low if by > 0 else high)[part] for part, by in others)
    largest = sum(by * (high if by > 0 else low)[part] for part, by in others)
    ends = sign * (least - largest), sign * (most - smallest)
    return min(ends), max(ends)
