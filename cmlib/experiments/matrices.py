"""Put a program's cleaned runs into a matrix of events and a target, one row per step of progress or per interval.

The target is the rate that a model explains by events, usually IPC (instructions per cycle). Progress is the share
of a run's instructions that are retired; a step is one of several equal shares of it. One pass is the runs that
together count all events of a plan once. :func:`recorded_matrix` takes the store and a program, and returns a
:class:`Matrix` of X (events) and `ipc` (target); :func:`refine` ranks its events. NothingRecordedError if there is no
run, UnfitRecordingError if there are too few rows or no event that could explain the target.
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
from cmlib.rank.duplicates import find_duplicates
from cmlib.rank.leaks import find_proportional, find_ticking
from cmlib.rank.refinement import error_of_mean, relative_error
from cmlib.rank.variation import LEAST_VARIATION, find_start_and_exit, relative_deviation

if TYPE_CHECKING:
    from cmlib.rank.refinement import Refinement

__all__ = ["choose_cycles", "find_aliases", "usable_events"]

_ALIGNED = ("ocoe", "sweep")  # sets whose runs count different events, and are aligned by progress
_MOST_ROWS = 1000  # of a matrix of intervals; if there are more intervals, neighboring ones are added up
_MOST_RUNS = 5000  # of a matrix of totals of whole runs
# Rules by which an event is IPC under another name: it counts work done or work missing, and names no reason.
KIND_OF_INSTRUCTION = "instructions of a kind"
OPS_OF_ALL_KINDS = "micro-ops fetched or dispatched"
ALL_IDLE_CYCLES = "cycles without retirement, all reasons"
CYCLES_OF_A_KIND = "cycles of a kind"
CONSTANT_RATE = "constant rate per instruction"
CONSTANT_RATIO = "constant ratio to the target"  # the only rule for another target than IPC
_COPY = 0.1  # share of an event's standard deviation that the ratio may leave unexplained
# The rules that follow from an event's class (data/events/kinds.yaml), by the divisor of the counts.
_RULE_BY_CLASS = {
    "cycles": {"mix": KIND_OF_INSTRUCTION, "target": ALL_IDLE_CYCLES},
    "instructions": {"stall": CYCLES_OF_A_KIND, "target": ALL_IDLE_CYCLES},
}
_OPS = "dispatched and wrong-path ops"  # topic of events that count all ops per cycle


@dataclass(frozen=True)
class Matrix:
    """Rates of one program's events, and the target that they explain.

    Attributes
    ----------
    X : DataFrame
        One row per step or interval, one column per event: counts divided by the count of the target's divisor, or by
        time [1/s] if it has none.
    ipc : Series
        The target of the same rows: IPC, or another rate if `target` is another.
    holdout : (DataFrame, Series) or None
        X and ipc of a second pass over the same events, or of a second run, for tests.
    target : cmlib.experiments.targets.Target
        The rate that is explained.
    ticking : Series
        Rate [1/s] by event of the events that were left out because they happen at a constant rate in time
        (:func:`cmlib.rank.leaks.find_ticking`).
    aliases : DataFrame
        Rates, in the rows of X, of the events that were left out because they are the target under another name
        (:func:`find_aliases`).
    alias_rules : Series
        For each event in `aliases`, the rule (str) by which it was left out, such as :data:`KIND_OF_INSTRUCTION`.
    duplicates : Series
        Events that were left out because another event has the same counts. Index: event; value: name of the other
        event (:func:`cmlib.rank.duplicates.find_duplicates`).
    ends : (int, int)
        Numbers of rows that were left out at the start and at the exit of the process
        (:func:`cmlib.rank.find_start_and_exit`).
    """

    X: pd.DataFrame
    ipc: pd.Series
    holdout: tuple | None
    target: Target = IPC
    ticking: pd.Series = field(default_factory=partial(pd.Series, dtype=float))
    aliases: pd.DataFrame = field(default_factory=pd.DataFrame)
    alias_rules: pd.Series = field(default_factory=partial(pd.Series, dtype=str))
    duplicates: pd.Series = field(default_factory=partial(pd.Series, dtype=str))
    ends: tuple[int, int] = (0, 0)

    @property
    def all_events(self) -> pd.DataFrame:
        """Rates of all events, including the aliases of the target but no duplicates: a DataFrame like X."""
        return self.X.join(self.aliases) if self.aliases.shape[1] else self.X

    def error(self, measured: ArrayLike, predicted: ArrayLike) -> float:
        """Compute the error [%] of predictions.

        Parameters
        ----------
        measured, predicted : array-like of float, shape (n_rows,)
            Values of the target.

        Returns
        -------
        float
            Mean error relative to the measured IPC (CounterMiner, Eq. 14), or to the mean of another target.
        """
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
    """Make the matrix of a program's cleaned runs: those of :func:`recorded_runs`, joined by :func:`matrix`.

    Parameters
    ----------
    url : str
        URL of the store.
    program : str
        Name of a program in it.
    target : cmlib.experiments.targets.Target, default IPC
        The rate that is explained.
    method : str, default "shrinkage"
        Method of cleaning, one of :data:`cmlib.clean.METHODS`.
    workers : cmlib.parallel.Workers, optional
        Where the runs are cleaned. Default: one process.

    Returns
    -------
    Matrix
        The result of :func:`matrix`.

    Raises
    ------
    NothingRecordedError
        If the program has no run that counts the target in 20 intervals.
    UnfitRecordingError
        If too few rows are left, or no event could explain the target.
    """
    runs = recorded_runs(url, program, target, method=method, workers=workers)
    return matrix(runs, target=target, table=event_table(url))


def recorded_runs(
    url: str, program: str, target: Target = IPC, *, method: str = "shrinkage", workers: Workers | None = None
) -> pd.DataFrame:
    """Clean the runs of a program in which the target was counted.

    Runs of fewer than 20 intervals are left out, and so are totals of whole runs if there are runs by interval. If
    there are sets whose runs can be aligned by progress ("ocoe", "sweep"), the other sets are left out.

    Parameters
    ----------
    url : str
        URL of the store.
    program : str
        Name of a program in it.
    target : cmlib.experiments.targets.Target, default IPC
        The rate that is explained.
    method : str, default "shrinkage"
        Method of cleaning, one of :data:`cmlib.clean.METHODS`.
    workers : cmlib.parallel.Workers, optional
        Where the runs are cleaned. Default: one process.

    Returns
    -------
    DataFrame
        One row per run, with the columns of :func:`cmlib.experiments.data.cleaned_runs`: set, pass, counts (DataFrame,
        one row per interval, one column per event) and seconds (Series, length of each interval [s]).

    Raises
    ------
    NothingRecordedError
        If there is no such run.
    """
    runs = store.runs(url, program=program).query("mode != 'lines'")
    suitable = runs[target.counted_in(runs) & (runs["n_intervals"] >= FEWEST_INTERVALS)]
    is_timed = suitable["axis"] == TIME
    if is_timed.any():
        suitable = suitable[is_timed]
    all_sets = list(suitable["set"].unique())
    sets = [name for name in all_sets if name in _ALIGNED] or all_sets
    cleaned = cleaned_runs(url, program, sets, method=method, workers=workers or Workers(1))
    counts_target = [target.events <= set(run.columns[run.notna().any()]) for run in cleaned["counts"]]
    return cleaned[counts_target]


def matrix(
    runs: pd.DataFrame, *, target: Target = IPC, per: str | None = None, table: pd.DataFrame | None = None
) -> Matrix:
    """Join a program's cleaned runs to a matrix of events and target.

    If the target is IPC and a pass has several runs, each row is a step of progress, that is, of equally many
    instructions. Its values are means over the runs of the first complete pass. The second pass is held out. In all
    other cases, the rows are intervals of the runs with the most
    counted events. Neighboring intervals are added up if there are more than 1,000. The last of several measured runs
    is held out; of simulated runs, only the first is used.

    If the target is IPC, the start and the exit of the process are left out (:func:`cmlib.rank.find_start_and_exit`),
    except from totals of whole runs. Aliases, which are events that are IPC under another name, are left out, too
    (:func:`find_aliases`); the Matrix has their rates. For another target, an event is an alias if its ratio to the
    target is constant, so that the target explains 99 % of its variance; minor faults are often such an alias of page
    faults. Of events with the same counts, only the first is kept.

    Parameters
    ----------
    runs : DataFrame
        One row per run, with the columns set, pass, counts and seconds, as :func:`recorded_runs` returns it.
    target : cmlib.experiments.targets.Target, default IPC
        The rate that is explained.
    per : str, optional
        Event by which the counts of X are divided. Default: the divisor of the target.
    table : DataFrame, optional
        Event table, in which aliases are recognized by their descriptions. Default: they are recognized by name.

    Returns
    -------
    Matrix
        Events, target, hold-out and the events that were left out.

    Raises
    ------
    UnfitRecordingError
        If there are too few rows, or no event that could explain the target.
    """
    sets_by_pass = runs.groupby("pass")["set"].agg(set)
    complete = [number for number, sets in sets_by_pass.items() if sets == sets_by_pass.iloc[0]]
    runs = runs[runs["pass"].isin(complete)]
    runs, ticking = _drop_ticking(runs, target)
    chosen = runs[runs["pass"].isin(complete[:2])]
    per = target.per if per is None else per
    if target != IPC or chosen["pass"].is_unique or _are_totals(chosen):
        data = _join_intervals(runs, target, per)
    else:
        data = _align_by_progress(chosen, complete[:2], per)
    if target == IPC:
        rules = find_aliases(data.X, data.ipc, per=per, table=table)
    else:
        rules = _find_copies(data.X, data.ipc)
    data, rules = _drop_duplicates(data, rules)
    return replace(_separate_aliases(data, rules, target), ticking=ticking)


def _align_by_progress(runs, passes, per):
    """Make the Matrix of runs aligned by progress, without start and exit; a second pass is held out."""
    aligned = merge.align_passes(list(runs["counts"]), list(runs["pass"]), per=per)
    n_start, n_exit = find_start_and_exit(aligned[passes[0]][1])
    tables = [_cut_ends(X, ipc, n_start, n_exit) for X, ipc in aligned.values()]
    holdout = tables[1] if len(tables) > 1 else None
    return Matrix(*tables[0], holdout, ends=(n_start, n_exit))


def _separate_aliases(data, rules, target):
    """Move the events of a Matrix that are the target under another name from X to `aliases`."""
    names = list(rules.index)
    if len(names) == data.X.shape[1]:
        shown = ", ".join(names[:8])
        raise UnfitRecordingError(
            f"all events that were counted are {target.name} under another name ({shown}), so that they explain "
            "nothing. Record events that cost cycles, such as misses and mispredictions; `cmlib doctor` lists core "
            "events."
        )
    holdout = data.holdout
    if holdout:
        held_out_X, held_out_ipc = holdout
        holdout = held_out_X.drop(columns=names), held_out_ipc
    X = data.X.drop(columns=names)
    return replace(data, X=X, aliases=data.X[names], alias_rules=rules, holdout=holdout)


def _drop_duplicates(data, rules):
    """Drop each event of a Matrix with the same counts as another event; return the Matrix and the rules of aliases.

    Aliases come first, so that an event with the same counts as an alias is dropped as its duplicate.
    """
    others = [event for event in data.X if event not in rules.index]
    duplicates = find_duplicates(data.X[[*rules.index, *others]])
    holdout = data.holdout
    if holdout:
        held_out_X, held_out_ipc = holdout
        holdout = held_out_X.drop(columns=duplicates.index), held_out_ipc
    X = data.X.drop(columns=duplicates.index)
    data = replace(data, X=X, holdout=holdout, duplicates=duplicates)
    return data, rules.drop(duplicates.index, errors="ignore")


def _find_copies(X, rate):
    """Return the rule of each event whose ratio to the target is constant, such as minor faults for page faults."""
    ratio = X.mean() / rate.mean()
    expected = pd.DataFrame({event: ratio[event] * rate for event in X})
    is_copy = (X - expected).std() < _COPY * X.std()
    return pd.Series(CONSTANT_RATIO, index=X.columns[is_copy], dtype=str, name="rule")


def find_aliases(
    X: pd.DataFrame, ipc: pd.Series, *, per: str = IPC.per, table: pd.DataFrame | None = None
) -> pd.Series:
    """Find the events that are IPC under another name, and the rule that applies to each.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Counts of events, divided by those of `per`; rows in the order of time or progress.
    ipc : Series of float > 0, shape (n_rows,)
        Instructions per cycle.
    per : str, default "cycles"
        The event by which the counts are divided.
    table : DataFrame, optional
        Event table with descriptions. Default: events are recognized by their names alone.

    Returns
    -------
    Series of str
        The rule of each alias; index: event, in the order of the columns of X.

    Notes
    -----
    An alias counts completed work, or all cycles without completed work, whatever the reason. If counts are divided by
    cycles, aliases are instructions of a kind (retired branches, loads), micro-ops fetched or dispatched, all cycles
    without retirement, and events at a constant rate per instruction (:func:`cmlib.rank.leaks.find_proportional`).
    :func:`cmlib.io.events.kinds` recognizes the first three. Cycles without retirement for one reason, such as an empty
    retire queue, are not aliases, because a ranking looks for reasons. If counts are divided by instructions, all
    counts of cycles are aliases.
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


