"""Choose the events by which two versions are compared if the user names none.

data/events/autoperf.csv has a list of events for some processors, and two further lists: ``generic`` for other
processors, and ``kernel`` for machines without hardware counters. :func:`list_usual_events` takes a machine's
description (dict), and returns a list of Countables: events with their name and code for the kernel
(:mod:`cmlib.collect.machine.event_names`). CmlibError if a listed event has no code on this machine.
"""

from cmlib.collect import machine
from cmlib.collect.machine.event_names import countable
from cmlib.collect.machine.host import core_pmus
from cmlib.io import events
from cmlib.io.events import usual_event_table

GENERIC = "generic"  # the list for processors without their own list
KERNEL = "kernel"  # the list for machines without hardware counters: software events and tracepoints


def list_usual_events(about):
    """List the events to count on this machine if a user names none.

    These are the events in the list of the processor. If it has no list, they are those generic events that it can
    count. Without hardware counters (PMU), they are software events and those tracepoints that can be counted here.

    Parameters
    ----------
    about : dict
        Description of the machine, from :func:`cmlib.collect.machine.describe`.

    Returns
    -------
    list of cmlib.collect.machine.event_names.Countable
        Events with name, config (number for the kernel, str) and encoding (argument of perf, str).
    """
    if not core_pmus():
        names = [name for name in _read_names(KERNEL) if _is_countable_in_software(name)]
        return countable(",".join(names))
    processor = events.find_table_name(about)
    if _read_names(processor):
        return list_events(processor)
    return machine.supported({event: event.encoding for event in list_events(GENERIC)})


def list_events(list_name):
    """List the events of one list in autoperf.csv.

    Parameters
    ----------
    list_name : str
        ``"generic"``, or the name of a processor's event table, such as ``"amd_zen5"``.

    Returns
    -------
    list of cmlib.collect.machine.event_names.Countable

    Raises
    ------
    CmlibError
        If there is no list of this name.
    """
    codes = None if list_name == GENERIC else events.table(list_name)
    return countable(",".join(_read_names(list_name)), codes)


def _is_countable_in_software(name):
    """Return True for a software event, and for a tracepoint (with a colon in its name) that this kernel shows."""
    return ":" not in name or machine.tracepoint_id(name) is not None


def _read_names(list_name):
    """Read the names of the events in one list of autoperf.csv; empty if there is no list of this name."""
    rows = usual_event_table()
    return list(rows.loc[rows["table"] == list_name, "event"])
