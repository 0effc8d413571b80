"""CloudSuite on four processors: what explains IPC, how well, and whether processors agree."""

from itertools import combinations, permutations

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, spearmanr

from cmlib import rank
from cmlib.interact import rank_pairs
from cmlib.rank.boosting import regressor
from cmlib.study.public.reading import counts_of, files_like
from cmlib.study.public.rows import QUICK, pooled
from cmlib.study.requested import chosen

_LINE = 64  # bytes of a cache line
_BRANCHES = ("branches", "branch-misses")


def recorded(program="all"):
    """CloudSuite's programs as far as they are here.

    Parameters
    ----------
    program : str, default "all"
        Names separated by commas, or ``all``.

    Returns
    -------
    dict of (str, str) to Recorded
        Program and processor, such as ``("data_caching", "Xeon-X5650")``.

    Raises
    ------
    NothingRecordedError
        If one that was named is none of CloudSuite's.
    """
    files = files_like("cloudsuite", r"(?P<processor>.+)\.(?P<program>\w+)\.csv")
    known = sorted(set(files["program"]))
    todo = "Notebook 09a is about recordings that others have published."
    files = files[files["program"].isin(chosen(program, known, about="CloudSuite's programs", todo=todo))]
    found = {}
    for row in files.sort_values(["program", "processor"]).itertuples():
        if runs := [counts for counts, _ in counts_of(row.file) if len(counts) > 1]:
            found[row.program, row.processor] = pooled(runs)
    return found


def label(key):
    """Program and processor in words: ``data caching, Xeon X5650``."""
    return f"{key[0].replace('_', ' ')}, {key[1].removeprefix('AMD-').replace('-', ' ', 1)}"


def ranked(data, *, seeds=range(4)):
    """Importance of each event, and how often the first five are the first five of a resampled model.

    Parameters
    ----------
    data : Recorded
    seeds : iterable of int
        One model of resampled stretches each.

    Returns
    -------
    spread : DataFrame
        As of :func:`cmlib.rank.importance_spread`.
    kept : float
        Share of the first five that is among the first five of a resampled model, mean of all [%].
    """
    draws = rank.draw_importances(data.X, data.y, seeds=seeds, boosting=QUICK)
    spread = rank.importance_spread(draws)
    first = set(spread.index[:5])
    kept = [len(first & set(draw.nlargest(5).index)) / len(first) for _, draw in draws.iterrows()]
    return spread, 100 * float(np.mean(kept))


def errors_by_size(data, *, sizes=(6,), seed=0):
    """Error on stretches that a model never saw, with all events and with the most important ones.

    In each of four folds events are ranked by the training rows alone, and those behind the first six dropped
    (event importance refinement, CounterMiner, §III-C).

    Parameters
    ----------
    data : Recorded
    sizes : sequence of int
        Numbers of events, falling.
    seed : int, default 0

    Returns
    -------
    DataFrame
        Columns: ``n_events``, falling; ``error``, and ``mean_baseline``, that of the mean of the training rows [%].
    """
    left, steps = sorted(data.X), [data.X.shape[1], *sizes]
    predicted = {size: np.empty(len(data.ipc)) for size in steps}
    mean, fold = np.empty(len(data.ipc)), data.fold
    for held in np.unique(fold):
        known, kept, model = fold != held, left, None
        mean[~known] = data.ipc[known].mean()
        for size in steps:
            if size < len(kept):
                kept = sorted(rank.influence(model, X=data.X.loc[known, kept]).index[:size])
            model = regressor(boosting=QUICK, seed=seed).fit(data.X.loc[known, kept], data.y[known])
            predicted[size][~known] = np.exp(model.predict(data.X.loc[~known, kept]))
    errors = [rank.relative_error(data.ipc, predicted[size]) for size in steps]
    baseline = rank.relative_error(data.ipc, mean)
    return pd.DataFrame({"n_events": steps, "error": errors, "mean_baseline": baseline})


def compare_rankings(importances):
    """How far each two rankings agree, on the events that both have.

    Parameters
    ----------
    importances : dict of (str, str) to Series
        Mean importance of each event [%], by program and processor.

    Returns
    -------
    DataFrame
        A row a pair: ``programs``, ``processors`` (of both); ``kendall``, rank correlation; ``shared``, how many of the
        first five are the first five of both; ``random``, what two random orders share in the mean.
    """
    rows = []
    for one, other in combinations(importances, 2):
        common = importances[one].index.intersection(importances[other].index)
        first, second = importances[one][common], importances[other][common]
        shared = len(set(first.nlargest(5).index) & set(second.nlargest(5).index))
        tau = kendalltau(first, second, method="asymptotic").statistic  # the fast one: p is not used
        rows.append((*zip(one, other, strict=True), tau, shared, 25 / len(common)))
    return pd.DataFrame(rows, columns=["programs", "processors", "kendall", "shared", "random"])


def agreement(pairs):
    """Mean agreement of rankings by what the two have in common.

    Parameters
    ----------
    pairs : DataFrame
        As of :func:`compare_rankings`.

    Returns
    -------
    DataFrame
        Index: ``program``, ``processor`` or ``neither``. Columns: ``pairs``, ``kendall``, ``shared``, ``random``.
    """
    kind = np.select(
        [_same(pairs["programs"]), _same(pairs["processors"])], ["program", "processor"], "neither"
    )
    grouped = pairs[["kendall", "shared", "random"]].groupby(pd.Series(kind, name="in common"))
    table = grouped.mean()
    table.insert(0, "pairs", grouped.size())
    return table.reindex([name for name in ("program", "processor", "neither") if name in table.index])


