"""Recognise which events names or codes stand for, of which processor they are, and which are sums of others.

Functions take names (iterable of str) as perf or other tools write them, :func:`umask_sums` an event table. A
recording's processor is found by its machine, or else by the table that has most of its names. Unknown names are left
out, or give None.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from cmlib.io.events.naming import (
    COMMON_EVENTS,
    CORE_EVENT,
    HARDWARE_NAMES,
    SOFTWARE_NAMES,
    base_name,
    normalize_name,
    second_readings,
    split_modifier,
)
from cmlib.io.events.simulated import is_simulated
from cmlib.io.events.tables import (
    find_microarchitecture,
    find_table_name,
    general_names,
    is_model_of,
    known_tables,
    list_event_names,
    table,
)
from cmlib.places import shipped
from cmlib.spelling import PINNED, preference, spelling


def umask_sums(table: pd.DataFrame) -> list[tuple[str, tuple[str, ...]]]:
    """List the sums between events that follow from the bits of their umasks.

    Parameters
    ----------
    table : DataFrame
        Event table of a processor, from :func:`table`.

    Returns
    -------
    list of (str, tuple of str)
        An event, and the events that add up to it. Sums of which some parts add up to another event of the table are
        left out, as there is one with fewer parts. Empty where the processor's umasks are no sets of bits.
    """
    sums = []
    for _, family in table[table["bits"] > 0].groupby("code", sort=False):
        bits = family["bits"].to_dict()
        for whole in bits:
            parts = {event: mask for event, mask in bits.items() if mask & bits[whole] == mask != bits[whole]}
            for summands in _partitions(bits[whole], parts):
                if not _can_merge(summands, parts):
                    sums.append((whole, tuple(event for event in bits if event in summands)))
    return sums


def _partitions(bits, parts):
    """Yield every tuple of events in `parts` (dict from event to mask) whose masks share no bit and give `bits`."""
    if not bits:
        yield ()
        return
    lowest = bits & -bits
    for event, mask in parts.items():
        if mask & lowest and mask & bits == mask:
            for others in _partitions(bits & ~mask, parts):
                yield (event, *others)


def _can_merge(summands, parts):
    """Return whether some of the summands, at least two and not all, add up to another part.

    `parts` maps names of events to masks.
    """
    masks = set(parts.values())
    by_size = (itertools.combinations(summands, size) for size in range(2, len(summands)))
    subsets = itertools.chain.from_iterable(by_size)
    return any(sum(parts[event] for event in events) in masks for events in subsets)


_RAW = re.compile(r"r([0-9a-fA-F]{1,6})")  # a raw code, such as r412e
_CODE = re.compile(r"(?:r|event=0x)([0-9a-fA-F]{1,6})(?::[a-zA-Z]*)?")  # also event=0x2e
_ARM_INSTRUCTIONS_CYCLES = {0x08, 0x11, 0x1B}  # codes of inst_retired, cpu_cycles, inst_spec
_LONGEST_CODE = 0xFF  # longer codes do not fit below the umask in a raw code


class SameEvent(NamedTuple):
    """Two names of one event.

    Attributes
    ----------
    first, second : str
        In the order in which they were given.
    processors : tuple of str
        Kinds of processor on which both names are one event: columns of ``generic.csv``.
    certain : bool
        True if these are all kinds of processor that the recording can be from.
    """

    first: str
    second: str
    processors: tuple
    certain: bool


def same_events(names: Iterable[str], machine: Mapping | None = None) -> list[SameEvent]:
    """Find pairs of names with the same event code, which count the same.

    Parameters
    ----------
    names : iterable of str
    machine : mapping, optional
        Description of the machine, as in metadata. Without it, a pair is listed if it is one event on some kind of
        processor that has all the names.

    Returns
    -------
    list of SameEvent
    """
    names = list(names)
    kinds = _kinds(names, machine or {})
    codes_of = _codes(find_table_name(machine)) if machine else {}
    codes = {kind: [_code(name, kind, codes_of) for name in names] for kind in kinds}
    pairs = []
    for (i, first), (j, second) in itertools.combinations(enumerate(names), 2):
        kinds_in_common = tuple(
            kind for kind in kinds if codes[kind][i] is not None and codes[kind][i] == codes[kind][j]
        )
        if kinds_in_common:
            pairs.append(SameEvent(first, second, kinds_in_common, len(kinds_in_common) == len(kinds)))
    return pairs


def find_processor(machines: Iterable[dict], names: Iterable[str], core: str = "") -> str | None:
    """Find the name of a processor from descriptions of machines, or else from the names of its events.

    Parameters
    ----------
    machines : iterable of dict
        Descriptions of machines, as in metadata; the first that is known decides.
    names : iterable of str
        Names of events.
    core : str, default ""
        PMU of one kind of core, such as ``cpu_atom``; "" on processors with one kind.

    Returns
    -------
    str or None
        None if neither machines nor events determine it, or a machine names a processor that has no table.
    """
    machines = list(machines)
    known = filter(None, (find_microarchitecture(machine, core) for machine in machines))
    name = next(known, None)
    if name is not None or any(machine.get("model_name") for machine in machines):
        return name
    return processor_by_names(names)


def processor_by_names(names: Iterable[str]) -> str | None:
    """Find the processor whose event table has most of the names.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    str or None
        Such as ``amd_zen5``. If several tables match equally well: one of the commonest processors, or else
        ``intel`` or ``arm``, if some names are only that vendor's. None if the names match no processor.
    """
    tables = recognise(names).tables
    if len(tables) == 1 or tables[:1] and tables[0] in _FIRST:
        return tables[0]
    if tables[:1] and not core_pmu(names) and all(name.startswith("intel_") for name in tables):
        return "intel"
    spelled = set(map(spelling, names))
    if {"buscycles", "refcycles"} <= spelled or any(name.startswith("topdown") for name in spelled):
        return None if core_pmu(names) else "intel"
    named_pmu = any(name.startswith(("armv8", "armv9")) for name in names)
    return "arm" if named_pmu or spelled & _ARM_STALLS or len(spelled & _ARM_NAMES) > 1 else None


_ARM_STALLS = frozenset(map(spelling, ["stall_frontend", "stall_backend", "stall_slot"]))
_ARM_NAMES = frozenset(map(spelling, COMMON_EVENTS.values())) - set(map(spelling, HARDWARE_NAMES))


def _kinds(names, machine):
    """List the columns of generic.csv that a recording can be from: its machine's, or all that have its events."""
    codes = _generic_codes()
    if machine.get("family") is not None:
        kinds = pd.read_csv(shipped("events") / "generic_processors.csv").itertuples(index=False)
        return [known.codes for known in kinds if is_model_of(machine, known)][:1]
    generic = [name for name in map(_generic, names) if name in codes.index]
    return [kind for kind in codes if (codes.loc[generic, kind] != "").all()] if generic else []


