"""Names under which a processor counts one and the same event."""

import functools
import itertools
import re
from typing import NamedTuple

import pandas as pd

from cmlib.events.generic import canonical
from cmlib.events.naming import base_name
from cmlib.events.tables import is_model_of, known_tables, table, table_for
from cmlib.places import events_dir

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
    """Pairs of names that a counter is set to in the same way.

    Generic names are given codes by the kernel, a different one on each kind of processor, and some names the same
    code: on Intel processors since Haswell, ``dTLB-stores`` counts what ``L1-dcache-stores`` counts. The codes are in
    ``data/events/generic.csv``; vendors' names have theirs in the event tables.

    Parameters
    ----------
    names : iterable of str
        Events of a recording.
    machine : dict, optional
        Where it was made, as :func:`cmlib.machine.describe` tells. Where that is not known, every kind of processor
        is looked at that has all of the generic names.

    Returns
    -------
    list of SameEvent

    Examples
    --------
    >>> haswell = {"vendor": "GenuineIntel", "family": 6, "model": 63}
    >>> [pair[:2] for pair in same_events(["branches", "dTLB-stores", "L1-dcache-stores"], haswell)]
    [('dTLB-stores', 'L1-dcache-stores')]
    >>> pair, = same_events(["dTLB-stores", "L1-dcache-stores"])
    >>> pair.certain, pair.processors[:2]
    (False, ('intel_westmere', 'intel_haswell'))
    """
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
