"""Event tables: one CSV file a microarchitecture, and one of the names that perf has everywhere."""

import functools
import json
import re
from functools import cache

import pandas as pd

from cmlib import processors
from cmlib.errors import CmlibError
from cmlib.places import events_dir

COLUMNS = ("event", "code", "umask", "bits", "counters", "unit", "abbr", "core", "description")
_NUMBERS = ("code", "umask", "bits", "counters", "core")
_PROCESSORS, _GENERAL = "processors", "perf"
_OLDER = "older_processors"
_NO_TABLES = (_PROCESSORS, _OLDER, _GENERAL, "autoperf", "generic", "generic_processors", "simulated")


class EventError(CmlibError, ValueError):
    """An event or a table of events that cannot be used."""


def table(name="amd_zen5"):
    """Read one of the event tables that come with the package.

    Parameters
    ----------
    name : str, default "amd_zen5"
        One of :func:`cmlib.io.events.known_tables`.

    Returns
    -------
    DataFrame
        Index: event. Columns, among others: code, umask and bits (int), abbr (short name), unit and description.

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
    usual = {"bits": 0, "counters": 1, "abbr": "", "named": False}
    if listed := [row | usual | {"whole": not row["extra"]} for row in processors.rows(name)]:
        table = pd.DataFrame(listed, columns=_COLUMNS_OF_FILES).set_index("event")
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


def read_table(path):
    """Read an event table from a CSV file."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if missing := [column for column in COLUMNS if column not in frame.columns]:
        raise EventError(
            f"{path}, line 1: column {missing[0]!r} is missing; found {', '.join(frame.columns)}.\n"
            f"An event table has the columns {', '.join(COLUMNS)}."
        )
    for column in _NUMBERS:
        try:
            frame[column] = [int(text or "0", 0) for text in frame[column]]
        except ValueError as error:
            raise EventError(f"{path}, column {column}: {error}; write numbers such as 0x1f.") from None
    for column in ("event", "abbr"):
        if (repeated := frame[column].duplicated() & (frame[column] != "")).any():
            raise EventError(
                f"{path}, line {repeated.idxmax() + 2}: {column} {frame[column][repeated.idxmax()]!r} is in an "
                "earlier line already; give it another."
            )
    return frame.assign(named=False, whole=True, extra="").set_index("event")


def known_tables():
    """Names of the event tables that come with the package, sorted."""
    written = {path.stem for path in events_dir().glob("*.csv") if path.stem not in _NO_TABLES}
    return sorted(written | {name for name in processors.known() if processors.read(name)["events"]})


_COLUMNS_OF_FILES = [*COLUMNS, "named", "whole", "extra"]


def is_written(table):
    """Whether a table was written by hand, and is not made of a vendor's files alone."""
    return (events_dir() / f"{table}.csv").is_file()


@cache
def names_of(table):
    """Names of a table's events, without reading what they count."""
    path = events_dir() / f"{table}.csv"
    written = pd.read_csv(path, usecols=["event"])["event"] if path.is_file() else ()
    return list(dict.fromkeys([*written, *(row["event"] for row in processors.rows(table))]))


def table_for(machine, core=""):
    """Name the event table that fits a machine, or its cores of a kind."""
    name = processor_of(machine, core)
    return name if name and names_of(name) else None


def processor_of(machine, core=""):
    """Name of a machine's processor: of its event table, or of one without; None of a machine that is not known."""
    rows = [row for file in (_PROCESSORS, _OLDER) for row in _processors(events_dir() / f"{file}.csv")]
    written = (row.table for row in rows if not machine.get("processor") and is_model_of(machine, row))
    return next(written, None) or processors.of_machine(machine, core)


def is_model_of(machine, row):
    """Whether a machine is one of those in a row of ``processors.csv``."""
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
        As the metadata of a recording describe it.

    Returns
    -------
    DataFrame
        As of :func:`table`; without a row where no table fits.
    """
    name = table_for(machine)
    return table(name) if name else table().iloc[:0]


def general_events():
    """The events that perf knows by the same name on every processor, those of the kernel among them."""
    frame = pd.read_csv(events_dir() / f"{_GENERAL}.csv", index_col="event").assign(
        code=0, umask=0, bits=0, counters=1, abbr="", core=0, named=True, whole=True, extra=""
    )
    return frame[table().columns]


def core_events(table):
    """The table's core events, in the order in which they are grouped."""
    return table.loc[table["core"] > 0, "core"].sort_values().index.to_list()


_HEADING = re.compile(r"^(\S.*):$", re.MULTILINE)
_ENTRY = re.compile(
    r"^ {2}(?P<event>\S+) *\n {7}\[(?P<description>(?:(?!\n {2}\S).)*?)\]\n {8}(?P<encoding>\w+/\S*)",
    re.MULTILINE | re.DOTALL,
)
_WHOLE = {"event", "umask", "name", "period"}
_CORE_PMU = re.compile(r"(?:cpu|cpu_core|armv\d\w*)/(?P<terms>[^/]*\bevent=[^/]*)/")


def from_perf_list(text):
    """Make an event table of perf's own list, on a processor that perf knows."""
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
    columns = [*COLUMNS[1:], "named", "whole", "extra"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("event")


def _from_json(text):
    try:
        entries = json.loads(text)
    except json.JSONDecodeError as error:
        raise EventError(
            f"the JSON of perf list breaks off or is malformed: {error}. Write it to a file anew."
        ) from None
    for entry in entries:
        if "Topic" in entry and "Deprecated" not in entry:
            yield (
                entry["EventName"],
                entry.get("Encoding", ""),
                entry["Topic"],
                entry.get("BriefDescription", ""),
            )


def _from_plain_text(text):
    headings = [(match.start(), match[1]) for match in _HEADING.finditer(text)]
    for match in _ENTRY.finditer(text):
        unit = next((name for start, name in reversed(headings) if start < match.start()), "")
        yield match["event"], match["encoding"], unit, " ".join(match["description"].split())


TABLE = "simulated"
PREFIX = "sim."
EXACT, MODELLED = "exact", "modelled"
# Callgrind simulates two levels of caches: its last one is the processor's last, or its second.
LAST_LEVEL, SECOND_LEVEL = "LL", "L2"


@functools.cache
def _table(path):
    return pd.read_csv(path, index_col="event")


def simulated_events(levels=2):
    """List the events of a simulated run, in Callgrind's order.

    Parameters
    ----------
    levels : {2, 3}, default 2
        Of caches: those of one simulation, or of both with what the second adds.

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
    return _of(LAST_LEVEL) if levels == 2 else pd.concat([_of(LAST_LEVEL), second_level_events()])


def second_level_events():
    """What a second simulation adds, in which the second-level cache is the last one."""
    return _of(SECOND_LEVEL)


def cycle_estimate(counts):
    """KCachegrind's cycle estimate, which is no measurement: Ir + 10 Bm + 10 L1m + 100 LLm."""
    weights = simulated_events()["weight"]
    return counts[list(weights.index)] @ weights


def simulated_kind(event):
    """Tell whether a simulated event is exact or modelled.

    Parameters
    ----------
    event : str
        Its name.

    Returns
    -------
    str
        ``exact`` or ``modelled``; empty for what a processor counts.
    """
    return simulated_events(levels=3)["kind"].get(event, "")


def is_simulated(event):
    """Whether an event's name is one of a simulated event."""
    return event.startswith(PREFIX)


def _of(last_level):
    table = _table(events_dir() / f"{TABLE}.csv")
    return table[table["last_level"] == last_level].drop(columns="last_level")
