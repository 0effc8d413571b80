"""Sums between events that follow from the bits of their umasks."""

import functools
import itertools
import re
from dataclasses import dataclass
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
    plain,
    second_readings,
)
from cmlib.io.events.tables import (
    general_events,
    is_model_of,
    is_simulated,
    known_tables,
    processor_of,
    table,
    table_for,
)
from cmlib.places import events_dir


def umask_sums(table):
    """List the sums between events that follow from the bits they count."""
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
_LONGEST_CODE = 0xFF
_UMASK_SHIFT = 8


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
    own = table_for(machine) if machine else None
    codes = {kind: [_code(name, kind, own) for name in names] for kind in kinds}
    found = []
    for (i, first), (j, second) in itertools.combinations(enumerate(names), 2):
        on = tuple(kind for kind in kinds if codes[kind][i] is not None and codes[kind][i] == codes[kind][j])
        if on:
            found.append(SameEvent(first, second, on, len(on) == len(kinds)))
    return found


def find_processor(machines, names):
    """That of the first machine that is known, else by whose event names these are; None where neither tells."""
    return next(filter(None, map(processor_of, machines)), None) or processor_by_names(names)


def processor_by_names(names):
    """Whose events they are, by their names: an event table, ``intel`` by clocks that only Intel's count, or None."""
    found = next(iter(recognise(names).tables), None)
    return found or ("intel" if {"bus-cycles", "ref-cycles"} <= set(map(_generic, names)) else None)


def _kinds(names, machine):
    """Kinds of processor that a recording can be from."""
    codes = _generic_codes()
    if machine.get("vendor") is not None:
        kinds = pd.read_csv(events_dir() / "generic_processors.csv").itertuples(index=False)
        return [known.codes for known in kinds if is_model_of(machine, known)][:1]
    generic = [name for name in map(_generic, names) if name in codes.index]
    return [kind for kind in codes if (codes.loc[generic, kind] != "").all()] if generic else []


def _code(name, kind, own):
    """What a counter is set to, umask before event; None where that is not known, or is not all."""
    if written := _RAW.fullmatch(base_name(name)):
        return int(written[1], 16)
    if (generic := _generic(name)) in _generic_codes().index:
        code = _generic_codes().at[generic, kind]
        return int(code, 16) if code.startswith("0x") else None
    return _own_codes(own).get(base_name(name)) if own in known_tables() else None


def _generic(name):
    return canonical(base_name(name))


@functools.cache
def _generic_codes():
    return pd.read_csv(events_dir() / "generic.csv", index_col="event", dtype=str, keep_default_na=False)


@functools.cache
def _own_codes(name):
    events = table(name).query("whole and code <= @_LONGEST_CODE and counters == 1")
    return dict(zip(events.index, events["code"] | events["umask"].to_numpy() << _UMASK_SHIFT, strict=True))


_CODE = re.compile(r"r([0-9a-fA-F]{1,4})")
_EVENT = 0xFF


def translate(names, machine):
    """Tell what events of a recording are called here."""
    again = second_readings(names := list(names))
    names = [name for name in names if name not in again]
    by_code = _names_by_code(machine)
    named = {name: by_code.get(_perf_code(name), name) for name in names}
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


def _perf_code(name):
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


def core_pmu(names):
    """The PMU of the cores that counted some events, where it is named and they are all of one kind; else ""."""
    found = {pmu[1] for name in names if (pmu := CORE_EVENT.match(name))}
    return found.pop() if len(found) == 1 else ""


def _common(names):
    names = list(names)
    alike = core_pmu(names)  # on cores of one kind there is nothing to mix up
    by_spelling = {plain(_within(name) if alike else name): name for name in reversed(names)}
    in_user_mode = {
        name.removesuffix(":u"): written for name, written in by_spelling.items() if name.endswith(":u")
    }
    found = _spelled(by_spelling) or _spelled(in_user_mode)
    return {written: common for common, written in found.items() if written != common}


def _within(name):
    """An event of the cores without their PMU, ``cpu_atom/cycles:u/`` and ``cpu_atom/cycles/u`` as ``cycles:u``."""
    found = CORE_EVENT.fullmatch(name)
    return ":".join(filter(None, found.groups()[1:])) if found else name


def _spelled(by_spelling):
    """What all instructions and all cycles are called, of what is there."""
    found = {}
    for common, spellings in SAME.items():
        if written := next((by_spelling[name] for name in map(plain, spellings) if name in by_spelling), ""):
            found[common] = written
    return found


# Names of a processor's own events that must be a table's, of those there are.
_FEWEST_NAMES, _LEAST_SHARE = 2, 0.5


@dataclass(frozen=True)
class Recognised:
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
    """Tell whose events they are, where the machine of a recording is not known."""
    names = [name for name in names if not is_simulated(name)]
    units = [_unit(name) for name in names]
    outside = tuple(sorted({unit for unit in units if unit}))
    own = {plain(name) for name, unit in zip(names, units, strict=True) if unit is None} - _general_names()
    known = {name: _events_of(name) for name in known_tables()}
    matched = max((len(own & events) for events in known.values()), default=0)
    if matched < max(_FEWEST_NAMES, _LEAST_SHARE * len(own)):
        return Recognised((), 0, len(own), outside)
    best = [name for name, events in known.items() if len(own & events) == matched]
    return Recognised(tuple(sorted(best, key=lambda name: -len(known[name]))), matched, len(own), outside)


def describe_recognised(recognised):
    """The same in words."""
    units = ", ".join(recognised.outside)
    elsewhere = f" Events of {units} are counted outside the cores." if units else ""
    if not recognised.named:
        return elsewhere.strip()
    if not recognised.tables:
        named = "their one event name" if recognised.named == 1 else f"their {recognised.named} event names"
        return (
            f"The machine of the recordings is not known, and no event table has {named}: what they count is not "
            f"told.{elsewhere}"
        )
    first, *others = recognised.tables
    alike = f", as many as of {' and '.join(others)}" if others else ""
    return (
        f"The machine of the recordings is not known. {recognised.matched} of {recognised.named} event names are those "
        f"of the event table `{first}`{alike}: it says what they count.{elsewhere}"
    )


def _unit(name):
    """The unit outside the cores that counts an event, such as a memory controller; "" of tracepoints; else None."""
    if ":" in name.partition("/")[0]:
        return ""
    pmu = name.partition("/")[0] if "/" in name else "cpu"
    return None if pmu.startswith(("cpu", "armv")) else pmu


@functools.cache
def _events_of(name):
    return frozenset(map(plain, table(name).index))


@functools.cache
def _general_names():
    return frozenset(map(plain, [*general_events().index, *HARDWARE_NAMES, *SOFTWARE_NAMES]))
