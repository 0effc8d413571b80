"""Choose the rows of a Matrix: steps or intervals of a program's runs.

:func:`join_steps` makes one row per step. A step is a part of the run with a fixed share of its instructions. Steps are
used if different runs counted different events, because the same step of two runs executed the same work.
:func:`join_intervals` makes one row per interval of time. It is used if one run counted all events.

Both functions take cleaned runs: a DataFrame with one row per run, and the columns set, pass, counts (DataFrame) and
seconds (Series of interval lengths). A pass is one repetition of all runs, so that two passes count the same events.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from cmlib import merge
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import FEWEST_INTERVALS
from cmlib.experiments.event_matrix import Matrix
from cmlib.experiments.targets import IPC, Target
from cmlib.io.recording import INSTRUCTIONS as SIMULATED_INSTRUCTIONS
from cmlib.rank.variation import find_start_and_exit

_MOST_INTERVALS = 1000  # largest number of rows if rows are intervals
_MOST_RUNS = 5000  # largest number of rows if each row is a complete run


def join_steps(runs: pd.DataFrame, passes: list[int], per: str) -> Matrix:
    """Make a Matrix of IPC with one row per step.

    Parameters
    ----------
    runs : DataFrame
        Cleaned runs that counted different events.
    passes : list of int
        Numbers of one or two passes. The first pass is the data of the model. The second pass, if given, is the test
        data.
    per : str
        Event by which the counts in X are divided.

    Returns
    -------
    Matrix
        Rates of the events and IPC. The rows of the start and the exit of the process are removed, because their IPC is
        far from the IPC of all other rows.
    """
    aligned = merge.align_passes(list(runs["counts"]), list(runs["pass"]), per=per)
    _, first_ipc = aligned[passes[0]]
    n_start, n_exit = find_start_and_exit(first_ipc)
    # The same steps are removed from both passes, so that a row of one pass is the same work as this row of the other.
    tables = [_cut_ends(X, ipc, n_start, n_exit) for X, ipc in aligned.values()]
    X, ipc = tables[0]
    test_data = tables[1] if len(tables) > 1 else None
    return Matrix(X, ipc, holdout=test_data, ends=(n_start, n_exit))


def join_intervals(runs: pd.DataFrame, target: Target, per: str) -> Matrix:
    """Make a Matrix with one row per interval, or per group of neighboring intervals.

    The runs that counted the most events are used. If several runs were measured, the last of them is the test data.

    Parameters
    ----------
    runs : DataFrame
        Cleaned runs.
    target : cmlib.experiments.targets.Target
        Rate to explain.
    per : str
        Event by which the counts in X are divided. Counts are divided by the time if it is "".

    Returns
    -------
    Matrix
        Rates of the events and the target. If the target is IPC, the intervals of the start and the exit of the process
        are removed, because their IPC is far from the IPC of all other intervals.

    Raises
    ------
    UnfitRecordingError
        If the target happened in fewer than 20 rows, or no other event was counted.
    """
    runs, event_names = _select_widest_runs(runs)
    rows_are_runs = are_totals(runs)
    n_training = max(1, len(runs) - 1)
    n_intervals = sum(len(counts) for counts in runs["counts"].iloc[:n_training])
    intervals_per_row = math.ceil(n_intervals / (_MOST_RUNS if rows_are_runs else _MOST_INTERVALS))
    tables = []  # (X, y) of each run
    ends = []  # number of rows removed at the start and at the exit of each run
    for run in runs.itertuples():
        X, y = _compute_rates(run.counts[event_names], run.seconds, target, per, intervals_per_row)
        n_start, n_exit = 0, 0
        if target == IPC and not rows_are_runs:
            n_start, n_exit = find_start_and_exit(y)
        tables.append(_cut_ends(X, y, n_start, n_exit))
        ends.append((n_start, n_exit))
    X, y = _join_in_time(tables[:n_training])
    test_data = tables[n_training] if len(tables) > n_training else None
    _check_frequency(y, target)
    if X.empty:
        raise UnfitRecordingError(
            f"no event was counted that could explain {target.name}. Record other events together with it."
        )
    n_start = sum(start for start, _ in ends[:n_training])
    n_exit = sum(end for _, end in ends[:n_training])
    return Matrix(X, y, holdout=test_data, target=target, ends=(n_start, n_exit))


def are_totals(runs: pd.DataFrame) -> bool:
    """Return True if each row of the counts is a complete run.

    Parameters
    ----------
    runs : DataFrame
        Cleaned runs.

    Returns
    -------
    bool
        False if rows are intervals.
    """
    return all(counts.index.name == "run" for counts in runs["counts"])


def _select_widest_runs(runs: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the runs that counted the largest number of events, and the names of these events.

    Only the first simulated run is returned, because all simulated runs are equal.
    """
    events_of_runs = [tuple(counts.columns[counts.notna().any()]) for counts in runs["counts"]]
    event_names = max(events_of_runs, key=len)
    has_these_events = [names == event_names for names in events_of_runs]
    runs = runs[has_these_events]
    is_simulated = SIMULATED_INSTRUCTIONS in event_names  # only simulated runs count this event
    if is_simulated:
        runs = runs.head(1)
    return runs, list(event_names)


