"""Prepare accounts of the pipeline's slots of recorded programs: choose the formulas, and cut runs into steps.

A slot is a place for one operation that the processor can begin in a cycle. An account says how the slots were used,
by the formulas of a top-down table. Programs are identified by the URL of their store (a database) and their name.
Events that were not counted are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from cmlib import merge, topdown
from cmlib.errors import NothingRecordedError
from cmlib.experiments.data import FEWEST_INTERVALS, cleaned_runs, interval_runs, knows_ipc, timed_runs
from cmlib.experiments.event_tables import table_name
from cmlib.io import store
from cmlib.topdown.costs import UNKNOWN

if TYPE_CHECKING:
    from cmlib.io.recording import Recording
    from cmlib.parallel import Workers
    from cmlib.topdown.category_tables import TopdownTable

_ANY_TABLE = "amd_zen5"  # its meanings of the categories are taken for processors without a table
CATEGORIES = ["retired", "bad speculation", "front end", "back end"]


def topdown_tables(url: str, programs: Iterable[str], processor: str = "") -> dict[str, TopdownTable]:
    """Find the top-down table that fits the counted events of each program.

    Parameters
    ----------
    url : str
        URL of the store.
    programs : iterable of str
        Names of programs in it.
    processor : str, default ""
        Name of their processor, such as ``"amd_zen5"``, for recordings that do not name it.

    Returns
    -------
    dict of str to TopdownTable
        The table by program; programs without a table are left out.

    Raises
    ------
    NothingRecordedError
        If no program has a table.
    """
    tables = {name: _find_table(url, name, processor) for name in programs}
    if not any(tables.values()):
        raise NothingRecordedError(
            "this takes cycles and a processor's events for slots, and they were not counted of "
            f"{', '.join(programs)}."
        )
    return {name: table for name, table in tables.items() if table}


def _find_table(url, program, processor):
    """Find the top-down table that fits the counted events of a program; None if none does."""
    runs = [store.load(url, run_id).whole() for run_id in interval_runs(url, [program])["run_id"]]
    rates = topdown.totals(runs)["rate"]
    return topdown.choose_table(rates.index, table_name(url, program, processor), rates)


def cleaned_steps(
    url: str, program: str, wanted: set[str], *, method: str = "shrinkage", workers: Workers | None = None
) -> list[pd.DataFrame]:
    """Clean all runs of a program, and cut them into steps of equal instructions.

    Parameters
    ----------
    url : str
        URL of the store.
    program : str
        Name of a program in it.
    wanted : set of str
        Names of the events to return, instructions and cycles among them.
    method : str, default "shrinkage"
        Method of cleaning, one of :data:`cmlib.clean.METHODS`.
    workers : cmlib.parallel.Workers, optional
        Where the runs are cleaned. Default: one process per processor.

    Returns
    -------
    list of DataFrame
        Counts of each run [events per step]: one row per step, the same number in all runs, and one column for each
        wanted event that the run counted. Missing counts are interpolated.

    Raises
    ------
    UnfitRecordingError
        If the program has only totals of whole runs.
    NothingRecordedError
        If it has no runs.
    """
    sets = sorted(set(timed_runs(url, [program])["set"]))
    cleaned = cleaned_runs(url, program, sets, method=method, workers=workers)["counts"]
    needed = [run[run.columns[run.columns.isin(wanted)]].dropna(axis=1, how="all") for run in cleaned]
    return merge.step_runs([run.interpolate(limit_direction="both") for run in needed])


def frame_of_bounds(summary: dict, parent: str = "") -> pd.DataFrame:
    """Return the bounds of a program's categories.

    Parameters
    ----------
    summary : dict
        From :func:`cmlib.experiments.summary.summarize_recordings`; its ``account`` must not be None.
    parent : str, default ""
        Category with the parts to return. Default: the four categories of the first level.

    Returns
    -------
    DataFrame
        One row per category, columns low and high [% of the slots]; empty if there are no parts.
    """
    rows = pd.DataFrame(summary["account"]["categories"]).set_index("name")
    chosen = rows.loc[rows["parent"] == parent, ["low", "high"]]
    if parent:
        return chosen
    return chosen.reindex(CATEGORIES)


def frame_of_advice(summary: dict) -> pd.DataFrame:
    """Return the advice on a program, one row per remedy.

    Parameters
    ----------
    summary : dict
        From :func:`cmlib.experiments.summary.summarize_recordings`; its ``account`` must not be None.

    Returns
    -------
    DataFrame
        Columns: loss (category), meaning of the loss, at_most (the most that its removal can save [% of the cycles];
        NaN if not bounded) and remedy. The loss with the largest lower bound comes first.
    """
    processor = summary["processor"]
    table = topdown.read_table(processor if processor in topdown.tables() else _ANY_TABLE)
    meanings = {category.name: category.about.partition(";")[0].rstrip(".") for category in table.categories}
    rows = []
    for advice in summary["account"]["advice"]:
        meaning = meanings.get(advice["category"], "")
        for remedy in advice["action"].replace("`", "").split("; "):
            rows.append([advice["category"], meaning, advice["at_most"], remedy])
    frame = pd.DataFrame(rows, columns=["loss", "meaning", "at_most", "remedy"])
    return frame.astype({"at_most": float})


def have_steps(recordings: Sequence[Recording]) -> bool:
    """Return True if the runs of a program can be cut into steps.

    Parameters
    ----------
    recordings : sequence of cmlib.io.recording.Recording
        Runs of one program.

    Returns
    -------
    bool
        True if each run has at least 20 intervals in time, and counted instructions and cycles.
    """
    return all(
        knows_ipc(recording.counts)
        and not recording.holds_totals
        and len(recording.counts) >= FEWEST_INTERVALS
        for recording in recordings
    )


def counted_shares(recordings: Sequence[Recording], processor: str | None = None) -> pd.Series:
    """Compute the share of each category by its own events, without any bound.

    Parameters
    ----------
    recordings : sequence of cmlib.io.recording.Recording
        Runs of one program; they may have counted different events.
    processor : str, optional
        Name of the processor. Default: the table that fits the counted events.

    Returns
    -------
    Series
        Share of each of the four categories [% of the slots]; NaN if its events were not counted.
    """
    rates = topdown.totals([recording.whole() for recording in recordings])["rate"]
    table = topdown.choose_table(rates.index, processor, rates)
    if table is None:
        return pd.Series(float("nan"), CATEGORIES)
    account = topdown.account(rates.to_frame().T, table)
    return 100 * account.level().iloc[0].reindex(CATEGORIES)


def bounds_by_step(
    url: str, program: str, *, processor: str | None = None, workers: Workers | None = None
) -> tuple[pd.Series, pd.DataFrame, pd.DataFrame]:
    """Bound the shares of the slots in steps of equal instructions.

    Parameters
    ----------
    url : str
        URL of the store.
    program : str
        Name of a program with counts in intervals.
    processor : str, optional
        Name of the processor. Default: not known.
    workers : cmlib.parallel.Workers, optional
        Where the runs are cleaned.

    Returns
    -------
    ipc : Series
        Instructions per cycle; index: progress (0–1).
    low, high : DataFrame
        Bounds of the four categories [% of the slots], one row per step. They do not contain the error of multiplexing.
    """
    events = set(interval_runs(url, [program])["events"].explode())
    rates, ipc = topdown.merge_steps(cleaned_steps(url, program, events, workers=workers))
    rates["instructions"] = ipc
    costs = topdown.read_costs(processor or UNKNOWN)
    low, high = {}, {}
    for progress, rate in rates.iterrows():
        shares = topdown.bounds(pd.DataFrame({"rate": rate, "error": 0.0}), costs).shares
        low[progress] = 100 * shares.loc[CATEGORIES, "low"]
        high[progress] = 100 * shares.loc[CATEGORIES, "high"]
    return ipc, pd.DataFrame(low).T, pd.DataFrame(high).T
