"""From the names of events in a recording to the names they have here."""

import re

from cmlib.events.arm import COMMON_EVENTS
from cmlib.events.headings import plain
from cmlib.events.naming import second_readings
from cmlib.events.recognition import recognise
from cmlib.events.tables import table, table_for

_CODE = re.compile(r"r([0-9a-fA-F]{1,4})")
_HYBRID = re.compile(r"(cpu_core|cpu_atom)/([^/]*)/")
_EVENT, _UMASK_SHIFT = 0xFF, 8
# In the order in which they are taken, where a recording has several.
_SAME = {
    "instructions": (
        "instructions",
        "INST_RETIRED.ANY",
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
        "CPU_CLK_UNHALTED_CORE",
        "PAPI_TOT_CYC",
        "CPU_CLK_UNHALTED.THREAD_P",
        "CPU_CLOCKS_UNHALTED",
        "ls_not_halted_cyc",
    ),
}


def translate(names, machine):
    """Tell what events of a recording are called here.

    Raw codes of a machine that is known get their names; names that are an event table's but for their spelling get
    the table's; and events that count all instructions or cycles become ``instructions`` and ``cycles``.

    Parameters
    ----------
    names : iterable of str
        Of all events of the recording.
    machine : dict
        Where it was made, as :func:`cmlib.machine.describe` tells; empty, or of None, if that is not known.

    Returns
    -------
    dict of str to str
        From names in the recording to other names; no two events get one name.

    Examples
    --------
    >>> translate(["INST_RETIRED.ANY", "r008"], {})
    {'INST_RETIRED.ANY': 'instructions'}
    >>> translate(["r008", "r003"], {"vendor": "ARM", "family": 7, "model": 0xC0F})
    {'r008': 'instructions', 'r003': 'l1d_cache_refill'}
    """
    again = second_readings(names := list(names))
    names = [name for name in names if name not in again]
    by_code = _names_by_code(machine)
    named = {name: by_code.get(_code(name), name) for name in names}
    by_spelling = _names_by_spelling(named.values(), machine)
    named = {name: by_spelling.get(plain(known), known) for name, known in named.items()}
    common = _common(named.values())
    named = {name: common.get(known, known) for name, known in named.items()}
    taken = list(named.values())
    found = {
        name: known
        for name, known in named.items()
        if name != known and taken.count(known) == 1 and known not in names
    }
    return found | {
        reading: reading.replace(event, found[event], 1) for reading, event in again.items() if event in found
    }


def _code(name):
    found = _CODE.fullmatch(name)
    return int(found[1], 16) if found else None


def _names_by_code(machine):
    if not machine.get("vendor"):
        return {}
    if name := table_for(machine):
        whole = table(name).query("whole and code <= @_EVENT")
        codes = whole["code"] | whole["umask"].to_numpy() << _UMASK_SHIFT
        return dict(zip(codes, whole.index, strict=True))
    return {} if machine["vendor"] in ("GenuineIntel", "AuthenticAMD") else COMMON_EVENTS


def _names_by_spelling(names, machine):
    known = table_for(machine) if machine.get("vendor") else next(iter(recognise(names).tables), None)
    return {plain(name): name for name in table(known).index} if known else {}


def _common(names):
    names = list(names)
    units = {found[1] for name in names if (found := _HYBRID.fullmatch(name))}
    inner = (
        r"\2" if len(units) == 1 else r"\g<0>"
    )  # on the cores of one kind only, there is nothing to mix up
    by_spelling = {plain(_HYBRID.sub(inner, name)): name for name in reversed(names)}
    found = {}
    for common, spellings in _SAME.items():
        written = next((by_spelling[name] for name in map(plain, spellings) if name in by_spelling), common)
        if written != common:
            found[written] = common
    return found