def _drop_ticking(runs, target):
    """Drop events of constant rate in time; return the runs and the rates of these events.

    Nothing is dropped if the target is a rate per second.
    """
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
    """Choose the programs to study by :func:`choose_target`, and check that cycles were counted.

    Parameters
    ----------
    url : str
        URL of the store.
    program : str
        Names separated by commas, or ``"all"``.
    target : str
        Name of the target, or "".

    Returns
    -------
    list of str
        Names of programs.

    Raises
    ------
    UnfitRecordingError
        If the programs are simulated, or the target is not IPC.
    NothingRecordedError
        If no program, or not a named one, is recorded.
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
    """Select the events of a Matrix that could explain cycles per instruction.

    These events vary, happen in at least a tenth of the rows, and are not cycles per instruction by definition.

    Parameters
    ----------
    data : Matrix
        Events, and IPC as the target.
    table : DataFrame
        Event table.

    Returns
    -------
    X : DataFrame
        Rates of the selected events, one row per step or interval.
    cpi : Series
        Cycles per instruction of the same rows.
    kinds : DataFrame
        Kinds of all events of `data`, as :func:`cmlib.io.events.kinds` returns them.

    Raises
    ------
    UnfitRecordingError
        If there are fewer than 20 rows, IPC does not vary, or there is no such event.
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
    """Select the programs with a target that varies enough to be explained.

    Parameters
    ----------
    matrices : dict of str to Matrix
        By program.

    Returns
    -------
    dict of str to Matrix
        Those with a target that varies by 2 % of its mean or more.

    Raises
    ------
    UnfitRecordingError
        If the target varies in none.
    """
    selected = {name: data for name, data in matrices.items() if data.varies}
    if not selected:
        raise UnfitRecordingError(
            " ".join(f"{name}: {_describe_steady(data)}" for name, data in matrices.items())
        )
    return selected


