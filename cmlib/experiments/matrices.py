"""Put a program's cleaned runs into a matrix of events and a target, a row per step of progress or an interval.

The target is the rate that a model explains by events, usually IPC (instructions per cycle). Progress is the share
of a run's instructions that are retired, and a step one of equal shares of it. One pass is the runs that together
count all events of a plan once. :func:`recorded_matrix` takes the store and a program and gives a :class:`Matrix`
of X (events) and `ipc` (target); :func:`refine` ranks its events. A NothingRecordedError if there is no run, an
UnfitRecordingError if there are too few rows or no event that could explain the target.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cmlib import merge, rank
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.cache import cached
from cmlib.experiments.data import FEWEST_INTERVALS, cleaned_runs, refuse_simulated
from cmlib.experiments.event_tables import event_table
from cmlib.experiments.targets import IPC, Target, choose_target
from cmlib.io import events, store
from cmlib.io.archive.runs import TIME
from cmlib.io.recording import INSTRUCTIONS
from cmlib.parallel import Workers
from cmlib.rank.boosting import regressor
from cmlib.rank.leaks import find_proportional, find_ticking
from cmlib.rank.refinement import error_of_mean, relative_error
from cmlib.rank.variation import LEAST_VARIATION, find_start_and_exit, relative_deviation

if TYPE_CHECKING:
    from cmlib.rank.refinement import Refinement

__all__ = ["choose_cycles", "find_aliases", "usable_events"]

_ALIGNED = ("ocoe", "sweep")  # sets whose runs count different events, and are aligned by progress
_MOST_ROWS = 1000  # of intervals; of more, neighbours are added up
_MOST_RUNS = 5000  # the same of totals of whole runs
# Rules by which an event is IPC under another name: it counts work done or work missing, and names no reason.
KIND_OF_INSTRUCTION = "instructions of a kind"
OPS_OF_ALL_KINDS = "micro-ops fetched or dispatched"
ALL_IDLE_CYCLES = "cycles without retirement, all reasons"
CYCLES_OF_A_KIND = "cycles of a kind"
CONSTANT_RATE = "constant rate per instruction"
# The rules that follow from an event's class (data/events/kinds.yaml), by what the counts are divided by.
_RULE_BY_CLASS = {
    "cycles": {"mix": KIND_OF_INSTRUCTION, "target": ALL_IDLE_CYCLES},
    "instructions": {"stall": CYCLES_OF_A_KIND, "target": ALL_IDLE_CYCLES},
}
_OPS = "dispatched and wrong-path ops"  # topic of events that count all ops per cycle


@dataclass(frozen=True)
class Matrix:
    """Rates of one program's events, and the target that they explain.

    `X` is a DataFrame, a row per step or interval, a column per event, counts divided by that of the target's divisor,
    or by time [1/s] without one; `ipc` is a Series of the same rows, which is IPC or another rate, as `target`
    says. `holdout` is such a pair (X, ipc) of a second pass over the same events, or of a second run, for tests;
    None if there is none. `ticking` is a Series from event to rate [1/s] of the events that were left out, as they
    happen at a constant rate in time (:func:`cmlib.rank.leaks.find_ticking`); empty if there are none. `aliases` is a
    DataFrame with the rows of X: rates of the events that were left out, as they are the target under another name
    (:func:`matrix` has the rule); `alias_rules` is a Series from each of these events to the rule (str) by which it was
    left out, such as :data:`KIND_OF_INSTRUCTION`. `ends` has the numbers of rows that were left out at the start and at
    the exit of the process (:func:`cmlib.rank.find_start_and_exit`).
    """

    X: pd.DataFrame
    ipc: pd.Series
    holdout: tuple | None
    target: Target = IPC
    ticking: pd.Series = field(default_factory=partial(pd.Series, dtype=float))
    aliases: pd.DataFrame = field(default_factory=pd.DataFrame)
    alias_rules: pd.Series = field(default_factory=partial(pd.Series, dtype=str))
    ends: tuple[int, int] = (0, 0)

    @property
    def all_events(self) -> pd.DataFrame:
        """Rates of all events, also of the aliases of the target, as the papers rank them: a DataFrame like X."""
        return self.X.join(self.aliases) if self.aliases.shape[1] else self.X

    def error(self, measured: ArrayLike, predicted: ArrayLike) -> float:
        """Error [%] of predictions: relative to the measured IPC (Eq. 14), or to the mean of another target."""
        if self.target == IPC:
            return relative_error(measured, predicted)
        return error_of_mean(measured, predicted, mean=self.ipc.mean())

    @property
    def varies(self) -> bool:
        """True if the target varies enough to be explained: by 2 % of its mean or more (standard deviation)."""
        return relative_deviation(self.ipc) >= LEAST_VARIATION

    @property
    def in_time(self) -> bool:
        """True if rows are intervals of time, False if they are steps of progress."""
        return "progress" not in self.X.index.names


def recorded_matrix(
    url: str, program: str, target: Target = IPC, *, method: str = "shrinkage", workers: Workers | None = None
) -> Matrix:
    """Matrix (`X`, events per cycle or other divisor of the target, and `ipc`) of a program's cleaned runs.

    The runs are those of :func:`recorded_runs`, joined by :func:`matrix`. `url` names the store, `program` the
    program, `target` is a Target (the rate that is explained); `method` is one of :data:`cmlib.clean.METHODS`,
    `workers` a Workers (by default one process). A NothingRecordedError if the program has no run that counts the
    target in 20 intervals; an UnfitRecordingError if too few rows are left or no event could explain the target.
    """
    runs = recorded_runs(url, program, target, method=method, workers=workers)
    return matrix(runs, target=target, table=event_table(url))


def recorded_runs(
    url: str, program: str, target: Target = IPC, *, method: str = "shrinkage", workers: Workers | None = None
) -> pd.DataFrame:
    """Cleaned runs of a program in the store at `url` that count the target: a DataFrame, a row per run.

    Columns as of :func:`cmlib.experiments.data.cleaned_runs`: set, pass, counts (a DataFrame, a row per interval, a
    column per event) and seconds (a Series, length of each interval [s]). `target` is a Target (the rate that is
    explained), `method` the name of a cleaning method (:data:`cmlib.clean.METHODS`), `workers` a Workers (by
    default one process). Runs of fewer than 20 intervals are left out. If there are sets whose runs can be aligned
    by progress ("ocoe", "sweep"), only those; runs by interval rather than totals of whole runs. A
    NothingRecordedError if there is none.
    """
    runs = store.runs(url, program=program).query("mode != 'lines'")
    able = runs[target.counted_in(runs) & (runs["n_intervals"] >= FEWEST_INTERVALS)]
    able = able[able["axis"] == TIME] if (able["axis"] == TIME).any() else able
    sets = [name for name in able["set"].unique() if name in _ALIGNED] or list(able["set"].unique())
    cleaned = cleaned_runs(url, program, sets, method=method, workers=workers or Workers(1))
    counted = [target.events <= set(run.columns[run.notna().any()]) for run in cleaned["counts"]]
    return cleaned[counted]


def matrix(
    runs: pd.DataFrame, *, target: Target = IPC, per: str | None = None, table: pd.DataFrame | None = None
) -> Matrix:
    """Matrix of a program's cleaned runs: `X` (DataFrame of events) and `ipc` (Series), a row per step or interval.

    `runs` is a DataFrame with columns set, pass, counts and seconds, as of :func:`recorded_runs`. `target` is a
    Target (the rate that is explained); `per` is the event by which the counts of X are divided, the target's
    divisor by default. For IPC, where a pass has several runs, the rows are steps of progress, means over the runs
    of the first complete pass; the second one is held out. Else the rows are intervals of those runs that counted
    the most events, neighbours added up where there are more than 1,000; of several measured runs the last is held
    out, of simulated ones only the first is used. An UnfitRecordingError if there are too few rows, or no event
    that could explain the target.

    If the target is IPC, the start and the exit of the process are left out (:func:`cmlib.rank.find_start_and_exit`),
    except from totals of whole runs, and so are the aliases: events that are IPC under another name, as they count
    work done or work missing and name no reason. :func:`find_aliases` has the rules; `table` is the event table. Their
    rates are in `aliases` of the Matrix.
    """
    sets_of = runs.groupby("pass")["set"].agg(set)
    complete = [number for number, sets in sets_of.items() if sets == sets_of.iloc[0]]
    runs = runs[runs["pass"].isin(complete)]
    runs, ticking = _without_ticking(runs, target)
    chosen = runs[runs["pass"].isin(complete[:2])]
    per = target.per if per is None else per
    if target != IPC or chosen["pass"].is_unique or _are_totals(chosen):
        made = _in_time(runs, target, per)
    else:
        made = _by_progress(chosen, complete[:2], per)
    if target == IPC:
        made = _without_aliases(made, per, table)
    return replace(made, ticking=ticking)


def _by_progress(runs, passes, per):
    """Matrix of runs aligned by progress, without start and exit; a second pass is held out."""
    aligned = merge.align_passes(list(runs["counts"]), list(runs["pass"]), per=per)
    n_start, n_exit = find_start_and_exit(aligned[passes[0]][1])
    kept = [
        (X.iloc[n_start : len(X) - n_exit], ipc.iloc[n_start : len(X) - n_exit])
        for X, ipc in aligned.values()
    ]
    holdout = kept[1] if len(kept) > 1 else None
    return Matrix(*kept[0], holdout, ends=(n_start, n_exit))


def _without_aliases(made, per, table):
    """A Matrix of IPC without the events that are IPC under another name, which become its `aliases`."""
    rules = find_aliases(made.X, made.ipc, per=per, table=table)
    names = list(rules.index)
    if len(names) == made.X.shape[1]:
        shown = ", ".join(names[:8])
        raise UnfitRecordingError(
            f"all events that were counted are IPC under another name ({shown}), so that they explain nothing. "
            "Record events that cost cycles, such as misses and mispredictions; `cmlib doctor` lists core events."
        )
    holdout = made.holdout and (made.holdout[0].drop(columns=names), made.holdout[1])
    kept = made.X.drop(columns=names)
    return replace(made, X=kept, aliases=made.X[names], alias_rules=rules, holdout=holdout)


def find_aliases(
    X: pd.DataFrame, ipc: pd.Series, *, per: str = IPC.per, table: pd.DataFrame | None = None
) -> pd.Series:
    """Find the events that are IPC under another name, and the rule by which each is.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Counts of events, divided by those of `per`; rows in the order of time or progress.
    ipc : Series of float > 0, shape (n_rows,)
        Instructions per cycle.
    per : str, default "cycles"
        The event by which the counts are divided.
    table : DataFrame, optional
        Event table, whose descriptions are read. Default: only the events' names are.

    Returns
    -------
    Series of str
        The rule of each alias; index: event, in the order of the columns of X.

    Notes
    -----
    An alias counts work that was done, or that was missing, and names no reason. Per cycle these are instructions of a
    kind (retired branches, loads), micro-ops fetched or dispatched, all cycles without retirement, and events at a
    constant rate per instruction (:func:`cmlib.rank.leaks.find_proportional`). The first three are found by
    :func:`cmlib.io.events.kinds`. Cycles without retirement for one reason, such as an empty retire queue, are no
    alias: the reason is what a ranking looks for. Per instruction, all counts of cycles are aliases.
    """
    if table is None:
        table = pd.DataFrame({"description": []}, dtype=str)
    kinds = events.kinds(X.columns, table)
    rules = kinds["class"].map(_RULE_BY_CLASS.get(per, {}))
    if per == IPC.per:
        rules[kinds["topic"] == _OPS] = OPS_OF_ALL_KINDS
        proportional = kinds.index.isin(find_proportional(X, ipc))
        rules[proportional & rules.isna()] = CONSTANT_RATE
    return rules.dropna().rename("rule")


def _without_ticking(runs, target):
    """The runs without events of constant rate in time, and these events' rates; all runs if the target is per
    second."""
    base = target.event if target == IPC else target.per
    if not base or any(counts.index.name != "time_s" for counts in runs["counts"]):
        return runs, pd.Series(dtype=float)
    ticking = find_ticking(zip(runs["counts"], runs["seconds"], strict=True), base)
    ticking = ticking.drop(target.event, errors="ignore")
    others = [counts.drop(columns=ticking.index, errors="ignore") for counts in runs["counts"]]
    if len(ticking) and all(target.leaks_target(event) for counts in others for event in counts):
        named = ", ".join(f"{event} {rate:,.0f} times" for event, rate in ticking.items())
        of_target = " and ".join(sorted(target.events))
        raise UnfitRecordingError(
            f"what was counted beside {of_target} happens at a fixed rate in time ({named} a second), and "
            f"says nothing of {target.name}: record core events, which `cmlib doctor` lists."
        )
    return runs.assign(counts=others), ticking


def choose_cycles(url: str, program: str, target: str) -> list[str]:
    """Choose what to study in the store at `url` by :func:`choose_target`, if that is cycles: a list of programs.

    An UnfitRecordingError for simulated programs, and for another target than IPC.
    """
    names, chosen = choose_target(url, program, target)
    refuse_simulated(url, names, "clusters go with counted cycles.")
    if chosen != IPC:
        raise UnfitRecordingError(
            f"clusters of events go with cycles per instruction, and {chosen.name} is explained here: "
            "notebook 03 has its events."
        )
    return names


def usable_events(data: Matrix, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Events of a Matrix (`data`) by which cycles per instruction can be explained: (X, CPI, kinds).

    These happen in a tenth of the rows or more, vary, and are not cycles per instruction by definition. X and CPI are
    a DataFrame and a Series, a row per step or interval; kinds is the DataFrame that :func:`cmlib.io.events.kinds`
    gives of all events of `data` and the event table `table`. An UnfitRecordingError for fewer than 20 rows, or no such
    event.
    """
    if len(data.X) < FEWEST_INTERVALS:
        raise UnfitRecordingError(f"{len(data.X)} steps are too few; clusters need {FEWEST_INTERVALS}.")
    if not data.varies:
        raise UnfitRecordingError(_describe_steady(data))
    kinds = events.kinds(data.X.columns, table)
    happens = (data.X > 0).mean().ge(0.1) & data.X.nunique().gt(1) & kinds["class"].ne("target")
    if not happens.any():
        raise UnfitRecordingError("no event varies, so that none goes with cycles per instruction.")
    return data.X.loc[:, happens], 1 / data.ipc, kinds


