"""Find the event tables of recorded programs, by their machine or by the names of their events."""

import functools

import pandas as pd

from cmlib import processors
from cmlib.io import events, store


def event_table(url):
    """One event table (DataFrame, as :func:`cmlib.io.events.table`) for all programs in the store at `url`.

    Of an event in several tables the row is from the one with most recorded events; abbreviations that are not unique
    are empty.
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


def table_name(url, program, processor=""):
    """Name of the event table of `processor`, or of a program's machine, or the one that has its events; or None."""
    if processor:
        return events.table_for(processors.machine_with(processor))
    return next((table for name, _, table in _programs(url) if name == program), None)


def processor_name(url, program, processor=""):
    """Name of a program's processor, as :func:`cmlib.topdown.known_costs` lists it; None where it is not known."""
    machines, runs = store.machines(url), store.runs(url, program=program)
    return processor or events.find_processor(map(machines.get, runs["run_id"]), set().union(*runs["events"]))


def known_sums(run):
    """Sums (whole, parts) between events that hold in the event table of a run, or in all tables that it may have."""
    machine = run.machine
    names = [events.table_for(machine)] if _is_known(machine) else events.recognise(run.counts.columns).tables
    sums = [_sums(name) if name else [] for name in names]
    return [known for known in sums[0] if all(known in others for others in sums)] if sums else []


def _programs(url):
    """Yield for every program and event table (program, set of its events, name of the table or None)."""
    machines, seen = store.machines(url), {}
    for run in store.runs(url).itertuples():
        machine = machines[run.run_id]
        known = events.table_for(machine) if _is_known(machine) else ""
        seen.setdefault((run.program, known), set()).update(run.events)
    for (program, known), names in seen.items():
        yield program, names, next(iter(events.recognise(names).tables), None) if known == "" else known


def _simulated():
    """Table of simulated events with the columns of an event table."""
    table = events.simulated_events(levels=3)
    marked = (table.index + " (modelled)").where(table["kind"] == events.MODELLED, "")
    numbers = dict.fromkeys(["code", "umask", "bits", "counters", "core"], 0)
    return table.assign(
        abbr=marked, unit="simulated, " + table["kind"], named=False, whole=False, extra="", **numbers
    )


def _is_known(machine):
    return machine.get("vendor") is not None


@functools.cache
def _sums(name):
    return events.umask_sums(events.table(name))
