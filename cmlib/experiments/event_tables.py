"""Find the event tables of recorded programs, by their machine or by the names of their events.

An event table lists the events of a processor: a DataFrame, a row per event, with columns code, umask, abbr (short
name), unit (part of the processor), description and more, as :func:`cmlib.io.events.table` reads it.
:func:`event_table` gives one for all programs, :func:`table_name` a program's. Programs are in the store, a
database named by its URL (`url`). What is not known is None, or empty; StoreError if there is no store.
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
    """One event table for all programs in the store at `url`: a DataFrame, a row per event.

    The columns are those of :func:`cmlib.io.events.table`, such as code, umask, unit, abbr and description. It has
    all events of the processors' tables of which some event was recorded, and those recorded events that all
    processors have (software events, perf's general names, simulated ones). Of an event in several tables the row
    is from the one with most recorded events; abbreviations (column abbr) that are not unique are empty.
    """
    recorded = {}
    for _, names, table in _programs(url):
        recorded.setdefault(table, set()).update(names)
    everything = set().union(*recorded.values())
    tables = [(events.table(name), seen) for name, seen in recorded.items() if name]
    by_use = sorted(tables, key=lambda both: -both[0].index.isin(both[1]).sum())
    general = events.general_events()
    general = pd.concat([general, _simulated()[general.columns]])
    of_processors = [table for table, seen in by_use if table.index.isin(seen).any()]
    joined = pd.concat([*of_processors, general[general.index.isin(everything)]])
    joined = joined[~joined.index.duplicated()]
    return joined.assign(abbr=joined["abbr"].mask(joined["abbr"].duplicated(), ""))


def table_name(url: str, program: str, processor: str = "") -> str | None:
    """Name (str) of the event table of a program in the store at `url`, such as "amd_zen5"; None if there is none.

    It is that of `processor` (str, such as "intel_skylake") where this is not empty; else that of the machine in
    the metadata of the program's runs; else, if the machine is not known, the one that fits the names of its
    events.
    """
    if processor:
        return events.table_for(processors.machine_with(processor))
    return next((table for name, _, table in _programs(url) if name == program), None)


def known_sums(run: Recording) -> list[tuple[str, tuple[str, ...]]]:
    """Sums between events that hold on the processor of a run: a list of (whole, parts), names of events.

    `run` is a :class:`cmlib.io.recording.Recording`. The count of `whole` is the sum of those of `parts`. Where the
    processor is not known, those that hold in all event tables that the names of the events fit; empty if there are
    none.
    """
    is_known = run.machine.get("vendor") is not None
    names = [events.table_for(run.machine)] if is_known else events.recognise(run.counts.columns).tables
    sums = [_sums(name) if name else [] for name in names]
    return [known for known in sums[0] if all(known in others for others in sums)] if sums else []


def _programs(url):
    """Yield for every program and event table (program, set of its events, name of the table or None)."""
    machines, seen = store.machines(url), {}
    for run in store.runs(url).itertuples():
        machine = machines[run.run_id]
        known = "" if machine.get("vendor") is None else events.table_for(machine)
        seen.setdefault((run.program, known), set()).update(run.events)
    for (program, known), names in seen.items():
        yield program, names, next(iter(events.recognise(names).tables), None) if known == "" else known


def _simulated():
    """Table of simulated events with the columns of an event table."""
    table = events.simulated_events(levels=3)
    marked = (table.index + " (modelled)").where(table["kind"] == events.MODELLED, "")
    usual = dict.fromkeys(["code", "umask", "bits", "counters", "core"], 0) | {"named": False, "whole": False}
    return table.assign(abbr=marked, unit="simulated, " + table["kind"], extra="", **usual)


@functools.cache
def _sums(name):
    """Sums between events, a list of (whole, parts), of the event table of this name."""
    return events.umask_sums(events.table(name))