def varying(matrices: dict[str, Matrix]) -> dict[str, Matrix]:
    """Keep the programs whose target varies enough to be explained: a dict from program to Matrix, like `matrices`.

    An UnfitRecordingError if none does.
    """
    kept = {name: made for name, made in matrices.items() if made.varies}
    if not kept:
        raise UnfitRecordingError(
            " ".join(f"{name}: {_describe_steady(made)}" for name, made in matrices.items())
        )
    return kept


def _describe_steady(made):
    """Sentence: the target of a Matrix does not vary."""
    percent = 100 * relative_deviation(made.ipc)
    without = " without start and exit" if any(made.ends) else ""
    return (
        f"the standard deviation of {made.target.name}{without} is {percent:.1f} % of its mean: it does not vary, and "
        f"no event is ranked. A ranking takes {100 * LEAST_VARIATION:.0f} %."
    )


def core_runs(
    url: str, programs: Iterable[str], target: Target = IPC, *, workers: Workers | None = None
) -> pd.DataFrame:
    """Cleaned OCOE runs (each event counted all the time) of programs that were recorded so at least twice.

    A set is a plan of events, here "ocoe", which may take several runs; a pass is the number of its repetition. A
    dict from program to a DataFrame, a row per run, with columns set, pass (int), counts (a DataFrame, a row per
    interval, a column per event) and seconds (a Series, length of each interval [s]). Programs with the `target` (a
    :class:`cmlib.experiments.targets.Target`, the rate that is explained) counted in fewer than two passes are left
    out; of the others all runs are there, also those without it. `programs` are names in the store at `url`,
    `workers` is a Workers (which processes compute). Gaps are interpolated, nothing else is cleaned.
    """
    runs = store.runs(url).query("set == 'ocoe'")
    passes = runs[target.counted_in(runs)].groupby("program")["pass"].nunique()
    clean = partial(cleaned_runs, url, sets=["ocoe"], method="interpolate", workers=workers)
    return {name: clean(name) for name in programs if passes.get(name, 0) > 1}


