"""Test whether an event causes the performance that it correlates with, by runs with factors drawn at random.

What was drawn by itself, a parameter of the program or the rate of an event made beside it, can't be moved by
anything else. Where it moves one of the important events and no other, what the performance does then is due
to that event, or to what nobody counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from cmlib.interact.dependence import partial_dependence
from cmlib.rank.boosting import regressor
from cmlib.tuning.runs import FEW_ROWS, Runs

CAUSES, CORRELATES, NOT_SHOWN = "causes", "correlates only", "not shown"
_MEASURES = ("before", "after", "beyond", "expected", "observed", "low", "high", "p")
_NOTHING = 1e-3  # percent: a model that says less says nothing
# Of the runs at one lowest value, such as that of nothing emitted, so many are enough to be compared with.
_SHARED = 1 / 6


@dataclass(frozen=True)
class Experiment:
    """Runs with randomized factors.

    Attributes
    ----------
    runs : cmlib.tuning.Runs
        Its parameters are the factors.
    aims : mapping of str to sequence of str
        Factor to the event it is for, and then those that this one brings along by its nature: the whole it is
        a part of (system calls), or what the kernel does about it. A factor that is not named may move any one
        event.
    """

    runs: Runs
    aims: Mapping[str, tuple] = field(default_factory=dict)


def moves(runs, events, *, level=0.05):
    """Which parameter moves which event."""
    rows = [
        (parameter, event, *spearmanr(runs.parameters[parameter], runs.rates[event]))
        for parameter in runs.parameters
        for event in events
        if runs.parameters[parameter].nunique() > 1 and runs.rates[event].nunique() > 1
    ]
    tested = pd.DataFrame(rows, columns=["parameter", "event", "correlation", "p"])
    return tested.assign(moved=_held(tested["p"], level))


def find_causes(runs, events, experiments=(), *, level=0.05, draws=1000, seed=0):
    """Say of each event whether it causes the performance, only correlates with it, or neither is shown.

    In each experiment the factor is taken that moves the event, and none of the others, most. Runs with the
    highest third of its values are compared with those with the lowest third, or with the lowest value alone
    where many share it: how far the performance of a run moves, and how far it should if the model of the
    performance by the events told what causes it (partial dependence, Friedman 2001, at the rate of each
    run). Of several experiments on an event that one speaks in which the model says most; what was observed
    has no say in it.

    Parameters
    ----------
    runs : Runs
        That the model is learned from.
    events : sequence of str
        The important ones.
    experiments : sequence of Experiment, optional
        By default, `runs` are it.
    level : float, default 0.05
        Probability of a wrong move in an experiment (:func:`cmlib.tuning.causality.moves`), and of performance that
        is wrongly said to move.
    draws : int, default 1000
        Draws behind the interval and behind p.
    seed : int, default 0
        Of the draws and of the model.

    Returns
    -------
    DataFrame
        Index: event. ``moved_by``, all factors that move it; ``verdict``: causes (the performance moves as the
        model says and, by its interval, half as far or more), correlates only (the performance doesn't move,
        and its interval does not hold what the model says; or it moves less than half as far), or not shown
        (no factor moves the event alone, the interval is too wide, or the performance moves against the model);
        ``factor``, the one that moves it alone; ``with``, what that brings along; of the rate of the event its
        means ``before`` and ``after``, and ``beyond``, how many of these runs lie outside of what the model
        has seen [%]; and of the performance [%] ``expected``, ``observed``, its 95 % interval ``low`` to
        ``high``, and ``p``, how often the same runs exchanged at random differ as much: it moves where this
        holds for all events together (Holm).

    Notes
    -----
    An event that is part of another one (system calls, and reads among them) is moved alone only by a factor
    whose aim says so.
    """
    experiments = [*experiments] or [Experiment(runs)]
    model = regressor(boosting=FEW_ROWS, seed=seed).fit(runs.examples, runs.performance)
    per_experiment = [moves(each.runs, events, level=level) for each in experiments]
    movers = pd.concat(per_experiment).query("moved").groupby("event")["parameter"].agg(", ".join)
    rows = {event: {"verdict": NOT_SHOWN, "factor": "", "with": ""} for event in events}
    for experiment, moved in zip(experiments, per_experiment, strict=True):
        for event, factor, brought in _alone(moved[moved["moved"]], experiment.aims):
            measured = _measured(runs, model, experiment.runs, event, factor, draws, seed)
            if abs(measured["expected"]) >= abs(rows[event].get("expected", 0.0)):
                rows[event] |= {"factor": factor, "with": ", ".join(brought)} | measured
    columns = ["verdict", "factor", "with", *_MEASURES]
    judged = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("event")
    differs = _held(judged["p"].dropna(), level)
    for event, row in judged.loc[differs.index].iterrows():
        judged.loc[event, "verdict"] = _verdict(row["expected"], row["low"], row["high"], differs[event])
    judged.insert(0, "moved_by", movers.reindex(judged.index, fill_value=""))
    return judged


def _alone(moved, aims):
    """Each event with the factor that moves it alone, or with nothing but what it brings along, and these."""
    best = {}
    for factor, of_factor in moved.groupby("parameter", sort=False):
        strength = of_factor.set_index("event")["correlation"].abs()
        event, *allowed = aims.get(factor, strength.index[:1])
        if event in strength and strength.index.isin([event, *allowed]).all():
            brought = strength.index.drop(event)
            best[event] = max(best.get(event, (0.0,)), (strength[event], factor, list(brought)))
    return [(event, factor, brought) for event, (_, factor, brought) in best.items()]


def _measured(runs, model, tried, event, factor, draws, seed):
    low, high = _sides(tried.parameters[factor])
    performance = tried.performance.groupby(level=0).mean()
    rng = np.random.default_rng(seed)
    sides = [performance[side].to_numpy() for side in (low, high)]
    observed = _change(*(side.mean() for side in sides))
    drawn = _change(*(rng.choice(side, (draws, len(side))).mean(axis=1) for side in sides))
    ends = np.quantile(drawn, [0.025, 0.975])
    rates, seen = tried.rates[event], runs.examples[event]
    effect = partial_dependence(model, runs.examples, rates.to_frame())
    predicted = pd.Series(effect, rates.index).groupby(level=0).mean()
    return {
        "before": rates[low].mean(),
        "after": rates[high].mean(),
        "beyond": 100 * (1 - rates[low.union(high)].between(seen.min(), seen.max()).mean()),
        "expected": _change(predicted[low].mean(), predicted[high].mean()),
        "observed": observed,
        "low": ends[0],
        "high": ends[1],
        "p": _exchanged(*sides, draws, rng),
    }


def _sides(values):
    """Runs to compare. Places are among the different values: of two, however often drawn, one is low, one high."""
    places = values.rank(method="dense") - 1
    lowest = places.index[places == 0]
    low = lowest if len(lowest) >= _SHARED * len(places) else places.index[places <= places.max() / 3]
    return low, places.index[places >= 2 * places.max() / 3]


def _exchanged(low, high, draws, rng):
    """How often runs exchanged between the sides at random differ at least as much."""
    drawn = rng.permuted(np.tile(np.concatenate([low, high]), (draws, 1)), axis=1)
    apart = np.abs(drawn[:, len(low) :].mean(axis=1) - drawn[:, : len(low)].mean(axis=1))
    return (1 + np.sum(apart >= abs(high.mean() - low.mean()) * (1 - 1e-12))) / (1 + draws)


def _held(p, level):
    """Which of several differences are one, when any may be called so wrongly with this probability (Holm)."""
    ordered = p.sort_values()
    held = ordered * np.arange(len(ordered), 0, -1) <= level
    return held.cummin().reindex(p.index)


def _verdict(expected, low, high, differs):
    if expected < 0:
        expected, low, high = -expected, -high, -low
    if not differs:
        return CORRELATES if expected > high else NOT_SHOWN
    if low + high < 0 or expected < _NOTHING:
        return NOT_SHOWN
    return CAUSES if high >= expected / 2 else CORRELATES


def _change(before, after):
    return 100 * (after / before - 1)
