"""Read long tables, which have one row per count.

The columns ``event`` and ``value`` are required. Scripts and databases write such tables. The main function is
:meth:`LongTable.read`.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd

from cmlib.io.formats import delimited
from cmlib.io.formats.delimited import Heading, Rows, TableFormat
from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts

_EVENT_NAMES = frozenset(["event", "event_name", "event name", "counter"])
_VALUE_NAMES = frozenset(["value", "count", "counts"])
_MOST_PROGRAMS = 1_000
_MOST_NAMES = 100  # different cells in a column of program names

# running, running_share, pct_running, % time counted
_SHARE_NAME = re.compile(
    r"(?:pct|percent|%|running|share)[ _-]*(?:of )?(?:time[ _-]*)?(?:running|counted|enabled|share)?(?:[ _-]?percent)?"
)
_PLACE_NAME = re.compile(r"cpu|core|socket|thread|node")
_RUN_NAME = re.compile(r"(?:run|rep(?:etition)?|trial|iteration)s?(?:[ _-]?(?:id|no|nr|number))?")


class LongTable(TableFormat):
    """Reader for tables with the columns ``event`` and ``value``."""

    name = "long-table"
    recorded_by = "scripts and databases: a heading such as program,event,value"
    sample = "tests/golden/formats/long-table.csv"

    @classmethod
    def has_columns(cls, heading: Heading) -> bool:
        """Return True if the heading has a column of event names and a column of counts."""
        names = heading.lower_names
        return not names.isdisjoint(_EVENT_NAMES) and not names.isdisjoint(_VALUE_NAMES)

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the table.

        Optional columns:

        - ``time…``: end of the interval.
        - ``run``: number of the run.
        - ``cpu``, ``core``, ``socket``, ``thread`` or ``node``: place that was counted.
        - ``unit``: unit of the value.
        - ``pct_running`` or ``running``: fraction of time in which the event was counted.

        Other columns of words name programs. Other columns of numbers are ignored.

        Raises
        ------
        FormatError
            If a column is missing, a row has more or fewer cells than the heading, or a cell is not a count.
        """
        heading = delimited.find_heading(text)
        if heading is None or not cls.has_columns(heading):
            raise FormatError("line 1 is not a heading with the columns event and value.")
        rows = delimited.read_rows(text, heading)
        columns = dict(zip((name.lower() for name in heading.names), rows.columns, strict=True))
        frame, count_columns = _read_columns(columns, rows)
        frame["program"], name_columns = _name_programs(columns, count_columns)
        if "run" not in frame:
            frame["run"] = _number_runs(frame)
        programs = _split_programs(frame)
        ignored = [name for name in columns if name not in count_columns and name not in name_columns]
        notes = list(rows.notes)
        if ignored:
            notes.append(f"Columns that were ignored: {', '.join(name or '(no name)' for name in ignored)}.")
        return Readings(tuple(programs), notes=tuple(notes))


def _split_programs(frame: pd.DataFrame) -> list[Program]:
    """Make one program per name.

    One frame is made and sliced, because a table can contain many small programs.
    """
    codes, names = pd.factorize(frame["program"])
    if len(names) > _MOST_PROGRAMS:
        raise FormatError(
            f"the table names {len(names):,} programs, and at most {_MOST_PROGRAMS:,} are read. Split it."
        )
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes))
    ordered = frame.drop(columns="program").iloc[order]
    counts = make_counts({name: ordered[name].array for name in ordered.columns})
    programs = []
    for name, begin, end in zip(names, [0, *ends[:-1]], ends, strict=True):
        program_counts = counts.iloc[begin:end].reset_index(drop=True)
        for column in ("event", "place", "unit"):
            program_counts[column] = program_counts[column].cat.remove_unused_categories()
        programs.append(Program(program_counts, str(name)))
    return programs


