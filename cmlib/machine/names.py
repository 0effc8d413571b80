"""The names of events that can be used on this machine."""

import pandas as pd

from cmlib import events
from cmlib.machine.host import perf_list


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
    name = events.table_for(about["vendor"], about["family"], about["model"])
    table = events.table(name) if name else events.table().iloc[:0]
    try:
        listed = events.from_perf_list(perf_list())
    except events.EventError:
        return table
    if table.empty:
        return listed
    return pd.concat([table, listed[~listed.index.isin(table.index)].assign(abbr="")])
