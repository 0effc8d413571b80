"""Which event tables describe what was recorded: those of the machines, or those that the events' names tell."""

import functools

import pandas as pd

from cmlib import events, store


def event_table(url):
    """Units, short names and descriptions of what was recorded.

    Parameters
    ----------
    url : str

    Returns
    -------
    DataFrame
        As :func:`cmlib.events.table` gives it: the tables of the machines that runs were recorded on; where a
        machine is not known, the table told by the names of the program's events; what perf names alike on
        every processor; and simulated events. Machines none of whose own events were recorded have no part
        in it. Where several have, events and short names are those of the machine of which most events were
        recorded.
    """
    recorded = {}
    for _, names, table, _ in _programs(url):
        recorded.setdefault(table, set()).update(names)
    everything = set().union(*recorded.values())
    tables = [(events.table(name), seen) for name, seen in recorded.items() if name]
    by_use = sorted(tables, key=lambda both: -both[0].index.isin(both[1]).sum())
    general = events.general_events()
    general = pd.concat([general, _simulated()[general.columns]])
    joined = pd.concat(
        [
            *(table for table, seen in by_use if table.index.isin(seen).any()),
            general[general.index.isin(everything)],
        ]
    )
    joined = joined[~joined.index.duplicated()]
    return joined.assign(abbr=joined["abbr"].mask(joined["abbr"].duplicated(), ""))


def table_name(url, program):
    """Name of the event table of a program's machine, or of that which its events' names tell; None without one."""
    return next((table for name, _, table, _ in _programs(url) if name == program), None)


def said_by_names(url, programs):
    """Say which event tables were told by the events' names, as the machine of the recordings is not known.

    Parameters
    ----------
    url : str
    programs : list of str

    Returns
    -------
    dict of str to str
        Program to a sentence; programs whose machine is known, or that counted none of a processor's own events,
        are left out.
    """
    sentences = {
        program: events.say_recognised(recognised)
        for program, _, _, recognised in _programs(url)
        if program in programs and recognised is not None
    }
    return {program: sentence for program, sentence in sentences.items() if sentence}


def known_sums(run):
    """The sums between events that cleaning a run may rely on.

    Those of the machine it was recorded on; where that is not known, those that hold in every table told by the
    run's events.
    """
    machine = run.meta.get("machine") or {}
    names = [events.table_for(machine)] if _is_known(machine) else events.recognise(run.counts.columns).tables
    sums = [_sums(name) if name else [] for name in names]
    return [one for one in sums[0] if all(one in others for others in sums)] if sums else []


def _programs(url):
    """Every program and machine: program, names of its events, its table or None, and how that was told by names."""
    machines, seen = store.machines(url), {}
    for run in store.runs(url).itertuples():
        machine = machines[run.run_id]
        known = events.table_for(machine) if _is_known(machine) else ""
        seen.setdefault((run.program, known), set()).update(run.events)
    for (program, known), names in seen.items():
        recognised = events.recognise(names) if known == "" else None
        table = known if recognised is None else next(iter(recognised.tables), None)
        yield program, names, table, recognised


def _simulated():
    """Simulated events with the columns that say what was counted; exact or modelled is said with the unit.

    Figures mark the modelled ones, whose short name is longer than the event's.
    """
    table = events.simulated_events(levels=3)
    marked = (table.index + " (modelled)").where(table["kind"] == events.MODELLED, "")
    numbers = {"code": 0, "umask": 0, "bits": 0, "counters": 0, "core": 0, "named": False, "whole": False}
    return table.assign(abbr=marked, unit="simulated, " + table["kind"], **numbers)


def _is_known(machine):
    return machine.get("vendor") is not None


@functools.cache
def _sums(name):
    return events.umask_sums(events.table(name))
