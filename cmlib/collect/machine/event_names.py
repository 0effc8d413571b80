"""Find which events can be counted on this machine, by name: perf's, those of data/events, and those given as codes.

:func:`known_events` takes a machine's description (dict), and returns the table of its processor's events (DataFrame:
code, umask and more); :func:`countable` reads a user's list of events (text), and returns a list of
:class:`Countable` objects with the numbers that the kernel takes. Raises a CmlibError for an unknown event.
"""

from dataclasses import dataclass

import pandas as pd

from cmlib.collect.machine.counter_census import supported
from cmlib.collect.machine.host import perf_list, raw_config, tracepoint_id
from cmlib.errors import CmlibError, InputError
from cmlib.io import events
from cmlib.io.events.naming import DEFAULT_SOFTWARE, GENERAL, HARDWARE, SOFTWARE


def known_events(about):
    """Make the event table of a processor from perf's list and the table in data/events.

    Where both know an event, perf's row is taken, unless the table in data/events was written by hand. On
    processors of other vendors than Intel and AMD, only perf's list and tables written by hand are used.

    Parameters
    ----------
    about : dict
        The machine's description, from :func:`cmlib.collect.machine.describe`.

    Returns
    -------
    DataFrame
        Indexed by event, with the columns of :func:`cmlib.io.events.table`: code, umask, counters (how many it
        takes), description and more; no rows if nothing is known.
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
    """List the names of the events in a table, each event once.

    `known` is the DataFrame of :func:`known_events`. perf gives many events two names; the table's column `named`
    says which of them to leave out.
    """
    return known.index[known["named"] == known["named"].min()].to_list()


def software_events():
    """List the software events and tracepoints that can be counted here.

    Software events can be counted on any machine; tracepoints may need privileges.
    """
    return [event for event in DEFAULT_SOFTWARE if ":" not in event or tracepoint_id(event) is not None]


def default_events(known, modifier="u"):
    """List the hardware events to record where a user names none.

    They are the events that the table `known` (of :func:`known_events`) marks as its core set, or else the general
    events that this machine counts with perf's `modifier`. Raises a CmlibError if there are none.
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
    """An event that can be counted both in regions and in whole programs.

    Attributes
    ----------
    name : str
    config : str
        perf_event_open's number, as ``TYPE:CODE``, or ``CODE`` of a raw event.
    encoding : str
        The event as perf takes it.
    """

    name: str
    config: str
    encoding: str

    @property
    def hardware(self):
        """True if this event takes a counter of the processor."""
        return _split_config(self.config)[0] not in (1, 2)


INSTRUCTIONS = Countable("instructions", "0:1", "instructions:u")


def countable(text, table=None):
    """Read a list of events from text: names or ``NAME=CODE``, with commas between; a list of Countables.

    `table` (DataFrame by event, as of :func:`known_events`) holds the codes of named hardware events. Raises a
    CmlibError if the text has no event, or one is unknown, has a malformed code or is named twice.
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
    """Return perf_event_open's number of a named event, as text; raise a CmlibError if the name is unknown."""
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
    """Encode an event that is given as ``NAME=CODE`` (`item`) for perf; raise a CmlibError if the code is malformed."""
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
    """Split ``TYPE:CODE`` or ``CODE`` (type 4, raw) into perf_event_open's type and code (two int).

    Raises a ValueError if they are not numbers.
    """
    kind, number = ([4, *(int(part, 0) for part in config.split(":"))])[-2:]
    if number < 0:
        raise InputError(config)
    return kind, number
