"""Convert event names to perf's ``-e`` syntax and back, to short names for figures, and to what they count.

:func:`encode` gives the text for ``perf stat -e``, :func:`base_name` the name in such a text, :func:`kinds` a table
of what events count. EventError for a name that neither the table nor perf has; nothing else is refused.
"""

import difflib
import itertools
import re
from collections.abc import Iterable
from functools import cache, lru_cache

import pandas as pd

from cmlib.io.events.tables import EventError, general_names, known_tables, list_event_names
from cmlib.places import read_yaml, shipped
from cmlib.spelling import NAMES, spelling

_NAMES = read_yaml(shipped("events") / "names.yaml")
HARDWARE, SOFTWARE = _NAMES["hardware"], _NAMES["software"]
GENERAL, DEFAULT_SOFTWARE = _NAMES["general"], _NAMES["default_software"]
COMMON_EVENTS = dict(enumerate(_NAMES["arm"].split()))  # Arm's common events: name by code


def _with_other_names(names):
    """Return a set of names of events (list of str) and perf's other names for them."""
    spelled = set(map(spelling, names))
    return frozenset([*names, *(name for name in _NAMES["perf"] if spelling(name) in spelled)])


HARDWARE_NAMES = _with_other_names(HARDWARE)
SOFTWARE_NAMES = _with_other_names(SOFTWARE)

_MODIFIER = re.compile(r"(?<=/)[ukhIGHpPSDWeb]+$|:[ukhIGHpPSDWeb]+$")
_NAME_TERM = re.compile(r"(?<=[/,])name=([^,/]+)")
# An event with the PMU of its kind of core, as perf prints it where a processor has several kinds of core.
# Groups: PMU, event or its terms, modifiers within the slashes, modifiers behind them.
CORE_EVENT = re.compile(
    r"(cpu_(?:core|atom|lowpower)|armv[0-9]\w*|apple_\w+_pmu)/([^/:]*)(?::([a-zA-Z]*))?/([a-zA-Z]*)"
)

_COPY = re.compile(r"(.+)#[0-9]+")  # a second reading of an event, such as branches#2
TOOL_EVENTS = frozenset(["duration_time", "system_time", "user_time"])  # perf measures these itself
HARDWARE_PATTERN = re.compile(
    r"(L1-[di]cache|LLC|[di]TLB|branch|node)-(loads|load-misses|stores|store-misses|prefetches|prefetch-misses)"
    r"|r[0-9a-f]+"
)


def encode(event: str, table: pd.DataFrame, modifier: str = "u") -> str:
    """Write an event as ``perf stat -e`` takes it: its name and modifier, or its code if perf lacks the name.

    Parameters
    ----------
    event : str
        Name; a modifier in it replaces `modifier`. An event with its PMU (``cpu/event=0x43/``) only gets the modifier.
    table : DataFrame
        Event table of the processor, from :func:`cmlib.io.events.table`.
    modifier : str, default "u"
        ``u`` counts in user mode only; "" is no modifier.

    Returns
    -------
    str

    Raises
    ------
    EventError
        If the name is neither in the table nor one of perf's.
    """
    name, written = split_modifier(event)
    modifier = written or modifier
    if "/" in name:
        return name + modifier
    if name in table.index and not table.at[name, "named"]:
        row = table.loc[name]
        extra = f",{row['extra']}" if row.get("extra") else ""
        return f"cpu/event={row['code']:#x},umask={row['umask']:#x}{extra},name={name}/{modifier}"
    if name in SOFTWARE_NAMES or name in TOOL_EVENTS or ":" in name:
        modifier = re.sub("[uk]", "", modifier)
    elif not (name in table.index or name in HARDWARE_NAMES or HARDWARE_PATTERN.fullmatch(name)):
        raise EventError(_unknown(name, table))
    return f"{name}:{modifier}" if modifier else name


@lru_cache(maxsize=4096)
def base_name(event: str) -> str:
    """Remove the modifier from an event's name: ``cycles`` of ``cycles:u``.

    Of an event that is given by its code, return the name behind ``name=``.
    """
    name, _ = split_modifier(event)
    named = _NAME_TERM.search(name)
    return named[1] if named else name


def copy_name(event: str, number: int) -> str:
    """Name the column of a reading of an event in one run: ``branches``, ``branches#2``, ``branches#3``.

    Parameters
    ----------
    event : str
    number : int
        Number of the reading, from 1.

    Returns
    -------
    str
    """
    return event if number == 1 else f"{event}#{number}"


# A tracepoint such as sched:sched_switch, and not a hardware event with perf's modifiers, such as cycles:u.
_TRACEPOINT = re.compile(r"\w+:(?![ukhIGHpPSDWeb]+$)\w+")


def needs_counter(event: str) -> bool:
    """Return whether an event takes one of the processor's counters, unlike software events and tracepoints."""
    return not (_TRACEPOINT.fullmatch(event) or event.partition(":")[0] in SOFTWARE_NAMES)


def second_readings(names: Iterable[str]) -> dict[str, str]:
    """Find the second and later readings of events that a run counts several times.

    Parameters
    ----------
    names : iterable of str
        Columns of a run.

    Returns
    -------
    dict of str to str
        From each such column, such as ``ls_stlf#2``, to its event, ``ls_stlf``.
    """
    names = list(names)
    matches = {name: _COPY.fullmatch(name) for name in names}
    return {name: copy[1] for name, copy in matches.items() if copy and copy[1] in names}


