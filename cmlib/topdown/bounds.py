"""The account with bounds, from whatever events there are.

An event that counts cycles or slots is a share of them as it stands; one that counts misses, walks or mispredictions
costs between nothing, all hidden, and its latency on that processor.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib.topdown.account import account
from cmlib.topdown.costs import UNKNOWN, common
from cmlib.topdown.tables import read_table

LOSSES = ("front end", "back end", "bad speculation")
_ROUNDS = 60
_MANY, _HARDLY = 0.005, 0.005  # misses of the L1D a cycle; misses of the L2 beside them
_AGREES = 0.01  # share of the slots by which counts may contradict each other before it is said


@dataclass(frozen=True)
class Bound:
    """What one event, or a formula, says: the sum of some categories is between `low` and `high` [share of slots]."""

    categories: tuple
    low: float
    high: float
    events: tuple


@dataclass(frozen=True)
class Bounds:
    """The account with bounds.

    Attributes
    ----------
    shares : DataFrame
        Index: category, parents before their parts. ``parent``; ``low`` and ``high`` [share of all slots, 0–1];
        ``events``: those that bound it directly.
    exact : bool
        Whether every category of level 1 was counted, so that this is the account of :func:`cmlib.topdown.account`.
    contradiction : float
        By how much what the events say contradicts itself [share of slots]; 0 where it fits.
    doubtful : tuple of str
        Events that bound nothing, as they count far too little beside another.
    """

    shares: pd.DataFrame
    exact: bool
    contradiction: float
    doubtful: tuple


def bounds(totals, costs, *, ghz=None):
    """Bound the share of each category of the account.

    Parameters
    ----------
    totals : DataFrame
        Index: event. ``rate``, events per cycle over the whole recording, and ``error``, relative, of which the
        rate is off in one recording of twenty. :func:`cmlib.topdown.totals` makes it.
    costs : Costs
        Of the processor: :func:`cmlib.topdown.read_costs`.
    ghz : float, optional
        Clock of the recording, by which latencies of memory become cycles; the processor's fastest otherwise.

    Returns
    -------
    Bounds

    Notes
    -----
    Every event is a linear inequality in the shares of the categories, and so is every sum: of the parts, which is
    their category, and of level 1, which is all slots. Bounds are tightened from inequality to inequality until none
    moves. Pipeline restarts that no event counts are taken as none, and so are slots of a sibling thread, which then
    stand within the back end's upper bound.
    """
    doubtful = _doubtful(totals, costs)
    totals = totals.drop(index=list(doubtful))
    counted, exact, gap = _counted(totals, costs)
    given = [*counted, *_instructions(totals, costs), *_costs(totals, costs, ghz)]
    named = {name for bound in given for name in bound.categories}
    rare = [Bound((name,), 0.0, 0.0, ()) for name in common()["none"] if name not in named]
    low, high, contradiction = _tighten([*given, *rare], gap)
    parents = _parents()
    direct = {name: [] for name in parents}
    for bound in given:
        for name in bound.categories if len(bound.categories) == 1 else ():
            direct[name] += bound.events
    shares = pd.DataFrame(
        {
            "parent": parents,
            "low": low,
            "high": high,
            "events": {name: tuple(dict.fromkeys(events)) for name, events in direct.items()},
        }
    )
    return Bounds(shares.loc[list(parents)], exact, contradiction, doubtful)


def _doubtful(totals, costs):
    """Misses of the L2 and beyond, where hardly one of many misses of the L1D is one: off-core events that fail."""
    if costs.name == UNKNOWN:  # nobody knows which cache is the last level
        return ()
    rates = {kind: {} for kind in ("L1D miss", "L2 miss", "L3 miss")}
    for event, rate in totals["rate"].items():
        rates.get(costs.kind(event), {})[event] = rate
    first, second = (max(rates[kind].values(), default=np.nan) for kind in ("L1D miss", "L2 miss"))
    failed = first > _MANY and second < _HARDLY * first
    return (*rates["L2 miss"], *rates["L3 miss"]) if failed else ()


def _counted(totals, costs):
    """Categories that the processor's own table computes from what was counted, with the error of its events."""
    if not costs.table:
        return [], False, 0.0
    table, rates = read_table(costs.table), totals["rate"]
    steps = pd.DataFrame([rates] * (len(rates) + 1)).reset_index(drop=True)
    for row, event in enumerate(rates.index, 1):
        steps.loc[row, event] *= 1 + totals.at[event, "error"]
    try:
        found = account(steps, table)
    except ValueError:
        return [], False, 0.0
    known = [name for name in found.shares if name in _parents() and _is_known(name, found, rates)]
    error = np.sqrt(((found.shares - found.shares.iloc[0]) ** 2).sum())
    at = found.shares.iloc[0]
    events = {name: tuple(e for e in rates.index if e in found.formulas[name]) for name in known}
    level_1 = {part.name for part in table.parts()}
    exact = level_1 - {"sibling thread"} <= set(known)
    counted = [Bound((name,), at[name] - error[name], at[name] + error[name], events[name]) for name in known]
    return counted, exact, abs(1 - found.level().iloc[0].sum()) if exact else 0.0


