"""The heading of a wide table, and its rows."""

import csv
import itertools
import re
from dataclasses import dataclass

from cmlib.io.perf.grammar import ParseError, shown

_HEAD = 200_000  # characters among which the heading and the first row are looked for
_SEPARATORS = (",", ";", "\t", "|")
# Of a cell that counts something, or tells a time.
NUMBER = re.compile(r"[0-9]{1,300}(?:[.,][0-9]{0,300})?(?:[eE][+-]?[0-9]{1,2})?|[.,][0-9]{1,300}")
_CELL = re.compile(r"[+-]?[0-9.,]+(?:[eE][+-]?[0-9]+)?")
_PLACE = re.compile(r"(?:cpu|core|socket|thread|hwthread|node|package|s|c)[ _#-]*[0-9]+", re.IGNORECASE)


@dataclass(frozen=True)
class Heading:
    """How a table begins.

    Attributes
    ----------
    separator : str
        Empty for blanks.
    names : tuple of str
        Of the columns.
    places : tuple of str
        Where each column was counted, of a heading of two rows; else empty.
    start, end : int
        Offsets of the heading's first line, and of the first row.
    """

    separator: str
    names: tuple
    places: tuple
    start: int
    end: int


@dataclass(frozen=True)
class Row:
    """A line of a table: its cells as written, and where it starts in the text."""

    cells: list
    start: int


def find_heading(text, is_event):
    """Find the heading of a wide table."""
    lines = [line for line in itertools.islice(_lines(text[:_HEAD]), 4) if line[0].strip("# \t\r")]
    if len(lines) < 2:
        return None
    separator = max(_SEPARATORS, key=lines[0][0].count)
    separator = separator if separator in lines[0][0] else ""
    cells = [_cells(line.lstrip("# ") if k == 0 else line, separator) for k, (line, _, _) in enumerate(lines)]
    n_rows = 2 if _names_places(cells[0]) and len(cells) > 2 and len(cells[0]) == len(cells[1]) else 1
    names, first = cells[n_rows - 1], cells[n_rows]
    if len(names) < 2 or any(map(_CELL.fullmatch, names)) or not any(map(is_event, names)):
        return None
    if len(first) != len(names) or 2 * sum(map(_is_number, first)) < len(first):
        return None
    places = tuple(cells[0]) if n_rows == 2 else ()
    return Heading(separator, tuple(names), places, lines[0][1], lines[n_rows - 1][2])


def rows_of(text, heading):
    """The rows of a table."""
    for line, start, end in _lines(text, heading.end):
        if not line.strip() or line.startswith("#"):
            continue
        cells = _cells(line, heading.separator)
        if len(cells) == len(heading.names):
            yield Row(cells, start)
        elif end < len(text) or text.endswith("\n"):
            raise ParseError(
                f"{shown(text, start)} has {len(cells)} cells, and the heading names {len(heading.names)} columns."
            )


def _lines(text, start=0):
    """Lines with their beginnings and ends, the line feed included."""
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end].rstrip("\r\n"), start, end
        start = end


def _cells(line, separator):
    if not separator:
        return line.split()
    if '"' in line:
        try:
            line_cells = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:
            line_cells = line.split(separator)
        return [cell.strip() for cell in line_cells]
    return [cell.strip() for cell in line.split(separator)]


def _names_places(cells):
    """Whether a heading's row tells only where was counted; the columns of time and the like have no place."""
    return any(map(_PLACE.fullmatch, cells)) and all(_PLACE.fullmatch(cell) or not cell for cell in cells)


def _is_number(cell):
    return bool(_CELL.fullmatch(cell)) or not cell
