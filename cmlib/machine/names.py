"""The names of events that can be used on this machine."""

from cmlib import events
from cmlib.machine.host import perf_list


def known_events(about):
    """The events of a processor: of the package's table, else of perf's own list, else none.

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
    if name is not None:
        return events.table(name)
    try:
        return events.from_perf_list(perf_list())
    except events.EventError:
        return events.table().iloc[:0]
