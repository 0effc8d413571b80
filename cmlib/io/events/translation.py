"""Translate the names of events in a recording to the names in cmlib's event tables."""

import re
from collections.abc import Iterable, Mapping

from cmlib.io.events.codes import read_codes
from cmlib.io.events.known_names import normalize_name
from cmlib.io.events.naming import COMMON_EVENTS, CORE_EVENT, second_readings, split_modifier
from cmlib.io.events.recognition import core_pmu, recognise
from cmlib.io.events.tables import find_table_name, list_event_names
from cmlib.spelling import PINNED, preference, spelling

# A raw code such as r412e or event=0x2e, with an optional modifier.
_RAW_CODE = re.compile(r"(?:r|event=0x)([0-9a-fA-F]{1,6})(?::[a-zA-Z]*)?")
# Codes of Arm's events inst_retired, cpu_cycles and inst_spec.
_ARM_INSTRUCTIONS_AND_CYCLES = {0x08, 0x11, 0x1B}
_VENDORS_WITHOUT_COMMON_EVENTS = (None, "GenuineIntel", "AuthenticAMD")


def translate(names: Iterable[str], machine: Mapping) -> dict[str, str]:
    """Translate names of events to the names in cmlib's tables.

    Raw codes (for example, ``r412e``) and other spellings become the names in the machine's event table. The events
    that count instructions and cycles become ``instructions`` and ``cycles``.

    Parameters
    ----------
    names : iterable of str
        Names in a recording. Second readings (``EVENT#2``) are translated like their event.
    machine : mapping
        Description of the machine, from a recording's metadata. It can be empty.

    Returns
    -------
    dict of str to str
        New name, keyed by old name. A name is omitted if it is unchanged, or if its new name would not be unique.
    """
    names = list(names)
    event_by_reading = second_readings(names)
    first_readings = [name for name in names if name not in event_by_reading]
    new_name_by_name = _find_new_names(first_readings, machine)
    new_names = list(new_name_by_name.values())
    translated = {}
    for name, new_name in new_name_by_name.items():
        is_unique = new_name not in first_readings and new_names.count(new_name) == 1
        if new_name != name and is_unique:
            translated[name] = new_name
    for reading, event in event_by_reading.items():
        if event in translated:
            translated[reading] = reading.replace(event, translated[event], 1)
    return translated


def _find_new_names(names: list[str], machine: Mapping) -> dict[str, str]:
    """Return the new name of each event.

    Codes and spellings are looked up in event tables. Then events that count instructions and cycles are renamed.
    """
    name_by_code = _list_names_by_code(names, machine)
    name_by_spelling = _list_names_by_spelling(names, machine)
    new_name_by_name = {}
    for name in names:
        code = _parse_raw_code(name)
        new_name = name if code is None else name_by_code.get(code, name)
        if _parse_raw_code(new_name) is None:
            new_name = name_by_spelling.get(normalize_name(new_name), new_name)
        new_name_by_name[name] = new_name
    pinned = _rename_pinned_events(new_name_by_name.values())
    return {name: pinned.get(new_name, new_name) for name, new_name in new_name_by_name.items()}


def _parse_raw_code(name: str) -> int | None:
    """Return the raw code in the name of an event.

    For example, 0x1b for ``r1b``, ``armv8_pmuv3_0/r001b/`` and ``cpu_atom/event=0x1b/``. None if the name has no raw
    code.
    """
    match = _RAW_CODE.fullmatch(_remove_core_pmu(name))
    return int(match[1], 16) if match else None


def _are_arm_codes(names: Iterable[str]) -> bool:
    """Return True if all raw codes are common events of Arm.

    One of them must count instructions or cycles. Raw codes of other vendors are larger, because they contain an umask.
    """
    codes = {code for code in map(_parse_raw_code, names) if code is not None}
    return len(codes) > 1 and bool(codes & _ARM_INSTRUCTIONS_AND_CYCLES) and codes <= COMMON_EVENTS.keys()


def _list_names_by_code(names: list[str], machine: Mapping) -> dict[int, str]:
    """Return the names of the machine's events, keyed by code.

    If the machine is unknown and the codes look like Arm's, these are Arm's common events.
    """
    table_name = find_table_name(machine)
    if not table_name and machine.get("vendor") in _VENDORS_WITHOUT_COMMON_EVENTS:
        return COMMON_EVENTS if _are_arm_codes(names) else {}
    codes = read_codes(table_name)
    return {code: name for name, code in codes.items()} or COMMON_EVENTS


def _list_names_by_spelling(names: list[str], machine: Mapping) -> dict[str, str]:
    """Return the names in the machine's event table, keyed by normalized name.

    If the machine is unknown, the table that contains the most names is used.
    """
    if machine.get("vendor") or machine.get("model_name"):
        table_name = find_table_name(machine)
    else:
        table_name = next(iter(recognise(names).tables), None)
    if not table_name:
        return {}
    return {normalize_name(name): name for name in list_event_names(table_name)}


def _rename_pinned_events(names: Iterable[str]) -> dict[str, str]:
    """Rename the events that count instructions and cycles to ``instructions`` and ``cycles``.

    Names without modifier are preferred to names with the modifier ``u`` (user mode). The result contains the new name,
    keyed by old name. Unchanged names are omitted.
    """
    names = list(names)
    if not core_pmu(names):
        # Events of several kinds of core must keep different names.
        names = [name for name in names if "/" not in name]
    for modifier in ("", "u"):
        with_modifier = [name for name in names if split_modifier(name)[1] == modifier]
        chosen = {}
        for pinned_event in PINNED:
            candidates = [name for name in with_modifier if spelling(name) == pinned_event]
            if candidates:
                chosen[min(candidates, key=preference)] = pinned_event
        if chosen:
            return {name: event for name, event in chosen.items() if name != event}
    return {}


def _remove_core_pmu(name: str) -> str:
    """Remove the PMU of a kind of core from a name.

    For example, ``cpu_atom/cycles/u`` becomes ``cycles:u``.
    """
    match = CORE_EVENT.fullmatch(name)
    if not match:
        return name
    _, *name_and_modifiers = match.groups()
    return ":".join(filter(None, name_and_modifiers))
