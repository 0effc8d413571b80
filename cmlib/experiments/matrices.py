"""Put the recorded counts of a program into a matrix for models.

The target is the rate that a model explains, usually IPC (instructions per cycle). :func:`recorded_matrix` reads
the recordings of a program, and returns a :class:`Matrix` with the rates of its events and the target.
:func:`refine` ranks the events of a Matrix by importance.

A row is an interval of time, or a step. A step is a part of the run with a fixed share of its instructions. Steps
are used if different runs counted different events: the same step of two runs executed the same work.
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

_ALIGNED_SETS = ("ocoe", "sweep")  # sets whose runs count different events, so that rows are steps
_MOST_ROWS = 1000  # of intervals; neighboring intervals are added up if there are more
_MOST_RUNS = 5000  # of total counts, one row per run
# Reasons why an event is an alias: it measures the target itself under another name.
KIND_OF_INSTRUCTION = "instructions of a kind"
OPS_OF_ALL_KINDS = "micro-ops fetched or dispatched"
ALL_IDLE_CYCLES = "cycles without retirement, all reasons"
_CYCLES_OF_A_KIND = "cycles of a kind"
CONSTANT_RATE = "constant rate per instruction"
_CONSTANT_RATIO = "constant ratio to the target"  # the only reason if the target is not IPC
# An event has a constant ratio to the target if this share of its standard deviation, or less, is unexplained.
_MOST_UNEXPLAINED = 0.1
# Reason by the event class of data/events/kinds.yaml, for each event by which counts are divided.
_RULE_BY_CLASS = {
    "cycles": {"mix": KIND_OF_INSTRUCTION, "target": ALL_IDLE_CYCLES},
    "instructions": {"stall": _CYCLES_OF_A_KIND, "target": ALL_IDLE_CYCLES},
}
_OPS_TOPIC = "dispatched and wrong-path ops"  # topic of events that count all micro-ops


@dataclass(frozen=True)
class Matrix:
    """The event rates of a program and the target that they explain.

    Attributes
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of the events. A rate is a count divided by the count of another event (usually cycles), or by the
        time [s].
    ipc : Series, shape (n_rows,)
        Values of the target: IPC, or the rate that `target` describes.
    holdout : (DataFrame, Series) or None
        Test data: X and target values of a second measurement. None if there is only one measurement.
    target : cmlib.experiments.targets.Target
        Definition of the target.
    ticking : Series of float
        Events that were removed from X because they happen at a constant rate in time, for example timer
        interrupts. The index is the event name. The value is the rate [1/s].
    aliases : DataFrame, shape (n_rows, n_aliases)
        Rates of the aliases. An alias is an event that measures the target itself under another name. It was
        removed from X.
    alias_rules : Series of str
        Reasons why events are aliases. The index is the event name.
    duplicates : Series of str
        Events that were removed from X because another event has the same counts. The index is the event name. The
        value is the name of the other event.
    ends : (int, int)
        Number of rows removed at the start of the process, and number of rows removed at its exit.
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
        """Rates of all events (DataFrame), including aliases but not duplicates."""
        return self.X.join(self.aliases) if self.aliases.shape[1] else self.X

    def error(self, measured: ArrayLike, predicted: ArrayLike) -> float:
        """Compute the mean error of predictions.

        Parameters
        ----------
        measured, predicted : array-like of float, shape (n_rows,)
            Values of the target.

        Returns
        -------
        float
            Mean error [%]. It is relative to the measured value if the target is IPC (CounterMiner, Eq. 14). For
            other targets it is relative to the mean, because single values can be 0.
        """
        if self.target == IPC:
            return relative_error(measured, predicted)
        return error_of_mean(measured, predicted, mean=self.ipc.mean())

    @property
    def varies(self) -> bool:
        """True if the standard deviation of the target is at least 2 % of its mean."""
        return relative_deviation(self.ipc) >= LEAST_VARIATION

    @property
    def in_time(self) -> bool:
        """True if rows are intervals of time, False if they are steps."""
        return "progress" not in self.X.index.names


