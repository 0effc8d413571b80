"""Decide which loss of slots limits a program, and how certain this is.

:func:`find_bottleneck` takes the bounds of all top-down categories. It returns a :class:`Bottleneck`: the limiting
categories, the certainty, and the events that would decide an open question.

A slot is an opportunity to begin one operation in a cycle. Slots that begin no useful operation are lost to the front
end, to the back end or to bad speculation.
"""

from dataclasses import dataclass

from cmlib.spelling import spelling
from cmlib.topdown.category_tables import LOSSES
from cmlib.topdown.costs import read_costs

_LITTLE_LOST = 0.75  # lower bound of the retired slots from which on nothing limits the program
_SMALL = 0.25  # a category cannot limit the program below this fraction of the largest upper bound
_ABOUT_EQUAL = 0.5  # counted losses are equal if the smallest exceeds this fraction of the largest
_REFILL = 20  # typical cost of a misprediction [cycles]
_MOST_STALLED = 1.1  # most stalled cycles of both kinds in sum [per cycle]; one cycle may be counted as both


@dataclass(frozen=True)
class Bottleneck:
    """Which loss of slots limits a program.

    A slot is an opportunity to begin one operation in a cycle. Slots are lost to the front end, to the back end or to
    bad speculation.

    Attributes
    ----------
    certainty : str
        How certain the limit is:

        - ``counted``: every use and loss of slots was counted.
        - ``decided``: the lower bound of one loss is above the upper bounds of the others.
        - ``likely``: stalled cycles point to one loss.
        - ``open``: several losses are possible.
        - ``little lost``: nearly all slots retired an operation.
    limits : tuple of str
        Losses that may be the largest, the largest lower bound first. Empty if little is lost. All three losses if the
        shares of the slots do not add up, because no bound is reliable then.
    stalls : dict of str to float
        Stalled cycles [share of all cycles], keyed by loss. Empty unless the certainty is ``likely``.
    deciding_events : tuple of str or dict
        Events to record next, which would decide between the losses. An event is a name. If perf may not know the name,
        it is a dict of ``name`` and ``code``. Empty if nothing is open.
    """

    certainty: str
    limits: tuple
    stalls: dict
    deciding_events: tuple


@dataclass(frozen=True)
class _StallKinds:
    """A pair of events that count cycles stalled by the front end and by the back end.

    Attributes
    ----------
    front_end, back_end : str
        The kinds of the two events, as in :attr:`cmlib.topdown.costs.Costs.kinds`.
    least_share : float
        The larger of the two must reach this share of the cycles.
    least_ratio : float
        The larger of the two must exceed the smaller one by this factor.
    front_end_is_reliable : bool
        False if the event of the front end also counts other cycles.
    """

    front_end: str
    back_end: str
    least_share: float
    least_ratio: float
    front_end_is_reliable: bool


# Arm's architecture defines both events. Perf's generic events differ between processors. On some processors, every
# cycle without issue counts as a front-end stall, so only back-end stalls are reliable.
_ARCHITECTURAL_STALLS = _StallKinds(
    front_end="cycle stalled by the front end",
    back_end="cycle stalled by the back end",
    least_share=0.1,
    least_ratio=1.25,
    front_end_is_reliable=True,
)
_GENERIC_STALLS = _StallKinds(
    front_end="front-end stall",
    back_end="back-end stall",
    least_share=0.25,
    least_ratio=2.0,
    front_end_is_reliable=False,
)
STALL_KINDS = {
    kind for kinds in (_ARCHITECTURAL_STALLS, _GENERIC_STALLS) for kind in (kinds.front_end, kinds.back_end)
}


