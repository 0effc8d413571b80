"""Whose events they are, told by their names, where the machine of a recording is not known."""

import functools
from dataclasses import dataclass

from cmlib.events.generic import HARDWARE_NAMES, SOFTWARE_NAMES
from cmlib.events.headings import plain
from cmlib.events.simulated import is_simulated
from cmlib.events.tables import general_events, known_tables, table

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
    """Tell whose events they are, where the machine of a recording is not known.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    Recognised
    """
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


def say_recognised(recognised):
    """The same in words.

    Parameters
    ----------
    recognised : Recognised

    Returns
    -------
    str
        Empty if there are no events but those that perf names alike everywhere.
    """
    units = ", ".join(recognised.outside)
    elsewhere = f" Events of {units} are counted outside the cores." if units else ""
    if not recognised.named:
        return elsewhere.strip()
    if not recognised.tables:
        return (
            f"The machine of the recordings is not known, and their {recognised.named} event names are no table's, so "
            f"events are named without saying what they count.{elsewhere}"
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
