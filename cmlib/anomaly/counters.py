"""Which events AutoPerf counts on which processor, and the part some of them play."""

import pandas as pd

from cmlib import events, machine
from cmlib.machine.countable import countable
from cmlib.machine.host import core_pmus
from cmlib.places import events_dir

CYCLES, CONTENTION = "cycles", "contention"
GENERIC, KERNEL = "generic", "kernel"


def usual_events(about):
    """Events to count on a machine where nothing else is asked for.

    About 32 as in the paper (§4.1) where the processor has an event table; where it has none, those of the
    generic ones that it counts; and software events and tracepoints, as far as they can be counted, where there is
    no PMU.

    Parameters
    ----------
    about : dict
        From :func:`cmlib.machine.describe`.

    Returns
    -------
    list of Countable
    """
    if not core_pmus():
        names = [name for name in _listed(KERNEL) if ":" not in name or machine.tracepoint_id(name)]
        return countable(",".join(names))
    name = events.table_for(about)
    if _listed(name):
        return events_for(name)
    generic = events_for(GENERIC)
    return machine.supported({event: event.encoding for event in generic})


def events_for(table):
    """Events of one list.

    Parameters
    ----------
    table : str
        Name of an event table, or ``generic``.

    Returns
    -------
    list of Countable
    """
    return countable(",".join(_listed(table)), None if table == GENERIC else events.table(table))


def playing(role, counters):
    """Those of some counters that play a part, on whichever machine they were counted.

    Parameters
    ----------
    role : {"cycles", "contention"}
        Time of the processor (where there is no PMU, as the kernel tells it); or loads of a line that another
        core has changed (the paper's HITM).
    counters : sequence of str

    Returns
    -------
    list of str
    """
    listed = _table()
    playing = set(listed.loc[listed["role"] == role, "event"])
    return [name for name in counters if name in playing]


def _listed(table):
    listed = _table()
    return list(listed.loc[listed["table"] == table, "event"])


def _table():
    return pd.read_csv(events_dir() / "autoperf.csv", keep_default_na=False)
