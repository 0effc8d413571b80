"""Recognize names of events: known names, and text that looks like the name of an event."""

import itertools
import re
from functools import cache

from cmlib.io.events.naming import HARDWARE_NAMES, NAME_LISTS, SOFTWARE_NAMES, TOOL_EVENTS, base_name
from cmlib.io.events.tables import general_names, known_tables, list_event_names
from cmlib.spelling import NAMES

_LONGEST = 200  # characters of an event's name
# Forms of events' names.
_FORMS = (
    r"[A-Z][A-Z0-9]*(?:[._:][A-Z0-9]+)+",  # INST_RETIRED.ANY, L2_CACHE_MISS, PAPI_TOT_INS
    r"[a-z][a-z0-9_]*\.[0-9_.]*[a-z][a-z0-9_.]*",  # ls_dmnd_fills_from_sys.near_cache
    r"r(?=[a-f]*[0-9])[0-9a-f]{2,8}",  # r412e
    r"[a-z][a-z0-9_]*/[^/]+/[a-zA-Z]*",  # cpu/event=0x43/, msr/tsc/
    r"[a-z][a-z0-9_]*:[a-z][a-z0-9_]*",  # sched:sched_switch
)
_EVENT_FORM = re.compile("|".join(_FORMS))
# Names of the same form that are not counts: percentages, temperatures, power, amounts of memory.
_NOT_A_COUNT = re.compile(
    r".*[._](?:PCT|PERCENT|RATE|RATIO|TEMP|W|WATTS?|[KMG]HZ|[KMG]I?B|FREE|IDLE|USED|AVG)"
)
_SEPARATORS_TO_DASHES = str.maketrans("_. ", "---")


def is_event(heading: str) -> bool:
    """Return True if a heading looks like the name of an event.

    Known names are always recognized.

    Parameters
    ----------
    heading : str
        For example, ``L2_CACHE_MISS``.

    Returns
    -------
    bool
    """
    if not 0 < len(heading) <= _LONGEST:
        return False
    name = base_name(heading)
    if is_known(name):
        return True
    return bool(_EVENT_FORM.fullmatch(name)) and not _NOT_A_COUNT.fullmatch(name)


def is_known(name: str) -> bool:
    """Return True if perf or an event table has this name.

    Parameters
    ----------
    name : str
        Name of an event without modifier. Case and separators are ignored.

    Returns
    -------
    bool
    """
    normalized = normalize_name(name)
    return normalized in _list_names_of_perf() or normalized in _list_names_in_tables()


def normalize_name(name: str) -> str:
    """Normalize a name for comparisons.

    The result is in lower case. Underscores, dots and blanks become dashes.

    Parameters
    ----------
    name : str

    Returns
    -------
    str
    """
    return name.lower().translate(_SEPARATORS_TO_DASHES)


@cache
def _list_names_of_perf() -> frozenset[str]:
    """Return the normalized names that perf or the kernel has on every processor."""
    names = [*HARDWARE_NAMES, *SOFTWARE_NAMES, *TOOL_EVENTS, *NAME_LISTS["columns"]]
    names += itertools.chain(NAMES, *NAMES.values())
    return frozenset(map(normalize_name, [*names, *general_names()]))


@cache
def _list_names_in_tables() -> frozenset[str]:
    """Return the normalized names in all event tables."""
    names = {name for table in known_tables() for name in list_event_names(table)}
    return frozenset(map(normalize_name, names))
