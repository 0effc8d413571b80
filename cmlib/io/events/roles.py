"""Read which events cmlib compares versions by, and which of them have a role (data/events/autoperf.csv).

:func:`counters_with_role` selects events by their role; :func:`usual_event_table` reads the whole list.
"""

import functools
from collections.abc import Iterable

import pandas as pd

from cmlib.places import shipped

CYCLES, CONTENTION = "cycles", "contention"  # roles of events


@functools.cache
def usual_event_table() -> pd.DataFrame:
    """Read the events that are used to compare versions of a program.

    Returns
    -------
    DataFrame
        One row per event; columns: table, event and role.
    """
    return pd.read_csv(shipped("events") / "autoperf.csv", keep_default_na=False)


def counters_with_role(role: str, counters: Iterable[str]) -> list[str]:
    """Select the events that have a role, on whichever machine they were counted.

    Parameters
    ----------
    role : str
        Such as `CONTENTION`.
    counters : iterable of str
        Names of events.

    Returns
    -------
    list of str
        Those with the role, in their order.
    """
    events_with_role = set(usual_event_table().query("role == @role")["event"])
    return [name for name in counters if name in events_with_role]