def _in_time(runs, target, per):
    """Matrix of the intervals of runs that count the most events; of several measured runs, the last is the
    hold-out."""
    runs, counted = _runs_of_most_events(runs)
    n_studied = max(1, len(runs) - 1)
    n_intervals = sum(map(len, runs["counts"].iloc[:n_studied]))
    most_rows = _MOST_RUNS if _are_totals(runs) else _MOST_ROWS
    per_row = math.ceil(n_intervals / most_rows)
    tables = [_rows(run.counts[counted], run.seconds, target, per, per_row) for run in runs.itertuples()]
    cut = [(0, 0)] * len(tables)  # rows at the start and at the end of each run
    if target == IPC and not _are_totals(runs):
        cut = [find_start_and_exit(y) for _, y in tables]
    tables = [_cut_ends(X, y, *rows) for (X, y), rows in zip(tables, cut, strict=True)]
    X, y = _one_after_another(tables[:n_studied])
    holdout = tables[n_studied] if len(tables) > n_studied else None
    _refuse_seldom(y, target, len(runs["counts"].iloc[0]))
    if X.empty:
        raise UnfitRecordingError(
            f"{target.name} has no other event beside it that could explain it: record others together with it."
        )
    n_left_out = tuple(sum(numbers) for numbers in zip(*cut[:n_studied], strict=True))
    return Matrix(X, y, holdout, target, ends=n_left_out)


