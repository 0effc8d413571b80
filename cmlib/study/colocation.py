"""Two programs on one machine at once: how far the ranking of events moves (CounterMiner, §V-E, Fig. 16)."""

import pandas as pd

from cmlib import stability, store
from cmlib.errors import NothingRecordedError
from cmlib.study.data import Matrix

CASES = {
    "datacaching-datacaching": ("datacaching",),
    "datacaching-graphanalytics": ("datacaching", "graphanalytics"),
}


def colocated(url, wanted="all", *, sets=("ocoe", "sweep")):
    """Pairs that were recorded together and whose programs were recorded alone as well.

    Parameters
    ----------
    url : str
    wanted : str, default "all"
        Pairs separated by commas, or ``all``: those recorded.
    sets : sequence of str
        Sets of runs that each must have.

    Returns
    -------
    dict of str to tuple of str
        Pair to its programs.

    Raises
    ------
    NothingRecordedError
        If one that was named, or every one, lacks recordings; with the commands that make them.
    ValueError
        If there is no such pair.
    """
    sets_of = store.runs(url).groupby("program")["set"].agg(set).to_dict()
    chosen = list(CASES) if wanted == "all" else [name.strip() for name in wanted.split(",")]
    unknown = [name for name in chosen if name not in CASES]
    if unknown:
        raise ValueError(f"there is no pair {unknown[0]!r}; there are {', '.join(CASES)}.")
    lacking = {
        pair: [name for name in (*CASES[pair], pair) if not set(sets) <= sets_of.get(name, set())]
        for pair in chosen
    }
    there = {pair: CASES[pair] for pair in chosen if not lacking[pair]}
    if not there or (wanted != "all" and len(there) < len(chosen)):
        names = dict.fromkeys(name for pair in chosen for name in lacking[pair])
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
        A row a pair and program: ``pair``, ``alone``; ``kendall``, ``spearman`` and ``top10_shared`` with
        the ends of their 90 % intervals (``… low``, ``… high``); and ``itself: …``, what the
        even stretches of the program alone score against its odd ones. A ranking that moved no
        further than that has not been seen to move.
    """
    seeds = list(seeds)
    rows = []
    for pair, programs in cases.items():
        for alone in programs:
            common = [event for event in matrices[pair].X if event in matrices[alone].X]
            together, apart = (_draws(matrices[name], common, seeds) for name in (pair, alone))
            even, odd = (_draws(half, common, seeds) for half in halves(matrices[alone]))
            found = stability.rank_agreement(together, apart, n_top=n_top)
            itself = stability.rank_agreement(even, odd, n_top=n_top)["value"]
            row = {"pair": pair, "alone": alone, "events": len(common)}
            for name, values in found.iterrows():
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
        Markdown. A ranking moved if the interval of its rank correlation lies below what the lone
        program scores against itself.
    """
    sentences = []
    for row in moved.to_dict("records"):
        further = row["spearman high"] < row["itself: spearman"]
        judged = (
            "further than chance explains" if further else "no further than its own halves from each other"
        )
        sentences.append(
            f"{row['pair']} against {row['alone']} alone: rank correlation {row['spearman']:.2f} "
            f"({row['spearman low']:.2f} to {row['spearman high']:.2f}), {100 * row['top10_shared']:.0f} % of the "
            f"first ten events in common; the ranking moved {judged} ({row['itself: spearman']:.2f})."
        )
    return " ".join(sentences)


def _draws(data, common, seeds):
    return stability.draw_importances(data.X[common], data.ipc, seeds=seeds)
