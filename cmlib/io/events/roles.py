"""Read the events that are used to compare versions of a program (data/events/autoperf.csv).

:func:`usual_event_table` reads the list. :func:`counters_with_role` selects events with a role. For example,
``contention`` is the role of events that count conflicts between threads.
"""

import functools
from collections.abc import Iterable

import pandas as pd

from cmlib.places import shipped

CYCLES, CONTENTION = "cycles", "contention"  # roles of events


@functools.cache
def usual_event_table() -> pd.DataFrame:
    """Read the list of events that are used to compare versions of a program.

    Returns
    -------
    DataFrame
        One row per event and event table. Columns: table, event and role.
    """
    return pd.read_csv(shipped("events") / "autoperf.csv", keep_default_na=False)


def counters_with_role(role: str, counters: Iterable[str]) -> list[str]:
    """Select the events with a role.

    Parameters
    ----------
    role : {"cycles", "contention"}
        ``contention`` selects events that count conflicts between threads.
    counters : iterable of str
        Names of events.

    Returns
    -------
    list of str
        Selected names, in input order.
    """
    events_with_role = set(usual_event_table().query("role == @role")["event"])
    return [name for name in counters if name in events_with_role]
