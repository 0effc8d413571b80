"""Find the processor of a recording from its machine or from the names of its events.

:func:`find_processor` is the main function. :func:`recognise` compares the names with all event tables.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import NamedTuple

from cmlib.io.events.known_names import normalize_name
from cmlib.io.events.naming import COMMON_EVENTS, CORE_EVENT, HARDWARE_NAMES, SOFTWARE_NAMES
from cmlib.io.events.simulated import is_simulated
from cmlib.io.events.tables import find_microarchitecture, general_names, known_tables, list_event_names
from cmlib.spelling import spelling

# A table is recognised if it has at least two of the names and half of the names that are not perf's own.
_FEWEST_NAMES, _LEAST_SHARE = 2, 0.5
# The most common processors. Their tables come first if several tables have the same number of names.
_MOST_COMMON = (
    "amd_zen3",
    "amd_zen4",
    "amd_zen5",
    "intel_icelake",
    "intel_sapphirerapids",
    "intel_skylake",
)
_ARM_STALLS = frozenset(map(spelling, ["stall_frontend", "stall_backend", "stall_slot"]))
_ARM_NAMES = frozenset(map(spelling, COMMON_EVENTS.values())) - set(map(spelling, HARDWARE_NAMES))


class Recognised(NamedTuple):
    """Event tables that contain the names in a recording.

    Attributes
    ----------
    tables : tuple of str
        Tables that contain the most names. The most common processors come first, then the largest tables. Empty if no
        table contains at least two names and half of the names.
    matched : int
        Number of names in these tables.
    named : int
        Number of names in the recording. Names that perf has on every processor are not counted.
    outside : tuple of str
        PMUs (counting units) outside the cores. For example, ``arm_cmn_0``.
    """

    tables: tuple
    matched: int
    named: int
    outside: tuple = ()


def find_processor(machines: Iterable[dict], names: Iterable[str], core: str = "") -> str | None:
    """Find the processor of recordings.

    The first machine with a known processor is used. If no machine is described, the names of the events are used.

    Parameters
    ----------
    machines : iterable of dict
        Descriptions of the machines, from the recordings' metadata.
    names : iterable of str
        Names of events.
    core : str, default ""
        PMU of one kind of core on a processor with several kinds. For example, ``cpu_atom``.

    Returns
    -------
    str or None
        For example, ``amd_zen5``. None if the processor is unknown.
    """
    machines = list(machines)
    for machine in machines:
        processor = find_microarchitecture(machine, core)
        if processor:
            return processor
    if any(machine.get("model_name") for machine in machines):
        return None
    return processor_by_names(names)


def processor_by_names(names: Iterable[str]) -> str | None:
    """Find the processor whose event table contains the most names.

    Parameters
    ----------
    names : iterable of str
        Names of events.

    Returns
    -------
    str or None
        One of:

        - The name of a processor. For example, ``amd_zen5``. If several processors match equally well, the most common
          one.
        - ``intel`` or ``arm``, if only the vendor can be found.
        - None, if the names match no processor.
    """
    tables = recognise(names).tables
    if len(tables) == 1 or (tables and tables[0] in _MOST_COMMON):
        return tables[0]
    has_one_core = not core_pmu(names)
    if tables and has_one_core and all(name.startswith("intel_") for name in tables):
        return "intel"
    spelled = set(map(spelling, names))
    if {"buscycles", "refcycles"} <= spelled or any(name.startswith("topdown") for name in spelled):
        return "intel" if has_one_core else None
    has_arm_pmu = any(name.startswith(("armv8", "armv9")) for name in names)
    if has_arm_pmu or spelled & _ARM_STALLS or len(spelled & _ARM_NAMES) > 1:
        return "arm"
    return None


def core_pmu(names: Iterable[str]) -> str:
    """Return the kind of core that the names of events contain.

    Parameters
    ----------
    names : iterable of str
        Names of events. For example, ``cpu_atom/cycles/``.

    Returns
    -------
    str
        PMU of the cores. For example, ``cpu_atom``. Empty if the names contain no kind of core, or several.
    """
    pmus = {match[1] for match in map(CORE_EVENT.match, names) if match}
    return pmus.pop() if len(pmus) == 1 else ""


def recognise(names: Iterable[str]) -> Recognised:
    """Find the event tables that contain the most names.

    Parameters
    ----------
    names : iterable of str
        Names of events in a recording from an unknown machine.

    Returns
    -------
    Recognised
        Names of the tables, and the numbers of names.
    """
    pmu_by_name = {name: _find_outside_pmu(name) for name in names if not is_simulated(name)}
    outside = tuple(sorted(set(filter(None, pmu_by_name.values()))))
    core_names = {normalize_name(name) for name, pmu in pmu_by_name.items() if pmu is None}
    core_names -= _read_normalized_names("perf")
    core_names -= set(map(normalize_name, HARDWARE_NAMES | SOFTWARE_NAMES))
    n_names = len(core_names)
    if n_names < _FEWEST_NAMES:
        return Recognised((), 0, n_names, outside)
    n_matched = {table: len(core_names & _read_normalized_names(table)) for table in known_tables()}
    most_matched = max(n_matched.values())
    if most_matched < max(_FEWEST_NAMES, _LEAST_SHARE * n_names):
        return Recognised((), 0, n_names, outside)
    best_tables = [table for table in n_matched if n_matched[table] == most_matched]
    best_tables.sort(key=lambda table: (table not in _MOST_COMMON, -len(_read_normalized_names(table))))
    return Recognised(tuple(best_tables), most_matched, n_names, outside)


def describe_recognised(recognised: Recognised) -> str:
    """Describe the recognised event tables in sentences.

    Parameters
    ----------
    recognised : Recognised
        Result of :func:`recognise`.

    Returns
    -------
    str
        One or two sentences. Empty if the recording has only names that perf has on every processor.
    """
    sentences = []
    if recognised.named and recognised.tables:
        sentences.append(
            "The machine of the recordings is not known. "
            f"{recognised.matched} of {recognised.named} event names are those of the event table "
            f"`{recognised.tables[0]}`{_describe_ties(recognised.tables)}."
        )
    elif recognised.named:
        names = "their one event name" if recognised.named == 1 else f"their {recognised.named} event names"
        sentences.append(
            f"The machine of the recordings is not known, and no event table has {names}: what they count is not known."
        )
    if recognised.outside:
        sentences.append(f"Events of {', '.join(recognised.outside)} are counted outside the cores.")
    return " ".join(sentences)


def _describe_ties(tables: tuple[str, ...]) -> str:
    """Describe the other tables that match equally well.

    The result is the end of a sentence.
    """
    other_tables = tables[1:]
    if not other_tables:
        return ": it says what they count"
    names = " and ".join(other_tables) if len(other_tables) < 3 else f"{len(other_tables)} others"
    is_used = tables[0] in _MOST_COMMON
    conclusion = "it says what they count" if is_used else "which processor it was is not known"
    return f", as many as of {names}: {conclusion}"


def _find_outside_pmu(name: str) -> str | None:
    """Return the PMU outside the cores in the name of an event.

    Empty for tracepoints. None for other names.
    """
    pmu, slash, _ = name.partition("/")
    if ":" in pmu:
        return ""
    is_outside = slash and not pmu.startswith(("cpu", "armv", "apple"))
    return pmu if is_outside else None


@functools.cache
def _read_normalized_names(table_name: str) -> frozenset[str]:
    """Return the normalized names in an event table.

    The table ``perf`` has the names that perf has on every processor.
    """
    names = general_names() if table_name == "perf" else list_event_names(table_name)
    return frozenset(map(normalize_name, names))
