"""Read tables with a heading and separated cells, for the readers of CSV formats.

:func:`find_heading` finds the heading, and :func:`read_rows` splits the rows. :func:`parse_counts` and
:func:`parse_times` convert columns. Formats with fixed columns derive from :class:`TableFormat`.
"""

import csv
import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import isfinite, nan
from typing import NamedTuple

import numpy as np

from cmlib.io.formats.readings import FormatError

SEPARATORS = (",", ";", "\t", "|")
HEADING_LIMIT = 200_000  # characters at the beginning of a text that contain the heading and the first row

NOT_SUPPORTED = "<not supported>"
NOT_COUNTED_CELLS = frozenset(["", "<not counted>", NOT_SUPPORTED])
MISSING_CELLS = frozenset(["-", "–", "—", "na", "n/a", "n.a.", "nan", "null", "none"])

# CPU3, core 3, S0, SKT1, System: where a column was counted
_PLACE = re.compile(
    r"(?:cpu|core|socket|skt|thread|hwthread|node|package|s|c)[ _#-]?[0-9]{1,5}|system", re.IGNORECASE
)
_NUMERIC = re.compile(r"[+-]?[0-9][0-9.,]*(?:[eE][+-]?[0-9]{1,3})?|")  # a number, or an empty cell
_WHOLE = re.compile(r"[0-9]{1,20}")
_PROGRAM_NAME = re.compile(
    r"program(?:me?)?|bench(?:mark)?|name|command|app(?:lication)?|workload|kernel|method", re.IGNORECASE
)
# 429.mcf, but neither 429 nor 4.29e5
_WORD_WITH_DIGITS = re.compile(r"(?![0-9.,]{1,40}(?:[eE][+-]?[0-9]{1,3})?$)[^a-zA-Z]{0,40}[a-zA-Z]")
_WORD = re.compile(r"[^a-zA-Z0-9]{0,20}[a-zA-Z]")
_DECIMAL = re.compile(r"[0-9]{1,300}(?:\.[0-9]{0,300})?(?:[eE][+-]?[0-9]{1,2})?|\.[0-9]{1,300}")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}(?:\.[0-9]{1,300})?")  # 1,234,567.8 or 12,34,567

