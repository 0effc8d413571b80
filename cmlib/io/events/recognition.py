"""Recognise events by name or code, and the sums that hold between them."""

import functools
import itertools
import re
from typing import NamedTuple

import pandas as pd

from cmlib.io.events.naming import (
    COMMON_EVENTS,
    CORE_EVENT,
    HARDWARE_NAMES,
    SAME,
    SOFTWARE_NAMES,
    base_name,
    canonical,
    normalize_name,
    second_readings,
)
from cmlib.io.events.tables import (
    general_events,
    is_model_of,
    is_simulated,
    known_tables,
    names_of,
    processor_of,
    table,
    table_for,
)
from cmlib.places import events_dir
from cmlib.spelling import spelling


def umask_sums(table):
    """List the sums between events that follow from the bits that their umasks count.

    Parameters
    ----------
    table : DataFrame
        Of a processor, as :func:`table` gives it.

    Returns
    -------
    list of (str, tuple of str)
        The whole and its parts.
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
    """Every way to make `bits` up of `parts` (event to mask) that share no bit."""
    if not bits:
        yield ()
        return
    lowest = bits & -bits
    for event, mask in parts.items():
        if mask & lowest and mask & bits == mask:
            for others in _partitions(bits & ~mask, parts):
                yield (event, *others)


def _can_merge(summands, parts):
    masks = set(parts.values())
    return any(
        sum(parts[event] for event in some) in masks
        for size in range(2, len(summands))
        for some in itertools.combinations(summands, size)
    )


_RAW = re.compile(r"r([0-9a-fA-F]{1,6})")
_CODE = re.compile(r"(?:r|event=0x)([0-9a-fA-F]{1,6})(?::[a-zA-Z]*)?")
_ARM_INSTRUCTIONS_CYCLES = {0x08, 0x11, 0x1B}
_LONGEST_CODE = 0xFF


class SameEvent(NamedTuple):
    """Two names of one event.

    Attributes
    ----------
    first, second : str
        In the order in which they were given.
    processors : tuple of str
        On which kinds of processor both names are one event, as ``generic.csv`` heads its columns.
    certain : bool
        Whether these are all kinds that the recording can be from.
    """

    first: str
    second: str
    processors: tuple
    certain: bool


def same_events(names, machine=None):
    """Pairs of names that a counter is set to in the same way."""
    names = list(names)
    kinds = _kinds(names, machine or {})
    codes_of = _codes(table_for(machine)) if machine else {}
    codes = {kind: [_code(name, kind, codes_of) for name in names] for kind in kinds}
    pairs = []
    for (i, first), (j, second) in itertools.combinations(enumerate(names), 2):
        on = tuple(kind for kind in kinds if codes[kind][i] is not None and codes[kind][i] == codes[kind][j])
        if on:
            pairs.append(SameEvent(first, second, on, len(on) == len(kinds)))
    return pairs


def find_processor(machines, names, core=""):
    """That of the first machine that is known, else by whose event names these are; None where neither tells."""
    return next(
        filter(None, (processor_of(machine, core) for machine in machines)), None
    ) or processor_by_names(names)


def processor_by_names(names):
    """Whose events they are, by their names: an event table, ``intel`` or ``arm`` by what only these count, or None."""
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
    """Kinds of processor that a recording can be from."""
    codes = _generic_codes()
    if machine.get("family") is not None:
        kinds = pd.read_csv(events_dir() / "generic_processors.csv").itertuples(index=False)
        return [known.codes for known in kinds if is_model_of(machine, known)][:1]
    generic = [name for name in map(_generic, names) if name in codes.index]
    return [kind for kind in codes if (codes.loc[generic, kind] != "").all()] if generic else []


def _code(name, kind, codes_of):
    """What a counter is set to, umask before event; None where that is not known, or is not all."""
    if written := _RAW.fullmatch(base_name(name)):
        return int(written[1], 16)
    if (generic := _generic(name)) in _generic_codes().index:
        code = _generic_codes().at[generic, kind]
        return int(code, 16) if code.startswith("0x") else None
    return codes_of.get(base_name(name))


def _generic(name):
    return canonical(base_name(name))


@functools.cache
def _generic_codes():
    return pd.read_csv(events_dir() / "generic.csv", index_col="event", dtype=str, keep_default_na=False)


@functools.cache
def _codes(name):
    """Umask and event by the names of an event table, as far as these are all that there is to an event."""
    if name not in known_tables():
        return {}
    events = table(name).query("whole and code <= @_LONGEST_CODE and counters == 1")
    return dict(zip(events.index, events["code"] | 256 * events["umask"], strict=True))


def translate(names, machine):
    """Tell what events of a recording are called here."""
    again = second_readings(names := list(names))
    names = [name for name in names if name not in again]
    named = dict(zip(names, names, strict=True))
    for known_by in (_names_by_code(names, machine), _names_by_spelling(names, machine)):
        named = {name: known_by.get(_plain_or_code(known), known) for name, known in named.items()}
    common = _common(named.values())
    named = {name: common.get(known, known) for name, known in named.items()}
    taken = list(named.values())
    translated = {
        name: known
        for name, known in named.items()
        if name != known and taken.count(known) == 1 and known not in names
    }
    return translated | {
        reading: reading.replace(event, translated[event], 1)
        for reading, event in again.items()
        if event in translated
    }


def _plain_or_code(name):
    """A raw code of event and umask as a number; another name without what tools write differently."""
    code = _raw_code(name)
    return normalize_name(name) if code is None else code


def _raw_code(name):
    """Event and umask of ``r1b``, ``armv8_pmuv3_0/r001b/`` or ``armv8_pmuv3_0/event=0x1b/``; None of a name."""
    match = _CODE.fullmatch(_within(name))
    return int(match[1], 16) if match else None


def _are_arm_codes(names):
    """Whether raw codes are Arm's common events, with instructions or cycles among them: others' need an umask."""
    codes = {code for name in names if (code := _raw_code(name)) is not None}
    return len(codes) > 1 and bool(codes & _ARM_INSTRUCTIONS_CYCLES) and codes <= COMMON_EVENTS.keys()


def _names_by_code(names, machine):
    if machine.get("vendor") in (None, "GenuineIntel", "AuthenticAMD") and not table_for(machine):
        return COMMON_EVENTS if _are_arm_codes(names) else {}
    codes = _codes(table_for(machine))
    return {code: name for name, code in codes.items()} or COMMON_EVENTS


def _names_by_spelling(names, machine):
    known = table_for(machine) if machine.get("vendor") else next(iter(recognise(names).tables), None)
    return {normalize_name(name): name for name in names_of(known)} if known else {}


def core_pmu(names):
    """The PMU of the cores that counted some events, where it is named and they are all of one kind; else ""."""
    pmus = {pmu[1] for name in names if (pmu := CORE_EVENT.match(name))}
    return pmus.pop() if len(pmus) == 1 else ""


def _common(names):
    """What all instructions and all cycles are called, of what is there: in user mode where nothing else is."""
    names = list(names)
    within = _within if core_pmu(names) else str  # on cores of one kind there is nothing to mix up
    by_spelling = {normalize_name(within(name)): name for name in reversed(names)}
    for modifier in ("", ":u"):
        written = {
            common: next(
                (
                    by_spelling[s + modifier]
                    for s in map(normalize_name, spellings)
                    if s + modifier in by_spelling
                ),
                "",
            )
            for common, spellings in SAME.items()
        }
        if any(written.values()):
            return {name: common for common, name in written.items() if name not in ("", common)}
    return {}


def _within(name):
    """An event of the cores without their PMU, ``cpu_atom/cycles:u/`` and ``cpu_atom/cycles/u`` as ``cycles:u``."""
    match = CORE_EVENT.fullmatch(name)
    return ":".join(filter(None, match.groups()[1:])) if match else name


# Names of a processor's own events that must be a table's, of those there are.
_FEWEST_NAMES, _LEAST_SHARE = 2, 0.5
# The commonest processors, taken first where names do not tell.
_FIRST = ("amd_zen3", "amd_zen4", "amd_zen5", "intel_icelake", "intel_sapphirerapids", "intel_skylake")


class Recognised(NamedTuple):
    """A table told by the names of events.

    Attributes
    ----------
    tables : tuple of str
        Those that hold most of the names, the largest first; several where they can't be told apart. Empty if
        fewer than two of the names, or than half of them, are any table's.
    matched, named : int
        How many names the tables hold, and how many there were, without those that perf has on every processor.
    outside : tuple of str
        Units outside the cores that some of the events belong to, such as ``arm_cmn_0``.
    """

    tables: tuple
    matched: int
    named: int
    outside: tuple = ()


def recognise(names):
    """Tell whose events some names are, where the machine of a recording is not known.

    Parameters
    ----------
    names : iterable of str
        Of events.

    Returns
    -------
    Recognised
        `tables` that hold most of the names, how many they hold (`matched`) of how many (`named`), and the units
        `outside` of the cores.
    """
    units = {name: _unit(name) for name in names if not is_simulated(name)}
    outside = tuple(sorted(set(filter(None, units.values()))))
    core_names = {normalize_name(name) for name, unit in units.items() if unit is None}
    core_names -= _plain_names("perf") | set(map(normalize_name, HARDWARE_NAMES | SOFTWARE_NAMES))
    matched = {name: len(core_names & _plain_names(name)) for name in known_tables()}
    most = max(matched.values())
    if most < max(_FEWEST_NAMES, _LEAST_SHARE * len(core_names)):
        return Recognised((), 0, len(core_names), outside)
    best = sorted(
        (name for name in matched if matched[name] == most),
        key=lambda name: (name not in _FIRST, -len(_plain_names(name))),
    )
    return Recognised(tuple(best), most, len(core_names), outside)


def describe_recognised(recognised):
    """Describe in words what :func:`recognise` told.

    Parameters
    ----------
    recognised : Recognised
        As of :func:`recognise`.

    Returns
    -------
    str
        Some sentences; empty where nothing is to be said.
    """
    tables, matched, named, outside = recognised
    sentences = []
    if named and tables:
        alike = f", as many as of {' and '.join(tables[1:])}" if tables[1:] else ""
        sentences = [
            f"The machine of the recordings is not known. {matched} of {named} event names are those of the event "
            f"table `{tables[0]}`{alike}: it says what they count."
        ]
    elif named:
        names = "their one event name" if named == 1 else f"their {named} event names"
        sentences = [
            f"The machine of the recordings is not known, and no event table has {names}: what they count is not told."
        ]
    if outside:
        sentences.append(f"Events of {', '.join(outside)} are counted outside the cores.")
    return " ".join(sentences)


def _unit(name):
    """The unit outside the cores that counts an event, such as a memory controller; "" of tracepoints; else None."""
    pmu, slash, _ = name.partition("/")
    if ":" in pmu:
        return ""
    return pmu if slash and not pmu.startswith(("cpu", "armv")) else None


@functools.cache
def _plain_names(name):
    return frozenset(map(normalize_name, general_events().index if name == "perf" else names_of(name)))
