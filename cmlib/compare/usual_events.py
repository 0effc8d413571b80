"""Choose the events by which two versions are compared if a user names none, by processor (data/events/autoperf.csv).

:func:`list_usual_events` takes a machine's description (dict), and gives a list of Countables: events with their name
and code for the kernel (:mod:`cmlib.collect.machine.event_names`). A CmlibError if an event that is listed has no
code here.
"""

from cmlib.collect import machine
from cmlib.collect.machine.event_names import countable
from cmlib.collect.machine.host import core_pmus
from cmlib.io import events
from cmlib.io.events import usual_event_table

# Lists for processors without one of their own, and for hosts without counters.
GENERIC, KERNEL = "generic", "kernel"


def list_usual_events(about):
    """List of the events to count on this machine where a user names none.

    Each is a :class:`cmlib.collect.machine.event_names.Countable`: name, config (number for the kernel, str) and
    encoding (what perf is given, str).
    `about` is the machine's description (dict of :func:`cmlib.collect.machine.describe`). The processor's own list,
    else the generic events that it counts; software events where there is no PMU (unit of hardware counters).
    """
    if not core_pmus():
        names = [name for name in _listed(KERNEL) if ":" not in name or machine.tracepoint_id(name)]
        return countable(",".join(names))
    name = events.table_for(about)
    if _listed(name):
        return list_events(name)
    return machine.supported({event: event.encoding for event in list_events(GENERIC)})


def list_events(table):
    """List the events of one list in autoperf.csv, as Countables (name, config, encoding).

    `table` is GENERIC, or the name of an event table; empty if there is no list of this name.
    """
    return countable(",".join(_listed(table)), None if table == GENERIC else events.table(table))


def _listed(table):
    """Names of the events in one list of autoperf.csv; empty if there is none of this name."""
    return list(usual_event_table().query("table == @table")["event"])
