"""Find what limits a program, by an account with bounds: decided, likely, or what would decide it."""

from dataclasses import dataclass

from cmlib.spelling import spelling
from cmlib.topdown.bounded_account import LOSSES
from cmlib.topdown.costs import read_costs

LITTLE_LOST = 0.75  # share of the slots from which on, where so many retired, little is lost
_SMALL = 0.25  # of the largest upper bound: what is below is not named as what may limit a program
# Share of the cycles from which on stalls tell what limits a program: where it is known what they are, and elsewhere.
_STALLED, _MUCH_STALLED = 0.1, 0.25
# How many times the cycles of one kind of stall must be the others': where what they are is known, and where it is not.
_MORE, _FAR_MORE = 1.25, 2.0
_REFILL = 20  # cycles that a misprediction usually costs


@dataclass(frozen=True)
class Bottleneck:
    """What limits a program.

    Attributes
    ----------
    certainty : str
        ``counted`` (every category of level 1 was), ``decided`` (by bounds), ``likely`` (by cycles without any
        operation issued), ``open``, or ``little lost``.
    limits : tuple of str
        Categories of level 1, the largest first: one, or those of which it may be any.
    stalls : dict of str to float
        Share of the cycles in which nothing was issued, by what that is put down to, where it tells what is likely.
    decide : tuple
        Events whose recording would decide it, as the costs name them; empty where it is decided.
    """

    certainty: str
    limits: tuple
    stalls: dict
    decide: tuple


def find_bottleneck(bounded, totals, costs):
    """Tell what limits a program.

    It is decided if one category's lower bound is above the others' upper bounds. If not, stalls of front end and back
    end tell what is likely, if one is far more than the other and than what mispredictions usually cost. Counts that
    don't add up decide nothing.

    Parameters
    ----------
    bounded : Bounds
        From :func:`cmlib.topdown.bounds`.
    totals : DataFrame
        What it was made of.
    costs : Costs

    Returns
    -------
    Bottleneck
    """
    if bounded.gap:
        return Bottleneck("open", LOSSES, {}, _deciding(LOSSES, totals, costs))
    level = bounded.shares.loc[list(LOSSES)].sort_values(["low", "high"], ascending=False)
    if bounded.shares.at["retired", "low"] >= LITTLE_LOST:
        return Bottleneck("little lost", (), {}, ())
    first = level.index[0]
    if level["low"].iloc[0] > level["high"].iloc[1:].max():
        return Bottleneck("counted" if bounded.exact else "decided", (first,), {}, ())
    # Whatever can be the largest loss, and is not a small one at the most.
    least = max(level["low"].max(), _SMALL * level["high"].max())
    possible = tuple(name for name in level.index if level.at[name, "high"] > least)
    if bounded.exact:
        return Bottleneck("counted", possible, {}, ())
    decide = _deciding(possible, totals, costs)
    if stalls := _telling_stalls(totals, costs):
        return Bottleneck("likely", (max(stalls, key=stalls.get),), stalls, decide)
    return Bottleneck("open", possible, {}, decide)


def _telling_stalls(totals, costs):
    """Cycles without any operation issued, by their cause, if these tell what limits a program; else none."""
    if costs.name.startswith("arm_"):  # stalls are the architecture's, and mean the same on all its cores
        costs = read_costs("arm")
    rates = {}
    for event, rate in totals["rate"].items():
        rates.setdefault(costs.kind(event), rate)
    for front, back in _STALLS:
        if front in rates and back in rates:
            stalls = {"front end": rates[front], "back end": rates[back]}
            largest, other = max(stalls.values()), min(stalls.values())
            known = front == _STALLS[0][0]
            enough = max(_STALLED, _MORE * other) if known else max(_MUCH_STALLED, _FAR_MORE * other)
            surely = known or rates[back] == largest
            misses = _REFILL * rates.get("misprediction", 0.0)
            if surely and largest >= max(enough, misses) and sum(stalls.values()) <= 1.0 + _STALLED:
                return stalls
    return {}


# Whose cause is known; and perf's generic ones, which are not the same on all processors: where a front-end stall is
# any cycle without issue, the back end may be its cause, but not the other way round.
_STALLS = (
    ("cycle stalled by the front end", "cycle stalled by the back end"),
    ("front-end stall", "back-end stall"),
)


def _deciding(possible, totals, costs):
    """Events that count two of the possible categories, and were not recorded."""
    wanted = [event for name in possible[:2] for event in costs.decide.get(name, ())]
    counted = set(map(spelling, totals.index))
    names = [event if isinstance(event, str) else event["name"] for event in wanted]
    lacking = [event for event, name in zip(wanted, names, strict=True) if spelling(name) not in counted]
    return tuple([*costs.decide.get("with", ()), *lacking]) if lacking else ()