# time, time_s, Time (ms), timestamp, wall_time_ns: the unit is the last group
_TIME_NAME = re.compile(
    r"(?:time(?:[ _-]?stamp)?|ts|date(?:[ _-]?time)?)(?:[ _-]*[\[(]?(?P<unit>s|sec|secs|seconds|ms|msec|milliseconds|us"
    r"|usec|µs|microseconds|ns|nsec|nanoseconds)[\])]?)?",
    re.IGNORECASE,
)
# elapsed, elapsed_time, duration_ms, wall time [s], runtime, seconds: how long a run took
_DURATION_NAME = re.compile(
    r"(?:(?:elapsed|duration|wall|real)(?:[ _-]?(?:clock|time))*|(?:run|exec(?:ution)?)[ _-]?time|(?P<alone>seconds))"
    r"(?:[ _-]?elapsed)?(?:[ _-]*[\[(]?(?P<unit>s|sec|secs|seconds|ms|msec|milliseconds|us|usec|µs|microseconds|ns|nsec"
    r"|nanoseconds)[\])]?)?",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(?:([0-9]{1,5}):)?([0-9]{1,2}):([0-9]{1,2}(?:\.[0-9]{1,9})?)")  # 3:00:46.5
# Times without a unit that are larger than this many are since 1970, in ns, µs or ms; seconds from EPOCH_S on.
_SINCE_1970 = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
EPOCH_S = 1e8
MOST_CELLS = 20_000_000  # Reading a cell takes about 60 bytes.


class Heading(NamedTuple):
    """Heading of a table.

    Attributes
    ----------
    separator : str
        One of `SEPARATORS`. "" for blanks.
    names : tuple of str
        Names of the columns.
    places : tuple of str
        CPU, core or socket of each column, from a heading of two rows. Empty if the heading has one row.
    line : int
        Number of the line with the names, from 1.
    n_lines : int
        Number of lines above the first row.
    """

    separator: str
    names: tuple[str, ...]
    places: tuple[str, ...]
    line: int
    n_lines: int

    @property
    def lower_names(self) -> frozenset[str]:
        """Names of the columns in lower case."""
        return frozenset(name.lower() for name in self.names)


class Rows(NamedTuple):
    """Rows of a table.

    Attributes
    ----------
    columns : tuple of tuple of str
        Cells of each column.
    lines : list of int
        Number of each row's line, from 1.
    notes : tuple of str
    """

    columns: tuple[tuple[str, ...], ...]
    lines: list[int]
    notes: tuple[str, ...]


class TableFormat(ABC):
    """Base class of the formats with fixed columns."""

    name: str
    recorded_by: str

    @classmethod
    @abstractmethod
    def has_columns(cls, heading: Heading) -> bool:
        """Return True if a heading has the columns of this format."""

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text begins with a heading of this format."""
        heading = find_heading(text)
        return heading is not None and cls.has_columns(heading)

    @classmethod
    def find_own_heading(cls, text: str) -> Heading:
        """Return the heading of a text. FormatError if it does not have the columns of this format."""
        heading = find_heading(text)
        if heading is None or not cls.has_columns(heading):
            raise FormatError(
                f"line 1 is not a heading of {cls.name}. This format is recorded by `{cls.recorded_by}`."
            )
        return heading


def find_heading(text: str) -> Heading | None:
    """Find the heading of a table. None if the text does not begin with a heading.

    Blank lines and comments (``# …``) above the heading are ignored. A comment above a row is the heading if it has the
    same number of cells.
    """
    lines = enumerate(text[:HEADING_LIMIT].splitlines(), 1)
    comment = (0, "")
    candidates = []
    for number, line in lines:
        if not line.strip():
            continue
        if line.startswith("#"):
            comment = (number, line)
            continue
        candidates.append((number, line))
        if len(candidates) == 3:
            break
    if not candidates:
        return None
    number, line = candidates[0]
    separator = _choose_separator(line)
    first = split_cells(line, separator)
    if _is_row(first):
        names = split_cells(comment[1].lstrip("# "), separator)
        if len(names) != len(first) or not _are_names(names):
            return None
        return Heading(separator, tuple(names), (), comment[0], number - 1)
    if len(candidates) < 2:
        return None
    second_number, second_line = candidates[1]
    second = split_cells(second_line, separator)
    if len(second) != len(first):
        return None
    if _is_row(second):
        return Heading(separator, tuple(first), (), number, number) if _are_names(first) else None
    named_places = [cell for cell in first if cell]
    has_places = bool(named_places) and all(map(_PLACE.fullmatch, named_places))
    is_pcm = second[:2] == ["Date", "Time"]
    if len(candidates) < 3 or not (has_places or is_pcm):
        # A row may begin with words: it is one if some of its cells are numbers.
        has_number = any(cell and _NUMERIC.fullmatch(cell) for cell in second)
        return (
            Heading(separator, tuple(first), (), number, number) if has_number and _are_names(first) else None
        )
    return Heading(separator, tuple(second), tuple(first), second_number, second_number)


def _choose_separator(line: str) -> str:
    """Return the most frequent separator in a line. "" (blanks) if it has no separator."""
    separator = max(SEPARATORS, key=line.count)
    return separator if separator in line else ""


def _is_row(cells: Sequence[str]) -> bool:
    """Return True if a cell is a number, and at least half of the cells are numbers or empty."""
    n_numeric = sum(1 for cell in cells if _NUMERIC.fullmatch(cell))
    return 2 * n_numeric >= len(cells) and any(cell and _NUMERIC.fullmatch(cell) for cell in cells)


def _are_names(cells: Sequence[str]) -> bool:
    """Return True for two or more cells without a number."""
    return len(cells) >= 2 and not any(cell and _NUMERIC.fullmatch(cell) for cell in cells)


def split_cells(line: str, separator: str) -> list[str]:
    """Split a line into cells. Blanks and quotation marks around cells are removed."""
    if not separator:
        return line.split()
    if '"' in line:
        try:
            cells = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
        except csv.Error:
            cells = line.split(separator)
    else:
        cells = line.split(separator)
    return [cell.strip() for cell in cells]


def read_rows(text: str, heading: Heading) -> Rows:
    """Read the rows below a heading. Comments and blank lines are ignored.

    An incomplete last line is dropped, with a note.

    Raises
    ------
    FormatError
        If the table has more than `MOST_CELLS` cells, or a row and the heading have different numbers of cells.
    """
    rows = []
    numbers = []
    notes = []
    _check_size(text, heading)
    lines = text.splitlines()
    for number, line in enumerate(itertools.islice(lines, heading.n_lines, None), heading.n_lines + 1):
        if not line or line.isspace() or line.startswith("#"):
            continue
        cells = split_cells(line, heading.separator)
        if len(cells) != len(heading.names):
            is_cut_off = number == len(lines) and not text.endswith(("\n", "\r"))
            if is_cut_off and len(cells) < len(heading.names):
                notes.append(f"Line {number}, the last one, is cut off and was left out.")
                continue
            raise FormatError(
                f"line {number} has {len(cells)} cells, but the heading in line {heading.line} names "
                f"{len(heading.names)} columns: {line[:80]!r}."
            )
        rows.append(cells)
        numbers.append(number)
    if not rows:
        raise FormatError(f"line {heading.line} is a heading without rows.")
    return Rows(tuple(zip(*rows, strict=True)), numbers, tuple(notes))


def _check_size(text: str, heading: Heading) -> None:
    """Raise FormatError for a table with more than `MOST_CELLS` cells."""
    n_cells = len(heading.names) * (text.count("\n") + 1 - heading.n_lines)
    if n_cells > MOST_CELLS:
        raise FormatError(
            f"the table has about {n_cells:,} cells, and {MOST_CELLS:,} are read at most. Split it or remove "
            "columns."
        )


def parse_counts(cells: Sequence[str], lines: Sequence[int], name: str) -> np.ndarray:
    """Parse a column of counts.

    Parameters
    ----------
    cells : sequence of str
        Texts of the cells. Commas separate groups of digits if this is possible in all cells. Otherwise, they are
        decimal marks.
    lines : sequence of int
        Line number of each cell.
    name : str
        Name of the column, for messages.

    Returns
    -------
    ndarray of float64
        Counts. NaN if nothing was counted.

    Raises
    ------
    FormatError
        If a cell is a text, a negative number or infinity.
    """
    if all(map(_WHOLE.fullmatch, cells)):
        return np.array(cells).astype(float)
    commas_group = all(_GROUPED.fullmatch(cell) for cell in cells if "," in cell)
    replacement = "" if commas_group else "."
    counts = np.empty(len(cells))
    for k, cell in enumerate(cells):
        plain = cell.replace(",", replacement)
        if _DECIMAL.fullmatch(plain) and isfinite(float(plain)):
            counts[k] = float(plain)
        elif is_missing(cell):
            counts[k] = nan
        else:
            raise FormatError(f"line {lines[k]}: {cell[:40]!r} in column {name!r} is not a count.")
    return counts


def is_missing(cell: str) -> bool:
    """Return True for a cell without a count. For example, an empty cell or ``<not counted>``."""
    return cell in NOT_COUNTED_CELLS or cell.lower() in MISSING_CELLS


def is_program_name(name: str) -> bool:
    """Return True for the name of a column of program names. For example, ``benchmark``."""
    return bool(_PROGRAM_NAME.fullmatch(name))


def is_text_column(name: str, cells: Sequence[str]) -> bool:
    """Return True if all cells of a column are words.

    A word begins with a letter. In a column of program names, it can begin with digits. For example, ``429.mcf``.
    """
    word = _WORD_WITH_DIGITS if is_program_name(name) else _WORD
    distinct = set(cells)
    return all(map(word.match, distinct)) and not all(map(is_missing, distinct))


def is_time(name: str) -> bool:
    """Return True for the name of a column of interval ends. For example, ``timestamp``."""
    return bool(_TIME_NAME.fullmatch(name))


def is_duration(name: str) -> bool:
    """Return True for the name of a column of run times. For example, ``elapsed_s``."""
    return bool(_DURATION_NAME.fullmatch(name))


def find_seconds_per_unit(name: str) -> float:
    """Return the length of the unit in the name of a column of times [s]. NaN if the name has no unit."""
    match = _TIME_NAME.fullmatch(name) or _DURATION_NAME.fullmatch(name)
    if match is None:
        return nan
    unit = (match["unit"] or match.groupdict().get("alone") or "").lower()
    if not unit:
        return nan
    if unit.startswith(("ms", "milli")):
        return 1e-3
    if unit.startswith(("us", "µs", "micro")):
        return 1e-6
    return 1e-9 if unit.startswith(("ns", "nano")) else 1.0


def parse_times(cells: Sequence[str], lines: Sequence[int], name: str) -> np.ndarray:
    """Parse a column of times.

    Returns
    -------
    ndarray of float64
        Times [s]. Dates are converted to seconds since 1970.

    Raises
    ------
    FormatError
        If a cell is not a number, a time of day or a date.
    """
    times = np.array([_parse_time(cell, line, name) for cell, line in zip(cells, lines, strict=True)])
    seconds_per_unit = find_seconds_per_unit(name)
    if seconds_per_unit > 0:
        return times * seconds_per_unit
    largest = times.max(initial=0.0)
    for threshold, seconds in _SINCE_1970:
        if largest > threshold:
            return times * seconds
    return times


def parse_durations(cells: Sequence[str], lines: Sequence[int], name: str) -> np.ndarray:
    """Parse a column of durations of runs [s]. Missing cells become NaN.

    Raises
    ------
    FormatError
        If a cell is not a number, a time of day or a date.
    """
    seconds = np.full(len(cells), nan)
    known = [k for k, cell in enumerate(cells) if not is_missing(cell)]
    seconds[known] = parse_times([cells[k] for k in known], [lines[k] for k in known], name)
    return seconds


def _parse_time(cell: str, line: int, name: str) -> float:
    decimals = cell.replace(",", "" if "." in cell else ".", 1)
    if _DECIMAL.fullmatch(decimals):
        return float(decimals)
    if clock := _CLOCK.fullmatch(cell):
        hours, minutes, seconds = clock.groups(default="0")
        return 3600 * int(hours) + 60 * int(minutes) + float(seconds)
    try:
        moment = datetime.fromisoformat(cell)
    except ValueError:
        raise FormatError(
            f"line {line}: {cell[:40]!r} in column {name!r} is neither a number nor a time such as "
            "2026-11-21T03:00:46."
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def find_step(times: np.ndarray) -> float:
    """Return the median time between two rows [s]. 1.0 for a single row."""
    steps = np.diff(times)
    return float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0


def iter_table_formats() -> Iterator[type[TableFormat]]:
    """Iterate over the formats with fixed columns."""
    yield from TableFormat.__subclasses__()
