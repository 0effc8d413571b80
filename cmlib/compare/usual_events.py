"""Choose the events for a comparison of versions if the user names none.

:func:`list_usual_events` takes the description of a machine and returns its events with their codes. The file
``data/events/autoperf.csv`` has a list of events for some processors. It has two further lists: ``generic``
for other processors, and ``kernel`` for machines without hardware counters.
"""

from cmlib.collect import machine
from cmlib.collect.machine.event_names import Countable, countable
from cmlib.collect.machine.host import core_pmus
from cmlib.io import events
from cmlib.io.events import usual_event_table

_GENERIC = "generic"  # the list for processors without their own list
KERNEL = "kernel"  # the list for machines without hardware counters: software events and tracepoints


def list_usual_events(about: dict) -> list[Countable]:
    """List the default events of a machine.

    A machine without hardware counters has the software events and tracepoints of the list ``kernel``. A
    processor without a list has the events of the list ``generic``. Events that cannot be counted on the
    machine are left out of these two lists.

    Parameters
    ----------
    about : dict
        Description of the machine, from :func:`cmlib.collect.machine.describe`.

    Returns
    -------
    list of Countable
        Events with their codes.
    """
    if not core_pmus():
        names = [name for name in _read_names(KERNEL) if _is_countable_in_software(name)]
        return countable(",".join(names))
    processor = events.find_table_name(about)
    if processor and _read_names(processor):
        return list_events(processor)
    return machine.supported({event: event.encoding for event in list_events(_GENERIC)})


def list_events(list_name: str) -> list[Countable]:
    """List the events of one list in autoperf.csv.

    Parameters
    ----------
    list_name : str
        "generic", or the name of a processor's event table. For example, "amd_zen5".

    Returns
    -------
    list of Countable
        Events with their codes.

    Raises
    ------
    CmlibError
        If no list has this name.
    """
    codes = None if list_name == _GENERIC else events.table(list_name)
    return countable(",".join(_read_names(list_name)), codes)


def _is_countable_in_software(name: str) -> bool:
    """Return True for software events and for tracepoints (``group:name``) that this kernel has."""
    return ":" not in name or machine.tracepoint_id(name) is not None


def _read_names(list_name: str) -> list[str]:
    """Read the event names of one list in autoperf.csv. Empty if no list has this name."""
    rows = usual_event_table()
    return list(rows.loc[rows["table"] == list_name, "event"])