def recorded_matrix(
    url: str, program: str, target: Target = IPC, *, method: str = "shrinkage", workers: Workers | None = None
) -> Matrix:
    """Read the recordings of a program into a Matrix.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    program : str
        Name of the program.
    target : cmlib.experiments.targets.Target, default IPC
        Rate to explain.
    method : str, default "shrinkage"
        Cleaning method, a key of :data:`cmlib.clean.METHODS`.
    workers : cmlib.parallel.Workers, optional
        Processes that clean the runs. Default: one.

    Returns
    -------
    Matrix
        Rates of the events and the target. See :func:`matrix` for the choice of rows.

    Raises
    ------
    NothingRecordedError
        If no run counted the target in at least 20 intervals.
    UnfitRecordingError
        If too few rows are usable, or no event could explain the target.
    """
    runs = recorded_runs(url, program, target, method=method, workers=workers)
    return matrix(runs, target=target, table=event_table(url))


def recorded_runs(
    url: str, program: str, target: Target = IPC, *, method: str = "shrinkage", workers: Workers | None = None
) -> pd.DataFrame:
    """Load and clean the runs of a program that counted the target.

    Runs with fewer than 20 intervals are ignored. Total counts of complete runs are used only if the program has no
    runs in intervals.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    program : str
        Name of the program.
    target : cmlib.experiments.targets.Target, default IPC
        Rate to explain.
    method : str, default "shrinkage"
        Cleaning method, a key of :data:`cmlib.clean.METHODS`.
    workers : cmlib.parallel.Workers, optional
        Processes that clean the runs. Default: one.

    Returns
    -------
    DataFrame
        One row per run, with the columns of :func:`cmlib.experiments.data.cleaned_runs`: set, pass, counts and
        seconds.

    Raises
    ------
    NothingRecordedError
        If no suitable run was found.
    """
    runs = store.runs(url, program=program).query("mode != 'lines'")
    suitable = runs[target.counted_in(runs) & (runs["n_intervals"] >= FEWEST_INTERVALS)]
    is_timed = suitable["axis"] == TIME
    if is_timed.any():
        suitable = suitable[is_timed]
    sets = list(suitable["set"].unique())
    aligned_sets = [name for name in sets if name in _ALIGNED_SETS]
    if aligned_sets:
        sets = aligned_sets
    cleaned = cleaned_runs(url, program, sets, method=method, workers=workers or Workers(1))
    counts_target = [target.events <= set(run.columns[run.notna().any()]) for run in cleaned["counts"]]
    return cleaned[counts_target]


def matrix(
    runs: pd.DataFrame, *, target: Target = IPC, per: str | None = None, table: pd.DataFrame | None = None
) -> Matrix:
    """Join the cleaned runs of a program into a Matrix.

    Parameters
    ----------
    runs : DataFrame
        One row per run, from :func:`recorded_runs`.
    target : cmlib.experiments.targets.Target, default IPC
        Rate to explain.
    per : str, optional
        Event by which the counts in X are divided. Default: the divisor of the target.
    table : DataFrame, optional
        Table of the processor's events with a column ``description``, from
        :func:`cmlib.experiments.event_table`. Default: events are classified without descriptions.

    Returns
    -------
    Matrix
        Rates of the events and the target.

    Raises
    ------
    UnfitRecordingError
        If too few rows are usable, or no event could explain the target.

    Notes
    -----
    If the target is IPC and the events are spread over several runs, each row is a step: a part of the run with a
    fixed share of the instructions. Counts are means over these runs. A repetition of the runs is the test data.

    Otherwise, the rows are intervals of the runs with the most events. Neighboring intervals are added up to get at
    most 1,000 rows. The last of several runs is the test data.

    If the target is IPC, the start and the exit of the process are removed. Of several events with the same counts,
    only the first is kept.
    """
    runs, passes = _select_complete_passes(runs)
    runs, ticking = _drop_ticking(runs, target)
    divisor = target.per if per is None else per
    first_passes = runs[runs["pass"].isin(passes[:2])]
    has_several_runs_per_pass = not first_passes["pass"].is_unique
    if target == IPC and has_several_runs_per_pass and not _are_totals(first_passes):
        data = _join_steps(first_passes, passes[:2], divisor)
    else:
        data = _join_intervals(runs, target, divisor)
    if target == IPC:
        rules = find_aliases(data.X, data.ipc, per=divisor, table=table)
    else:
        rules = _find_constant_ratios(data.X, data.ipc)
    data, rules = _drop_duplicates(data, rules)
    return replace(_separate_aliases(data, rules, target), ticking=ticking)


