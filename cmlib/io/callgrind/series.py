"""Convert the output of Callgrind to counts of simulated events per interval.

:func:`read_series` returns the counts of a run. :func:`read_intervals` also returns the counts of each function.
A simulation has no clock. Executed instructions replace the time in the index of the counts.
"""

import math

import numpy as np
import pandas as pd

from cmlib.io.callgrind.functions import read_functions
from cmlib.io.callgrind.totals import CallgrindError, read_parts, read_second_level
from cmlib.io.events import second_level_events, simulated_events

# Simulated runs have no clock. Their index `time_s` counts a billion instructions as one second.
INSTRUCTIONS_PER_SECOND = 1e9
# Largest relative difference of the instructions of two simulations of the same run.
LARGEST_DIFFERENCE = 1e-4


def read_series(text: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the counts of a simulated run per interval.

    Intervals without instructions are omitted.

    Parameters
    ----------
    text : str
        Output of Callgrind. A second simulation in the text is optional.

    Returns
    -------
    counts : DataFrame of float, shape (n_intervals, n_events)
        Columns: simulated events. For example, ``sim.instructions``. There are 13 events after one simulation. A second
        simulation adds 3 events for misses of the second-level cache. Index ``time_s``: instructions executed until the
        end of the interval [billion].
    running : DataFrame of float, shape (n_intervals, n_events)
        Running share of each event: the fraction of the interval in which the event was counted. Always 1.

    Raises
    ------
    CallgrindError
        If the text is damaged or was not written by Callgrind. Also if an event was not simulated, or the instructions
        of the two simulations differ by more than 0.01 %.
    """
    counts = as_events(read_parts(text).totals)
    second_parts = read_second_level(text)
    if second_parts is not None:
        counts = join_levels(counts, as_events(second_parts.totals))
    counts = _index_by_instructions(counts[counts["sim.instructions"] > 0])
    return counts, pd.DataFrame(1.0, counts.index, counts.columns)


def read_intervals(text: str, max_intervals: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the counts of a simulated run and of its functions per interval.

    Parameters
    ----------
    text : str
        Output of Callgrind.
    max_intervals : int >= 1, default 300
        Largest number of intervals. If the run has more parts, neighboring parts are added up.

    Returns
    -------
    counts : DataFrame of float, shape (n_intervals, n_events)
        Columns: simulated events. Index ``time_s``: instructions executed until the end of the interval [billion].
    functions : DataFrame of float
        Columns: simulated events. Index: interval (from 0), function, file and object.

    Raises
    ------
    CallgrindError
        If the text is damaged or was not written by Callgrind. Also if an event was not simulated, or no instruction
        was executed.
    """
    totals = as_events(read_parts(text).totals)
    interval_by_part = _number_intervals(totals["sim.instructions"], max_intervals)
    counts = _index_by_instructions(totals.groupby(interval_by_part).sum())
    functions = as_events(read_functions(text))
    if len(functions) and functions.index.get_level_values("part").max() >= len(interval_by_part):
        raise CallgrindError(
            "Functions in Callgrind's output belong to more parts than have totals: the file was cut or changed."
        )
    functions = functions.reset_index()
    functions["interval"] = interval_by_part[functions["part"]]
    keys = ["interval", "function", "file", "object"]
    return counts, functions.drop(columns="part").groupby(keys).sum()


def _number_intervals(instructions: pd.Series, max_intervals: int) -> np.ndarray:
    """Assign an interval to each part of a run.

    Intervals are numbered from 0.
    """
    has_instructions = (instructions > 0).to_numpy()
    if not has_instructions.any():
        raise CallgrindError("no part executed an instruction: the file was cut or changed.")
    # Parts are counted only if they have instructions. A part without instructions joins the previous part.
    part_number = np.maximum(has_instructions.cumsum() - 1, 0)
    parts_per_interval = math.ceil(has_instructions.sum() / max_intervals)
    return part_number // parts_per_interval


def _index_by_instructions(counts: pd.DataFrame) -> pd.DataFrame:
    """Set the index to the number of executed instructions [billion].

    It is the number at the end of each row.
    """
    ends = counts["sim.instructions"].cumsum().to_numpy() / INSTRUCTIONS_PER_SECOND
    return counts.set_axis(pd.Index(ends, name="time_s"), axis=0)


def as_events(costs: pd.DataFrame) -> pd.DataFrame:
    """Rename Callgrind's counts to simulated events.

    For example, ``Dr`` becomes ``sim.loads``.

    Parameters
    ----------
    costs : DataFrame
        Columns: Callgrind's short names. Unknown columns are dropped.

    Returns
    -------
    DataFrame of float
        The index is unchanged.

    Raises
    ------
    CallgrindError
        If an event was not simulated.
    """
    short_names = simulated_events()["callgrind"]
    missing = [name for name in short_names if name not in costs]
    if missing:
        raise CallgrindError(
            f"Callgrind did not simulate {', '.join(missing)}: run it with --cache-sim=yes --branch-sim=yes."
        )
    return costs[list(short_names)].set_axis(list(short_names.index), axis=1).astype(np.float64)


def join_levels(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Add the second-level cache misses from a second simulation.

    Parameters
    ----------
    first, second : DataFrame
        Counts of the two simulations of a run, one row per interval. Columns: simulated events.

    Returns
    -------
    DataFrame
        `first` with the further columns ``sim.l2_instruction_misses``, ``sim.l2_load_misses`` and
        ``sim.l2_store_misses``. If intervals of the simulations end at different instructions, these columns are
        interpolated.

    Raises
    ------
    CallgrindError
        If the instructions of the simulations differ by more than 0.01 %.
    """
    relative_difference = measure_difference(first, second)
    if relative_difference > LARGEST_DIFFERENCE:
        raise CallgrindError(
            "The two simulations did not execute the same: their instructions differ by "
            f"{100 * relative_difference:.2g} %."
        )
    misses = second[_find_last_level_events()]
    if relative_difference:
        misses = _interpolate_misses(misses, _compute_progress(second), _compute_progress(first))
    misses = misses.set_axis(second_level_events().index, axis=1)
    return pd.concat([first, misses], axis=1)


def _interpolate_misses(misses: pd.DataFrame, progress: pd.Series, new_progress: pd.Series) -> pd.DataFrame:
    """Interpolate misses for intervals with other ends.

    The ends are given as fractions of all instructions (progress).
    """
    misses_so_far = misses.cumsum()
    interpolated = [
        np.interp(new_progress, [0.0, *progress], [0.0, *misses_so_far[event]]) for event in misses
    ]
    return pd.DataFrame(np.diff(interpolated, prepend=0.0).T, new_progress.index)


def _compute_progress(counts: pd.DataFrame) -> pd.Series:
    """Return the progress at the end of each interval.

    Progress is the fraction of all instructions that were executed.
    """
    instructions = counts["sim.instructions"].cumsum()
    return instructions / instructions.iloc[-1]


def measure_difference(first: pd.DataFrame, second: pd.DataFrame) -> float:
    """Return the relative difference of the instructions of two simulations.

    The result is 0 only if the simulations are equal in all events except the misses of the last level. The last levels
    have different sizes, so their misses always differ.

    Parameters
    ----------
    first, second : DataFrame
        Counts of the two simulations. Columns: simulated events.

    Returns
    -------
    float
        At least 2.2e-16 (machine epsilon) if the simulations are not equal.
    """
    compared_events = first.columns.difference(_find_last_level_events())
    if np.array_equal(first[compared_events], second[compared_events]):
        return 0.0
    first_instructions = first["sim.instructions"].sum()
    second_instructions = second["sim.instructions"].sum()
    relative_difference = abs(first_instructions - second_instructions) / first_instructions
    return max(relative_difference, np.finfo(float).eps)


def _find_last_level_events() -> list[str]:
    """Return the names of the events that count misses of the last-level cache."""
    short_names = simulated_events()["callgrind"]
    return [
        short_names.index[short_names == short_name][0] for short_name in second_level_events()["callgrind"]
    ]
