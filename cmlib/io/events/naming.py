"""Read and write the names of events in the syntax of ``perf stat -e``.

:func:`encode` writes an event for the command line. :func:`base_name` removes the modifier from a name. A modifier is
the part after the colon in ``cycles:u``, which restricts counting to user mode.
"""

import difflib
import re
from collections.abc import Iterable
from functools import lru_cache

import pandas as pd

from cmlib.io.events.tables import EventError
from cmlib.places import read_yaml, shipped
from cmlib.spelling import spelling

NAME_LISTS = read_yaml(shipped("events") / "names.yaml")
HARDWARE, SOFTWARE = NAME_LISTS["hardware"], NAME_LISTS["software"]
GENERAL, DEFAULT_SOFTWARE = NAME_LISTS["general"], NAME_LISTS["default_software"]
COMMON_EVENTS = dict(enumerate(NAME_LISTS["arm"].split()))  # Arm's common events: name keyed by code


def _add_synonyms(names: list[str]) -> frozenset[str]:
    """Return names of events together with perf's other names of the same events."""
    spelled = set(map(spelling, names))
    synonyms = [name for name in NAME_LISTS["perf"] if spelling(name) in spelled]
    return frozenset([*names, *synonyms])


HARDWARE_NAMES = _add_synonyms(HARDWARE)
SOFTWARE_NAMES = _add_synonyms(SOFTWARE)
TOOL_EVENTS = frozenset(["duration_time", "system_time", "user_time"])  # measured by perf itself

_MODIFIER = re.compile(r"(?<=/)[ukhIGHpPSDWeb]+$|:[ukhIGHpPSDWeb]+$")
_NAME_TERM = re.compile(r"(?<=[/,])name=([^,/]+)")
# A second reading of an event in the same run, such as branches#2.
_READING = re.compile(r"(.+)#[0-9]+")
# A tracepoint such as sched:sched_switch, and not a hardware event with a modifier, such as cycles:u.
_TRACEPOINT = re.compile(r"\w+:(?![ukhIGHpPSDWeb]+$)\w+")
# Further hardware events that perf knows, such as L1-dcache-loads and r412e.
HARDWARE_PATTERN = re.compile(
    r"(L1-[di]cache|LLC|[di]TLB|branch|node)-(loads|load-misses|stores|store-misses|prefetches|prefetch-misses)"
    r"|r[0-9a-f]+"
)
# An event of one kind of core, such as cpu_atom/cycles:u/ or cpu_core/cycles/u. Groups: PMU, event or its terms,
# modifiers within the slashes, modifiers after them.
CORE_EVENT = re.compile(
    r"(cpu_(?:core|atom|lowpower)|armv[0-9]\w*|apple_\w+_pmu)/([^/:]*)(?::([a-zA-Z]*))?/([a-zA-Z]*)"
)


def encode(event: str, table: pd.DataFrame, modifier: str = "u") -> str:
    """Write an event for ``perf stat -e``.

    An event that perf does not know by name is written as its code.

    Parameters
    ----------
    event : str
        Name of the event. A modifier in it replaces `modifier`.
    table : DataFrame
        Event table of the processor, from :func:`cmlib.io.events.table`.
    modifier : str, default "u"
        ``u`` counts only in user mode. Empty for no modifier.

    Returns
    -------
    str

    Raises
    ------
    EventError
        If neither the table nor perf has the event.
    """
    name, own_modifier = split_modifier(event)
    modifier = own_modifier or modifier
    if "/" in name:
        return name + modifier
    is_in_table = name in table.index
    if is_in_table and not table.at[name, "named"]:
        return _encode_by_code(name, table.loc[name], modifier)
    is_software = name in SOFTWARE_NAMES or name in TOOL_EVENTS or ":" in name
    is_hardware = name in HARDWARE_NAMES or HARDWARE_PATTERN.fullmatch(name)
    if is_software:
        modifier = re.sub("[uk]", "", modifier)
    elif not is_in_table and not is_hardware:
        raise EventError(_explain_unknown_event(name, table))
    return f"{name}:{modifier}" if modifier else name


