"""Read event tables: one for each microarchitecture, one of perf's generic names, and one of simulated events.

:func:`table` takes a table's name, such as ``amd_zen5``, and gives a DataFrame with a row per event. EventError for a
table that is not there or malformed.
"""

import csv
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from cmlib import processors
from cmlib.errors import CmlibError
from cmlib.io.archive import reading_errors_as
from cmlib.places import shipped

COLUMNS = ("event", "code", "umask", "bits", "counters", "unit", "abbr", "core", "description")
_NUMBERS = ("code", "umask", "bits", "counters", "core")
_PROCESSORS, _GENERAL = "processors", "perf"
_OLDER = "older_processors"
# Files beside the event tables that are something else.
_NO_TABLES = (_PROCESSORS, _OLDER, _GENERAL, "autoperf", "generic", "generic_processors", "simulated")


class EventError(CmlibError, ValueError):
    """Raised for an event that is not known, and a table of events that is not there or malformed."""


def table(name: str = "amd_zen5") -> pd.DataFrame:
    """Read one of the event tables that come with the package.

    Parameters
    ----------
    name : str, default "amd_zen5"
        One of :func:`cmlib.io.events.known_tables`.

    Returns
    -------
    DataFrame
        A row per event. Index: event. Columns: ``code``, ``umask`` and ``bits`` (int; the umask's bits if sums follow
        from them, else 0); ``counters`` (int, how many one event takes); ``unit`` (part of the processor);
        ``abbr`` (short name); ``core`` (int; the events that are recorded without multiplexing are numbered from 1,
        the others are 0); ``description``; ``named`` (True if perf knows the name); ``whole`` (True if code and umask
        are all settings); ``extra`` (further settings).

    Raises
    ------
    EventError
        If there is no such table, or its file is not one.

    Examples
    --------
    >>> events = table("amd_zen5")
    >>> events.loc["ls_stlf", ["code", "umask", "abbr"]].tolist()
    [np.int64(53), np.int64(0), 'SLF']
    """
    path = shipped("events") / f"{name}.csv"
    defaults = {"bits": 0, "counters": 1, "abbr": "", "named": False}
    if rows := [row | defaults | {"whole": not row["extra"]} for row in processors.rows(name)]:
        table = pd.DataFrame(rows, columns=_COLUMNS_OF_FILES).set_index("event")
        if not path.is_file():
            return table
        written = read_table(path)
        return pd.concat([written, table[~table.index.isin(written.index)].assign(core=0)])
    if not path.is_file():
        raise EventError(
            f"there is no event table {name!r} in {path.parent}; it holds: {', '.join(known_tables())}.\n"
            "Choose one of these, or add a table as data/events/README.md says."
        )
    return read_table(path)


def read_table(path: Path) -> pd.DataFrame:
    """Read an event table from a CSV file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    DataFrame
        By event, with the columns that :func:`table` describes.

    Raises
    ------
    EventError
        If a column is missing, a number is malformed, or a name or abbreviation occurs twice.
    """
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise EventError(
            f"{path}, line 1: column {missing[0]!r} is missing; found {', '.join(frame.columns)}.\n"
            f"An event table has the columns {', '.join(COLUMNS)}."
        )
    for column in _NUMBERS:
        with reading_errors_as(EventError, f"{path}, column {column}", hint="Write numbers such as 0x1f."):
            frame[column] = [int(text or "0", 0) for text in frame[column]]
    for column in ("event", "abbr"):
        if (repeated := frame[column].duplicated() & (frame[column] != "")).any():
            row = repeated.idxmax()
            raise EventError(
                f"{path}, line {row + 2}: {column} {frame.at[row, column]!r} is in an earlier line already; give it "
                "another."
            )
    return frame.assign(named=False, whole=True, extra="").set_index("event")


def known_tables() -> list[str]:
    """List the names of the event tables that come with the package."""
    written = {path.stem for path in shipped("events").glob("*.csv") if path.stem not in _NO_TABLES}
    return sorted(written | {name for name in processors.known() if processors.read(name)["events"]})


_COLUMNS_OF_FILES = [*COLUMNS, "named", "whole", "extra"]


def is_written(table: str) -> bool:
    """Return whether a table has a CSV file written by hand, and is not only made of a vendor's files."""
    return (shipped("events") / f"{table}.csv").is_file()


