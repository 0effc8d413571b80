"""Find the category of lost slots that limits a program, from the bounds of each, and how certain that is.

:func:`find_bottleneck` takes the bounds of the slots' shares, and returns a :class:`Bottleneck`: the certainty
("counted", "decided", "likely", "open" or "little lost"), the limiting categories, and the events that would decide
it. Slots are places for one operation in a cycle; they are lost to the front end, the back end or bad speculation.
"""

from dataclasses import dataclass

from cmlib.spelling import spelling
from cmlib.topdown.bounded_account import LOSSES
from cmlib.topdown.costs import read_costs

LITTLE_LOST = 0.75  # lower bound of retired slots from which on nothing is said to limit the program
_SMALL = 0.25  # categories whose upper bound is below this share of the largest one are not named
_ALIKE = 0.5  # counted categories are about as much if the least surely is this share of the largest
_REFILL = 20  # cycles that a misprediction usually costs


@dataclass(frozen=True)
class Bottleneck:
    """What limits a program.

    Attributes
    ----------
    certainty : str
        ``counted`` (every category of level 1 was), ``decided`` (by bounds), ``likely`` (by stalled cycles), ``open``,
        or ``little lost``.
    limits : tuple of str
        Categories of level 1 that may be the largest loss, those with the largest lower bound first; none if little
        is lost.
    stalls : dict of str to float
        Stalled cycles [share of all cycles] by category, if the verdict is ``likely``; else empty.
    decide : tuple of str or dict
        Events whose recording would decide it, as :class:`cmlib.topdown.costs.Costs` has them; empty if it is decided.
    """

    certainty: str
    limits: tuple
    stalls: dict
    decide: tuple


def find_bottleneck(bounded, totals, costs):
    """Find what limits a program.

    One category does if its lower bound is above the others' upper bounds. If none is, stalled cycles of front end and
    back end make one of them likely, if it has far more than the other and than mispredictions usually cost. Counts
    that don't add up, or have large errors, leave it open, if that could make another one the largest.

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
    level = bounded.shares.loc[list(LOSSES)].sort_values(["low", "high"], ascending=False)
    lead = level["low"].iloc[0] - level["high"].iloc[1:].max()
    if bounded.gap:
        return Bottleneck("open", LOSSES, {}, _list_deciding_events(LOSSES, totals, costs))
    if bounded.shares.at["retired", "low"] >= LITTLE_LOST:
        return Bottleneck("little lost", (), {}, ())
    if lead > 0:
        return Bottleneck("counted" if bounded.exact else "decided", (level.index[0],), {}, ())
    # Categories that can be the largest loss, without those that are small even at their upper bound.
    least = max(level["low"].max(), _SMALL * level["high"].max())
    possible = tuple(name for name in level.index if level.at[name, "high"] > least)
    if bounded.exact and level.loc[[*possible], "low"].min() > _ALIKE * level["low"].max():
        return Bottleneck("counted", possible, {}, ())
    decide = _list_deciding_events(possible, totals, costs)
    stalls = _find_limiting_stalls(totals, costs)
    if stalls:
        return Bottleneck("likely", (max(stalls, key=stalls.get),), stalls, decide)
    return Bottleneck("open", possible, {}, decide)


def _find_limiting_stalls(totals, costs):
    """Return the stalled cycles [share] by category, if they make one category the likely limit; else an empty dict."""
    kind_of = _choose_kinds(costs)
    rates = {}
    for event, rate in totals["rate"].items():
        rates.setdefault(kind_of(event), rate)
    for front, back, least_share, ratio, front_is_believed in _STALLS:
        if front in rates and back in rates:
            stalls = {"front end": rates[front], "back end": rates[back]}
            largest = max(stalls.values())
            smaller = min(stalls.values())
            threshold = max(least_share, ratio * smaller, _REFILL * rates.get("misprediction", 0.0))
            is_believed = front_is_believed or rates[back] == largest
            if is_believed and largest >= threshold and sum(stalls.values()) <= _MOST_STALLED:
                return stalls
    return {}


def _choose_kinds(costs):
    """Return the function that finds an event's kind; Arm's architecture defines its stall events for all cores."""
    return read_costs("arm").kind if costs.name.startswith("arm_") else costs.kind


# Kinds of stall events: those whose cause is known, and perf's generic ones, which differ between processors. Of the
# latter only back-end stalls are believed: on some processors any cycle without issue counts as a front-end stall.
# Stalls of one kind are taken as the limit from a share of the cycles on, and if they are so many times the other kind.
_STALLS = (
    ("cycle stalled by the front end", "cycle stalled by the back end", 0.1, 1.25, True),
    ("front-end stall", "back-end stall", 0.25, 2.0, False),
)
STALL_KINDS = {kind for kinds in _STALLS for kind in kinds[:2]}
_MOST_STALLED = 1.1  # share of the cycles that both kinds can have together, as they may overlap


def _list_deciding_events(possible, totals, costs):
    """List the events that count the first two possible categories and were not recorded, as `costs` has them.

    Events that must be counted together with them are listed, too. The tuple is empty if no event is lacking.
    """
    deciding_events = [event for name in possible[:2] for event in costs.decide.get(name, ())]
    event_by_name = {event if isinstance(event, str) else event["name"]: event for event in deciding_events}
    kind_of = _choose_kinds(costs)
    counted_names = {spelling(event) for event in totals.index}
    # Stalls whose cause is known may have been counted under other names, such as perf's generic ones.
    counted_stalls = {kind_of(event) for event in totals.index} & {*_STALLS[0][:2]}
    lacking = []
    for name, event in event_by_name.items():
        if spelling(name) not in counted_names and kind_of(name) not in counted_stalls:
            lacking.append(event)
    if not lacking:
        return ()
    return (*costs.decide.get("with", ()), *lacking)