def program_effect(pairs, *, n=300, seed=0):
    """Whether rankings on different processors agree more where the program is the same.

    Parameters
    ----------
    pairs : DataFrame
        As of :func:`compare_rankings`.
    n : int, default 300
        Permutations of the programs' names within each processor.
    seed : int, default 0

    Returns
    -------
    gap : float
        Mean Kendall correlation within a program less that between programs, across processors; NaN for one program.
    p : float
        Share of permutations with a gap as large.
    """
    keys = list(zip(pairs["programs"], pairs["processors"], strict=True))
    keys = [list(zip(*key, strict=True)) for key in keys]
    runs = list(dict.fromkeys(run for key in keys for run in key))
    if len({program for program, _ in runs}) < 2:
        return np.nan, np.nan
    place = {run: number for number, run in enumerate(runs)}
    one, other = (np.array([place[key[end]] for key in keys]) for end in (0, 1))
    programs, processors = (np.array(part) for part in zip(*runs, strict=True))
    across, tau = processors[one] != processors[other], pairs["kendall"].to_numpy()

    def gap(names):
        same = names[one] == names[other]
        return tau[across & same].mean() - tau[across & ~same].mean()

    rng = np.random.default_rng(seed)
    drawn = [gap(_shuffled(programs, processors, rng)) for _ in range(n)]
    return gap(programs), float((1 + np.sum(np.array(drawn) >= gap(programs))) / (1 + n))


def transfer(programs, *, seed=0):
    """A model of one processor's rows on another processor's, by the events that both have.

    Parameters
    ----------
    programs : dict of (str, str) to Recorded
    seed : int, default 0

    Returns
    -------
    DataFrame
        A row a program and a pair of processors: ``program``, ``trained on``, ``tested on``; ``error`` of the model
        there, ``levelled``, the same times the factor that makes its mean right, and ``mean``, of the mean of the
        rows that it is tested on [%]; ``spearman``, rank correlation of predicted and counted IPC.
    """
    rows = []
    for one, other in permutations(programs, 2):
        if one[0] != other[0]:
            continue
        source, target = programs[one], programs[other]
        common = sorted(set(source.X) & set(target.X))
        model = regressor(boosting=QUICK, seed=seed).fit(source.X[common], source.y)
        said, ipc = np.exp(model.predict(target.X[common])), target.ipc
        rows.append(
            {
                "program": one[0],
                "trained on": one[1],
                "tested on": other[1],
                "error": rank.relative_error(ipc, said),
                "levelled": rank.relative_error(ipc, said * ipc.mean() / said.mean()),
                "mean": rank.relative_error(ipc, ipc.mean()),
                "spearman": spearmanr(ipc, said).statistic,
            }
        )
    return pd.DataFrame(rows)


def leading_pair(data, spread, *, n=6, seed=0):
    """The pair of events that interacts most in a model of the most important events.

    Parameters
    ----------
    data : Recorded
    spread : DataFrame
        As of :func:`ranked`.
    n : int, default 6
        Events that are paired.
    seed : int, default 0

    Returns
    -------
    dict
        ``pair``; ``importance`` of it among the pairs [%]; ``with branches``, the share of importance of pairs that
        hold an event of branches [%]; and ``as many pairs``, their share of all pairs [%].
    """
    first = list(spread.index[:n])
    model = regressor(boosting=QUICK, seed=seed).fit(data.X[sorted(first)], data.y)
    pairs = rank_pairs(data.X, data.y, first, fitted=model)
    branch = pairs["event_a"].isin(_BRANCHES) | pairs["event_b"].isin(_BRANCHES)
    return {
        "pair": pairs["pair"].iloc[0],
        "importance": pairs["importance"].iloc[0],
        "with branches": pairs["importance"][branch].sum(),
        "as many pairs": 100 * branch.mean(),
    }


def per_instruction(programs):
    """Misses of each program, and the traffic of its last-level misses.

    Returns
    -------
    DataFrame
        Index: program and processor. Columns: ``IPC``; ``instruction cache``, ``data cache``, ``last level`` and
        ``branches``: misses per 1,000 instructions; ``traffic``: last-level misses times 64 bytes [GB/s].
    """
    rows = {}
    for key, data in programs.items():
        total = data.counts.sum()
        per = 1000 * total / total["instructions"]
        misses = total.reindex(["LLC-load-misses", "LLC-store-misses"]).sum()
        rows[key] = {
            "IPC": total["instructions"] / total["cycles"],
            "instruction cache": per["L1-icache-load-misses"],
            "data cache": per["L1-dcache-load-misses"],
            "last level": 1000 * misses / total["instructions"],
            "branches": per["branch-misses"],
            "traffic": _LINE * misses / total["seconds"] / 1e9,
        }
    return pd.DataFrame(rows).T.rename_axis(["program", "processor"])


def _same(both):
    return both.map(lambda names: names[0] == names[1]).astype(bool)


def _shuffled(names, within, rng):
    shuffled = names.copy()
    for group in np.unique(within):
        own = np.flatnonzero(within == group)
        shuffled[own] = names[rng.permutation(own)]
    return shuffled
