"""The events that two versions are compared by if none are named, by processor, and the role of some of them."""

import pandas as pd

from cmlib.collect import machine
from cmlib.collect.machine.event_names import countable
from cmlib.collect.machine.host import core_pmus
from cmlib.io import events
from cmlib.places import events_dir

CYCLES, CONTENTION = "cycles", "contention"
GENERIC, KERNEL = "generic", "kernel"


def usual_events(about):
    """Events to count on a machine where nothing else is asked for."""
    if not core_pmus():
        names = [name for name in _listed(KERNEL) if ":" not in name or machine.tracepoint_id(name)]
        return countable(",".join(names))
    name = events.table_for(about)
    if _listed(name):
        return events_for(name)
    generic = events_for(GENERIC)
    return machine.supported({event: event.encoding for event in generic})


def events_for(table):
    """Events of one list."""
    return countable(",".join(_listed(table)), None if table == GENERIC else events.table(table))


def counters_with_role(role, counters):
    """List those of some counters that have a role, on whichever machine they were counted.

    Parameters
    ----------
    role : str
        Such as `CONTENTION`.
    counters : iterable of str
        Names of events.

    Returns
    -------
    list of str
        In their order.
    """
    listed = _table()
    events_with_role = set(listed.loc[listed["role"] == role, "event"])
    return [name for name in counters if name in events_with_role]


def _listed(table):
    listed = _table()
    return list(listed.loc[listed["table"] == table, "event"])


def _table():
    return pd.read_csv(events_dir() / "autoperf.csv", keep_default_na=False)