@cache
def names_of(table: str) -> list[str]:
    """List the names of the events in a table, given its name; faster than to read all of it."""
    path = shipped("events") / f"{table}.csv"
    written = []
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as lines:
            written = [row["event"] for row in csv.DictReader(lines)]
    return list(dict.fromkeys([*written, *(row["event"] for row in processors.rows(table))]))


def table_for(machine: Mapping, core: str = "") -> str | None:
    """Find the name of a machine's event table.

    Parameters
    ----------
    machine : mapping
        Description of the machine, as in metadata.
    core : str, default ""
        PMU of one kind of core, such as ``cpu_atom``.

    Returns
    -------
    str or None
        None if there is no table.
    """
    name = processor_of(machine, core)
    return name if name and names_of(name) else None


def processor_of(machine: Mapping, core: str = "") -> str | None:
    """Find the name of a machine's microarchitecture, such as ``amd_zen5``, which need not have an event table.

    Parameters
    ----------
    machine : mapping
        Description of the machine, as in metadata: vendor, family, model, or processor, if a user named it.
    core : str, default ""
        PMU of one kind of core, such as ``cpu_atom``.

    Returns
    -------
    str or None
        None if it is unknown.
    """
    rows = [row for file in (_PROCESSORS, _OLDER) for row in _processors(shipped("events") / f"{file}.csv")]
    written = (row.table for row in rows if not machine.get("processor") and is_model_of(machine, row))
    return next(written, None) or processors.of_machine(machine, core)


def is_model_of(machine: Mapping, row: Any) -> bool:
    """Return whether vendor, family and model of a machine are those of a row (named tuple) of ``processors.csv``."""
    vendor, family, model = (machine.get(key) for key in ("vendor", "family", "model"))
    if None in (vendor, family, model):
        return False
    return (vendor, family) == (row.vendor, row.family) and row.first_model <= model <= row.last_model


@cache
def _processors(path):
    """Return the rows of a CSV file of processors, as named tuples."""
    return list(pd.read_csv(path).itertuples(index=False))


def table_of(machine: dict) -> pd.DataFrame:
    """Read the event table of a machine.

    Parameters
    ----------
    machine : dict
        Part ``machine`` of a recording's metadata.

    Returns
    -------
    DataFrame
        A row per event, with the columns that :func:`table` describes (code, umask, unit, description and others);
        without rows if the machine has no table.
    """
    name = table_for(machine)
    return table(name) if name else table().iloc[:0]


def general_events() -> pd.DataFrame:
    """Read the events that perf has on every processor, software events among them.

    Returns
    -------
    DataFrame
        By event, with the columns that :func:`table` describes; code and umask are 0.
    """
    frame = pd.read_csv(shipped("events") / f"{_GENERAL}.csv", index_col="event").assign(
        code=0, umask=0, bits=0, counters=1, abbr="", core=0, named=True, whole=True, extra=""
    )
    return frame[table().columns]


def general_names() -> list[str]:
    """List the names of :func:`general_events`; faster than to read all of the table."""
    return names_of(_GENERAL)


def core_events(table: pd.DataFrame) -> list[str]:
    """List the events that are to be recorded without multiplexing, in the order in which they are put into groups.

    Parameters
    ----------
    table : DataFrame
        Event table; the numbers in its column ``core`` are above 0 for these events, and give their order.

    Returns
    -------
    list of str
    """
    return table.loc[table["core"] > 0, "core"].sort_values().index.to_list()


# `perf list --details` as plain text: headings of units, entries of three lines or more; the settings of an event that
# need not be given in another form; and encodings of events of the cores.
_HEADING = re.compile(r"^(\S.*):$", re.MULTILINE)
_ENTRY = re.compile(
    r"^ {2}(?P<event>\S+) *\n {7}\[(?P<description>(?:(?!\n {2}\S).)*?)\]\n {8}(?P<encoding>\w+/\S*)",
    re.MULTILINE | re.DOTALL,
)
_WHOLE = {"event", "umask", "name", "period"}
_CORE_PMU = re.compile(r"(?:cpu|cpu_core|armv\d\w*)/(?P<terms>[^/]*\bevent=[^/]*)/")