def _select_complete_passes(runs):
    """Return the runs of all passes that contain the same sets as the first, and the pass numbers."""
    sets_by_pass = runs.groupby("pass")["set"].agg(set)
    complete = [number for number, sets in sets_by_pass.items() if sets == sets_by_pass.iloc[0]]
    return runs[runs["pass"].isin(complete)], complete


def _join_steps(runs, passes, per):
    """Make a Matrix with one row per step, from runs that counted different events.

    The first of the `passes` is the data, and the second, if any, is the test data.
    """
    aligned = merge.align_passes(list(runs["counts"]), list(runs["pass"]), per=per)
    n_start, n_exit = find_start_and_exit(aligned[passes[0]][1])
    tables = [_cut_ends(X, ipc, n_start, n_exit) for X, ipc in aligned.values()]
    X, ipc = tables[0]
    holdout = tables[1] if len(tables) > 1 else None
    return Matrix(X, ipc, holdout, ends=(n_start, n_exit))


def _separate_aliases(data, rules, target):
    """Move the events with a rule from X to `aliases`."""
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
        holdout_X, holdout_ipc = holdout
        holdout = holdout_X.drop(columns=names), holdout_ipc
    X = data.X.drop(columns=names)
    return replace(data, X=X, aliases=data.X[names], alias_rules=rules, holdout=holdout)


def _drop_duplicates(data, rules):
    """Drop events with the same counts as another event.

    Returns the Matrix, and the rules of the remaining aliases. An event with the same counts as an alias is dropped.
    """
    not_aliases = [event for event in data.X if event not in rules.index]
    duplicates = find_duplicates(data.X[[*rules.index, *not_aliases]])
    holdout = data.holdout
    if holdout:
        holdout_X, holdout_ipc = holdout
        holdout = holdout_X.drop(columns=duplicates.index), holdout_ipc
    X = data.X.drop(columns=duplicates.index)
    data = replace(data, X=X, holdout=holdout, duplicates=duplicates)
    return data, rules.drop(duplicates.index, errors="ignore")


def _find_constant_ratios(X, rate):
    """Return a rule for each event with a constant ratio to the target.

    For example, minor faults often have a constant ratio to page faults.
    """
    ratio = X.mean() / rate.mean()
    expected = pd.DataFrame({event: ratio[event] * rate for event in X})
    is_constant = (X - expected).std() < _MOST_UNEXPLAINED * X.std()
    return pd.Series(_CONSTANT_RATIO, index=X.columns[is_constant], dtype=str, name="rule")