def _describe_steady(data):
    """Return a sentence that the target of a Matrix does not vary."""
    percent = 100 * relative_deviation(data.ipc)
    without = " without start and exit" if any(data.ends) else ""
    return (
        f"the standard deviation of {data.target.name}{without} is {percent:.1f} % of its mean: it does not vary, and "
        f"no event is ranked. A ranking takes {100 * LEAST_VARIATION:.0f} %."
    )


def core_runs(
    url: str, programs: Iterable[str], target: Target = IPC, *, workers: Workers | None = None
) -> dict[str, pd.DataFrame]:
    """Read the OCOE runs (each event counted all the time) of programs that counted the target in two passes or more.

    A set is a plan of events, here "ocoe", which may take several runs; a pass is one repetition of it. Gaps in the
    counts are interpolated; they are not cleaned otherwise.

    Parameters
    ----------
    url : str
        URL of the store.
    programs : iterable of str
        Names of programs in it.
    target : cmlib.experiments.targets.Target, default IPC
        The rate that is explained.
    workers : cmlib.parallel.Workers, optional
        Where the runs are read. Default: one process per processor.

    Returns
    -------
    dict of str to DataFrame
        By program, one row per run, including runs without the target: set, pass (int), counts (DataFrame, one row per
        interval, one column per event) and seconds (Series, length of each interval [s]). Programs with fewer than two
        passes are left out.
    """
    runs = store.runs(url).query("set == 'ocoe'")
    passes = runs[target.counted_in(runs)].groupby("program")["pass"].nunique()
    clean = partial(cleaned_runs, url, sets=["ocoe"], method="interpolate", workers=workers)
    return {name: clean(name) for name in programs if passes.get(name, 0) > 1}


