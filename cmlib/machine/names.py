"""The names of events that can be used on this machine."""

import pandas as pd

from cmlib import events
from cmlib.errors import CmlibError
from cmlib.machine.counters import supported
from cmlib.machine.host import perf_list, tracepoint_id

# What stands in for core events on a processor without a table of its own: those of them that it can count.
GENERAL = (
    "branches",
    "branch-misses",
    "cache-references",
    "cache-misses",
    "L1-dcache-load-misses",
    "L1-icache-load-misses",
    "dTLB-load-misses",
    "iTLB-load-misses",
    "stalled-cycles-frontend",
    "stalled-cycles-backend",
)
# What is recorded where no hardware event can be counted.
SOFTWARE = (
    "page-faults",
    "minor-faults",
    "major-faults",
    "context-switches",
    "cpu-migrations",
    "raw_syscalls:sys_enter",
)


def known_events(about):
    """The events of a processor: those of the package's table, and what else perf's own list names.

    Parameters
    ----------
    about : dict
        This machine, from :func:`cmlib.machine.describe`.

    Returns
    -------
    DataFrame
        As :func:`cmlib.events.table`; without a row where neither knows the processor.
    """
    table = events.table_of(about)
    try:
        listed = events.from_perf_list(perf_list())
    except events.EventError:
        return table
    if table.empty:
        return listed
    return pd.concat([table, listed[~listed.index.isin(table.index)].assign(abbr="")])


def all_events(known):
    """All events of a processor, each once: perf names many twice, and some that other cores cause.

    Parameters
    ----------
    known : DataFrame
        From `known_events`.

    Returns
    -------
    list of str
        Those of the package's table if it has one, else those of perf's list.
    """
    return known.index[known["named"] == known["named"].min()].to_list()


def software_events():
    """Software events and tracepoints: all of them on any machine, but for tracepoints, which need privileges."""
    return [event for event in SOFTWARE if ":" not in event or tracepoint_id(event) is not None]


def default_events(known, modifier="u"):
    """The events to count of a processor when none are named.

    Parameters
    ----------
    known : DataFrame
        From `known_events`.
    modifier : str, default "u"
        perf's, as of :func:`cmlib.events.encode`.

    Returns
    -------
    list of str
        The core events of the package's table; without one, those general ones that this machine counts.

    Raises
    ------
    CmlibError
        If it counts none of them.
    """
    chosen = events.core_events(known) or supported(
        {name: events.encode(name, known, modifier) for name in GENERAL}
    )
    if not chosen:
        raise CmlibError(
            "this processor counts none of the general events: name those to count, as in --events NAME,NAME. "
            "`perf list --details` shows what perf knows of it; --events all finds out which of these count."
        )
    return chosen