def find_aliases(
    X: pd.DataFrame, ipc: pd.Series, *, per: str = IPC.per, table: pd.DataFrame | None = None
) -> pd.Series:
    """Find the events that measure IPC itself under another name.

    Such an event is called an alias. It predicts IPC but does not explain it.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of the events. The rows are in the order of time.
    ipc : Series of float > 0, shape (n_rows,)
        Instructions per cycle.
    per : str, default "cycles"
        Event by which the counts in X are divided.
    table : DataFrame, optional
        Table of the processor's events with a column ``description``. Default: events are classified without
        descriptions.

    Returns
    -------
    Series of str
        Reasons why events are aliases. The index is the name of the alias.

    Notes
    -----
    If counts are divided by cycles, these events are aliases:

    - instructions of one kind, for example retired branches or loads;
    - fetched or dispatched micro-ops;
    - all cycles without a retired instruction;
    - events with a constant rate per instruction (:func:`cmlib.rank.leaks.find_proportional`).

    Cycles that are lost for a single reason are not aliases, because a ranking looks for reasons. If counts are
    divided by instructions, all counts of cycles are aliases.
    """
    if table is None:
        table = pd.DataFrame({"description": []}, dtype=str)
    kinds = events.kinds(X.columns, table)
    rules = kinds["class"].map(_RULE_BY_CLASS.get(per, {}))
    if per == IPC.per:
        rules[kinds["topic"] == _OPS_TOPIC] = OPS_OF_ALL_KINDS
        proportional = kinds.index.isin(find_proportional(X, ipc))
        rules[proportional & rules.isna()] = CONSTANT_RATE
    return rules.dropna().rename("rule")


def _drop_ticking(runs, target):
    """Drop events that happen at a constant rate in time, such as timer interrupts.

    Returns the runs, and the rates [1/s] of the dropped events. Nothing is dropped if the target is a rate per second.
    """
    base_event = target.event if target == IPC else target.per
    is_timed = all(counts.index.name == "time_s" for counts in runs["counts"])
    if not base_event or not is_timed:
        return runs, pd.Series(dtype=float)
    ticking = find_ticking(zip(runs["counts"], runs["seconds"], strict=True), base_event)
    ticking = ticking.drop(target.event, errors="ignore")
    remaining = [counts.drop(columns=ticking.index, errors="ignore") for counts in runs["counts"]]
    if len(ticking) and all(target.leaks_target(event) for counts in remaining for event in counts):
        rates = ", ".join(f"{event} {rate:,.0f} times" for event, rate in ticking.items())
        target_events = " and ".join(sorted(target.events))
        raise UnfitRecordingError(
            f"{target.name} cannot be explained: all events except {target_events} happen at a fixed rate in time "
            f"({rates} per second). Record core events, which `cmlib doctor` lists."
        )
    return runs.assign(counts=remaining), ticking


def choose_cycles(url: str, program: str, target: str) -> list[str]:
    """Choose programs that counted IPC (instructions per cycle) on hardware.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    program : str
        Names of programs, separated by commas, or ``"all"``.
    target : str
        Name of the rate to explain. Only IPC is accepted. If it is "", the default of the recordings is checked.

    Returns
    -------
    list of str
        Names of the programs.

    Raises
    ------
    UnfitRecordingError
        If the programs are simulated, or the target is not IPC.
    NothingRecordedError
        If no program is recorded, or a named program is not recorded.
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
    """Select the events that could explain cycles per instruction.

    Such an event varies and happens in at least a tenth of the rows. It does not measure cycles per instruction
    itself.

    Parameters
    ----------
    data : Matrix
        Rates of the events. The target must be IPC.
    table : DataFrame
        Table of the processor's events, from :func:`cmlib.experiments.event_table`.

    Returns
    -------
    X : DataFrame, shape (n_rows, n_selected)
        Rates of the selected events.
    cpi : Series, shape (n_rows,)
        Cycles per instruction.
    kinds : DataFrame
        Class and topic of every event in `data`, from :func:`cmlib.io.events.kinds`.

    Raises
    ------
    UnfitRecordingError
        If `data` has fewer than 20 rows, IPC does not vary, or no event can be selected.
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
    """Select the programs whose target varies enough for a model.

    Parameters
    ----------
    matrices : dict of str to Matrix
        Matrix of each program.

    Returns
    -------
    dict of str to Matrix
        Programs with a standard deviation of the target of at least 2 % of its mean.

    Raises
    ------
    UnfitRecordingError
        If no program is selected.
    """
    selected = {name: data for name, data in matrices.items() if data.varies}
    if not selected:
        raise UnfitRecordingError(
            " ".join(f"{name}: {_describe_steady(data)}" for name, data in matrices.items())
        )
    return selected