def abbreviate(events: Iterable[str], table: pd.DataFrame) -> list[str]:
    """Return short names for figures.

    Parameters
    ----------
    events : iterable of str
        Names as recorded, with modifiers or without.
    table : DataFrame
        Event table of the processor, from :func:`cmlib.io.events.table`.

    Returns
    -------
    list of str
        The abbreviation of each event; its name without modifier where the table has none.
    """
    short = table["abbr"].to_dict()
    return [short.get(name) or name for name in map(base_name, events)]


def split_modifier(event: str) -> tuple[str, str]:
    """Split an event into its name and its modifier without colon, which is "" if it has none."""
    modifier = _MODIFIER.search(event)
    return (event[: modifier.start()], modifier[0].lstrip(":")) if modifier else (event, "")


def _unknown(name, table):
    """Write the message on an unknown event, with the three most similar names."""
    near = difflib.get_close_matches(name, [*table.index, *HARDWARE_NAMES, *SOFTWARE_NAMES], n=3, cutoff=0.6)
    hint = f"Did you mean {' or '.join(near)}?" if near else "The table's names are in its first column."
    return (
        f"event {name!r} is in neither the event table nor among perf's own names. {hint}\n"
        "Any event can be given by its code: cpu/event=0xc2,umask=0x0,name=NAME/, where the processor's PMU is cpu "
        "in /sys/bus/event_source/devices; as armv8_pmuv3/event=0x8,name=NAME/ on ARM."
    )


# Names in the form of events, as vendors write them (INST_RETIRED.ANY, L2_CACHE_MISS, PAPI_TOT_INS,
# ls_dmnd_fills_from_sys.near_cache, r412e) and as perf's -e takes them (cpu/event=0x43/, msr/tsc/, sched:sched_switch).
_PATTERN = re.compile(
    r"[A-Z][A-Z0-9]*(?:[._:][A-Z0-9]+)+|[a-z][a-z0-9_]*\.[0-9_.]*[a-z][a-z0-9_.]*|r(?=[a-f]*[0-9])[0-9a-f]{2,8}"
    r"|[a-z][a-z0-9_]*/[^/]+/[a-zA-Z]*|[a-z][a-z0-9_]*:[a-z][a-z0-9_]*"
)
# Names in the same form that are no counts: percentages, temperatures, power, amounts of memory.
_NO_COUNT = re.compile(r".*[._](?:PCT|PERCENT|RATE|RATIO|TEMP|W|WATTS?|[KMG]HZ|[KMG]I?B|FREE|IDLE|USED|AVG)")
_LONGEST = 200  # characters of an event's name


def is_event(heading: str) -> bool:
    """Return whether the heading of a column is the name of a known event, or has the form of one."""
    if not 0 < len(heading) <= _LONGEST:
        return False
    name = base_name(heading)
    has_form = _PATTERN.fullmatch(name) and not _NO_COUNT.fullmatch(name)
    return is_known(name) or bool(has_form)


def is_known(name: str) -> bool:
    """Return whether an event's name, without modifier, is one of perf's or of a processor's table."""
    normalized = normalize_name(name)
    return normalized in _names_of_perf() or normalized in _names_of_vendors()


def normalize_name(name: str) -> str:
    """Write a name for comparisons: in lower case, with dashes for underscores, dots and blanks."""
    return name.lower().translate(_AS_DASHES)


_AS_DASHES = str.maketrans("_. ", "---")


@cache
def _names_of_perf():
    """List the names of events that perf or the kernel gives, normalized."""
    names = [*HARDWARE_NAMES, *SOFTWARE_NAMES, *TOOL_EVENTS, *_NAMES["columns"]]
    names += itertools.chain(NAMES, *NAMES.values())
    return frozenset(map(normalize_name, [*names, *general_names()]))


@cache
def _names_of_vendors():
    """List the names in all processors' event tables, normalized."""
    names = {name for table in known_tables() for name in list_event_names(table)}
    return frozenset(map(normalize_name, names))


def kinds(events: Iterable[str], table: pd.DataFrame) -> pd.DataFrame:
    """Classify events by what they count, by the patterns of `data/events/kinds.yaml`.

    Parameters
    ----------
    events : iterable of str
        Names of events.
    table : DataFrame
        Event table of the processor, from :func:`cmlib.io.events.table`; the patterns are also matched with its
        descriptions.

    Returns
    -------
    DataFrame
        A row per event. Index: event. Columns (str): ``kind``, such as ``bad speculation``; ``class``, what kinds have
        in common (``stall``, ``miss``, ``mix`` for the instruction mix, ``other``, or ``target`` for events that are
        cycles per instruction in other words); and ``topic`` within the kind. Every event has all three.
    """
    descriptions = table["description"].to_dict()
    texts = {event: f"{event}: {descriptions.get(event, '')}" for event in events}
    matched = {name: next(of for *of, rule in _rules() if rule.search(text)) for name, text in texts.items()}
    frame = pd.DataFrame.from_dict(matched, orient="index", columns=["kind", "class", "topic"])
    return frame.rename_axis("event")


@cache
def _rules():
    """Return the rules of kinds.yaml in order: list of (kind, class, topic, compiled pattern)."""
    entries_by_kind = read_yaml(shipped("events") / "kinds.yaml")
    return [
        (kind, entries["class"], topic, re.compile(pattern, re.IGNORECASE))
        for kind, entries in entries_by_kind.items()
        for topic, pattern in entries["topics"].items()
    ]