def from_perf_list(text: str) -> pd.DataFrame:
    """Make the event table of the cores out of what ``perf list --json`` or ``perf list --details`` printed.

    Parameters
    ----------
    text : str

    Returns
    -------
    DataFrame
        By event, with the columns that :func:`table` describes.

    Raises
    ------
    EventError
        If no event is listed, or the JSON is malformed.
    """
    listed = _from_json(text) if text.lstrip().startswith("[") else _from_plain_text(text)
    rows = {}
    for event, encoding, unit, description in listed:
        if match := _CORE_PMU.match(encoding):
            terms = dict(term.partition("=")[::2] for term in match["terms"].split(","))
            code, umask = (int(terms.get(key, "0"), 0) for key in ("event", "umask"))
            whole = terms.keys() <= _WHOLE
            rows.setdefault(event, (code, umask, 0, 1, unit, "", 0, description, True, whole, ""))
    if not rows:
        raise EventError(
            f"perf lists no named event of the cores ({len(text.splitlines())} lines read).\n"
            "A newer perf may know this processor; or add a table as data/events/README.md says."
        )
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=_COLUMNS_OF_FILES[1:])
    return frame.rename_axis("event")


def _from_json(text):
    """Yield (event, encoding, unit, description) of each entry of the JSON that is not deprecated.

    EventError if the JSON is malformed.
    """
    what = "the JSON of perf list breaks off or is malformed"
    with reading_errors_as(EventError, what, hint="Write it to a file anew."):
        entries = json.loads(text)
    for entry in entries:
        if "Topic" in entry and "Deprecated" not in entry:
            yield [entry.get(key, "") for key in ("EventName", "Encoding", "Topic", "BriefDescription")]


def _from_plain_text(text):
    """Yield (event, encoding, unit, description) of each entry of the plain text."""
    headings = [(match.start(), match[1]) for match in _HEADING.finditer(text)]
    for match in _ENTRY.finditer(text):
        unit = next((name for start, name in reversed(headings) if start < match.start()), "")
        yield match["event"], match["encoding"], unit, " ".join(match["description"].split())


PREFIX = "sim."
MODELLED = "modelled"
# Callgrind simulates a first and a last level of caches; its last is the processor's last one, or its second.
LAST_LEVEL, SECOND_LEVEL = "LL", "L2"


def simulated_events(levels=2):
    """List the events of a simulated run, in Callgrind's order.

    Parameters
    ----------
    levels : {2, 3}, default 2
        Levels of caches: 2 for the events of one simulation, 3 to add those of a second one, whose last-level cache is
        the processor's second.

    Returns
    -------
    DataFrame
        Index: event, such as ``sim.l1d_load_misses``. Columns: ``callgrind`` (Callgrind's short name),
        ``kind`` (``exact`` where the run itself is counted, ``modelled`` where a simulated cache or branch
        predictor decides), ``weight`` (cycles that KCachegrind's estimate charges for one, 0 for none), ``unit``
        and ``description``.

    Examples
    --------
    >>> simulated_events().loc["sim.loads", ["callgrind", "kind"]].tolist()
    ['Dr', 'exact']
    """
    return (_of(LAST_LEVEL, SECOND_LEVEL) if levels == 3 else _of(LAST_LEVEL)).copy()


def second_level_events() -> pd.DataFrame:
    """Return the events that only a second simulation counts, whose last cache is the second level.

    Returns
    -------
    DataFrame
        By event, with the columns of :func:`simulated_events`.
    """
    return _of(SECOND_LEVEL).copy()


def cycle_estimate(counts: pd.DataFrame) -> pd.Series:
    """Estimate cycles of simulated counts as KCachegrind does: Ir + 10 Bm + 10 L1m + 100 LLm.

    Parameters
    ----------
    counts : DataFrame
        Columns: all events of :func:`simulated_events`.

    Returns
    -------
    Series
        Cycles of each row.

    Raises
    ------
    KeyError
        If an event is missing.
    """
    weights = simulated_events()["weight"]
    return counts[list(weights.index)] @ weights


def is_simulated(event: str) -> bool:
    """Return whether an event's name is that of a simulated event: it starts with ``sim.``."""
    return event.startswith(PREFIX)


@cache
def _of(*levels):
    """Select the rows of the table of simulated events that simulations with these last levels count."""
    table = pd.read_csv(shipped("events") / "simulated.csv", index_col="event")
    return table[table["last_level"].isin(levels)].drop(columns="last_level")
