"""Find the event tables that describe the events of recorded programs.

:func:`event_table` returns one table for all recorded programs. :func:`table_name` returns the name of the table of
one program. An event table is a DataFrame with one row per event of a processor. Its columns are the encoding, a
short name, a description and more, see :func:`cmlib.io.events.table`.

The recordings are in a database, given by its URL (`url`). A table is found by the machine in the metadata of a
recording. If the machine is unknown, it is found by the names of the counted events.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pandas as pd

from cmlib import processors
from cmlib.io import events, store

if TYPE_CHECKING:
    from cmlib.io.recording import Recording

__all__ = ["known_sums", "table_name"]


def event_table(url: str) -> pd.DataFrame:
    """Join the event tables of all recorded programs.

    The result contains all events of each recorded processor. Software events and simulated events are included
    only if they were recorded. If several tables contain an event, its row is from the table with the most recorded
    events.

    Parameters
    ----------
    url : str
        URL of the database of recordings.

    Returns
    -------
    DataFrame
        One row per event, with the columns of :func:`cmlib.io.events.table`. The index is the name of the event. If
        several events have the same short name (column ``abbr``), only the first keeps it. The others have an empty
        short name.
    """
    events_by_table = {}
    for _, event_names, table in _list_programs(url):
        events_by_table.setdefault(table, set()).update(event_names)
    all_events = set().union(*events_by_table.values())
    counted_tables = []  # (number of recorded events, event table)
    for name, event_names in events_by_table.items():
        if name:
            table = events.table(name)
            counted_tables.append((table.index.isin(event_names).sum(), table))
    counted_tables.sort(key=lambda number_and_table: number_and_table[0], reverse=True)
    general = events.general_events()
    general = pd.concat([general, _describe_simulated_events()[general.columns]])
    processor_tables = [table for n_recorded, table in counted_tables if n_recorded]
    joined = pd.concat([*processor_tables, general[general.index.isin(all_events)]])
    joined = joined[~joined.index.duplicated()]
    return joined.assign(abbr=joined["abbr"].mask(joined["abbr"].duplicated(), ""))


def table_name(url: str, program: str, processor: str = "") -> str | None:
    """Return the name of the event table of a program.

    Parameters
    ----------
    url : str
        URL of the database of recordings.
    program : str
        Name of the program.
    processor : str, default ""
        Name of the processor. For example, ``"intel_skylake"``. Default: the processor of the recording.

    Returns
    -------
    str or None
        For example, ``"amd_zen5"``. None if no table is known for the processor.
    """
    if processor:
        return events.find_table_name(processors.machine_with(processor))
    return next((table for name, _, table in _list_programs(url) if name == program), None)


def known_sums(run: Recording) -> list[tuple[str, tuple[str, ...]]]:
    """List the events of a processor that are sums of other events.

    If the processor is unknown, several event tables can contain the most event names of the run. Any of these tables
    can be the right one, so a sum is listed only if all of them contain it.

    Parameters
    ----------
    run : cmlib.io.recording.Recording
        A recorded run. The tables are found by its machine. If the machine is unknown, they are found by the names of
        its events.

    Returns
    -------
    list of (str, tuple of str)
        Pairs of an event and the events that add up to it. Empty if no table was found.
    """
    if run.machine.get("vendor") is not None:
        table_names = [events.find_table_name(run.machine)]
    else:
        table_names = events.recognise(run.counts.columns).tables
    sums_by_table = [_list_sums(name) if name else [] for name in table_names]
    if not sums_by_table:
        return []
    return [pair for pair in sums_by_table[0] if all(pair in sums for sums in sums_by_table)]


def _list_programs(url: str) -> Iterator[tuple[str, set[str], str | None]]:
    """Yield the name, the event names and the table name of each program.

    The table name is None if no table was found. A program recorded on several processors occurs several times.
    """
    machines = store.machines(url)
    events_by_program = {}  # key: program and table name, which is "" if the machine is unknown
    for run in store.runs(url).itertuples():
        machine = machines[run.run_id]
        table = "" if machine.get("vendor") is None else events.find_table_name(machine)
        events_by_program.setdefault((run.program, table), set()).update(run.events)
    for (program, table), event_names in events_by_program.items():
        if table == "":
            table = next(iter(events.recognise(event_names).tables), None)
        yield program, event_names, table


def _describe_simulated_events() -> pd.DataFrame:
    """Return the events of simulated runs, with the columns of an event table.

    Columns on the counters of a processor are 0, False or empty. The short name of an event marks counts that depend on
    a simulated cache or branch predictor as modelled. Other simulated events have exact counts and no short name.
    """
    table = events.simulated_events(levels=3)
    short_names = (table.index + " (modelled)").where(table["kind"] == events.MODELLED, "")
    defaults = dict.fromkeys(["code", "umask", "bits", "counters", "core"], 0)
    defaults |= {"named": False, "whole": False}
    return table.assign(abbr=short_names, unit="simulated, " + table["kind"], extra="", **defaults)


@functools.cache
def _list_sums(name: str) -> list[tuple[str, tuple[str, ...]]]:
    """List pairs of an event and the events that add up to it. `name` is the name of the event table."""
    return events.umask_sums(events.table(name))
