"""Name events as perf takes them, as figures show them, and by what they count."""

import difflib
import functools
import re
from functools import cache

import pandas as pd
import yaml

from cmlib.io.events.tables import EventError, general_events, known_tables, names_of
from cmlib.places import events_dir
from cmlib.spelling import ALIASES

_NAMES = yaml.safe_load((events_dir() / "names.yaml").read_text(encoding="utf-8"))
HARDWARE, SOFTWARE, _ALIASES, SAME = (_NAMES[key] for key in ("hardware", "software", "aliases", "same"))
GENERAL, DEFAULT_SOFTWARE = _NAMES["general"], _NAMES["default_software"]
COMMON_EVENTS = dict(enumerate(_NAMES["arm"].split()))
"""ARM's, by code."""

HARDWARE_NAMES = frozenset([*HARDWARE, *(name for name, event in _ALIASES.items() if event in HARDWARE)])
SOFTWARE_NAMES = frozenset([*SOFTWARE, *(name for name, event in _ALIASES.items() if event in SOFTWARE)])


def canonical(name):
    """The name that stands first where perf has several: ``cycles`` of ``cpu-cycles``."""
    return _ALIASES.get(name, name)


_MODIFIER = re.compile(r"(?<=/)[ukhIGHpPSDWeb]+$|:[ukhIGHpPSDWeb]+$")
_NAME_TERM = re.compile(r"(?<=[/,])name=([^,/]+)")
CORE_EVENT = re.compile(
    r"(cpu_(?:core|atom|lowpower)|armv[0-9]+\w*|apple_\w+_pmu)/([^/:]*)(?::([a-zA-Z]*))?/([a-zA-Z]*)"
)
"""Of cores whose PMU is named, as where a processor has several kinds: PMU, event, modifiers."""

_COPY = re.compile(r"(.+)#[0-9]+")
_TOOL = frozenset(["duration_time", "system_time", "user_time"])
_HARDWARE_PATTERN = re.compile(
    r"(L1-[di]cache|LLC|[di]TLB|branch|node)-(loads|load-misses|stores|store-misses|prefetches|prefetch-misses)"
    r"|r[0-9a-f]+"
)


def encode(event, table, modifier="u"):
    """Write an event as perf's ``-e`` takes it."""
    name, written = _without_modifier(event)
    modifier = written or modifier
    if "/" in name:
        return name + modifier
    if name in table.index and not table.at[name, "named"]:
        row = table.loc[name]
        extra = f",{row['extra']}" if row.get("extra") else ""
        return f"cpu/event={row['code']:#x},umask={row['umask']:#x}{extra},name={name}/{modifier}"
    if name in SOFTWARE_NAMES or name in _TOOL or ":" in name:
        modifier = re.sub("[uk]", "", modifier)
    elif not (name in table.index or name in HARDWARE_NAMES or _HARDWARE_PATTERN.fullmatch(name)):
        raise EventError(_unknown(name, table))
    return f"{name}:{modifier}" if modifier else name


def base_name(event):
    """Take an event's name out of the way perf is given it or writes it."""
    name, _ = _without_modifier(event)
    named = _NAME_TERM.search(name)
    return named[1] if named else name


def copy_name(event, number):
    """Name of an event's reading `number` in a run that counts it several times: ``branches``, ``branches#2``, …"""
    return event if number == 1 else f"{event}#{number}"


def second_readings(names):
    """Find the further readings of events that a run counts several times.

    Parameters
    ----------
    names : iterable of str
        Columns of a run.

    Returns
    -------
    dict of str to str
        From the further reading, such as ``ls_stlf#2``, to its event.
    """
    names = list(names)
    matches = {name: _COPY.fullmatch(name) for name in names}
    return {name: copy[1] for name, copy in matches.items() if copy and copy[1] in names}


def abbreviate(events, table):
    """Return short names for figures.

    Parameters
    ----------
    events : iterable of str
        Names as recorded, with modifiers or without.
    table : DataFrame
        Of the processor, as :func:`table` gives it.

    Returns
    -------
    list of str
        The abbreviation of each event; its name where the table has none.
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


# As vendors write them: INST_RETIRED.ANY, L2_CACHE_MISS, ls_dmnd_fills_from_sys.near_cache, PAPI_TOT_INS, r412e;
# and as perf is told them: cpu/event=0x43/, msr/tsc/, sched:sched_switch.
_PATTERN = re.compile(
    r"[A-Z][A-Z0-9]*(?:[._:][A-Z0-9]+)+|[a-z][a-z0-9_]*\.[a-z0-9_.]*[a-z][a-z0-9_.]*|r(?=[a-f]*[0-9])[0-9a-f]{2,8}"
    r"|[a-z][a-z0-9_]*/[^/]+/[a-zA-Z]*|[a-z][a-z0-9_]*:[a-z][a-z0-9_]*"
)
# What else is written so: percentages, temperatures, powers, amounts of memory.
_NO_COUNT = re.compile(r".*[._](?:PCT|PERCENT|RATE|RATIO|TEMP|W|WATTS?|[KMG]HZ|[KMG]I?B|FREE|IDLE|USED|AVG)")
_LONGEST = 200


def is_event(heading):
    """Whether a heading names an event."""
    if not 0 < len(heading) <= _LONGEST:
        return False
    name = base_name(heading)
    return normalize_name(name) in _known() or bool(
        _PATTERN.fullmatch(name) and not _NO_COUNT.fullmatch(name)
    )


def normalize_name(name):
    """A name without what tools write differently: ``SIMD_FP_256_PACKED_SINGLE`` is ``simd_fp_256.packed_single``."""
    return name.lower().replace("_", "-").replace(".", "-")


@functools.cache
def _known():
    tables = [general_events().index, *map(names_of, known_tables())]
    names = [*HARDWARE_NAMES, *SOFTWARE_NAMES, *_TOOL, *ALIASES, *" ".join(ALIASES.values()).split()]
    return frozenset(map(normalize_name, [*names, *(name for index in tables for name in index)]))


def kinds(events, table):
    """Tell what events count, by the patterns of `data/events/kinds.yaml`.

    Parameters
    ----------
    events : iterable of str
        Names of events.
    table : DataFrame
        Of the processor, as :func:`table` gives it; its descriptions are looked at too.

    Returns
    -------
    DataFrame
        Index: event. Columns: kind, class and topic (str).
    """
    descriptions = table["description"].to_dict()
    matched = {event: _first(f"{event}: {descriptions.get(event, '')}") for event in events}
    frame = pd.DataFrame.from_dict(matched, orient="index", columns=["kind", "class", "topic"])
    return frame.rename_axis("event")


def _first(text):
    return next((kind, klass, topic) for kind, klass, topic, pattern in _rules() if pattern.search(text))


@cache
def _rules():
    read = yaml.safe_load((events_dir() / "kinds.yaml").read_text(encoding="utf-8"))
    return [
        (kind, about["class"], topic, re.compile(pattern, re.IGNORECASE))
        for kind, about in read.items()
        for topic, pattern in about["topics"].items()
    ]