def _is_known(name, found, rates):
    """Whether a share was computed from something counted, and not from cycles alone."""
    formula = found.formulas[name]
    return formula == "what the others leave" or any(event in formula for event in rates.index)


def _instructions(totals, costs):
    """Retired slots by instructions: with a branch, two may be one op; two ops for each are the most."""
    if "instructions" not in totals.index:
        return []
    rate, error = totals.loc["instructions", ["rate", "error"]]
    slot = costs.cycles("slot")
    branches = [
        row.rate * (1 + row.error) for row in totals.itertuples() if costs.kind(row.Index) == "branch"
    ]
    fused = min([0.5 * rate, *branches]) if costs.fused else 0.0
    low = (rate * (1 - error) - fused) * slot[0]
    return [Bound(("retired",), low, min(1.0, 2 * rate * (1 + error) * slot[1]), ("instructions",))]


def _costs(totals, costs, ghz):
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
    """Every category to the one above it."""
    parts = common()["parts"] | common()["more"]
    return {part: "" if name == "all" else name for name, inside in parts.items() for part in inside}


def _tighten(given, gap):
    """Least and most of every category under sums and bounds, and by how much these contradict each other.

    Level 1 may miss all slots by a gap: where each of it was counted, they add up as well as they were counted.
    """
    forms = [
        ({name: 1.0} | dict.fromkeys(parts, -1.0), *((-gap, gap) if name == "all" else (0.0, 0.0)))
        for name, parts in common()["parts"].items()
    ]
    forms += [
        ({name: 1.0} | dict.fromkeys(parts, -1.0), 0.0, 1.0) for name, parts in common()["more"].items()
    ]
    forms += [(dict.fromkeys(bound.categories, 1.0), bound.low, bound.high) for bound in given]
    low = dict.fromkeys(_parents(), 0.0) | {"all": 1.0}
    high = dict.fromkeys(low, 1.0)
    worst = 0.0
    for _ in range(_ROUNDS):
        moved = 0.0
        for form, least, most in forms:
            for name in form:
                new_low, new_high = _range(form, name, low, high, least, most)
                new_low, new_high = max(new_low, low[name]), min(new_high, high[name])
                if new_low > new_high:  # each says that the other is wrong: both stay possible
                    worst = max(worst, new_low - new_high)
                    new_low, new_high = low[name], high[name]
                moved += new_low - low[name] + high[name] - new_high
                low[name], high[name] = new_low, new_high
        if moved < 1e-6:
            break
    return low, high, worst if worst > _AGREES else 0.0


def _range(form, name, low, high, least, most):
    """What an inequality leaves for one category, given the ranges of the others."""
    sign = form[name]
    others = [
        (low[one], high[one]) if by > 0 else (-high[one], -low[one])
        for one, by in form.items()
        if one != name
    ]
    smallest, largest = sum(other[0] for other in others), sum(other[1] for other in others)
    ends = sign * (least - largest), sign * (most - smallest)
    return min(ends), max(ends)
