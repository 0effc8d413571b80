"""Long tables: columns ``event`` and ``value``, one row per count."""

import re

import numpy as np
import pandas as pd

from cmlib.io.formats import delimited
from cmlib.io.formats.delimited import Heading, Rows, TableFormat
from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts

EVENT_NAMES = frozenset(["event", "event_name", "event name", "counter"])
VALUE_NAMES = frozenset(["value", "count", "counts"])
MOST_PROGRAMS = 1_000
MOST_NAMES = 100  # different cells of a text column that names programs

# running, running_share, pct_running, % time counted
_SHARE_NAME = re.compile(
    r"(?:pct|percent|%|running|share)[ _-]*(?:of )?(?:time[ _-]*)?(?:running|counted|enabled|share)?(?:[ _-]?percent)?"
)
_PLACE_NAME = re.compile(r"cpu|core|socket|thread|node")
_RUN_NAME = re.compile(r"(?:run|rep(?:etition)?|trial|iteration)s?(?:[ _-]?(?:id|no|nr|number))?")


class LongTable(TableFormat):
    """A heading with the columns ``event`` and ``value``, and one row per count."""

    name = "long-table"
    recorded_by = "scripts and databases: a heading such as program,event,value"
    sample = "tests/golden/formats/long-table.csv"

    @classmethod
    def has_columns(cls, heading: Heading) -> bool:
        """Return True if the heading has a column of events' names and one of their counts."""
        names = heading.lower_names
        return not names.isdisjoint(EVENT_NAMES) and not names.isdisjoint(VALUE_NAMES)

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the table.

        ``time…`` is the end of an interval, ``run`` the number of a run, ``cpu``, ``core`` … a place, ``unit`` the
        unit and ``pct_running`` or ``running`` the running share. Other columns of words name programs.

        Raises
        ------
        FormatError
            If a column is missing, a row has another length, or a cell is no count.
        """
        heading = delimited.find_heading(text)
        if heading is None or not cls.has_columns(heading):
            raise FormatError("line 1 is no heading with the columns event and value.")
        rows = delimited.read_rows(text, heading)
        columns = dict(zip((name.lower() for name in heading.names), rows.columns, strict=True))
        frame, used = _read_columns(columns, rows)
        names, name_columns = _name_programs(columns, used)
        frame["program"] = names
        if "run" not in frame:
            frame["run"] = _number_runs(frame)
        programs = _split_programs(frame)
        ignored = [name for name in columns if name not in used and name not in name_columns]
        notes = list(rows.notes)
        if ignored:
            notes.append(f"Columns that were ignored: {', '.join(name or '(no name)' for name in ignored)}.")
        return Readings(tuple(programs), notes=tuple(notes))


def _split_programs(frame: pd.DataFrame) -> list[Program]:
    """Make the programs; the frame of counts is made once and cut, since a table may hold many small programs."""
    codes, names = pd.factorize(frame["program"])
    if len(names) > MOST_PROGRAMS:
        raise FormatError(
            f"the table names {len(names):,} programs, and at most {MOST_PROGRAMS:,} are read. Split it."
        )
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    ordered = frame.drop(columns="program").iloc[order]
    counts = make_counts({name: ordered[name].array for name in ordered.columns})
    programs = []
    for name, begin, end in zip(names, [0, *ends[:-1]], ends, strict=True):
        of_program = counts.iloc[begin:end].reset_index(drop=True)
        for column in ("event", "place", "unit"):
            of_program[column] = of_program[column].cat.remove_unused_categories()
        programs.append(Program(of_program, str(name)))
    return programs


def _read_columns(columns: dict[str, tuple[str, ...]], rows: Rows) -> tuple[pd.DataFrame, set[str]]:
    """Read the columns that each count has; also their names."""
    event_name = next(name for name in columns if name in EVENT_NAMES)
    value_name = next(name for name in columns if name in VALUE_NAMES)
    used = {event_name, value_name}
    cells = columns[value_name]
    values = delimited.parse_counts(cells, rows.lines, value_name)
    data = {
        "event": columns[event_name],
        "value": values,
        "supported": [cell != delimited.NOT_SUPPORTED for cell in cells],
    }
    for name in columns:
        if name in used:
            continue
        if delimited.is_time(name) and "time_s" not in data:
            times = delimited.parse_times(columns[name], rows.lines, name)
            data["time_s"] = times - times[0] + _first_step(times) if times[0] >= delimited.EPOCH_S else times
        elif _RUN_NAME.fullmatch(name) and all(cell.isdecimal() for cell in columns[name]):
            data["run"] = pd.factorize(np.array(columns[name], dtype=object))[0] + 1
        elif _PLACE_NAME.fullmatch(name) and not delimited.is_text_column(name, columns[name]):
            data["place"] = [f"{name}{cell}" for cell in columns[name]]
        elif name == "unit":
            data["unit"] = columns[name]
        elif _SHARE_NAME.fullmatch(name) and "running" not in data:
            shares = delimited.parse_counts(columns[name], rows.lines, name)
            is_percent = re.search("pct|percent|%", name) is not None
            data["running"] = shares / 100 if is_percent else shares
        else:
            continue
        used.add(name)
    if "running" in data:
        shares = np.where(np.isnan(values), 0.0, np.asarray(data["running"]))
        if np.nanmax(shares, initial=0.0) > 1:
            raise FormatError("a running share is above 100 %; running goes from 0 to 1, pct_running to 100.")
        data["running"] = shares
    return pd.DataFrame(data), used


def _first_step(times: np.ndarray) -> float:
    """Return the length of an interval [s] of a series with several rows per interval."""
    return delimited.find_step(np.unique(times))


def _name_programs(columns: dict[str, tuple[str, ...]], used: set[str]) -> tuple[list[str], list[str]]:
    """Return each row's program, and the names of the columns of words that name it."""
    candidates = []
    for name, cells in columns.items():
        is_identifier = len(set(cells)) > MOST_NAMES and not delimited.is_program_name(name)
        if name not in used and delimited.is_text_column(name, cells) and not is_identifier:
            candidates.append(name)
    varying = [name for name in candidates if len(set(columns[name])) > 1]
    chosen = varying or candidates[:1]
    if not chosen:
        return [""] * len(next(iter(columns.values()))), []
    return [" ".join(cells) for cells in zip(*(columns[name] for name in chosen), strict=True)], chosen


def _number_runs(frame: pd.DataFrame) -> np.ndarray:
    """Assign numbers to the runs of each program.

    With times, a run begins where the time decreases; without times, where an event is repeated.
    """
    if "time_s" in frame:
        falls = frame.groupby("program", sort=False)["time_s"].diff() < 0
        return (falls.groupby(frame["program"], sort=False).cumsum() + 1).to_numpy()
    keys = [name for name in ("program", "place", "event") if name in frame]
    return (frame.groupby(keys, sort=False).cumcount() + 1).to_numpy()