def find_bottleneck(bounded, totals, costs):
    """Find the loss of slots that limits a program.

    A loss limits the program if its lower bound is above the upper bounds of the other losses. If no loss does, stalled
    cycles may make one loss likely.

    Parameters
    ----------
    bounded : cmlib.topdown.bounded_account.Bounds
        Lower and upper bound of each use and loss of slots, from :func:`cmlib.topdown.bounds`.
    totals : DataFrame
        Events per cycle (column ``rate``), one row per event.
    costs : cmlib.topdown.costs.Costs
        Costs and kinds of the processor's events, from :func:`cmlib.topdown.read_costs`.

    Returns
    -------
    Bottleneck
    """
    if bounded.gap:
        return Bottleneck("open", LOSSES, {}, _list_deciding_events(LOSSES, totals, costs))
    if bounded.shares.at["retired", "low"] >= _LITTLE_LOST:
        return Bottleneck("little lost", (), {}, ())
    losses = bounded.shares.loc[list(LOSSES)].sort_values(["low", "high"], ascending=False)
    if losses["low"].iloc[0] > losses["high"].iloc[1:].max():
        certainty = "counted" if bounded.exact else "decided"
        return Bottleneck(certainty, (losses.index[0],), {}, ())
    possible = _list_possible_limits(losses)
    if bounded.exact and losses.loc[[*possible], "low"].min() > _ABOUT_EQUAL * losses["low"].max():
        return Bottleneck("counted", possible, {}, ())
    deciding_events = _list_deciding_events(possible, totals, costs)
    stalls = _find_conclusive_stalls(totals, costs)
    if stalls:
        most_stalled = max(stalls, key=stalls.get)
        return Bottleneck("likely", (most_stalled,), stalls, deciding_events)
    return Bottleneck("open", possible, {}, deciding_events)


def _list_possible_limits(losses):
    """List the categories that may be the largest loss.

    `losses` has the bounds ``low`` and ``high`` of each category, sorted by the lower bound. A category can be the
    largest loss if its upper bound reaches the largest lower bound. Small categories are left out.
    """
    threshold = max(losses["low"].max(), _SMALL * losses["high"].max())
    return tuple(name for name in losses.index if losses.at[name, "high"] >= threshold)


def _find_conclusive_stalls(totals, costs):
    """Return the stalled cycles by category if they make one category likely.

    The dict is empty if they do not. The larger number of stalls must also exceed the cycles that mispredictions
    usually cost. The reason is that the refill of the pipeline after a misprediction may count as a stall of either
    kind.
    """
    rate_by_kind = {}
    for event, rate in totals["rate"].items():
        rate_by_kind.setdefault(_find_kind(event, costs), rate)
    for kinds in (_ARCHITECTURAL_STALLS, _GENERIC_STALLS):
        if kinds.front_end not in rate_by_kind or kinds.back_end not in rate_by_kind:
            continue
        front_end = rate_by_kind[kinds.front_end]
        back_end = rate_by_kind[kinds.back_end]
        larger = max(front_end, back_end)
        smaller = min(front_end, back_end)
        mispredicted = _REFILL * rate_by_kind.get("misprediction", 0.0)
        is_large = larger >= max(kinds.least_share, kinds.least_ratio * smaller, mispredicted)
        is_reliable = kinds.front_end_is_reliable or back_end == larger
        is_possible = front_end + back_end <= _MOST_STALLED
        if is_large and is_reliable and is_possible:
            return {"front end": front_end, "back end": back_end}
    return {}


def _find_kind(event, costs):
    """Return the kind of an event. All Arm cores share one list of kinds, because the architecture defines them."""
    if costs.name.startswith("arm_"):
        costs = read_costs("arm")
    return costs.kind(event)


def _list_deciding_events(possible, totals, costs):
    """List the events that count the first two possible categories and were not recorded.

    Events that perf must count together with them come first. The tuple is empty if all events were recorded.
    """
    deciding_events = [event for name in possible[:2] for event in costs.decide.get(name, ())]
    event_by_name = {event if isinstance(event, str) else event["name"]: event for event in deciding_events}
    counted_names = {spelling(event) for event in totals.index}
    # Each of Arm's two stall events has several names. One of them is enough.
    architectural_kinds = {_ARCHITECTURAL_STALLS.front_end, _ARCHITECTURAL_STALLS.back_end}
    counted_stalls = {_find_kind(event, costs) for event in totals.index} & architectural_kinds
    missing_events = []
    for name, event in event_by_name.items():
        if spelling(name) not in counted_names and _find_kind(name, costs) not in counted_stalls:
            missing_events.append(event)
    if not missing_events:
        return ()
    return (*costs.decide.get("with", ()), *missing_events)