def _describe_steady(data):
    """Return the error message for a target that does not vary."""
    percent = 100 * relative_deviation(data.ipc)
    scope = " without start and exit" if any(data.ends) else ""
    return (
        f"the standard deviation of {data.target.name}{scope} is {percent:.1f} % of its mean: it does not vary, and "
        f"no event is ranked. A ranking takes {100 * LEAST_VARIATION:.0f} %."
    )


def core_runs(
    url: str, programs: Iterable[str], target: Target = IPC, *, workers: Workers | None = None
) -> dict[str, pd.DataFrame]:
    """Load the unmultiplexed runs of programs that were recorded at least twice.

    A set is a named list of events, which may take several runs. A pass is one repetition of these runs. The set
    ``"ocoe"`` is loaded, in which every event was counted all the time. Gaps in the counts are interpolated.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    programs : iterable of str
        Names of the programs.
    target : cmlib.experiments.targets.Target, default IPC
        Rate that must be counted in at least two passes.
    workers : cmlib.parallel.Workers, optional
        Processes that read the runs. Default: one per processor.

    Returns
    -------
    dict of str to DataFrame
        Runs of each program, one row per run, with the columns of :func:`cmlib.experiments.data.cleaned_runs`.
        Programs with fewer than two passes are missing.
    """
    runs = store.runs(url).query("set == 'ocoe'")
    passes = runs[target.counted_in(runs)].groupby("program")["pass"].nunique()
    load_runs = partial(cleaned_runs, url, sets=["ocoe"], method="interpolate", workers=workers)
    return {name: load_runs(name) for name in programs if passes.get(name, 0) > 1}


def _join_intervals(runs, target, per):
    """Make a Matrix with one row per interval or per group of neighboring intervals.

    The last of several measured runs is the test data.
    """
    runs, event_names = _select_most_events(runs)
    n_training = max(1, len(runs) - 1)
    n_intervals = sum(map(len, runs["counts"].iloc[:n_training]))
    most_rows = _MOST_RUNS if _are_totals(runs) else _MOST_ROWS
    intervals_per_row = math.ceil(n_intervals / most_rows)
    tables = [
        _compute_rates(run.counts[event_names], run.seconds, target, per, intervals_per_row)
        for run in runs.itertuples()
    ]
    ends = [(0, 0)] * len(tables)
    if target == IPC and not _are_totals(runs):
        ends = [find_start_and_exit(y) for _, y in tables]
    tables = [
        _cut_ends(X, y, n_start, n_exit) for (X, y), (n_start, n_exit) in zip(tables, ends, strict=True)
    ]
    X, y = _join_in_time(tables[:n_training])
    holdout = tables[n_training] if len(tables) > n_training else None
    _refuse_rare_target(y, target, len(runs["counts"].iloc[0]))
    if X.empty:
        raise UnfitRecordingError(
            f"{target.name} has no other event that could explain it: record others together with it."
        )
    n_start = sum(at_start for at_start, _ in ends[:n_training])
    n_exit = sum(at_exit for _, at_exit in ends[:n_training])
    return Matrix(X, y, holdout, target, ends=(n_start, n_exit))


def _select_most_events(runs):
    """Return the runs with the most counted events, and the event names.

    Only the first simulated run is selected, because all simulated runs are equal.
    """
    events_by_run = [tuple(run.columns[run.notna().any()]) for run in runs["counts"]]
    most_events = max(events_by_run, key=len)
    runs = runs[[events == most_events for events in events_by_run]]
    if INSTRUCTIONS in most_events:
        runs = runs.head(1)
    return runs, list(most_events)