def _code(name, kind, codes_of):
    """Find the code that a name sets a counter to on a kind of processor (256 * umask + event); None if unknown.

    `kind` is a column of generic.csv; `codes_of` are the codes in the machine's event table, by name.
    """
    if written := _RAW.fullmatch(base_name(name)):
        return int(written[1], 16)
    if (generic := _generic(name)) in _generic_codes().index:
        code = _generic_codes().at[generic, kind]
        return int(code, 16) if code.startswith("0x") else None
    return codes_of.get(base_name(name))


def _generic(name):
    """Return the name of perf's generic event in generic.csv, or the name without modifier if it is no such event."""
    return _generic_by_spelling().get(spelling(name), base_name(name))


@functools.cache
def _generic_by_spelling():
    """Return a dict from spellings of perf's generic events to their names in generic.csv."""
    return {spelling(name): name for name in _generic_codes().index}


@functools.cache
def _generic_codes():
    """Read generic.csv: codes (text, "" if there is none) of perf's generic events by kind of processor."""
    return pd.read_csv(shipped("events") / "generic.csv", index_col="event", dtype=str, keep_default_na=False)


@functools.cache
def _codes(name):
    """Map the events of a table to 256 * umask + code, without events that need further settings of the counter."""
    if name not in known_tables():
        return {}
    events = table(name).query("whole and code <= @_LONGEST_CODE and counters == 1")
    return dict(zip(events.index, events["code"] | 256 * events["umask"], strict=True))


