"""Find the event tables of recorded programs, by their machine or by the names of their events.

An event table lists the events of a processor: a DataFrame with one row per event and the columns code, umask, abbr
(short name), unit (part of the processor), description and more, as :func:`cmlib.io.events.table` reads it.
:func:`event_table` returns one for all programs, :func:`table_name` the name of a program's table. Programs are in the
store, a database identified by its URL (`url`). StoreError if there is no store.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pandas as pd

from cmlib import processors
from cmlib.io import events, store

if TYPE_CHECKING:
    from cmlib.io.recording import Recording

__all__ = ["known_sums", "table_name"]


def event_table(url: str) -> pd.DataFrame:
    """Join the event tables of all programs in a store into one.

    Parameters
    ----------
    url : str
        URL of the store.

    Returns
    -------
    DataFrame
        One row per event (index: its name), with the columns of :func:`cmlib.io.events.table`, such as code, umask,
        unit, abbr and description. It contains the whole table of each processor of the recordings. Of the
        events that all processors have (software events, perf's general names, simulated events), it contains only
        those that were recorded. If several
        tables have an event, its row is from the table with most recorded events. Abbreviations (column abbr) that are
        not unique are empty.
    """
    recorded = {}
    for _, names, table in _programs(url):
        recorded.setdefault(table, set()).update(names)
    everything = set().union(*recorded.values())
    tables = [(events.table(name), names) for name, names in recorded.items() if name]
    most_used_first = sorted(tables, key=_count_recorded, reverse=True)
    general = events.general_events()
    general = pd.concat([general, _simulated()[general.columns]])
    processor_tables = [table for table, names in most_used_first if table.index.isin(names).any()]
    joined = pd.concat([*processor_tables, general[general.index.isin(everything)]])
    joined = joined[~joined.index.duplicated()]
    return joined.assign(abbr=joined["abbr"].mask(joined["abbr"].duplicated(), ""))


def table_name(url: str, program: str, processor: str = "") -> str | None:
    """Find the name of the event table of a program.

    Parameters
    ----------
    url : str
        URL of the store.
    program : str
        Name of a program in it.
    processor : str, default ""
        Name of its processor, such as ``"intel_skylake"``. Default: the machine in the metadata of the program's runs,
        or, if these do not name it, the processor that fits the names of its events.

    Returns
    -------
    str or None
        Such as ``"amd_zen5"``; None if there is no table.
    """
    if processor:
        return events.find_table_name(processors.machine_with(processor))
    return next((table for name, _, table in _programs(url) if name == program), None)


def known_sums(run: Recording) -> list[tuple[str, tuple[str, ...]]]:
    """List the sums between events that are valid on the processor of a run.

    Parameters
    ----------
    run : cmlib.io.recording.Recording
        A run, of which the machine and the names of the events are used.

    Returns
    -------
    list of (str, tuple of str)
        Pairs of an event (the whole) and of events with counts that add up to its count (the parts). If the processor
        is not known, only sums in all event tables that fit the names of the run's events.
    """
    is_known = run.machine.get("vendor") is not None
    names = [events.find_table_name(run.machine)] if is_known else events.recognise(run.counts.columns).tables
    sums = [_sums(name) if name else [] for name in names]
    if not sums:
        return []
    return [known_sum for known_sum in sums[0] if all(known_sum in table_sums for table_sums in sums)]


def _count_recorded(table_and_names):
    """Return how many events of a table (DataFrame) are among the recorded names (set)."""
    table, names = table_and_names
    return table.index.isin(names).sum()


def _programs(url):
    """Yield for every program and event table (program, set of its events, name of the table or None)."""
    machines = store.machines(url)
    events_by_program = {}  # by program and name of the table, "" where the machine is not known
    for run in store.runs(url).itertuples():
        machine = machines[run.run_id]
        table = "" if machine.get("vendor") is None else events.find_table_name(machine)
        events_by_program.setdefault((run.program, table), set()).update(run.events)
    for (program, table), names in events_by_program.items():
        if table == "":
            table = next(iter(events.recognise(names).tables), None)
        yield program, names, table


def _simulated():
    """Return the table of simulated events with the columns of an event table."""
    table = events.simulated_events(levels=3)
    marked = (table.index + " (modelled)").where(table["kind"] == events.MODELLED, "")
    defaults = dict.fromkeys(["code", "umask", "bits", "counters", "core"], 0) | {
        "named": False,
        "whole": False,
    }
    return table.assign(abbr=marked, unit="simulated, " + table["kind"], extra="", **defaults)


@functools.cache
def _sums(name):
    """List the sums between events, (whole, parts), of the event table `name`."""
    return events.umask_sums(events.table(name))
