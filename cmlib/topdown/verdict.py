"""Find the category of lost slots that limits a program, from the bounds of each, and how certain that is.

:func:`find_bottleneck` takes the bounds of the slots' shares, and returns a :class:`Bottleneck`: the certainty
("counted", "decided", "likely", "open" or "little lost"), the limiting categories, and the events that would decide
between them. A slot is an opportunity to begin one operation in a cycle. Slots that begin no operation that retires are
lost to the front end, the back end or bad speculation.
"""

from dataclasses import dataclass

from cmlib.spelling import spelling
from cmlib.topdown.category_tables import LOSSES
from cmlib.topdown.costs import read_costs

LITTLE_LOST = 0.75  # lower bound of the retired slots from which on nothing limits the program
_SMALL = 0.25  # categories whose upper bound is below this share of the largest upper bound are not named
# Several counted categories limit a program about equally if the smallest of their lower bounds exceeds this share of
# the largest one.
_ABOUT_EQUAL = 0.5
_REFILL = 20  # cycles that a misprediction usually costs


@dataclass(frozen=True)
class Bottleneck:
    """What limits a program.

    Attributes
    ----------
    certainty : str
        ``counted``: events count every category of level 1. ``decided``: the bounds of one category are above those of
        the others. ``likely``: stalled cycles point to one category. ``open``: several categories are possible.
        ``little lost``: nearly all slots retired an operation.
    limits : tuple of str
        Categories of level 1 that may be the largest loss, those with the largest lower bound first. All three losses
        in a fixed order if level 1 does not add up to all slots: then no bound is reliable. Empty if little is lost.
    stalls : dict of str to float
        Stalled cycles [share of all cycles] by category, if the verdict is ``likely``; else empty.
    deciding_events : tuple of str or dict
        Events whose recording would decide between the categories; empty if there is nothing to decide. An event is its
        name, or a dict of ``name`` and ``code`` (as for ``perf stat -e``) if perf may not know the name.
    """

    certainty: str
    limits: tuple
    stalls: dict
    deciding_events: tuple


@dataclass(frozen=True)
class _StallKinds:
    """A kind of event for stalls by the front end, one for stalls by the back end, and when they are conclusive.

    Attributes
    ----------
    front_end, back_end : str
        The two kinds, as :meth:`cmlib.topdown.costs.Costs.kind` returns them.
    least_share : float
        Share of the cycles that the larger one must reach.
    least_ratio : float
        How many times as large as the smaller one it must be.
    front_end_is_reliable : bool
        False if the event of the front end may count other cycles, too.
    """

    front_end: str
    back_end: str
    least_share: float
    least_ratio: float
    front_end_is_reliable: bool


# Arm's architecture defines what its two stall events count. Perf's generic ones differ between processors: on some,
# any cycle without issue counts as a front-end stall, so that only stalls by the back end are conclusive.
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
_MOST_STALLED = 1.1  # share of the cycles that both kinds can have together; one cycle may be counted as both


def find_bottleneck(bounded, totals, costs):
    """Find what limits a program.

    A category limits the program if its lower bound is above the upper bounds of the other losses. Errors of counts
    widen the bounds, so that large errors leave the verdict open. If no category is above the others, stalled cycles
    make the front end or the back end likely (:func:`_find_conclusive_stalls`). If level 1 was counted and does not add
    up to all slots, the verdict is always open.

    Parameters
    ----------
    bounded : cmlib.topdown.bounded_account.Bounds
        Lowest and highest share of each category, from :func:`cmlib.topdown.bounds`.
    totals : DataFrame
        The totals that `bounded` was computed from.
    costs : cmlib.topdown.costs.Costs
        Of the processor (latencies, width, kinds of events): :func:`cmlib.topdown.read_costs`.

    Returns
    -------
    Bottleneck
        What limits the program, how certain that is, and the events that would decide it.
    """
    if bounded.gap:
        return Bottleneck("open", LOSSES, {}, _list_deciding_events(LOSSES, totals, costs))
    if bounded.shares.at["retired", "low"] >= LITTLE_LOST:
        return Bottleneck("little lost", (), {}, ())
    losses = bounded.shares.loc[list(LOSSES)].sort_values(["low", "high"], ascending=False)
    if losses["low"].iloc[0] > losses["high"].iloc[1:].max():
        return Bottleneck("counted" if bounded.exact else "decided", (losses.index[0],), {}, ())
    possible = _list_possible_limits(losses)
    if bounded.exact and losses.loc[[*possible], "low"].min() > _ABOUT_EQUAL * losses["low"].max():
        return Bottleneck("counted", possible, {}, ())
    deciding_events = _list_deciding_events(possible, totals, costs)
    stalls = _find_conclusive_stalls(totals, costs)
    if stalls:
        return Bottleneck("likely", (max(stalls, key=stalls.get),), stalls, deciding_events)
    return Bottleneck("open", possible, {}, deciding_events)


def _list_possible_limits(losses):
    """List the categories that may be the largest loss, except those that are small even at their upper bound.

    `losses` has the bounds ``low`` and ``high`` of each category, the largest lower bound first. A category can be the
    largest if its upper bound reaches the largest lower bound.
    """
    threshold = max(losses["low"].max(), _SMALL * losses["high"].max())
    return tuple(name for name in losses.index if losses.at[name, "high"] >= threshold)


def _find_conclusive_stalls(totals, costs):
    """Return the stalled cycles [share] by category, if they make one category the likely limit; else an empty dict.

    The larger of the two must be a large share of the cycles, much larger than the other, and larger than the cycles
    that mispredictions usually cost, because the refill of the pipeline may be counted as a stall of either kind.
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
    """Return the kind of an event; on Arm's cores by the kinds of all of them, as the architecture defines stalls."""
    if costs.name.startswith("arm_"):
        costs = read_costs("arm")
    return costs.kind(event)


def _list_deciding_events(possible, totals, costs):
    """List the events that count the first two possible categories and were not recorded.

    Events that must be counted together with them are listed first. The tuple is empty if all events were recorded.
    """
    deciding_events = [event for name in possible[:2] for event in costs.decide.get(name, ())]
    event_by_name = {event if isinstance(event, str) else event["name"]: event for event in deciding_events}
    counted_names = {spelling(event) for event in totals.index}
    # Arm's two stall events have several names, such as perf's generic ones. Any of them will do.
    architectural_kinds = {_ARCHITECTURAL_STALLS.front_end, _ARCHITECTURAL_STALLS.back_end}
    counted_stalls = {_find_kind(event, costs) for event in totals.index} & architectural_kinds
    missing_events = []
    for name, event in event_by_name.items():
        if spelling(name) not in counted_names and _find_kind(name, costs) not in counted_stalls:
            missing_events.append(event)
    if not missing_events:
        return ()
    return (*costs.decide.get("with", ()), *missing_events)