def _cut_ends(X, y, n_start, n_exit):
    """Remove the first `n_start` and the last `n_exit` rows of X and y."""
    return X.iloc[n_start : len(X) - n_exit], y.iloc[n_start : len(y) - n_exit]


def _refuse_rare_target(y, target, n_intervals):
    """Raise an error if the target is above 0 in too few rows."""
    happened = int((y > 0).sum())
    if happened < FEWEST_INTERVALS:
        raise UnfitRecordingError(
            f"what {target.name} takes happened in {happened} of {n_intervals} intervals, and a model takes "
            f"{FEWEST_INTERVALS}: explain another event by `-p target=EVENT`, or record longer intervals."
        )


def _are_totals(runs):
    """Return True if each row of the counts is a complete run."""
    return all(counts.index.name == "run" for counts in runs["counts"])


def _join_in_time(tables):
    """Join the (X, y) of several runs, one run after the other in time."""
    start = 0.0
    X_parts = []
    y_parts = []
    for X, y in tables:
        X_parts.append(X.set_axis(X.index + start))
        y_parts.append(y.set_axis(y.index + start))
        if len(y):
            start += y.index[-1]
    return pd.concat(X_parts), pd.concat(y_parts)


def _compute_rates(counts, seconds, target, per, intervals_per_row):
    """Return the event rates X and the target y of a run.

    Neighboring intervals are added up. Rows in which a divisor is 0 are removed.
    """
    row_number = np.arange(len(counts)) // intervals_per_row
    row_ends = pd.Index(counts.index.to_series().groupby(row_number).max(), name=counts.index.name)
    counts = counts.groupby(row_number).sum().set_axis(row_ends)
    seconds = seconds.groupby(row_number).sum().set_axis(counts.index)
    divisor_of_events = counts[per] if per else seconds
    divisor_of_target = counts[target.per] if target.per else seconds
    usable = (divisor_of_events > 0) & (divisor_of_target > 0)
    if target == IPC:
        usable &= counts[target.event] > 0
    explaining = [event for event in counts if not target.leaks_target(event)]
    X = target.factor * counts[explaining].div(divisor_of_events, axis=0)
    y = target.factor * counts[target.event] / divisor_of_target
    return X[usable], y[usable].rename("ipc" if target == IPC else target.name)


_FEWEST_MODELS = 4  # smallest number of models until all events are dropped


def refine(data: Matrix, *, step: int = 10, test_share: float = 0.2, seed: int = 0) -> Refinement:
    """Rank events by importance, and drop unimportant events.

    This is event importance refinement: fit a model, drop the least important events and fit again
    (:func:`cmlib.rank.refine`). The ranking is stored in a cache. The best model is not stored, and is always
    fitted again.

    Parameters
    ----------
    data : Matrix
        Rates of the events and the target.
    step : int, default 10
        Number of events to drop before each fit. It is reduced to a quarter of the number of events if it is
        larger.
    test_share : float, default 0.2
        Share of the rows for tests (0-1).
    seed : int, default 0
        Seed of the models and folds.

    Returns
    -------
    cmlib.rank.refinement.Refinement
        Errors by number of events, the best model and its event importances.

    Raises
    ------
    UnfitRecordingError
        If the matrix has fewer than 20 rows, or the target hardly varies.
    """
    if not data.varies:
        raise UnfitRecordingError(_describe_steady(data))
    step = min(step, max(1, data.X.shape[1] // _FEWEST_MODELS))
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
    """Return a Refinement without its model as DataFrames for the cache."""
    return {
        "history": refined.history,
        "nested": refined.nested,
        "baselines": refined.baselines.to_frame(),
        "chosen": pd.DataFrame({"step": [refined.chosen], "one_event": [refined.one_event]}),
        "rankings": pd.DataFrame({str(step): ranking for step, ranking in enumerate(refined.rankings)}),
    }


def _refit_chosen(data, tables, seed):
    """Return the Refinement from cached tables, and fit its best model again."""
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
