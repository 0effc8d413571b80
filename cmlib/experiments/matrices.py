"""Read the recordings of a program into a Matrix, the input of models.

A Matrix (:mod:`cmlib.experiments.event_matrix`) contains the rates of a program's events, and the target. The target is
the rate that a model explains by these events, usually IPC (instructions per cycle).

:func:`recorded_matrix` makes the Matrix of a recorded program. It calls :func:`recorded_runs`, which loads and cleans
the runs, and :func:`matrix`, which joins the runs to rows and removes events that cannot explain the target. The
modules `event_ranking` and `cycle_clusters` use the Matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import pandas as pd

from cmlib.errors import UnfitRecordingError
from cmlib.experiments.aliases import find_aliases, find_constant_ratios
from cmlib.experiments.cycle_clusters import choose_cycles, usable_events
from cmlib.experiments.data import FEWEST_INTERVALS, cleaned_runs
from cmlib.experiments.event_matrix import Matrix, describe_steady_target
from cmlib.experiments.event_tables import event_table
from cmlib.experiments.matrix_rows import are_totals, join_intervals, join_steps
from cmlib.experiments.targets import IPC, Target
from cmlib.io import store
from cmlib.io.archive.runs import TIME
from cmlib.parallel import Workers
from cmlib.rank.duplicates import find_duplicates
from cmlib.rank.leaks import find_ticking

__all__ = ["choose_cycles", "find_aliases", "usable_events"]

_SETS_OF_SEVERAL_RUNS = ("ocoe", "sweep")  # sets whose events are counted by several runs
_MOST_NAMED = 8  # events in an error message


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
        One row per run, with the columns of :func:`cmlib.experiments.data.cleaned_runs`: set, pass, counts and seconds.

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
    preferred_sets = [name for name in sets if name in _SETS_OF_SEVERAL_RUNS]
    if preferred_sets:
        sets = preferred_sets
    cleaned = cleaned_runs(url, program, sets, method=method, workers=workers or Workers(1))
    has_target = [target.events <= set(counts.columns[counts.notna().any()]) for counts in cleaned["counts"]]
    return cleaned[has_target]


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
        Table of the processor's events with a column ``description``, from :func:`cmlib.experiments.event_table`.
        Default: events are classified without descriptions.

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
    Some runs count only a part of the events, so that several runs are needed to count all of them. If the target is
    IPC, these runs are divided into the same number of steps. A step is a part of the run with a fixed share of its
    instructions. Each row is a step, and contains the rates of all these runs. If all runs were repeated, the
    repetition is the test data.

    In all other cases, each row is an interval of a run. Only the runs with the largest number of events are used.
    Neighboring intervals are added up to get at most 1,000 rows. If there are several runs, the last is the test data.

    These events are removed from X: events at a constant rate in time, aliases, and events with the same counts as
    another event. If the target is IPC, the start and the exit of the process are removed.
    """
    divisor = target.per if per is None else per
    runs, passes = _select_complete_passes(runs)
    runs, ticking = _drop_ticking_events(runs, target)
    if target == IPC and _needs_steps(runs, passes[:2]):
        data = join_steps(runs[runs["pass"].isin(passes[:2])], passes[:2], divisor)
    else:
        data = join_intervals(runs, target, divisor)
    if target == IPC:
        alias_rules = find_aliases(data.X, data.ipc, per=divisor, table=table)
    else:
        alias_rules = find_constant_ratios(data.X, data.ipc)
    data, alias_rules = _drop_duplicates(data, alias_rules)
    data = _separate_aliases(data, alias_rules)
    return replace(data, ticking=ticking)


def _select_complete_passes(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[int]]:
    """Return the runs of the complete passes, and the numbers of these passes.

    A pass is one repetition of all runs. It is complete if it contains the same sets as the first pass.
    """
    sets_by_pass = runs.groupby("pass")["set"].agg(set)
    complete = [number for number, sets in sets_by_pass.items() if sets == sets_by_pass.iloc[0]]
    return runs[runs["pass"].isin(complete)], complete