def _join_intervals(runs, target, per):
    """Make the Matrix of the intervals of the runs that count the most events.

    The last of several measured runs is held out.
    """
    runs, events_counted = _select_most_events(runs)
    n_studied = max(1, len(runs) - 1)
    n_intervals = sum(map(len, runs["counts"].iloc[:n_studied]))
    most_rows = _MOST_RUNS if _are_totals(runs) else _MOST_ROWS
    intervals_per_row = math.ceil(n_intervals / most_rows)
    tables = [
        _compute_rates(run.counts[events_counted], run.seconds, target, per, intervals_per_row)
        for run in runs.itertuples()
    ]
    cut = [(0, 0)] * len(tables)  # rows at the start and at the end of each run
    if target == IPC and not _are_totals(runs):
        cut = [find_start_and_exit(y) for _, y in tables]
    tables = [_cut_ends(X, y, *rows) for (X, y), rows in zip(tables, cut, strict=True)]
    X, y = _join_in_time(tables[:n_studied])
    holdout = tables[n_studied] if len(tables) > n_studied else None
    _refuse_rare_target(y, target, len(runs["counts"].iloc[0]))
    if X.empty:
        raise UnfitRecordingError(
            f"{target.name} has no other event that could explain it: record others together with it."
        )
    n_left_out = tuple(sum(numbers) for numbers in zip(*cut[:n_studied], strict=True))
    return Matrix(X, y, holdout, target, ends=n_left_out)


