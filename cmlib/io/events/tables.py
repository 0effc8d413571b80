"""Read event tables: one for each microarchitecture, and one of the events that perf has on every processor.

:func:`table` takes a table's name, such as ``amd_zen5``, and returns a DataFrame with one row per event. A table is a
CSV file written by hand, comes from a processor vendor's files (:mod:`cmlib.processors`), or joins both.
"""

import csv
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
TABLE_COLUMNS = [*COLUMNS, "named", "whole", "extra"]
_NUMBERS = ("code", "umask", "bits", "counters", "core")
_PROCESSORS, _GENERAL = "processors", "perf"
_OLDER = "older_processors"
# CSV files in the folder of the event tables that are not tables of a microarchitecture.
_NO_TABLES = (_PROCESSORS, _OLDER, _GENERAL, "autoperf", "generic", "generic_processors", "simulated")


class EventError(CmlibError, ValueError):
    """Raised for an unknown event, and for a table of events that does not exist or is malformed."""


def table(name: str = "amd_zen5") -> pd.DataFrame:
    """Read one of the event tables that come with the package.

    Parameters
    ----------
    name : str, default "amd_zen5"
        One of :func:`cmlib.io.events.known_tables`.

    Returns
    -------
    DataFrame
        One row per event. Index: name of the event. Columns:

        - ``code``, ``umask`` (int): the event's selection in the counter's register.
        - ``bits`` (int): bits of the umask that count different things, so that counts of several umasks add up; 0 if
          unknown.
        - ``counters`` (int): number of counters that the event takes.
        - ``unit`` (str): part of the processor.
        - ``abbr`` (str): short name.
        - ``core`` (int): position in the list of core events, which are recorded without multiplexing, from 1; 0 for
          other events.
        - ``description`` (str).
        - ``named`` (bool): True if perf knows the event by its name.
        - ``whole`` (bool): True if code and umask are all settings of the event.
        - ``extra`` (str): further settings.

    Raises
    ------
    EventError
        If there is no such table, or its file is malformed.

    Examples
    --------
    >>> events = table("amd_zen5")
    >>> events.loc["ls_stlf", ["code", "umask", "abbr"]].tolist()
    [np.int64(53), np.int64(0), 'SLF']
    """
    path = shipped("events") / f"{name}.csv"
    vendor_events = _read_vendor_events(name)
    if vendor_events is not None and not path.is_file():
        return vendor_events
    if vendor_events is not None:
        handwritten = read_table(path)
        # The CSV numbers the core events. Numbers of the vendor's events would repeat its numbers.
        further_events = vendor_events[~vendor_events.index.isin(handwritten.index)].assign(core=0)
        return pd.concat([handwritten, further_events])
    if not path.is_file():
        raise EventError(
            f"there is no event table {name!r} in {path.parent}; it holds: {', '.join(known_tables())}.\n"
            "Choose one of these, or add a table as data/events/README.md says."
        )
    return read_table(path)


def _read_vendor_events(name: str) -> pd.DataFrame | None:
    """Read a microarchitecture's events from its vendor's files, with the columns of :func:`table`; None if none."""
    same_for_all = {"bits": 0, "counters": 1, "abbr": "", "named": False}
    rows = [row | same_for_all | {"whole": not row["extra"]} for row in processors.rows(name)]
    if not rows:
        return None
    return pd.DataFrame(rows, columns=TABLE_COLUMNS).set_index("event")


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
    handwritten = {path.stem for path in shipped("events").glob("*.csv") if path.stem not in _NO_TABLES}
    from_vendors = {name for name in processors.known() if processors.read(name)["events"]}
    return sorted(handwritten | from_vendors)


def is_handwritten(table: str) -> bool:
    """Return whether a table has a CSV file written by hand, and does not come from a vendor's files alone."""
    return (shipped("events") / f"{table}.csv").is_file()


@cache
def list_event_names(table: str) -> list[str]:
    """List the names of the events in a table, given the table's name. This is faster than :func:`table`."""
    path = shipped("events") / f"{table}.csv"
    names = []
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as lines:
            names = [row["event"] for row in csv.DictReader(lines)]
    names += [row["event"] for row in processors.rows(table)]
    return list(dict.fromkeys(names))


def find_table_name(machine: Mapping, core_pmu: str = "") -> str | None:
    """Find the name of a machine's event table.

    Parameters
    ----------
    machine : mapping
        Part ``machine`` of a recording's metadata.
    core_pmu : str, default ""
        PMU of one kind of core, such as ``cpu_atom``.

    Returns
    -------
    str or None
        None if there is no table.
    """
    name = find_microarchitecture(machine, core_pmu)
    return name if name and list_event_names(name) else None


def find_microarchitecture(machine: Mapping, core_pmu: str = "") -> str | None:
    """Find the name of a machine's microarchitecture, such as ``amd_zen5``.

    Some microarchitectures have a name but no event table.

    Parameters
    ----------
    machine : mapping
        Part ``machine`` of a recording's metadata. If it has the key ``processor``, which a user named, that decides;
        otherwise ``vendor``, ``family`` and ``model`` do.
    core_pmu : str, default ""
        PMU of one kind of core, such as ``cpu_atom``.

    Returns
    -------
    str or None
        None if it is unknown.
    """
    if not machine.get("processor"):
        for file_name in (_PROCESSORS, _OLDER):
            for row in _read_processors(shipped("events") / f"{file_name}.csv"):
                if is_model_of(machine, row):
                    return row.table
    return processors.of_machine(machine, core_pmu)


def is_model_of(machine: Mapping, row: Any) -> bool:
    """Return whether vendor, family and model of a machine are those of a row (named tuple) of ``processors.csv``."""
    vendor, family, model = (machine.get(key) for key in ("vendor", "family", "model"))
    if None in (vendor, family, model):
        return False
    return (vendor, family) == (row.vendor, row.family) and row.first_model <= model <= row.last_model


@cache
def _read_processors(path: Path) -> list[Any]:
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
        One row per event, with the columns that :func:`table` describes. It has no rows if the machine has no table.
    """
    name = find_table_name(machine)
    return table(name) if name else table().iloc[:0]


def general_events() -> pd.DataFrame:
    """Read the events that perf has on every processor, including software events.

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
    """List the names of :func:`general_events`, without reading the whole table."""
    return list_event_names(_GENERAL)


def core_events(table: pd.DataFrame) -> list[str]:
    """List the events to record without multiplexing, in the order of their groups.

    Parameters
    ----------
    table : DataFrame
        Event table. Its column ``core`` numbers these events from 1, and is 0 for the others.

    Returns
    -------
    list of str
    """
    return table.loc[table["core"] > 0, "core"].sort_values().index.to_list()