def _compute_rates(
    counts: pd.DataFrame, seconds: pd.Series, target: Target, per: str, intervals_per_row: int
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the event rates X and the target y of a run.

    `intervals_per_row` neighboring intervals are added up to one row. Rows in which a divisor is 0 are removed. If the
    target is IPC, rows without instructions are removed, too, because the program did not run.
    """
    row_of_intervals = np.arange(len(counts)) // intervals_per_row
    row_ends = pd.Index(counts.index.to_series().groupby(row_of_intervals).max(), name=counts.index.name)
    counts = counts.groupby(row_of_intervals).sum().set_axis(row_ends)
    seconds = seconds.groupby(row_of_intervals).sum().set_axis(counts.index)
    divisor_of_events = counts[per] if per else seconds
    divisor_of_target = counts[target.per] if target.per else seconds
    is_usable = (divisor_of_events > 0) & (divisor_of_target > 0)
    if target == IPC:
        is_usable &= counts[target.event] > 0
    explaining_events = [event for event in counts if not target.leaks_target(event)]
    # If the target is per 1,000 instructions, the factor is 1000. X is multiplied, too, so that both have this unit.
    X = target.factor * counts[explaining_events].div(divisor_of_events, axis=0)
    y = target.factor * counts[target.event] / divisor_of_target
    return X[is_usable], y[is_usable].rename("ipc" if target == IPC else target.name)


def _cut_ends(X: pd.DataFrame, y: pd.Series, n_start: int, n_exit: int) -> tuple[pd.DataFrame, pd.Series]:
    """Remove the first `n_start` and the last `n_exit` rows of X and y."""
    return X.iloc[n_start : len(X) - n_exit], y.iloc[n_start : len(y) - n_exit]


def _join_in_time(tables: Sequence[tuple[pd.DataFrame, pd.Series]]) -> tuple[pd.DataFrame, pd.Series]:
    """Join the (X, y) of several runs, as if one run followed the other in time."""
    start = 0.0
    X_parts = []
    y_parts = []
    for X, y in tables:
        X_parts.append(X.set_axis(X.index + start))
        y_parts.append(y.set_axis(y.index + start))
        if len(y):
            start += y.index[-1]
    return pd.concat(X_parts), pd.concat(y_parts)


def _check_frequency(y: pd.Series, target: Target) -> None:
    """Raise an error if the target is above 0 in too few rows."""
    n_above_0 = int((y > 0).sum())
    if n_above_0 < FEWEST_INTERVALS:
        raise UnfitRecordingError(
            f"{target.name} is above 0 in {n_above_0} of {len(y)} rows, and a model needs {FEWEST_INTERVALS}. "
            "Explain another event by `-p target=EVENT`, or record longer intervals."
        )
