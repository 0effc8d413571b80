"""Notebook 08's questions: which parameters matter, asked directly and through events, and how many runs that takes."""

from functools import partial

import numpy as np
import pandas as pd

from cmlib import tuning
from cmlib.events import abbreviate
from cmlib.fanout import fan_out
from cmlib.workloads.spark import TABLE_IV

RANKINGS = {
    "parameters directly": tuning.rank_directly,
    "events first, by pairs (Eq. 12)": tuning.rank_by_pairs,
    "events first, by pairs (Friedman's H)": partial(tuning.rank_by_pairs, method="h_statistic"),
    "events first, by effect": tuning.rank_by_effect,
}
_FOUND = ["runs", "found", "program", "way"]


def sizes_of(runs, n=6):
    """Numbers of runs to ask: from ten, or fewer, up to those that a test on a quarter leaves.

    Parameters
    ----------
    runs : cmlib.tuning.Runs
    n : int, default 6

    Returns
    -------
    list of int
    """
    most = len(runs) - max(1, round(0.25 * len(runs)))
    return sorted({int(size) for size in np.geomspace(min(10, most), most, n).round()})


def curves(tuned, *, n_sizes=6, draws=20, seed=0, workers=None):
    """Error against the number of runs, by parameters, by events, and by both (GBRT study, Table 2).

    Parameters and both predict the time of a run; events the IPC of an interval, where it was counted.

    Parameters
    ----------
    tuned : dict of str to Tuned
    n_sizes : int, default 6
        Of :func:`sizes_of`.
    draws, seed
        As for :func:`cmlib.tuning.learning_curve`.
    workers : cmlib.fanout.Workers, optional

    Returns
    -------
    DataFrame
        As from :func:`cmlib.tuning.learning_curve`, with columns ``program`` and ``model``.
    """
    jobs = [
        (name, model, *columns, sizes_of(one.runs, n_sizes), draws, seed)
        for name, one in tuned.items()
        for model, columns in _models(one.runs).items()
    ]
    return pd.concat(list(fan_out(_curve, jobs, workers)), ignore_index=True)


def runs_needed(tuned, truth, *, n_sizes=6, draws=20, seed=0, workers=None):
    """How often each way of asking names the parameter that matters most, against the number of runs.

    Parameters
    ----------
    tuned : dict of str to Tuned
    truth : mapping of str to str
        Program to the parameter that should be found (:func:`changes_most`); others are left out.
    n_sizes : int, default 6
        Of :func:`sizes_of`.
    draws, seed
        As for :func:`cmlib.tuning.found_first`.
    workers : cmlib.fanout.Workers, optional

    Returns
    -------
    DataFrame
        As from :func:`cmlib.tuning.found_first`, with columns ``program`` and ``way`` (of :data:`RANKINGS`).
    """
    jobs = [
        (name, way, tuned[name].runs, parameter, size, draws, seed)
        for name, parameter in truth.items()
        for way in RANKINGS
        for size in sizes_of(tuned[name].runs, n_sizes)
    ]
    parts = list(fan_out(_found, jobs, workers))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=_FOUND)


def enough(needed, *, share=90.0):
    """Fewest runs from which on a way of asking names the parameter in at least a share of the draws.

    Parameters
    ----------
    needed : DataFrame
        Of :func:`runs_needed`.
    share : float, default 90
        Percent.

    Returns
    -------
    DataFrame
        Index: program; a column a way; NaN where the runs that were recorded are not enough.
    """
    reached = needed.sort_values("runs", ascending=False).assign(missed=lambda of: of["found"] < share)
    late = reached[reached.groupby(["program", "way"])["missed"].cumsum() == 0]
    return late.groupby(["program", "way"])["runs"].min().unstack().reindex(columns=list(RANKINGS))


def variations(levels):
    """How much each tuned parameter changes the time (CounterMiner, Fig. 14).

    Parameters
    ----------
    levels : DataFrame
        Of :func:`cmlib.study.tuning.tuned_runs.levels`.

    Returns
    -------
    DataFrame
        Columns ``program``, ``parameter`` and those of :func:`cmlib.tuning.variation`.
    """
    rows = []
    for (program, parameter), own in levels.groupby(["program", "parameter"], sort=False):
        times = own.groupby("level")["seconds"].apply(list)
        rows.append({"program": program, "parameter": parameter, **tuning.variation(dict(times))})
    return pd.DataFrame(rows, columns=["program", "parameter", "variation", "low", "high", "p"])


