"""Read tables of the events that a processor can count.

:func:`table` reads the table of a microarchitecture. For example, ``amd_zen5``. :func:`table_of` reads the table of a
machine. Tables come from handwritten CSV files, from files of the processor's vendor (:mod:`cmlib.processors`), or from
both.
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
_OTHER_FILES = (_PROCESSORS, _OLDER, _GENERAL, "autoperf", "generic", "generic_processors", "simulated")


class EventError(CmlibError, ValueError):
    """Raised for an unknown event, and for an event table that does not exist or is malformed."""


def table(name: str = "amd_zen5") -> pd.DataFrame:
    """Read the event table of a microarchitecture.

    Parameters
    ----------
    name : str, default "amd_zen5"
        Name of a table in :func:`cmlib.io.events.known_tables`.

    Returns
    -------
    DataFrame
        One row per event. The index is its name. Columns:

        - ``code`` (int): number of the event in the counter's register.
        - ``umask`` (int): bits in the counter's register that select a variant of the event.
        - ``bits`` (int): bits of the umask that count disjoint sets of occurrences. 0 if unknown.
        - ``counters`` (int): number of counters that the event needs.
        - ``unit`` (str): part of the processor. For example, ``load-store``.
        - ``abbr`` (str): short name.
        - ``core`` (int): position in the list of events that are recorded without multiplexing, from 1. 0 for other
          events.
        - ``description`` (str): what is counted.
        - ``named`` (bool): True if perf knows the event by its name.
        - ``whole`` (bool): True if the event has no settings except code and umask.
        - ``extra`` (str): further settings.

    Raises
    ------
    EventError
        If the table does not exist or its file is malformed.

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
        # The CSV file numbers the core events from 1. The vendor's files number other events from 1, too.
        further_events = vendor_events[~vendor_events.index.isin(handwritten.index)].assign(core=0)
        return pd.concat([handwritten, further_events])
    if not path.is_file():
        raise EventError(
            f"there is no event table {name!r} in {path.parent}. Its tables: {', '.join(known_tables())}.\n"
            "Choose one of these, or add a table as data/events/README.md says."
        )
    return read_table(path)


def _read_vendor_events(name: str) -> pd.DataFrame | None:
    """Read the events of a microarchitecture in the vendor's files.

    Returns None if there are no such files.
    """
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
        One row per event. Columns: as in :func:`table`.

    Raises
    ------
    EventError
        If a column is missing, a number is malformed, or a name or abbreviation is repeated.
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
        is_repeated = frame[column].duplicated() & (frame[column] != "")
        if is_repeated.any():
            row = is_repeated.idxmax()
            raise EventError(
                f"{path}, line {row + 2}: {column} {frame.at[row, column]!r} is in an earlier line already; give it "
                "another."
            )
    return frame.assign(named=False, whole=True, extra="").set_index("event")


def known_tables() -> list[str]:
    """Return the names of the event tables in the package."""
    handwritten = {path.stem for path in shipped("events").glob("*.csv") if path.stem not in _OTHER_FILES}
    from_vendors = {name for name in processors.known() if processors.read(name)["events"]}
    return sorted(handwritten | from_vendors)


def is_handwritten(table: str) -> bool:
    """Return True if an event table has a handwritten CSV file.

    Parameters
    ----------
    table : str
        Name of the table.

    Returns
    -------
    bool
    """
    return (shipped("events") / f"{table}.csv").is_file()


@cache
def list_event_names(table: str) -> list[str]:
    """Return the names of the events in a table.

    This is faster than :func:`table`.

    Parameters
    ----------
    table : str
        Name of the table.

    Returns
    -------
    list of str
    """
    path = shipped("events") / f"{table}.csv"
    names = []
    if path.is_file():
        with path.open(encoding="utf-8", newline="") as lines:
            names = [row["event"] for row in csv.DictReader(lines)]
    names += [row["event"] for row in processors.rows(table)]
    return list(dict.fromkeys(names))


def find_table_name(machine: Mapping, core_pmu: str = "") -> str | None:
    """Return the name of a machine's event table.

    Parameters
    ----------
    machine : mapping
        Description of the machine, from a recording's metadata.
    core_pmu : str, default ""
        PMU of one kind of core on a processor with several kinds. For example, ``cpu_atom``.

    Returns
    -------
    str or None
        None if the machine is unknown or has no table.
    """
    name = find_microarchitecture(machine, core_pmu)
    return name if name and list_event_names(name) else None


def find_microarchitecture(machine: Mapping, core_pmu: str = "") -> str | None:
    """Return the name of a machine's microarchitecture.

    It is found from the entry ``processor``, which the user gave, or from vendor, family and model.

    Parameters
    ----------
    machine : mapping
        Description of the machine, from a recording's metadata.
    core_pmu : str, default ""
        PMU of one kind of core on a processor with several kinds. For example, ``cpu_atom``.

    Returns
    -------
    str or None
        For example, ``amd_zen5``. None if unknown.
    """
    if not machine.get("processor"):
        for file_name in (_PROCESSORS, _OLDER):
            for row in _read_processors(shipped("events") / f"{file_name}.csv"):
                if is_model_of(machine, row):
                    return row.table
    return processors.of_machine(machine, core_pmu)


def is_model_of(machine: Mapping, row: Any) -> bool:
    """Return True if a machine matches a row of ``processors.csv``.

    Vendor, family and model are compared.

    Parameters
    ----------
    machine : mapping
        Description of the machine, from a recording's metadata.
    row : named tuple
        Row of the file.

    Returns
    -------
    bool
    """
    vendor, family, model = (machine.get(key) for key in ("vendor", "family", "model"))
    if None in (vendor, family, model):
        return False
    return (vendor, family) == (row.vendor, row.family) and row.first_model <= model <= row.last_model


@cache
def _read_processors(path: Path) -> list[Any]:
    """Read the rows of a CSV file of processors as named tuples."""
    return list(pd.read_csv(path).itertuples(index=False))


def table_of(machine: dict) -> pd.DataFrame:
    """Read the event table of a machine.

    Parameters
    ----------
    machine : dict
        Description of the machine, from a recording's metadata.

    Returns
    -------
    DataFrame
        One row per event. Columns: as in :func:`table`. Empty if the machine is unknown or has no table.
    """
    name = find_table_name(machine)
    return table(name) if name else table().iloc[:0]


def general_events() -> pd.DataFrame:
    """Read the table of events that perf has on every processor.

    Returns
    -------
    DataFrame
        One row per event, including software events. Columns: as in :func:`table`. Code and umask are 0.
    """
    frame = pd.read_csv(shipped("events") / f"{_GENERAL}.csv", index_col="event").assign(
        code=0, umask=0, bits=0, counters=1, abbr="", core=0, named=True, whole=True, extra=""
    )
    return frame[table().columns]


def general_names() -> list[str]:
    """Return the names of the events that perf has on every processor."""
    return list_event_names(_GENERAL)


def core_events(table: pd.DataFrame) -> list[str]:
    """List the events to record without multiplexing.

    They are sorted by their number in the table.

    Parameters
    ----------
    table : DataFrame
        Event table. The column ``core`` numbers these events from 1. It is 0 for other events.

    Returns
    -------
    list of str
    """
    return table.loc[table["core"] > 0, "core"].sort_values().index.to_list()
