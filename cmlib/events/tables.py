"""Event tables: one CSV file a microarchitecture, and one of the names that perf has everywhere."""

from functools import cache

import pandas as pd

from cmlib.errors import CmlibError
from cmlib.places import events_dir

COLUMNS = ("event", "code", "umask", "bits", "counters", "unit", "abbr", "core", "description")
_NUMBERS = ("code", "umask", "bits", "counters", "core")
_FILLED = ("event", "code", "umask", "counters", "unit", "description")
_PROCESSORS, _GENERAL = "processors", "perf"
_NO_TABLES = (_PROCESSORS, _GENERAL, "autoperf", "generic", "generic_processors", "simulated")


class EventError(CmlibError, ValueError):
    """An event or a table of events that cannot be used."""


def table(name="amd_zen5"):
    """Read one of the event tables that come with the package.

    Parameters
    ----------
    name : str, default "amd_zen5"
        One of :func:`known_tables`.

    Returns
    -------
    DataFrame
        As :func:`read_table` gives it.

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
    path = events_dir() / f"{name}.csv"
    if not path.is_file():
        raise EventError(
            f"there is no event table {name!r} in {path.parent}; it holds: {', '.join(known_tables())}.\n"
            "Choose one of these, or add a table as data/events/README.md says."
        )
    return read_table(path)


def read_table(path):
    """Read an event table from a CSV file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    DataFrame
        Index: event. Columns: ``code`` and ``umask`` (int, what the counter is
        set to), ``bits`` (int, the parts that are counted, one a bit; 0 where
        the umask is no set of bits), ``counters`` (int, how many the event
        takes), ``unit`` (part of the processor), ``abbr`` (three characters),
        ``core`` (int, place among the core events; 0 for all others),
        ``description``, ``named`` (bool, whether perf knows the event by this
        name; False throughout), ``whole`` (bool, whether code and umask are all
        that describes it; True throughout).

    Raises
    ------
    EventError
        If a column is missing, a cell that must be filled is empty, a number
        cannot be read, or an event or an abbreviation occurs twice; names file
        and line.
    """
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if missing := [column for column in COLUMNS if column not in frame.columns]:
        raise EventError(
            f"{path}, line 1: column {missing[0]!r} is missing; found {', '.join(frame.columns)}.\n"
            f"An event table has the columns {', '.join(COLUMNS)}."
        )
    for column in _FILLED:
        if (empty := frame[column] == "").any():
            raise EventError(f"{path}, line {empty.idxmax() + 2}: {column} is empty; every event has one.")
    for column in _NUMBERS:
        frame[column] = _integers(frame[column], path)
    _refuse_repeated(frame["event"], path)
    _refuse_repeated(frame.loc[frame["abbr"] != "", "abbr"], path)
    return frame.assign(named=False, whole=True).set_index("event")


def known_tables():
    """Names of the event tables that come with the package, sorted."""
    return sorted(path.stem for path in events_dir().glob("*.csv") if path.stem not in _NO_TABLES)


def table_for(machine):
    """Name the event table that fits a machine.

    Parameters
    ----------
    machine : dict
        From :func:`cmlib.machine.describe`, there or here; vendor, family and model are looked at.

    Returns
    -------
    str or None
        None where the package has no table: take perf's own list then, by
        :func:`from_perf_list`.
    """
    known = _processors(events_dir() / f"{_PROCESSORS}.csv")
    return next((row.table for row in known if is_model_of(machine, row)), None)


def is_model_of(machine, row):
    """Whether a machine is one of those in a row of ``processors.csv``.

    Parameters
    ----------
    machine : dict
        As for `table_for`; of one whose vendor, family or model is not known, this is False.
    row : namedtuple
        With ``vendor``, ``family``, ``first_model`` and ``last_model``.
    """
    vendor, family, model = (machine.get(key) for key in ("vendor", "family", "model"))
    if None in (vendor, family, model):
        return False
    return (vendor, family) == (row.vendor, row.family) and row.first_model <= model <= row.last_model


@cache
def _processors(path):
    return list(pd.read_csv(path).itertuples(index=False))


def table_of(machine):
    """Read the event table that fits a machine.

    Parameters
    ----------
    machine : dict
        As for `table_for`.

    Returns
    -------
    DataFrame
        As :func:`read_table` gives it; without a row where the package has no table.
    """
    name = table_for(machine)
    return table(name) if name else table().iloc[:0]


def general_events():
    """The events that perf knows by the same name on every processor, those of the kernel among them.

    Returns
    -------
    DataFrame
        As :func:`read_table` gives it; ``named`` is True, and there are no codes: perf knows them.
    """
    frame = pd.read_csv(events_dir() / f"{_GENERAL}.csv", index_col="event").assign(
        code=0, umask=0, bits=0, counters=1, abbr="", core=0, named=True, whole=True
    )
    return frame[table().columns]


def core_events(table):
    """The table's core events, in the order in which they are grouped.

    Parameters
    ----------
    table : DataFrame

    Returns
    -------
    list of str
    """
    return table.loc[table["core"] > 0, "core"].sort_values().index.to_list()


def _integers(texts, path):
    numbers = []
    for row, text in texts.items():
        try:
            numbers.append(int(text or "0", 0))
        except ValueError:
            raise EventError(
                f"{path}, line {row + 2}: {texts.name} is {text!r}; write a number such as 0x1f."
            ) from None
    return numbers


def _refuse_repeated(texts, path):
    repeated = texts[texts.duplicated()]
    if not repeated.empty:
        row, text = repeated.index[0], repeated.iloc[0]
        first = texts.index[texts == text][0]
        raise EventError(
            f"{path}, line {row + 2}: {texts.name} {text!r} is already in line {first + 2}; give it another."
        )
