"""Two programs on one machine at once: how far the ranking of events moves (CounterMiner, §V-E, Fig. 16)."""

import numpy as np
import pandas as pd

from cmlib import store
from cmlib.errors import NothingRecordedError
from cmlib.rank import stability
from cmlib.study.matrices import Matrix
from cmlib.study.requested import chosen, listed

CASES = {
    "datacaching-datacaching": ("datacaching",),
    "datacaching-graphanalytics": ("datacaching", "graphanalytics"),
}


def colocated(url, wanted="all", *, program="all", sets=("ocoe", "sweep")):
    """Pairs that were recorded together and whose programs were recorded alone as well.

    Parameters
    ----------
    url : str
    wanted : str, default "all"
        Pairs separated by commas, or ``all``: those recorded.
    program : str, default "all"
        Programs separated by commas: only pairs that are one of them, or that one of them is in.
    sets : sequence of str
        Sets of runs that each must have.

    Returns
    -------
    dict of str to tuple of str
        Pair to its programs.

    Raises
    ------
    NothingRecordedError
        If one that was named, or every one, lacks recordings; with the commands that make them. If no pair is
        of a program that was named.
    ValueError
        If there is no such pair.
    """
    sets_of = store.runs(url).groupby("program")["set"].agg(set).to_dict()
    members = {pair: {pair, *alone} for pair, alone in CASES.items()}
    everyone = sorted(set().union(*members.values()))
    own = set(
        chosen(
            program, everyone, about="the programs of the pairs", todo="Pairs are of the paper's programs."
        )
    )
    pairs = [pair for pair in (CASES if wanted == "all" else listed(wanted)) if own & members.get(pair, own)]
    unknown = [name for name in pairs if name not in CASES]
    if unknown:
        raise ValueError(f"there is no pair {unknown[0]!r}; there are {', '.join(CASES)}.")
    lacking = {
        pair: [name for name in (*CASES[pair], pair) if not set(sets) <= sets_of.get(name, set())]
        for pair in pairs
    }
    there = {pair: CASES[pair] for pair in pairs if not lacking[pair]}
    if not there or (wanted != "all" and len(there) < len(pairs)):
        names = dict.fromkeys(name for pair in pairs for name in lacking[pair])
        commands = ", ".join(f"`cmlib record --program {name}`" for name in names)
        raise NothingRecordedError(f"nothing recorded yet of programs on one machine: run {commands}")
    return there


def halves(data):
    """The even and the odd stretches of a program's rows, each as good a sample of it as the other.

    Parameters
    ----------
    data : Matrix

    Returns
    -------
    tuple of two Matrix
    """
    stretch = (data.X.index.get_level_values("progress").to_numpy() * 20).astype(int)
    return tuple(Matrix(data.X[stretch % 2 == k], data.ipc[stretch % 2 == k], None) for k in (0, 1))


def movement(matrices, cases, *, seeds=range(20), n_top=20):
    """How far the ranking of a pair is from that of each of its programs alone.

    Parameters
    ----------
    matrices : dict of str to Matrix
        Of every pair and of every program alone.
    cases : dict of str to tuple of str
        Result of :func:`colocated`.
    seeds : iterable of int
        Models behind each ranking, of resampled stretches.
    n_top : int, default 20
        Events that are compared: the first of either ranking.

    Returns
    -------
    DataFrame
        A row a pair and program: ``pair``, ``alone``; ``importance_shared`` (0–1: the sum over all events
        of the smaller of both importances), ``kendall``, ``spearman`` and ``top10_shared`` with
        the ends of their 90 % intervals (``… low``, ``… high``); and ``itself: …``, what the
        even stretches of the program alone score against its odd ones.

    Notes
    -----
    Rank correlation weighs the twentieth event as the first: where one event carries nearly all
    importance and another takes its place, it hardly falls, for the rest are in no order to
    begin with. Shared importance falls to nothing.
    """
    seeds = list(seeds)
    rows = []
    for pair, programs in cases.items():
        for alone in programs:
            common = [event for event in matrices[pair].X if event in matrices[alone].X]
            together, apart = (_draws(matrices[name], common, seeds) for name in (pair, alone))
            even, odd = (_draws(half, common, seeds) for half in halves(matrices[alone]))
            agreement = _agreement(together, apart, n_top)
            itself = _agreement(even, odd, n_top)["value"]
            row = {"pair": pair, "alone": alone, "events": len(common)}
            for name, values in agreement.iterrows():
                row |= {name: values["value"], f"{name} low": values["low"], f"{name} high": values["high"]}
            rows.append(row | itself.add_prefix("itself: ").to_dict())
    return pd.DataFrame(rows)


def leading_units(draws, table, *, top=10):
    """How many of each ranking's first events belong to each part of the processor.

    Parameters
    ----------
    draws : dict of str to DataFrame
        Program or pair to importances of resampled models.
    table : DataFrame
        Event table, with the column ``unit``.
    top : int, default 10

    Returns
    -------
    DataFrame of int
        Index: program; a column a unit.
    """
    leading = {name: each.mean().nlargest(top).index for name, each in draws.items()}
    units = {
        name: table["unit"].reindex(first).fillna("other").value_counts() for name, first in leading.items()
    }
    return pd.DataFrame(units).T.fillna(0).astype(int).rename_axis("program")


def say_movement(moved):
    """What :func:`movement` found, in sentences for people who know no event by name.

    Returns
    -------
    str
        Markdown. A ranking moved if the interval of the importance it shares lies below what the
        lone program shares with itself.
    """
    sentences = []
    for row in moved.to_dict("records"):
        further = row["importance_shared high"] < row["itself: importance_shared"]
        judged = "moved further than two halves of one program do" if further else "was not seen to move"
        share, low, high, itself = (
            f"{100 * row[name]:.0f}"
            for name in (
                "importance_shared",
                "importance_shared low",
                "importance_shared high",
                "itself: importance_shared",
            )
        )
        sentences.append(
            f"{row['pair']} against {row['alone']} alone: {share} % of the importance lies on the same events "
            f"({low} to {high}; two halves of {row['alone']} itself: {itself}), rank correlation "
            f"{row['spearman']:.2f} ({row['spearman low']:.2f} to {row['spearman high']:.2f}): the ranking {judged}."
        )
    return " ".join(sentences)


def _agreement(one, other, n_top):
    rng = np.random.default_rng(0)
    drawn = [
        _shared(*(draws.iloc[rng.integers(len(draws), size=len(draws))] for draws in (one, other)))
        for _ in range(200)
    ]
    low, high = np.quantile(drawn, [0.05, 0.95])
    shared = pd.DataFrame({"value": _shared(one, other), "low": low, "high": high}, ["importance_shared"])
    return pd.concat([shared, stability.rank_agreement(one, other, n_top=n_top)])


def _shared(one, other):
    return np.minimum(one.mean(), other.mean()).sum() / 100


def _draws(data, common, seeds):
    return stability.draw_importances(data.X[common], data.ipc, seeds=seeds)