def _runs_of_most_events(runs):
    """The runs that count the most events, and these (list); of simulated runs, which are all equal, the first."""
    counted = [tuple(run.columns[run.notna().any()]) for run in runs["counts"]]
    most = max(counted, key=len)
    runs = runs[[events == most for events in counted]]
    if INSTRUCTIONS in most:
        runs = runs.head(1)
    return runs, list(most)


def _cut_ends(X, y, n_start, n_exit):
    """(X, y) of a run without its first `n_start` and its last `n_exit` rows."""
    return X.iloc[n_start : len(X) - n_exit], y.iloc[n_start : len(y) - n_exit]


def _refuse_seldom(y, target, n_intervals):
    """Raise an error if the target happened in too few rows of `y` for a model."""
    happened = int((y > 0).sum())
    if happened < FEWEST_INTERVALS:
        raise UnfitRecordingError(
            f"what {target.name} takes happened in {happened} of {n_intervals} intervals, and a model takes "
            f"{FEWEST_INTERVALS}: explain another event by `-p target=EVENT`, or record longer intervals."
        )


def _are_totals(runs):
    """True if all runs are totals of whole runs."""
    return all(counts.index.name == "run" for counts in runs["counts"])


def _one_after_another(rows):
    """Join (X, y) of several runs to one pair, with the times of each run after those of the run before."""
    starts = np.cumsum([0.0, *(y.index[-1] if len(y) else 0.0 for _, y in rows[:-1])])
    tables = (zip(parts, starts, strict=True) for parts in zip(*rows, strict=True))
    return tuple(pd.concat([part.set_axis(part.index + start) for part, start in table]) for table in tables)