def translate(names: Iterable[str], machine: Mapping) -> dict[str, str]:
    """Translate names of events in a recording to those in cmlib's tables.

    Raw codes get names, other tools' spellings that of the machine's event table, and the events that count
    instructions and cycles the names ``instructions`` and ``cycles``; second readings (``EVENT#2``) follow their event.

    Parameters
    ----------
    names : iterable of str
    machine : mapping
        Description of the machine, as in metadata; may be empty.

    Returns
    -------
    dict of str to str
        Only names that change. Names that would not be unique after translation are left out.
    """
    event_by_reading = second_readings(names := list(names))
    names = [name for name in names if name not in event_by_reading]
    named = dict(zip(names, names, strict=True))
    for known_names in (_names_by_code(names, machine), _names_by_spelling(names, machine)):
        named = {name: known_names.get(_plain_or_code(known), known) for name, known in named.items()}
    common = _common(named.values())
    named = {name: common.get(known, known) for name, known in named.items()}
    new_names = list(named.values())
    changed = {name: known for name, known in named.items() if name != known and known not in names}
    translated = {name: known for name, known in changed.items() if new_names.count(known) == 1}
    readings = {reading: event for reading, event in event_by_reading.items() if event in translated}
    return translated | {copy: copy.replace(event, translated[event], 1) for copy, event in readings.items()}


def _plain_or_code(name):
    """Return the key of a name for look-ups: the number of a raw code, or else the normalized name."""
    code = _raw_code(name)
    return normalize_name(name) if code is None else code


def _raw_code(name):
    """Parse a raw code: 0x1b of ``r1b``, ``armv8_pmuv3_0/r001b/`` or ``cpu_atom/event=0x1b/``; None for a name."""
    match = _CODE.fullmatch(_within(name))
    return int(match[1], 16) if match else None


def _are_arm_codes(names):
    """Return whether all raw codes among the names are Arm's common events, instructions or cycles among them.

    Codes of other vendors' events have an umask, and so are larger.
    """
    codes = {code for name in names if (code := _raw_code(name)) is not None}
    return len(codes) > 1 and bool(codes & _ARM_INSTRUCTIONS_CYCLES) and codes <= COMMON_EVENTS.keys()


def _names_by_code(names, machine):
    """Map raw codes to names of events on the machine; to Arm's if it is not known and the codes look so."""
    if machine.get("vendor") in (None, "GenuineIntel", "AuthenticAMD") and not find_table_name(machine):
        return COMMON_EVENTS if _are_arm_codes(names) else {}
    codes = _codes(find_table_name(machine))
    return {code: name for name, code in codes.items()} or COMMON_EVENTS


def _names_by_spelling(names, machine):
    """Map normalized names to those in the machine's event table, or in the table that has most of the names."""
    is_named = machine.get("vendor") or machine.get("model_name")
    known = find_table_name(machine) if is_named else next(iter(recognise(names).tables), None)
    return {normalize_name(name): name for name in list_event_names(known)} if known else {}


def core_pmu(names: Iterable[str]) -> str:
    """Return the PMU in names of events, such as ``cpu_atom``, if they name exactly one kind of core; "" otherwise."""
    pmus = {pmu[1] for name in names if (pmu := CORE_EVENT.match(name))}
    return pmus.pop() if len(pmus) == 1 else ""


def _common(names):
    """Map the recorded names of instructions and cycles to ``instructions`` and ``cycles``.

    Names without modifier are preferred; those of user mode are taken where there are no others. Names that need no
    change are left out.
    """
    names = list(names)
    if not core_pmu(names):  # events of several kinds of core must not be mixed up
        names = [name for name in names if "/" not in name]
    for modifier in ("", "u"):
        chosen = {}
        for common in PINNED:
            candidates = [
                name for name in names if spelling(name) == common and split_modifier(name)[1] == modifier
            ]
            if candidates:
                chosen[min(candidates, key=preference)] = common
        if chosen:
            return {name: common for name, common in chosen.items() if name != common}
    return {}