def _read_columns(columns: dict[str, tuple[str, ...]], rows: Rows) -> tuple[pd.DataFrame, set[str]]:
    """Read the columns that describe counts.

    Returns
    -------
    frame : DataFrame
        One row per count, with columns of `Program.counts`.
    names : set of str
        Names of the columns that were read.
    """
    event_name = next(name for name in columns if name in _EVENT_NAMES)
    value_name = next(name for name in columns if name in _VALUE_NAMES)
    used_names = {event_name, value_name}
    cells = columns[value_name]
    values = delimited.parse_counts(cells, rows.lines, value_name)
    data: dict[str, Any] = {
        "event": columns[event_name],
        "value": values,
        "supported": [cell != delimited.NOT_SUPPORTED for cell in cells],
    }
    for name, cells in columns.items():
        if name not in used_names and (target := _choose_target(name, cells, data.keys())):
            data[target] = _parse_column(target, name, cells, rows.lines)
            used_names.add(name)
    if "running" in data:
        shares = np.where(np.isnan(values), 0.0, data["running"])
        if np.nanmax(shares, initial=0.0) > 1:
            raise FormatError(
                "a running share is above 100 %. The column running has values from 0 to 1, pct_running from 0 to 100."
            )
        data["running"] = shares
    return pd.DataFrame(data), used_names


def _choose_target(name: str, cells: tuple[str, ...], filled: Collection[str]) -> str:
    """Return the column of `Program.counts` that a column of the table contains. "" if the column is of another kind.

    If several columns contain times or running shares, the first is used. `filled` are the columns with data.
    """
    if delimited.is_time(name) and "time_s" not in filled:
        return "time_s"
    if _RUN_NAME.fullmatch(name) and all(cell.isdecimal() for cell in cells):
        return "run"
    if _PLACE_NAME.fullmatch(name) and not delimited.is_text_column(name, cells):
        return "place"
    if name == "unit":
        return "unit"
    if _SHARE_NAME.fullmatch(name) and "running" not in filled:
        return "running"
    return ""


def _parse_column(target: str, name: str, cells: tuple[str, ...], lines: Sequence[int]) -> Any:
    """Convert the cells of a column to values of the column `target` of `Program.counts`."""
    if target == "time_s":
        times = delimited.parse_times(cells, lines, name)
        return times - times[0] + _first_step(times) if times[0] >= delimited.EPOCH_S else times
    if target == "run":
        return pd.factorize(np.array(cells, dtype=object))[0] + 1
    if target == "place":
        return [f"{name}{cell}" for cell in cells]
    if target == "running":
        shares = delimited.parse_counts(cells, lines, name)
        is_percent = re.search("pct|percent|%", name) is not None
        return shares / 100 if is_percent else shares
    return cells


def _first_step(times: np.ndarray) -> float:
    """Return the length of an interval [s] if several rows have the same time."""
    return delimited.find_step(np.unique(times))


def _name_programs(columns: dict[str, tuple[str, ...]], used_names: set[str]) -> tuple[list[str], list[str]]:
    """Return the program of each row, and the columns that name it.

    Columns of words name programs. Columns with more than `_MOST_NAMES` different words are ignored. Columns with
    a single word are ignored, too. If every column has a single word, the first is used.
    """
    candidates = []
    for name, cells in columns.items():
        is_identifier = len(set(cells)) > _MOST_NAMES and not delimited.is_program_name(name)
        if name not in used_names and delimited.is_text_column(name, cells) and not is_identifier:
            candidates.append(name)
    varying = [name for name in candidates if len(set(columns[name])) > 1]
    chosen = varying or candidates[:1]
    if not chosen:
        return [""] * len(next(iter(columns.values()))), []
    return [" ".join(cells) for cells in zip(*(columns[name] for name in chosen), strict=True)], chosen


def _number_runs(frame: pd.DataFrame) -> np.ndarray:
    """Assign numbers to the runs of each program.

    A smaller time starts a new run. If the table has no times, a repeated event name starts a new run.
    """
    if "time_s" in frame:
        falls = frame.groupby("program", sort=False)["time_s"].diff() < 0
        return (falls.groupby(frame["program"], sort=False).cumsum() + 1).to_numpy()
    keys = [name for name in ("program", "place", "event") if name in frame]
    return (frame.groupby(keys, sort=False).cumcount() + 1).to_numpy()
