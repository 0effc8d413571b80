"""An event's names: as perf takes it, as perf writes it, and as a figure shows it."""

import difflib
import re

from cmlib.events.generic import HARDWARE_NAMES, SOFTWARE_NAMES
from cmlib.events.tables import EventError

_MODIFIER = re.compile(r"(?<=/)[ukhIGHpPSDWeb]+$|:[ukhIGHpPSDWeb]+$")
_NAME_TERM = re.compile(r"(?<=[/,])name=([^,/]+)")
_COPY = re.compile(r"(.+)#[0-9]+")
_TOOL = frozenset(["duration_time", "system_time", "user_time"])
_HARDWARE_PATTERN = re.compile(
    r"(L1-[di]cache|LLC|[di]TLB|branch|node)-(loads|load-misses|stores|store-misses|prefetches|prefetch-misses)"
    r"|r[0-9a-f]+"
)


def encode(event, table, modifier="u"):
    """Write an event as perf's ``-e`` takes it.

    Parameters
    ----------
    event : str
        In the table, or one that perf knows by itself: a generic name, a
        tracepoint, a raw code, ``cpu/…/``. Modifiers it carries replace `modifier`.
    table : DataFrame
    modifier : str, default "u"
        perf's modifiers: ``"u"`` counts user mode only. Software events and
        tracepoints go without it: what happens in the kernel, such as a context
        switch, would always read 0.

    Returns
    -------
    str
        Such as ``cpu/event=0x43,umask=0x4,name=ls_dmnd_fills_from_sys.near_cache/u``.

    Raises
    ------
    EventError
        If neither the table nor perf knows the event; suggests the nearest names.
    """
    name, own = _without_modifier(event)
    modifier = own or modifier
    if "/" in name:
        return name + modifier
    if name in table.index and not table.at[name, "named"]:
        row = table.loc[name]
        return f"cpu/event={row['code']:#x},umask={row['umask']:#x},name={name}/{modifier}"
    if name in SOFTWARE_NAMES or name in _TOOL or ":" in name:
        modifier = re.sub("[uk]", "", modifier)
    elif not (name in table.index or name in HARDWARE_NAMES or _HARDWARE_PATTERN.fullmatch(name)):
        raise EventError(_unknown(name, table))
    return f"{name}:{modifier}" if modifier else name


def base_name(event):
    """Take an event's name out of the way perf is given it or writes it.

    Parameters
    ----------
    event : str
        Such as ``instructions:uD`` or ``cpu/event=0xc2,umask=0x0,name=ex_ret_brn/u``.

    Returns
    -------
    str
        ``instructions``, ``ex_ret_brn``; a tracepoint such as ``sched:sched_switch`` stays whole.
    """
    name, _ = _without_modifier(event)
    given = _NAME_TERM.search(name)
    return given[1] if given else name


def copy_name(event, number):
    """Name of an event's reading `number` in a run that counts it several times: ``branches``, ``branches#2``, …"""
    return event if number == 1 else f"{event}#{number}"


def second_readings(names):
    """Find the further readings of events that a run counts several times.

    Parameters
    ----------
    names : iterable of str
        Events of a run.

    Returns
    -------
    dict of str to str
        Reading to event: ``{"branches#2": "branches"}``.
    """
    names = list(names)
    found = {name: _COPY.fullmatch(name) for name in names}
    return {name: copy[1] for name, copy in found.items() if copy and copy[1] in names}


def abbreviate(events, table):
    """Short names for figures.

    Parameters
    ----------
    events : iterable of str
    table : DataFrame

    Returns
    -------
    list of str
        The table's three characters; an event that has none keeps its name.
    """
    short = table["abbr"].to_dict()
    return [short.get(name) or name for name in map(base_name, events)]


def _without_modifier(event):
    modifier = _MODIFIER.search(event)
    return (event[: modifier.start()], modifier[0].lstrip(":")) if modifier else (event, "")


def _unknown(name, table):
    near = difflib.get_close_matches(name, [*table.index, *HARDWARE_NAMES, *SOFTWARE_NAMES], n=3, cutoff=0.6)
    hint = f"Did you mean {' or '.join(near)}?" if near else "The table's names are in its first column."
    return (
        f"event {name!r} is in neither the event table nor among perf's own names. {hint}\n"
        "Any event can be given by its code: cpu/event=0xc2,umask=0x0,name=NAME/, where the processor's PMU is cpu "
        "in /sys/bus/event_source/devices; as armv8_pmuv3/event=0x8,name=NAME/ on ARM."
    )
