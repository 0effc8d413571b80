"""Find the events that this machine can count.

:func:`known_events` returns the table of a processor's events, from ``perf list`` and from the tables in data/events.
:func:`countable` parses a user's list of events and returns :class:`Countable` objects. They contain the numbers that
the kernel takes.
"""

from dataclasses import dataclass

import pandas as pd

from cmlib.collect.machine.counter_census import supported
from cmlib.collect.machine.host import perf_list, raw_config, tracepoint_id
from cmlib.errors import CmlibError, InputError
from cmlib.io import events
from cmlib.io.events.naming import DEFAULT_SOFTWARE, GENERAL, HARDWARE, SOFTWARE


def known_events(about):
    """Return the table of the events of a processor.

    The table joins the output of ``perf list`` and the table in data/events. For an event in both, the row from perf
    is used, unless the table was written by hand. For vendors other than Intel and AMD, only ``perf list`` and tables
    written by hand are used.

    Parameters
    ----------
    about : dict
        Description of the machine, from :func:`cmlib.collect.machine.describe`.

    Returns
    -------
    DataFrame
        Indexed by event name, with the columns of :func:`cmlib.io.events.table`. For example, code, umask, counters
        (number of counters that the event needs) and description. Empty if no event is known.
    """
    table = events.table_of(about)
    by_code = about.get("vendor") in ("GenuineIntel", "AuthenticAMD")  # elsewhere the PMU is not called cpu
    try:
        perf_events = events.parse_perf_list(perf_list())
    except events.EventError:
        return table if by_code else table.iloc[:0]
    if table.empty:
        return perf_events
    if not events.is_handwritten(events.find_table_name(about)):
        perf_events["core"] = table["core"].reindex(perf_events.index, fill_value=0)
        order = perf_events["core"].where(perf_events["core"] > 0).rank()
        perf_events["core"] = order.fillna(0).astype(int)
        other_events = table[~table.index.isin(perf_events.index)].assign(core=0)
        return pd.concat([perf_events, other_events]) if by_code else perf_events
    return pd.concat([table, perf_events[~perf_events.index.isin(table.index)].assign(abbr="")])


def all_events(known):
    """List the events of a table, each event once.

    Perf gives many events two names. One of them is selected.

    Parameters
    ----------
    known : DataFrame
        Events of this machine, from :func:`known_events`.

    Returns
    -------
    list of str
    """
    return known.index[known["named"] == known["named"].min()].to_list()


def software_events():
    """List the software events and tracepoints that this user can count.

    Software events can be counted on any machine. Tracepoints may need privileges.
    """
    return [event for event in DEFAULT_SOFTWARE if ":" not in event or tracepoint_id(event) is not None]


def default_events(known, modifier="u"):
    """List the hardware events to record by default.

    They are the core events of the processor's table. If the table has none, they are the general events that this
    machine can count.

    Parameters
    ----------
    known : DataFrame
        Events of this machine, from :func:`known_events`.
    modifier : str, default "u"
        Perf's modifier.

    Returns
    -------
    list of str

    Raises
    ------
    CmlibError
        If this machine counts none of these events.
    """
    general = {name: events.encode(name, known, modifier) for name in GENERAL}
    chosen = events.core_events(known) or supported(general)
    if not chosen:
        raise CmlibError(
            "this processor counts none of the general events: name those to count, as in --events "
            "NAME,NAME. `perf list --details` lists the events that perf knows; --events all finds out which of "
            "these count."
        )
    return chosen


_KINDS = {0: HARDWARE, 1: SOFTWARE}  # perf_event_open's types


@dataclass(frozen=True)
class Countable:
    """An event that can be counted in regions and in complete programs.

    Attributes
    ----------
    name : str
        Name of the event.
    config : str
        Number for perf_event_open: ``TYPE:CODE``, or ``CODE`` for a raw event.
    encoding : str
        Perf's encoding.
    """

    name: str
    config: str
    encoding: str

    @property
    def hardware(self):
        """True if this event needs a hardware counter."""
        return _split_config(self.config)[0] not in (1, 2)


INSTRUCTIONS = Countable("instructions", "0:1", "instructions:u")


def countable(text, table=None):
    """Parse a list of events.

    Parameters
    ----------
    text : str
        Names or ``NAME=CODE``, separated by commas. For example, ``page-faults,near_cache=0x443``.
    table : DataFrame, optional
        Events of this machine, from :func:`known_events`.

    Returns
    -------
    list of Countable

    Raises
    ------
    CmlibError
        If the text is empty, or if an event is unknown, has a malformed code or is named twice.
    """
    wanted = [_read_event(item.strip(), table) for item in text.split(",") if item.strip()]
    names = [event.name for event in wanted]
    if not wanted or len(set(names)) < len(names):
        raise CmlibError(f"events {text!r}: give at least one, and each once")
    return wanted


def _read_event(item, table):
    """Return the Countable of a name or ``NAME=CODE``; raise a CmlibError if it is unknown."""
    name, equals, config = item.partition("=")
    if equals:
        return Countable(name, config, _encode_code(name, config, item))
    config = _find_config(name, table)
    return Countable(name, config, events.encode(name, pd.DataFrame() if table is None else table))


def _find_config(name, table):
    """Return the number of a named event for perf_event_open, as text; raise a CmlibError for an unknown name."""
    for kind, names in _KINDS.items():
        if name in names:
            return f"{kind}:{names.index(name)}"
    if ":" in name:
        if (number := tracepoint_id(name)) is not None:
            return f"2:{number}"
        raise CmlibError(
            f"event {name!r}: this kernel has no such tracepoint, or hides it from this user (root may "
            "look): `perf list tracepoint` lists the visible ones"
        )
    if table is None or name not in table.index:
        software, generic = ", ".join(SOFTWARE), ", ".join(HARDWARE)
        raise CmlibError(
            f"event {name!r} is neither a software event ({software}), nor a generic one ({generic}), nor in "
            "the event table of this processor. Any event can be given as NAME=CODE, such as "
            "near_cache=0x443."
        )
    if not table.at[name, "whole"]:
        raise CmlibError(
            f"event {name!r} takes more than a code and a umask (`perf list --details` shows them): give the "
            "whole number as NAME=CODE"
        )
    return hex(raw_config(int(table.at[name, "code"]), int(table.at[name, "umask"])))


def _encode_code(name, config, item):
    """Encode ``NAME=CODE`` (`item`) for perf; raise a CmlibError if the code is malformed."""
    try:
        kind, number = _split_config(config)
    except ValueError as error:
        raise CmlibError(
            f"event {item!r}: write NAME=CODE or NAME=TYPE:CODE, as in near_cache=0x443"
        ) from error
    generic = _KINDS.get(kind, ())
    if number < len(generic):
        return events.encode(generic[number], pd.DataFrame())
    if kind != 4:
        raise CmlibError(
            f"event {item!r}: only perf's types 0 (generic), 1 (software) and 4 (raw) are supported"
        )
    return events.encode(f"r{number:x}/name={name}/", pd.DataFrame())


def _split_config(config):
    """Split ``TYPE:CODE`` into two int; the type of a single ``CODE`` is 4 (raw).

    Raises a ValueError if they are not numbers.
    """
    kind, number = ([4, *(int(part, 0) for part in config.split(":"))])[-2:]
    if number < 0:
        raise InputError(config)
    return kind, number
