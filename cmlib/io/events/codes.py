"""Look up the codes of events, and find different names of the same event.

:func:`same_events` compares names by their codes. A code is the number that selects an event in a counter of the
processor: 256 times the umask plus the event number. A raw code is a code in place of a name. For example, ``r412e``.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from cmlib.io.events.naming import base_name
from cmlib.io.events.tables import find_table_name, is_model_of, known_tables, table
from cmlib.places import shipped
from cmlib.spelling import spelling

_RAW = re.compile(r"r([0-9a-fA-F]{1,6})")  # for example, r412e
_LARGEST_EVENT_NUMBER = 0xFF  # larger numbers do not fit next to the umask in a raw code


class SameEvent(NamedTuple):
    """Two names of the same event.

    Attributes
    ----------
    first, second : str
        The names, in input order.
    processors : tuple of str
        Kinds of processor on which both names have the same code. Each kind is the name of a column of ``generic.csv``.
    certain : bool
        True if the names have the same code on all possible processors of the recording.
    """

    first: str
    second: str
    processors: tuple
    certain: bool


def same_events(names: Iterable[str], machine: Mapping | None = None) -> list[SameEvent]:
    """Find pairs of names with the same event code.

    Without a machine, all kinds of processor that have all the events are considered.

    Parameters
    ----------
    names : iterable of str
        Names of events.
    machine : mapping, optional
        Description of the machine, from a recording's metadata.

    Returns
    -------
    list of SameEvent
    """
    names = list(names)
    processors = _find_possible_processors(names, machine or {})
    code_by_name = read_codes(find_table_name(machine)) if machine else {}
    codes = {
        processor: [_find_code(name, processor, code_by_name) for name in names] for processor in processors
    }
    pairs = []
    for (i, first), (j, second) in itertools.combinations(enumerate(names), 2):
        equal_on = tuple(
            processor
            for processor in processors
            if codes[processor][i] is not None and codes[processor][i] == codes[processor][j]
        )
        if equal_on:
            pairs.append(SameEvent(first, second, equal_on, len(equal_on) == len(processors)))
    return pairs


@functools.cache
def read_codes(table_name: str | None) -> dict[str, int]:
    """Read the codes in an event table.

    Events that need further settings of the counter are omitted.

    Parameters
    ----------
    table_name : str or None
        Name of the table. For example, ``amd_zen5``.

    Returns
    -------
    dict of str to int
        Code keyed by event name. Empty if the table does not exist.
    """
    if table_name not in known_tables():
        return {}
    events = table(table_name).query("whole and code <= @_LARGEST_EVENT_NUMBER and counters == 1")
    return dict(zip(events.index, events["code"] | 256 * events["umask"], strict=True))


def _find_possible_processors(names: list[str], machine: Mapping) -> list[str]:
    """List the kinds of processor on which the events can have been counted.

    Each kind is the name of a column of generic.csv.
    """
    codes = _read_generic_codes()
    if machine.get("family") is not None:
        models = pd.read_csv(shipped("events") / "generic_processors.csv").itertuples(index=False)
        return [model.codes for model in models if is_model_of(machine, model)][:1]
    generic_names = [name for name in map(_find_generic_name, names) if name in codes.index]
    if not generic_names:
        return []
    return [processor for processor in codes if (codes.loc[generic_names, processor] != "").all()]


def _find_code(name: str, processor: str, code_by_name: Mapping[str, int]) -> int | None:
    """Return the code of an event on a kind of processor; None if unknown.

    `processor` is a column of generic.csv. `code_by_name` has the codes in the machine's event table.
    """
    raw = _RAW.fullmatch(base_name(name))
    if raw:
        return int(raw[1], 16)
    generic_codes = _read_generic_codes()
    generic_name = _find_generic_name(name)
    if generic_name in generic_codes.index:
        code = generic_codes.at[generic_name, processor]
        return int(code, 16) if code.startswith("0x") else None
    return code_by_name.get(base_name(name))


def _find_generic_name(name: str) -> str:
    """Return the name of an event in generic.csv.

    If the file does not contain the event, the name without modifier.
    """
    return _read_generic_names().get(spelling(name), base_name(name))


@functools.cache
def _read_generic_names() -> dict[str, str]:
    """Return the names in generic.csv, keyed by their normalized spelling."""
    return {spelling(name): name for name in _read_generic_codes().index}


@functools.cache
def _read_generic_codes() -> pd.DataFrame:
    """Read the codes of perf's generic events in generic.csv.

    Index: event. Columns: kinds of processor. The values are text, and empty if the event is not available.
    """
    return pd.read_csv(shipped("events") / "generic.csv", index_col="event", dtype=str, keep_default_na=False)