def _drop_ticking_events(runs: pd.DataFrame, target: Target) -> tuple[pd.DataFrame, pd.Series]:
    """Drop events that happen at a constant rate in time, for example timer interrupts.

    Returns the runs, and the rates [1/s] of the dropped events (Series). If the target is a rate per second, nothing is
    dropped.
    """
    clock_event = target.event if target == IPC else target.per  # rates are measured relative to this event
    is_timed = all(counts.index.name == "time_s" for counts in runs["counts"])
    if not clock_event or not is_timed:
        return runs, pd.Series(dtype=float)
    ticking = find_ticking(zip(runs["counts"], runs["seconds"], strict=True), clock_event)
    ticking = ticking.drop(target.event, errors="ignore")
    remaining_counts = [counts.drop(columns=ticking.index, errors="ignore") for counts in runs["counts"]]
    remaining_events = {event for counts in remaining_counts for event in counts}
    if len(ticking) and all(target.leaks_target(event) for event in remaining_events):
        rates = ", ".join(f"{event} {rate:,.0f} times" for event, rate in ticking.items())
        target_events = " and ".join(sorted(target.events))
        raise UnfitRecordingError(
            f"{target.name} cannot be explained: all events except {target_events} happen at a fixed rate in time "
            f"({rates} per second). Record core events, which `cmlib doctor` lists."
        )
    return runs.assign(counts=remaining_counts), ticking


def _needs_steps(runs: pd.DataFrame, passes: list[int]) -> bool:
    """Return True if a pass has several runs, and their rows are intervals."""
    runs_of_passes = runs[runs["pass"].isin(passes)]
    has_several_runs = not runs_of_passes["pass"].is_unique
    return has_several_runs and not are_totals(runs_of_passes)


def _drop_duplicates(data: Matrix, alias_rules: pd.Series) -> tuple[Matrix, pd.Series]:
    """Drop events with the same counts as another event.

    Returns the Matrix, and the rules of the remaining aliases. If one of two such events is an alias, it is kept.
    """
    not_aliases = [event for event in data.X if event not in alias_rules.index]
    duplicates = find_duplicates(data.X[[*alias_rules.index, *not_aliases]])
    X, test_data = _drop_columns(data, duplicates.index)
    remaining_rules = alias_rules.drop(duplicates.index, errors="ignore")
    return replace(data, X=X, holdout=test_data, duplicates=duplicates), remaining_rules


def _separate_aliases(data: Matrix, alias_rules: pd.Series) -> Matrix:
    """Move the aliases of a Matrix from X to `aliases`.

    Raises UnfitRecordingError if all events are aliases.
    """
    names = list(alias_rules.index)
    if len(names) == data.X.shape[1]:
        raise UnfitRecordingError(
            f"all counted events are {data.target.name} under another name ({', '.join(names[:_MOST_NAMED])}). They do "
            "not explain it. Record events that cost cycles, for example misses and mispredictions. `cmlib doctor` "
            "lists core events."
        )
    X, test_data = _drop_columns(data, names)
    return replace(data, X=X, aliases=data.X[names], alias_rules=alias_rules, holdout=test_data)


def _drop_columns(
    data: Matrix, names: Iterable[str]
) -> tuple[pd.DataFrame, tuple[pd.DataFrame, pd.Series] | None]:
    """Return X and the test data of a Matrix without some events."""
    X = data.X.drop(columns=names)
    if data.holdout is None:
        return X, None
    test_X, test_ipc = data.holdout
    return X, (test_X.drop(columns=names), test_ipc)


def varying(matrices: dict[str, Matrix]) -> dict[str, Matrix]:
    """Select the programs with a target that varies enough for a model.

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
        messages = [f"{name}: {describe_steady_target(data)}" for name, data in matrices.items()]
        raise UnfitRecordingError(" ".join(messages))
    return selected


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
        Runs of each program, one row per run, with the columns of :func:`cmlib.experiments.data.cleaned_runs`. Programs
        with fewer than two passes are missing.
    """
    runs = store.runs(url).query("set == 'ocoe'")
    n_passes = runs[target.counted_in(runs)].groupby("program")["pass"].nunique()
    load_runs = partial(cleaned_runs, url, sets=["ocoe"], method="interpolate", workers=workers)
    return {name: load_runs(name) for name in programs if n_passes.get(name, 0) > 1}
