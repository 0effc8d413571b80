"""Choose the events by which two versions are compared if a user names none, by processor (data/events/autoperf.csv).

:func:`list_usual_events` takes a machine's description (dict), and returns a list of Countables: events with their name
and code for the kernel (:mod:`cmlib.collect.machine.event_names`). CmlibError if a listed event has no code on this
machine.
"""

from cmlib.collect import machine
from cmlib.collect.machine.event_names import countable
from cmlib.collect.machine.host import core_pmus
from cmlib.io import events
from cmlib.io.events import usual_event_table

# Lists for processors without a list of their own, and for hosts without counters.
GENERIC, KERNEL = "generic", "kernel"


def list_usual_events(about):
    """List the events to count on this machine if a user names none.

    It is the list of the processor, or the generic events that the processor counts if it has no list. Without a PMU
    (unit of hardware counters), it is a list of software events.

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
        names = [name for name in _list_names(KERNEL) if ":" not in name or machine.tracepoint_id(name)]
        return countable(",".join(names))
    table = events.table_for(about)
    if _list_names(table):
        return list_events(table)
    return machine.supported({event: event.encoding for event in list_events(GENERIC)})


def list_events(table):
    """List the events of one list in autoperf.csv.

    Parameters
    ----------
    table : str
        ``"generic"``, or the name of an event table.

    Returns
    -------
    list of cmlib.collect.machine.event_names.Countable
        Empty if there is no list of this name.
    """
    return countable(",".join(_list_names(table)), None if table == GENERIC else events.table(table))


def _list_names(table):
    """List the names of the events in one list of autoperf.csv; empty if there is no list of this name."""
    return list(usual_event_table().query("table == @table")["event"])
