"""Whose events they are, told by their names, where the machine of a recording is not known."""

import functools
from dataclasses import dataclass

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
    """

    tables: tuple
    matched: int
    named: int


def recognise(names):
    """Tell whose events they are, where the machine of a recording is not known.

    Parameters
    ----------
    names : iterable of str

    Returns
    -------
    Recognised
    """
    own = {name for name in names if ":" not in name and not is_simulated(name)} - _general_names()
    known = {name: _events_of(name) for name in known_tables()}
    matched = max((len(own & events) for events in known.values()), default=0)
    if matched < max(_FEWEST_NAMES, _LEAST_SHARE * len(own)):
        return Recognised((), 0, len(own))
    best = [name for name, events in known.items() if len(own & events) == matched]
    return Recognised(tuple(sorted(best, key=lambda name: -len(known[name]))), matched, len(own))


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
    if not recognised.named:
        return ""
    if not recognised.tables:
        return (
            f"The machine of the recordings is not known, and their {recognised.named} event names are no table's, so "
            "events are named without saying what they count."
        )
    first, *others = recognised.tables
    alike = f", as many as of {' and '.join(others)}" if others else ""
    return (
        f"The machine of the recordings is not known. {recognised.matched} of {recognised.named} event names are those "
        f"of the event table `{first}`{alike}: it says what they count."
    )


@functools.cache
def _events_of(name):
    return frozenset(table(name).index)


@functools.cache
def _general_names():
    return frozenset(general_events().index)
