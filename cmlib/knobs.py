"""Does an event cause what it goes along with? Runs whose parameters were drawn at random are an experiment.

A parameter that was drawn by itself can't be moved by anything else. Where it moves one of the important events
and no other, what the performance does then is due to that event, or to what nobody counted.
"""

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from cmlib.boosting import regressor
from cmlib.dependence import partial_dependence
from cmlib.tuning import FEW_ROWS

CAUSES, ALONG, NOT_SHOWN = "causes", "goes along with", "not shown"


def moves(runs, events, *, level=0.05):
    """Which parameter moves which event.

    Parameters
    ----------
    runs : cmlib.tuning.Runs
        With parameters drawn at random.
    events : sequence of str
        Columns of its rates.
    level : float, default 0.05
        Chance that any pair is called a move where none is (Holm's correction).

    Returns
    -------
    DataFrame
        A row a parameter and event: ``parameter``, ``event``, ``correlation`` (Spearman, -1 to 1), ``p`` [0-1],
        ``moved`` (bool).
    """
    rows = [
        (parameter, event, *spearmanr(runs.parameters[parameter], runs.rates[event]))
        for parameter in runs.parameters
        for event in events
        if runs.parameters[parameter].nunique() > 1 and runs.rates[event].nunique() > 1
    ]
    found = pd.DataFrame(rows, columns=["parameter", "event", "correlation", "p"])
    ordered = found["p"].sort_values()
    held = ordered * np.arange(len(ordered), 0, -1) <= level
    return found.assign(moved=held.cummin().reindex(found.index))


def judge_events(runs, events, *, level=0.05, draws=1000, seed=0):
    """Say of each event whether it causes the performance, goes along with it, or neither is shown.

    The parameter is taken that moves the event, and none of the others, most. Runs with the highest third of its
    values are compared with those with the lowest: how far the performance of a run moves, and how far it should if the
    model of the performance by the events told what causes it (partial dependence, Friedman 2001).

    Parameters
    ----------
    runs : cmlib.tuning.Runs
    events : sequence of str
        The important ones.
    level, draws, seed
        Chance of a wrong move (:func:`moves`), draws behind the interval, and their seed.

    Returns
    -------
    DataFrame
        Index: event. ``moved_by``, all parameters that move it; ``verdict``: causes (the performance moves as
        the model says, its 95 % interval without 0), goes along with (the interval holds 0 and not what the
        model says), or not shown (no parameter moves the event alone, the interval is too wide, or the
        performance moves against the model); ``parameter``, the one that moves it alone; and of the
        performance [%] ``expected``, ``observed``, ``low`` and ``high``.

    Notes
    -----
    An event that is part of another one (system calls, and reads among them) is never moved alone.
    """
    found = moves(runs, events, level=level)
    moved = found[found["moved"]]
    alone = moved[~moved["parameter"].duplicated(keep=False)]
    strongest = alone.sort_values("correlation", key=abs, ascending=False).drop_duplicates("event")
    knobs = strongest.set_index("event")["parameter"]
    model = regressor(boosting=FEW_ROWS, seed=seed).fit(runs.examples, runs.performance)
    rows = {event: _judged(runs, model, event, knobs.get(event), draws, seed) for event in events}
    columns = ["verdict", "parameter", "expected", "observed", "low", "high"]
    judged = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("event")
    movers = moved.groupby("event")["parameter"].agg(", ".join).reindex(judged.index, fill_value="")
    judged.insert(0, "moved_by", movers)
    return judged


def _judged(runs, model, event, knob, draws, seed):
    if knob is None:
        return NOT_SHOWN, "", *[np.nan] * 4
    # Places among the different values: also of two values, however often each was drawn, one is low and one is high.
    places = runs.parameters[knob].rank(method="dense") - 1
    low, high = (
        places.index[third] for third in (places <= places.max() / 3, places >= 2 * places.max() / 3)
    )
    performance = runs.performance.groupby(level=0).mean()
    rng = np.random.default_rng(seed)
    sides = [performance[side].to_numpy() for side in (low, high)]
    observed = _change(*(side.mean() for side in sides))
    drawn = _change(*(rng.choice(side, (draws, len(side))).mean(axis=1) for side in sides))
    ends = np.quantile(drawn, [0.025, 0.975])
    at = pd.DataFrame({event: [runs.rates.loc[side, event].mean() for side in (low, high)]})
    expected = _change(*partial_dependence(model, runs.examples, at))
    return _verdict(expected, *ends), knob, expected, observed, *ends


def _verdict(expected, low, high):
    if low <= 0 <= high:
        return NOT_SHOWN if low <= expected <= high else ALONG
    return CAUSES if expected * low > 0 else NOT_SHOWN


def _change(before, after):
    return 100 * (after / before - 1)
