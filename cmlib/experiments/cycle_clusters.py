"""Prepare the data for clusters of events that explain cycles per instruction.

:func:`choose_cycles` chooses the programs, and :func:`usable_events` selects the events of a program. The notebooks on
clusters (studies/clusters and studies/grouping) use both.
"""

from __future__ import annotations

import pandas as pd

from cmlib.errors import UnfitRecordingError
from cmlib.experiments.data import FEWEST_INTERVALS, refuse_simulated
from cmlib.experiments.event_matrix import Matrix, describe_steady_target
from cmlib.experiments.targets import IPC, choose_target
from cmlib.io import events

__all__ = ["choose_cycles", "usable_events"]

_LEAST_SHARE = 0.1  # of the rows in which an event must happen


def choose_cycles(url: str, program: str, target: str) -> list[str]:
    """Choose the programs whose cycles per instruction can be explained.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    program : str
        Names of programs, separated by commas, or ``"all"``.
    target : str
        Name of the rate to explain. It must be ``"IPC"``, or ``""`` for programs that counted IPC (instructions per
        cycle).

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
    names, chosen_target = choose_target(url, program, target)
    refuse_simulated(url, names, "clusters of events explain cycles, which were not counted.")
    if chosen_target != IPC:
        raise UnfitRecordingError(
            f"the target is {chosen_target.name}, but clusters of events only explain cycles per instruction. "
            f"Notebook 03 ranks the events for {chosen_target.name}."
        )
    return names


def usable_events(data: Matrix, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Select the events that could explain cycles per instruction.

    Such an event varies and happens in at least a tenth of the rows. It does not measure cycles per instruction itself.

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
        raise UnfitRecordingError(f"{len(data.X)} rows are too few. Clusters need {FEWEST_INTERVALS}.")
    if not data.varies:
        raise UnfitRecordingError(describe_steady_target(data))
    kinds = events.kinds(data.X.columns, table)
    is_frequent = (data.X > 0).mean() >= _LEAST_SHARE
    is_varying = data.X.nunique() > 1
    is_usable = is_frequent & is_varying & (kinds["class"] != "target")
    if not is_usable.any():
        raise UnfitRecordingError("no event varies. None can explain cycles per instruction.")
    return data.X.loc[:, is_usable], 1 / data.ipc, kinds
