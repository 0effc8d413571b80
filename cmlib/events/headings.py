"""Which headings of a table name events, and which events are instructions and cycles under another name."""

import functools
import re

from cmlib.events.generic import HARDWARE_NAMES, SOFTWARE_NAMES
from cmlib.events.naming import base_name
from cmlib.events.tables import general_events, known_tables, table

# As vendors write them: INST_RETIRED.ANY, L2_CACHE_MISS, ls_dmnd_fills_from_sys.near_cache, PAPI_TOT_INS, r412e;
# and as perf is told them: cpu/event=0x43/, msr/tsc/, sched:sched_switch.
_PATTERN = re.compile(
    r"[A-Z][A-Z0-9]*(?:[._:][A-Z0-9]+)+|[a-z][a-z0-9_]*\.[a-z0-9_.]*[a-z][a-z0-9_.]*|r(?=[a-f]*[0-9])[0-9a-f]{2,8}"
    r"|[a-z][a-z0-9_]*/[^/]+/[a-zA-Z]*|[a-z][a-z0-9_]*:[a-z][a-z0-9_]*"
)
# What else is written so: percentages, temperatures, powers, amounts of memory.
_NO_COUNT = re.compile(r".*[._](?:PCT|PERCENT|RATE|RATIO|TEMP|W|WATTS?|[KMG]HZ|[KMG]I?B|FREE|IDLE|USED|AVG)")
_LONGEST = 200
# In the order in which they are taken, where a recording has several.
_SAME = {
    "instructions": (
        "instructions",
        "INST_RETIRED.ANY",
        "INST_RETIRED_ANY",
        "INSTR_RETIRED_ANY",
        "PAPI_TOT_INS",
        "INST_RETIRED.ANY_P",
        "INST_RETIRED",
        "RETIRED_INSTRUCTIONS",
        "ex_ret_instr",
    ),
    "cycles": (
        "cycles",
        "cpu-cycles",
        "CPU_CLK_UNHALTED.THREAD",
        "CPU_CLK_UNHALTED_THREAD",
        "CPU_CLK_UNHALTED_CORE",
        "PAPI_TOT_CYC",
        "CPU_CLK_UNHALTED.THREAD_P",
        "CPU_CLOCKS_UNHALTED",
        "ls_not_halted_cyc",
    ),
}


def is_event(heading):
    """Whether a heading names an event.

    Parameters
    ----------
    heading : str

    Returns
    -------
    bool
        True for names of the event tables and of perf's own events, however they are spelt (``cache_misses``), and
        for whatever looks as vendors' names do: capitals with a dot or an underscore.
    """
    if not 0 < len(heading) <= _LONGEST:
        return False
    name = base_name(heading)
    return _plain(name) in _known() or bool(_PATTERN.fullmatch(name) and not _NO_COUNT.fullmatch(name))


def common_names(names):
    """Tell which events are instructions and cycles under a name of their own.

    Parameters
    ----------
    names : iterable of str
        Of all events of a recording.

    Returns
    -------
    dict of str to str
        From the recording's name to ``instructions`` or ``cycles``; empty where the recording has these, or has
        nothing that counts the same.
    """
    by_spelling = {_plain(name): name for name in reversed(list(names))}
    found = {}
    for common, spellings in _SAME.items():
        written = next((by_spelling[name] for name in map(_plain, spellings) if name in by_spelling), common)
        if written != common:
            found[written] = common
    return found


def _plain(name):
    return name.lower().replace("_", "-")


@functools.cache
def _known():
    tables = [general_events().index, *(table(name).index for name in known_tables())]
    names = [*HARDWARE_NAMES, *SOFTWARE_NAMES, "duration_time", "user_time", "system_time"]
    return frozenset(map(_plain, [*names, *(name for index in tables for name in index)]))