def _within(name):
    """Remove the PMU from an event: ``cycles:u`` for ``cpu_atom/cycles:u/`` and for ``cpu_atom/cycles/u``."""
    match = CORE_EVENT.fullmatch(name)
    return ":".join(filter(None, match.groups()[1:])) if match else name


# A table is recognised if it has at least so many of the names, and at least this share of those that are not perf's.
_FEWEST_NAMES, _LEAST_SHARE = 2, 0.5
# The commonest processors, which come first where several tables have as many of the names.
_FIRST = ("amd_zen3", "amd_zen4", "amd_zen5", "intel_icelake", "intel_sapphirerapids", "intel_skylake")


class Recognised(NamedTuple):
    """The event tables that have the events of a recording, by their names alone.

    Attributes
    ----------
    tables : tuple of str
        Names of the tables that hold most of the names: the commonest processors first, then the largest tables.
        Empty if no table has two of the names and half of them.
    matched, named : int
        How many names these tables hold, and how many there were, without those that perf has on every processor.
    outside : tuple of str
        PMUs outside the cores that some of the events belong to, such as ``arm_cmn_0``.
    """

    tables: tuple
    matched: int
    named: int
    outside: tuple = ()


def recognise(names: Iterable[str]) -> Recognised:
    """Find the event tables that have most of some events, for recordings whose machine is not known.

    Parameters
    ----------
    names : iterable of str
        Names of events.

    Returns
    -------
    Recognised
        `tables` that hold most of the names, how many they hold (`matched`) of how many (`named`; perf's own names,
        which all processors have, are not among them), and the PMUs `outside` the cores. No table if none has at
        least two of the names and half of them.
    """
    units = {name: _unit(name) for name in names if not is_simulated(name)}
    outside = tuple(sorted(set(filter(None, units.values()))))
    core_names = {normalize_name(name) for name, unit in units.items() if unit is None}
    core_names -= _plain_names("perf") | set(map(normalize_name, HARDWARE_NAMES | SOFTWARE_NAMES))
    if len(core_names) < _FEWEST_NAMES:
        return Recognised((), 0, len(core_names), outside)
    n_matched = {name: len(core_names & _plain_names(name)) for name in known_tables()}
    most_matched = max(n_matched.values())
    if most_matched < max(_FEWEST_NAMES, _LEAST_SHARE * len(core_names)):
        return Recognised((), 0, len(core_names), outside)
    best_matching = [name for name in n_matched if n_matched[name] == most_matched]
    best = sorted(best_matching, key=lambda name: (name not in _FIRST, -len(_plain_names(name))))
    return Recognised(tuple(best), most_matched, len(core_names), outside)


def describe_recognised(recognised: Recognised) -> str:
    """Describe in sentences which event tables were recognised.

    Parameters
    ----------
    recognised : Recognised
        From :func:`recognise`.

    Returns
    -------
    str
        One to two sentences; empty if there were only perf's own names.
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
    """Say which other tables have as many of the names, and whether the first one is used."""
    others = tables[1:]
    if not others:
        return ": it says what they count"
    names = " and ".join(others) if len(others) < 3 else f"{len(others)} others"
    is_used = tables[0] in _FIRST
    conclusion = "it says what they count" if is_used else "which processor it was is not known"
    return f", as many as of {names}: {conclusion}"


def _unit(name):
    """Find the PMU outside the cores in an event's name; "" for tracepoints, None for other names."""
    pmu, slash, _ = name.partition("/")
    if ":" in pmu:
        return ""
    return pmu if slash and not pmu.startswith(("cpu", "armv", "apple")) else None


@functools.cache
def _plain_names(name):
    """Return the names in a table, normalized; perf's own names for the table "perf"."""
    return frozenset(map(normalize_name, general_names() if name == "perf" else list_event_names(name)))
