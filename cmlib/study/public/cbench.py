"""Thirty programs on an Arm core, counted six events at a time: two runs merged, twice, at three clock rates."""

import functools
import io

import numpy as np
import pandas as pd
from scipy.stats import kendalltau, spearmanr

from cmlib import fuse, perf, public, rank
from cmlib.rank.boosting import predict_held_out
from cmlib.study.public.reading import counts_of
from cmlib.study.public.rows import QUICK

CLOCKS = (1000, 1500, 2000)
RUNS = (1, 2)
_LISTS = (1, 2)
_STEPS = 10
_FOLDS = 5
_FILE = "intervals/a15-cbench/cBench-big-list{list}-Run-{run}-{mhz}000-{what}.data"
_NEVER = ["SW_INCR", "CID_WRITE_RETIRED"]  # happened in no interval, and in hardly any


def merged(mhz, run):
    """Events of two runs, which counted different ones, side by side.

    Both runs count cycles, and only one counts instructions. A program does the same work in both, so an equal share
    of its cycles is taken to be the same place in it: each program is cut into ten steps.

    Parameters
    ----------
    mhz : {1000, 1500, 2000}
        Clock rate.
    run : {1, 2}
        The second was not marked; its programs are where the first run's were, as shares of its duration.

    Returns
    -------
    X : DataFrame, shape (300, n_events)
        Events per instruction. Index: ``program``, ``progress``.
    ipc : Series, shape (300,)
    """
    parts = [_programs(number, mhz, run) for number in _LISTS]
    rows = {}
    for program in parts[0]:
        # Progress is by cycles: the name that fuse goes by is lent to them.
        pair = [part[program].rename(columns={"instructions": "retired"}) for part in parts]
        pair = [counts.assign(instructions=counts["cycles"]) for counts in pair]
        rows[program] = fuse.align_runs(pair, _STEPS)[0]
    X = pd.concat(rows, names=["program"])
    ipc = X.pop("retired").rename("ipc")
    return X.div(ipc, axis=0), ipc


def exact_counts(mhz=1000):
    """Counts of each list over the whole first run, all of which were on counters all the time.

    Parameters
    ----------
    mhz : {1000, 1500, 2000}, default 1000
        Clock rate.

    Returns
    -------
    list of DataFrame
        A row an interval of 0.5 s, a column an event; without events that hardly happen.
    """
    return [_counts(number, mhz, RUNS[0]).drop(columns=_NEVER, errors="ignore") for number in _LISTS]


def first_list(X):
    """The events of the first run among those of both."""
    counts = _counts(1, CLOCKS[0], 1)
    return [event for event in X if event in counts]


def error_on_programs(X, ipc, *, seed=0):
    """Error on programs that a model never saw, and of the mean of the others [%]; five folds of six programs."""
    fold = _program_numbers(X) % _FOLDS
    predicted = np.exp(predict_held_out(X, np.log(ipc), fold, boosting=QUICK, seed=seed))
    mean = [ipc[fold != held].mean() for held in fold]
    return rank.relative_error(ipc, predicted), rank.relative_error(ipc, mean)


def ranking(X, ipc, *, seeds=range(4)):
    """Importance of each event for IPC over all programs, by models of resampled programs.

    Returns
    -------
    DataFrame
        As of :func:`cmlib.rank.importance_spread`.
    """
    n_programs = X.index.get_level_values("program").nunique()
    draws = rank.draw_importances(X, np.log(ipc), seeds=seeds, n_blocks=n_programs, boosting=QUICK)
    return rank.importance_spread(draws)


def errors(matrices):
    """Error on programs that a model never saw: of the first runs' events, of the second's, of both, and of the mean.

    Parameters
    ----------
    matrices : dict of (int, int) to tuple
        By clock rate and run, as of :func:`merged`.

    Returns
    -------
    DataFrame
        Index: ``clock`` [MHz]. Columns: ``list 1``, ``list 2``, ``both``, ``mean of IPC`` [%].
    """
    rows = {}
    for (mhz, run), (X, ipc) in matrices.items():
        if run == RUNS[0]:
            first = first_list(X)
            chosen = {"list 1": X[first], "list 2": X.drop(columns=first), "both": X}
            judged = {name: error_on_programs(part, ipc) for name, part in chosen.items()}
            rows[mhz] = {name: error for name, (error, _) in judged.items()}
            rows[mhz]["mean of IPC"] = judged["both"][1]
    return pd.DataFrame(rows).T.rename_axis("clock")