def _rows(counts, seconds, target, per, n):
    """(X, y) of a run: rates of events and the target, `n` intervals a row; rows without a divisor are left out."""
    bundle = np.arange(len(counts)) // n
    ends = pd.Index(counts.index.to_series().groupby(bundle).max(), name=counts.index.name)
    counts = counts.groupby(bundle).sum().set_axis(ends)
    seconds = seconds.groupby(bundle).sum().set_axis(counts.index)
    base, divisor = (counts[event] if event else seconds for event in (per, target.per))
    happened = (base > 0) & (divisor > 0) & ((target != IPC) | (counts[target.event] > 0))
    explaining = [event for event in counts if not target.leaks_target(event)]
    X = target.factor * counts[explaining].div(base, axis=0)
    X, y = X[happened], (target.factor * counts[target.event] / divisor)[happened]
    return X, y.rename("ipc" if target == IPC else target.name)


_STEPS = 4  # in which all events are dropped, at least


def refine(data: Matrix, *, step: int = 10, test_share: float = 0.2, seed: int = 0) -> Refinement:
    """Refine the events of a Matrix: fit a model, drop the least important events, and fit again; a Refinement.

    It is :func:`cmlib.rank.refine` (event importance refinement) of the Matrix `data`, with its hold-out. `step`
    events are dropped at a time, but at most a quarter of all; the share `test_share` (0-1) of the rows is for
    tests; `seed` is that of models and folds. The Refinement has history (DataFrame, a row per model: errors by
    number of events), chosen (row of the best), model and importances (Series by event, percent). All but the model
    is read from the cache if another notebook has computed it. Errors of IPC are relative (Eq. 14); those of
    another rate, which may be 0, are in percent of its mean. An UnfitRecordingError if there are fewer than 20
    rows, or the target varies by less than 2 %.
    """
    if not data.varies:
        raise UnfitRecordingError(_describe_steady(data))
    step = min(step, max(1, data.X.shape[1] // _STEPS))
    options = {"step": step, "test_share": test_share, "seed": seed}

    def compute():
        error = None if data.target == IPC else data.error
        of_target = {"leaks_target": data.target.leaks_target, "error": error}
        refined = rank.refine(data.X, data.ipc, holdout=data.holdout, **options, **of_target)
        return {
            "history": refined.history,
            "nested": refined.nested,
            "baselines": refined.baselines.to_frame(),
            "chosen": pd.DataFrame({"step": [refined.chosen], "one_event": [refined.one_event]}),
            "rankings": pd.DataFrame({str(step): ranking for step, ranking in enumerate(refined.rankings)}),
        }

    inputs = ("refinement", data.target.name, options, data.X, data.ipc, *(data.holdout or ()))
    computed = cached(inputs, compute)
    columns = [column.dropna().sort_index() for _, column in computed["rankings"].items()]
    rankings = [column.sort_values(ascending=False, kind="stable").rename("importance") for column in columns]
    chosen, baselines = int(computed["chosen"].at[0, "step"]), computed["baselines"]["error"]
    model = regressor(seed=seed).fit(data.X[sorted(rankings[chosen].index)], data.ipc)
    history, nested = computed["history"], computed["nested"]
    one_event = computed["chosen"].at[0, "one_event"]
    return rank.Refinement(history, nested, baselines, chosen, model, rankings[chosen], rankings, one_event)