def _encode_by_code(name: str, row: pd.Series, modifier: str) -> str:
    """Write an event by its code, umask and further settings.

    `row` is the row of the event in the event table.
    """
    extra = f",{row['extra']}" if row.get("extra") else ""
    return f"cpu/event={row['code']:#x},umask={row['umask']:#x}{extra},name={name}/{modifier}"


def _explain_unknown_event(name: str, table: pd.DataFrame) -> str:
    """Write a message with the three most similar names."""
    known_names = [*table.index, *HARDWARE_NAMES, *SOFTWARE_NAMES]
    similar_names = difflib.get_close_matches(name, known_names, n=3, cutoff=0.6)
    if similar_names:
        hint = f"Did you mean {' or '.join(similar_names)}?"
    else:
        hint = "The table's names are in its first column."
    return (
        f"event {name!r} is in neither the event table nor among perf's own names. {hint}\n"
        "Any event can be given by its code: cpu/event=0xc2,umask=0x0,name=NAME/, where the processor's PMU is cpu "
        "in /sys/bus/event_source/devices; as armv8_pmuv3/event=0x8,name=NAME/ on ARM."
    )


@lru_cache(maxsize=4096)
def base_name(event: str) -> str:
    """Remove the modifier from an event's name.

    For example, ``cycles:u`` becomes ``cycles``. An event with a term ``name=NAME`` becomes NAME.

    Parameters
    ----------
    event : str

    Returns
    -------
    str
    """
    name, _ = split_modifier(event)
    term = _NAME_TERM.search(name)
    return term[1] if term else name


def split_modifier(event: str) -> tuple[str, str]:
    """Split an event into its name and its modifier.

    Parameters
    ----------
    event : str
        For example, ``cycles:u``.

    Returns
    -------
    name : str
        For example, ``cycles``.
    modifier : str
        For example, ``u``. Empty if there is no modifier.
    """
    match = _MODIFIER.search(event)
    if match is None:
        return event, ""
    return event[: match.start()], match[0].lstrip(":")


def copy_name(event: str, number: int) -> str:
    """Return the column name of a repeated reading of an event.

    An event can be counted several times in one run. Its columns are ``branches``, ``branches#2``, ``branches#3`` and
    so on.

    Parameters
    ----------
    event : str
        Name of the event.
    number : int
        Number of the reading, from 1.

    Returns
    -------
    str
    """
    return event if number == 1 else f"{event}#{number}"


def second_readings(names: Iterable[str]) -> dict[str, str]:
    """Find the repeated readings of events.

    Parameters
    ----------
    names : iterable of str
        Columns of a run. For example, ``branches`` and ``branches#2``.

    Returns
    -------
    dict of str to str
        Event keyed by column. For example, ``branches#2`` to ``branches``. First readings are omitted.
    """
    names = list(names)
    event_by_reading = {}
    for name in names:
        match = _READING.fullmatch(name)
        if match and match[1] in names:
            event_by_reading[name] = match[1]
    return event_by_reading


def needs_counter(event: str) -> bool:
    """Return True if an event needs a hardware counter.

    Software events and tracepoints of the kernel do not need one.

    Parameters
    ----------
    event : str

    Returns
    -------
    bool
    """
    is_software = event.partition(":")[0] in SOFTWARE_NAMES
    return not is_software and not _TRACEPOINT.fullmatch(event)


def abbreviate(events: Iterable[str], table: pd.DataFrame) -> list[str]:
    """Return short names of events for figures.

    Parameters
    ----------
    events : iterable of str
        Names of events, with or without modifiers.
    table : DataFrame
        Event table of the processor, from :func:`cmlib.io.events.table`.

    Returns
    -------
    list of str
        Abbreviation of each event in the table. If the table has none, the name without modifier.
    """
    abbreviations = table["abbr"].to_dict()
    return [abbreviations.get(name) or name for name in map(base_name, events)]