def changes_most(varied, *, level=0.05):
    """The parameter that really changes the time most: the truth that rankings are held to.

    It comes from runs with one parameter turned at a time, which no ranking has seen; so only parameters
    that were turned can be it.

    Parameters
    ----------
    varied : DataFrame
        Of :func:`variations`.
    level : float, default 0.05
        Probability that a program's parameter is taken for one that changes the time where none does
        (Bonferroni's correction for those that were turned).

    Returns
    -------
    dict of str to str
        Program to parameter; without programs of which no parameter is known to change the time.
    """
    tried = varied.groupby("program")["p"].transform("size")
    moved = varied[varied["p"] * tried <= level].sort_values("variation", kind="stable")
    most = dict(zip(moved["program"], moved["parameter"], strict=True))
    return {program: most[program] for program in varied["program"].unique() if program in most}


def beside(one, other):
    """Two rankings of the same pairs side by side.

    Parameters
    ----------
    one, other : DataFrame
        Of :func:`cmlib.tuning.couple`, by Eq. 12 and by Friedman's H.

    Returns
    -------
    DataFrame
        Columns ``event``, ``parameter``, ``Eq. 12 [%]``, ``H [%]``, ``place by H``; in the order of the
        first.
    """
    places = other.assign(place=range(1, len(other) + 1)).set_index("pair")[["importance", "place"]]
    both = one.join(places, on="pair", rsuffix=" by H")
    names = {
        "event_a": "event",
        "event_b": "parameter",
        "importance": "Eq. 12 [%]",
        "importance by H": "H [%]",
        "place": "place by H",
    }
    return both.rename(columns=names)[list(names.values())]


def short(events, table):
    """An event's abbreviation, or a tracepoint without its family, for figures."""
    return [name.rpartition(":")[2].removeprefix("sys_enter_") for name in abbreviate(events, table)]


def say_tuning(program, ranked, varied, needed):
    """What was found of one program, in plain words.

    Parameters
    ----------
    program : str
    ranked : DataFrame
        Importances of the parameters (:func:`cmlib.rank.stability.importance_spread`).
    varied : DataFrame
        Of :func:`variations`.
    needed : DataFrame
        Runs by program and way of asking, of :func:`enough`.

    Returns
    -------
    str
    """
    leading, own = ranked.iloc[0], varied[varied["program"] == program]
    sentences = [
        f"In a model of the time by the parameters {TABLE_IV[leading['parameter']].name} matters most: "
        f"{leading['mean']:.0f} % of the importance ({leading['low']:.0f} to {leading['high']:.0f})."
    ]
    changes = ", ".join(
        f"{TABLE_IV[row['parameter']].name} by {row['variation']:.0f} % ({row['low']:.0f} to {row['high']:.0f}, "
        f"{_p_value(row['p'])})"
        for row in own.to_dict("records")
    )
    if changes:
        sentences.append(f"Turned alone, from end to end of their ranges, the time changes with {changes}.")
    truth = changes_most(own).get(program)
    if truth is None:
        return " ".join([*sentences, "No parameter is known to change the time that was turned alone."])
    runs = "; ".join(
        f"{way} {'more than were made' if pd.isna(count) else f'{count:.0f}'}"
        for way, count in needed.loc[program].items()
    )
    return " ".join(
        [*sentences, f"Runs it takes to name {TABLE_IV[truth].name} first nearly always: {runs}."]
    )


def _p_value(p):
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _models(runs):
    return {
        "parameters": (runs.parameters, runs.seconds),
        "events": (runs.examples, runs.performance),
        "events and parameters": (runs.mixed, runs.seconds),
    }


def _curve(job):
    program, model, X, y, sizes, draws, seed = job
    curve = tuning.learning_curve(X, y, sizes, draws=draws, seed=seed)
    return curve.assign(program=program, model=model)


def _found(job):
    program, way, runs, first, size, draws, seed = job
    shares = tuning.found_first(runs, RANKINGS[way], first, [size], draws=draws, seed=seed)
    return shares.assign(program=program, way=way)
