"""Compute how programs use the slots of the processor's pipeline.

A slot is a chance to begin one operation in one cycle. A slot either retires an operation, or is lost to the front
end, the back end or bad speculation. These four are the categories (`CATEGORIES`). A top-down table contains the
formulas of a processor. :func:`topdown_tables` finds the tables of recorded programs. :func:`counted_shares`
computes the shares of the categories, and :func:`bounds_by_step` computes bounds over time.

The recordings are in a database, given by its URL (`url`).
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

_DEFAULT_TABLE = "amd_zen5"  # describes the categories of processors without a table
CATEGORIES = ["retired", "bad speculation", "front end", "back end"]


def topdown_tables(url: str, programs: Iterable[str], processor: str = "") -> dict[str, TopdownTable]:
    """Find the top-down table of each program.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    programs : iterable of str
        Names of the programs.
    processor : str, default ""
        Name of the processor. For example, ``"amd_zen5"``. Default: the processor of the recording.

    Returns
    -------
    dict of str to TopdownTable
        Table of each program. Programs without a table are missing.

    Raises
    ------
    NothingRecordedError
        If no program has a table.
    """
    tables = {name: _find_table(url, name, processor) for name in programs}
    if not any(tables.values()):
        raise NothingRecordedError(
            f"{', '.join(programs)}: no slots can be computed. Record cycles and the events for slots of the processor."
        )
    return {name: table for name, table in tables.items() if table}


def _find_table(url, program, processor):
    """Return the top-down table that fits the counted events, or None."""
    runs = [store.load(url, run_id).whole() for run_id in interval_runs(url, [program])["run_id"]]
    rates = topdown.totals(runs)["rate"]
    return topdown.choose_table(rates.index, table_name(url, program, processor), rates)


def cleaned_steps(
    url: str, program: str, wanted: set[str], *, method: str = "shrinkage", workers: Workers | None = None
) -> list[pd.DataFrame]:
    """Clean the runs of a program and cut them into steps.

    A step is a part of the run with a fixed share of its instructions. The same step of two runs executed the same
    work.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    program : str
        Name of the program.
    wanted : set of str
        Names of the events to return. Must include instructions and cycles.
    method : str, default "shrinkage"
        Cleaning method, a key of :data:`cmlib.clean.METHODS`.
    workers : cmlib.parallel.Workers, optional
        Processes that clean the runs. Default: one per processor.

    Returns
    -------
    list of DataFrame
        Counts of each run. One row per step, one column for each wanted event that the run counted. All runs have the
        same number of steps. Missing counts are interpolated.

    Raises
    ------
    UnfitRecordingError
        If the program only has total counts of complete runs.
    NothingRecordedError
        If the program has no runs.
    """
    sets = sorted(set(timed_runs(url, [program])["set"]))
    runs = []
    for counts in cleaned_runs(url, program, sets, method=method, workers=workers)["counts"]:
        wanted_counts = counts[counts.columns[counts.columns.isin(wanted)]]
        runs.append(wanted_counts.dropna(axis=1, how="all").interpolate(limit_direction="both"))
    return merge.step_runs(runs)


def frame_of_bounds(summary: dict, parent: str = "") -> pd.DataFrame:
    """Return the bounds of the share of each category.

    Parameters
    ----------
    summary : dict
        Summary from :func:`cmlib.experiments.summary.summarize_recordings`. Its ``account`` must not be None.
    parent : str, default ""
        Category to divide. For example, ``"back end"``. Default: the four top-level categories are returned.

    Returns
    -------
    DataFrame
        One row per category. Columns: ``low`` and ``high`` [% of the slots]. Empty if the category has no
        subcategories.
    """
    rows = pd.DataFrame(summary["account"]["categories"]).set_index("name")
    chosen = rows.loc[rows["parent"] == parent, ["low", "high"]]
    if parent:
        return chosen
    return chosen.reindex(CATEGORIES)


def frame_of_advice(summary: dict) -> pd.DataFrame:
    """Return the advice on a program as a table.

    Parameters
    ----------
    summary : dict
        Summary from :func:`cmlib.experiments.summary.summarize_recordings`. Its ``account`` must not be None.

    Returns
    -------
    DataFrame
        One row per remedy, the largest loss first, with these columns:

        - ``loss``: category of the lost slots.
        - ``meaning``: description of the category.
        - ``at_most``: most that can be saved [% of the cycles], or NaN if it is unknown.
        - ``remedy``: what to try.
    """
    processor = summary["processor"]
    table = topdown.read_table(processor if processor in topdown.tables() else _DEFAULT_TABLE)
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

    A step is a part of the run with a fixed share of its instructions.

    Parameters
    ----------
    recordings : sequence of cmlib.io.recording.Recording
        Runs of one program.

    Returns
    -------
    bool
        True if every run counted instructions and cycles in at least 20 intervals.
    """
    return all(
        knows_ipc(recording.counts)
        and not recording.holds_totals
        and len(recording.counts) >= FEWEST_INTERVALS
        for recording in recordings
    )


def counted_shares(recordings: Sequence[Recording], processor: str | None = None) -> pd.Series:
    """Compute the share of each category of slots.

    Parameters
    ----------
    recordings : sequence of cmlib.io.recording.Recording
        Runs of one program. They can contain different events.
    processor : str, optional
        Name of the processor. Default: the processor that fits the counted events.

    Returns
    -------
    Series
        Share of each category [% of the slots]. NaN if its events were not counted.
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
    """Compute bounds of the share of each category in every step.

    A step is a part of the run with a fixed share of its instructions. The bounds ignore the error that multiplexing
    causes.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    program : str
        Name of the program.
    processor : str, optional
        Name of the processor. Default: unknown.
    workers : cmlib.parallel.Workers, optional
        Processes that clean the runs. Default: one per processor.

    Returns
    -------
    ipc : Series
        Instructions per cycle of each step. The index is the share of the instructions executed so far (0–1).
    low, high : DataFrame
        Bounds of each category [% of the slots], one row per step.
    """
    events = set(interval_runs(url, [program])["events"].explode())
    rates, ipc = topdown.merge_steps(cleaned_steps(url, program, events, workers=workers))
    rates["instructions"] = ipc
    costs = topdown.read_costs(processor or UNKNOWN)
    low = {}
    high = {}
    for progress, rate in rates.iterrows():
        shares = topdown.bounds(pd.DataFrame({"rate": rate, "error": 0.0}), costs).shares
        low[progress] = 100 * shares.loc[CATEGORIES, "low"]
        high[progress] = 100 * shares.loc[CATEGORIES, "high"]
    return ipc, pd.DataFrame(low).T, pd.DataFrame(high).T