def _select_most_events(runs):
    """Select the runs that count the most events; return them and these events (list).

    Only the first of simulated runs is selected, because they are all equal.
    """
    events_by_run = [tuple(run.columns[run.notna().any()]) for run in runs["counts"]]
    most_events = max(events_by_run, key=len)
    runs = runs[[events == most_events for events in events_by_run]]
    if INSTRUCTIONS in most_events:
        runs = runs.head(1)
    return runs, list(most_events)


def _cut_ends(X, y, n_start, n_exit):
    """Return (X, y) of a run without its first `n_start` and its last `n_exit` rows."""
    return X.iloc[n_start : len(X) - n_exit], y.iloc[n_start : len(y) - n_exit]


def _refuse_rare_target(y, target, n_intervals):
    """Raise an error if the target happened in too few rows of `y` for a model."""
    happened = int((y > 0).sum())
    if happened < FEWEST_INTERVALS:
        raise UnfitRecordingError(
            f"what {target.name} takes happened in {happened} of {n_intervals} intervals, and a model takes "
            f"{FEWEST_INTERVALS}: explain another event by `-p target=EVENT`, or record longer intervals."
        )


def _are_totals(runs):
    """Return True if all runs are totals of whole runs."""
    return all(counts.index.name == "run" for counts in runs["counts"])


def _join_in_time(tables):
    """Join (X, y) of several runs to one pair, in which the times of each run follow those of the run before."""
    start = 0.0
    X_parts = []
    y_parts = []
    for X, y in tables:
        X_parts.append(X.set_axis(X.index + start))
        y_parts.append(y.set_axis(y.index + start))
        if len(y):
            start += y.index[-1]
    return pd.concat(X_parts), pd.concat(y_parts)


