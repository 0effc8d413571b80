"""What limits a program, by an account with bounds: decided, likely, or what would decide it."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib.topdown.account import account
from cmlib.topdown.bounds import LOSSES
from cmlib.topdown.costs import common, known_programs
from cmlib.topdown.tables import read_table

LITTLE_LOST = 0.75  # share of the slots from which on, where so many retired, little is lost
_SMALL = 0.25  # of the largest upper bound: what is below is not named as what may limit a program
_LIKELY = 0.8  # share of draws in which a category must be the largest
_DRAWS = 4000
_FEWEST_KNOWN = 3
_SPREAD = 0.5  # standard deviation, relative, from which on a cost is not usual
_LEVEL_1 = ("retired", *LOSSES)


@dataclass(frozen=True)
class Verdict:
    """What limits a program.

    Attributes
    ----------
    how : str
        ``counted`` (every category of level 1 was), ``decided`` (by bounds), ``likely``, ``open``, or ``little lost``.
    limits : tuple of str
        Categories of level 1, the largest first: one, or those of which it may be any.
    usual : DataFrame
        Index: category of level 1. ``low``, ``median`` and ``high`` (10th, 50th and 90th percentile) of what is usual
        for such counts on programs whose account is known [share of slots]; ``largest``, how often it is the largest
        loss. Without a row where too few programs are known, or too little was counted.
    known : tuple of str
        These programs.
    decide : tuple
        Events whose recording would decide it, as the costs name them; empty where it is decided.
    """

    how: str
    limits: tuple
    usual: pd.DataFrame
    known: tuple
    decide: tuple


def judge(found, totals, costs, *, known=None, seed=0):
    """Tell what limits a program.

    It is decided if one category's lower bound is above the others' upper bounds. If not, it is likely the category
    that is the largest in at least four of five draws of what such counts usually cost: on programs of the same
    processor whose account is known, a cost's mean and spread are taken, and drawn from Student's t.

    Parameters
    ----------
    found : Bounds
        From :func:`cmlib.topdown.bounds`.
    totals : DataFrame
        What it was made of.
    costs : Costs
    known : DataFrame, optional
        Events per cycle, a row an event, a column a program; those of the package if not given.
    seed : int, default 0

    Returns
    -------
    Verdict
    """
    known = known_programs(costs.name) if known is None else known
    usual = (
        pd.DataFrame() if found.exact else _usual(found, totals, costs, known, np.random.default_rng(seed))
    )
    names = tuple(known.columns) if len(usual) else ()
    level = found.shares.loc[list(LOSSES)].sort_values(["low", "high"], ascending=False)
    if found.shares.at["retired", "low"] >= LITTLE_LOST:
        return Verdict("little lost", (), usual, names, ())
    first = level.index[0]
    if level["low"].iloc[0] > level["high"].iloc[1:].max():
        return Verdict("counted" if found.exact else "decided", (first,), usual, names, ())
    # Whatever can be the largest loss, and is not a small one at the most.
    least = max(level["low"].max(), _SMALL * level["high"].max())
    possible = tuple(name for name in level.index if level.at[name, "high"] > least)
    if found.exact:
        return Verdict("counted", possible, usual, names, ())
    decide = _deciding(possible, totals, costs)
    if usual.empty:
        return Verdict("open", possible, usual, names, decide)
    often = usual.loc[list(LOSSES), "largest"].sort_values(ascending=False)
    if often.iloc[0] >= _LIKELY:
        return Verdict("likely", (often.index[0],), usual, names, decide)
    enough = (often.cumsum().shift(fill_value=0.0) < _LIKELY).sum()
    return Verdict("open", tuple(often.index[:enough]), usual, names, decide)


def _usual(found, totals, costs, known, rng):
    """Quantiles of the shares of level 1, drawn by what counts cost on known programs; the rest is one category's."""
    if known.shape[1] < _FEWEST_KNOWN or not costs.table:
        return pd.DataFrame()
    truth = account(known.T, read_table(costs.table)).level()[list(_LEVEL_1)].T
    shares = found.shares
    drawn = {}
    for name in _LEVEL_1:
        low, high = shares.loc[name, ["low", "high"]]
        cost = _steadiest(name, truth.loc[name], totals, costs, known)
        if high - low < 0.02:
            drawn[name] = rng.uniform(low, high, _DRAWS)
        elif cost is not None:
            mean, std, rate = cost
            t = rng.standard_t(known.shape[1] - 1, _DRAWS) * np.sqrt(1 + 1 / known.shape[1])
            drawn[name] = np.clip(rate * (mean + std * t), low, high)
    rest = [name for name in _LEVEL_1 if name not in drawn]
    if len(rest) > 1:
        return pd.DataFrame()
    if rest:
        drawn[rest[0]] = np.clip(1 - sum(drawn.values()), *shares.loc[rest[0], ["low", "high"]])
    draws = pd.DataFrame(drawn)[list(_LEVEL_1)]
    largest = draws[list(LOSSES)].idxmax(axis=1).value_counts(normalize=True)
    quantiles = draws.quantile([0.1, 0.5, 0.9]).T.set_axis(["low", "median", "high"], axis=1)
    return quantiles.assign(largest=largest.reindex(quantiles.index).fillna(0.0))


def _steadiest(name, truth, totals, costs, known):
    """Of the events that go with a category, the one whose cost differs least between known programs."""
    best = None
    for event, rate in totals["rate"].items():
        informative = costs.kind(event) in common()["usual"][name]
        if informative and event in known.index and known.loc[event].gt(0).all():
            ratios = truth / known.loc[event]
            spread = ratios.std() / ratios.mean()
            if spread < (_SPREAD if best is None else best[0]):
                best = spread, ratios.mean(), ratios.std(), rate
    return best and best[1:]


def _deciding(possible, totals, costs):
    """Events that count two of the possible categories, and were not recorded."""
    wanted = [event for name in possible[:2] for event in costs.decide.get(name, ())]
    lacking = [
        event for event in wanted if (event if isinstance(event, str) else event["name"]) not in totals.index
    ]
    return tuple([*costs.decide.get("with", ()), *lacking]) if lacking else ()