def agreements(matrices, spreads):
    """Rank correlation of importances, and how many of the first three are the same, for each two matrices.

    Parameters
    ----------
    matrices, spreads : dict of (int, int)
        By clock rate and run.

    Returns
    -------
    DataFrame
        A row a pair: ``what`` (another run, or another clock rate), ``clocks`` [MHz], ``kendall``, ``shared``, and
        ``IPC``, the median change of a program's IPC [%].
    """
    rows = []
    for one in matrices:
        for other in matrices:
            again = one[0] == other[0] and one[1] < other[1]
            if not again and not (one[0] < other[0] and one[1] == other[1]):
                continue
            first, second = (spreads[key]["mean"] for key in (one, other))
            shared = set(first.index[:3]) & set(second.index[:3])
            change = _of_programs(matrices[other])["ipc"] / _of_programs(matrices[one])["ipc"] - 1
            rows.append(
                {
                    "what": "another run" if again else "another clock rate",
                    "clocks": f"{one[0]}" if again else f"{one[0]} and {other[0]}, run {one[1]}",
                    "kendall": kendalltau(first, second[first.index]).statistic,
                    "shared": len(shared),
                    "IPC": 100 * change.abs().median(),
                }
            )
    return pd.DataFrame(rows).sort_values("what", kind="stable").reset_index(drop=True)


def changes(matrices, *, slow=1000, fast=2000):
    """How far rates per instruction and IPC of a program change from run to run, and with the clock rate.

    Parameters
    ----------
    matrices : dict of (int, int) to tuple
        By clock rate and run, as of :func:`merged`.
    slow, fast : int

    Returns
    -------
    DataFrame
        Index: event, or ``ipc``. Columns: ``run to run`` and ``clock rate``, median change over the programs without
        its sign [%]; ``signed``, that with the clock rate with its sign.
    """
    tables = {key: _of_programs(matrices[key]) for key in matrices}
    again = tables[slow, 2] / tables[slow, 1] - 1
    clock = tables[fast, 1] / tables[slow, 1] - 1
    told = {"run to run": again.abs(), "clock rate": clock.abs(), "signed": clock}
    return pd.DataFrame({name: 100 * change.median() for name, change in told.items()}).rename_axis("event")


def intervention(matrices, *, event="L1D_CACHE_REFILL", slow=1000, fast=2000):
    """Whether programs that miss more lose more IPC when the clock is faster and memory is not.

    Parameters
    ----------
    matrices : dict of (int, int) to tuple
    event : str, default "L1D_CACHE_REFILL"
    slow, fast : int

    Returns
    -------
    programs : DataFrame
        Index: program. Columns: ``misses`` per 1,000 instructions, ``change`` of IPC [%].
    spearman, p : float
        Rank correlation of the two.
    """
    before, after = (_of_programs(matrices[mhz, 1]) for mhz in (slow, fast))
    table = pd.DataFrame({"misses": 1000 * before[event], "change": 100 * (after["ipc"] / before["ipc"] - 1)})
    return table, *spearmanr(table["misses"], table["change"])


def _of_programs(matrix):
    X, ipc = matrix
    return X.assign(ipc=ipc).groupby(level="program").mean()


def _program_numbers(X):
    return X.index.get_level_values("program").factorize()[0]


def _programs(number, mhz, run):
    """Counts of each program in one run, of the intervals that lie wholly in it."""
    counts = _counts(number, mhz, run)
    marks = _marks(number, mhz)
    if run > 1:
        marks *= counts.index[-1] / _counts(number, mhz, 1).index[-1]
    ends = counts.index.to_numpy()
    starts = np.concatenate([[0.0], ends[:-1]])
    return {
        mark.Index: counts[(starts >= mark.start) & (ends <= mark.end)].drop(columns=_NEVER, errors="ignore")
        for mark in marks.itertuples()
    }


@functools.cache
def _counts(number, mhz, run):
    (counts, _), *_ = counts_of(_name(number, mhz, run))
    return counts


def _marks(number, mhz):
    """Start and end of each program in the first run [s]."""
    text = public.read(_name(number, mhz, 1)).decode("latin-1")
    marks = pd.read_csv(
        io.BytesIO(public.read(_name(number, mhz, 1, "benchmarks"))),
        sep="\t",
        comment="#",
        names=["program", "start", "end"],
        index_col="program",
    )
    return (marks - perf.begin_ns(text)) / 1e9


def _name(number, mhz, run, what="events-raw"):
    return _FILE.format(list=number, run=run, mhz=mhz, what=what)
