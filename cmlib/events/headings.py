"""Which headings of a table name events."""

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
    return plain(name) in _known() or bool(_PATTERN.fullmatch(name) and not _NO_COUNT.fullmatch(name))


def plain(name):
    """A name without what tools write differently: ``SIMD_FP_256_PACKED_SINGLE`` is ``simd_fp_256.packed_single``."""
    return name.lower().replace("_", "-").replace(".", "-")


@functools.cache
def _known():
    tables = [general_events().index, *(table(name).index for name in known_tables())]
    names = [*HARDWARE_NAMES, *SOFTWARE_NAMES, "duration_time", "user_time", "system_time"]
    return frozenset(map(plain, [*names, *(name for index in tables for name in index)]))