def _compute_rates(counts, seconds, target, per, n):
    """Return (X, y) of a run, rates of events and the target, with `n` intervals per row.

    Rows with a divisor of 0 are left out, and if the target is IPC, also rows without instructions.
    """
    row = np.arange(len(counts)) // n
    ends = pd.Index(counts.index.to_series().groupby(row).max(), name=counts.index.name)
    counts = counts.groupby(row).sum().set_axis(ends)
    seconds = seconds.groupby(row).sum().set_axis(counts.index)
    divisor_of_events = counts[per] if per else seconds
    divisor_of_target = counts[target.per] if target.per else seconds
    usable = (divisor_of_events > 0) & (divisor_of_target > 0)
    if target == IPC:
        usable &= counts[target.event] > 0
    explaining = [event for event in counts if not target.leaks_target(event)]
    X = target.factor * counts[explaining].div(divisor_of_events, axis=0)
    y = target.factor * counts[target.event] / divisor_of_target
    return X[usable], y[usable].rename("ipc" if target == IPC else target.name)


_FEWEST_STEPS = 4  # dropping all events takes at least this many steps


def refine(data: Matrix, *, step: int = 10, test_share: float = 0.2, seed: int = 0) -> Refinement:
    """Refine the events of a Matrix: fit a model, drop the least important events, and fit again.

    It is :func:`cmlib.rank.refine` (event importance refinement) of the Matrix with its hold-out. Everything except the
    model is read from the cache if another notebook has computed it.

    Parameters
    ----------
    data : Matrix
        Events and target.
    step : int, default 10
        Number of events that are dropped at a time, but at most a quarter of all.
    test_share : float, default 0.2
        Share of the rows that is used for tests (0-1).
    seed : int, default 0
        Seed of models and folds.

    Returns
    -------
    cmlib.rank.refinement.Refinement
        ``history`` (DataFrame, one row per model: errors by number of events), ``chosen`` (row of the best model),
        ``model``, ``importances`` (Series by event [%]) and more. Errors of IPC are relative (CounterMiner, Eq. 14);
        errors of another rate, which may be 0, are in percent of its mean.

    Raises
    ------
    UnfitRecordingError
        If there are fewer than 20 rows, or the target varies by less than 2 %.
    """
    if not data.varies:
        raise UnfitRecordingError(_describe_steady(data))
    step = min(step, max(1, data.X.shape[1] // _FEWEST_STEPS))
    options = {"step": step, "test_share": test_share, "seed": seed}

    def compute():
        error = None if data.target == IPC else data.error
        refined = rank.refine(
            data.X,
            data.ipc,
            holdout=data.holdout,
            leaks_target=data.target.leaks_target,
            error=error,
            **options,
        )
        return _tabulate_refinement(refined)

    inputs = ("refinement", data.target.name, options, data.X, data.ipc, *(data.holdout or ()))
    return _refit_chosen(data, cached(inputs, compute), seed)


def _tabulate_refinement(refined):
    """Return a Refinement without its model as a dict of DataFrames, which can be cached."""
    return {
        "history": refined.history,
        "nested": refined.nested,
        "baselines": refined.baselines.to_frame(),
        "chosen": pd.DataFrame({"step": [refined.chosen], "one_event": [refined.one_event]}),
        "rankings": pd.DataFrame({str(step): ranking for step, ranking in enumerate(refined.rankings)}),
    }


def _refit_chosen(data, tables, seed):
    """Return the Refinement of the `tables` of :func:`_tabulate_refinement`, with its chosen model fitted again."""
    rankings = []
    for _, column in tables["rankings"].items():
        ranking = column.dropna().sort_index().sort_values(ascending=False, kind="stable")
        rankings.append(ranking.rename("importance"))
    chosen = int(tables["chosen"].at[0, "step"])
    return rank.Refinement(
        history=tables["history"],
        nested=tables["nested"],
        baselines=tables["baselines"]["error"],
        chosen=chosen,
        model=regressor(seed=seed).fit(data.X[sorted(rankings[chosen].index)], data.ipc),
        importances=rankings[chosen],
        rankings=rankings,
        one_event=tables["chosen"].at[0, "one_event"],
    )
