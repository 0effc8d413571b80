"""Read marks: lines with the name, start and end of a program or phase in a recording."""

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from cmlib.io.archive import decompress, errors_as, read_file
from cmlib.io.archive.programs import RecordError

_NS = 10**9
_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?")
_NS_OF_UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
_UNIT = re.compile(r"[(\[_ -](s|ms|us|µs|ns)[)\]]?$", re.IGNORECASE)
_EPOCH_NS = 10**17
_MOST_BYTES = 4 << 20
_FORM = "A mark is a line `name,start,end`, in seconds, or in nanoseconds where the heading says start_ns."


def _in_ns(number, unit=None):
    """Convert a number (str) to nanoseconds; without a unit, it is in seconds, or in ns if it is large."""
    n = Decimal(number)
    return int(n * (_NS_OF_UNIT[unit] if unit else 1 if n >= _EPOCH_NS else _NS))


@dataclass(frozen=True)
class Mark:
    """Name and times of a piece of a recording.

    Attributes
    ----------
    name : str
        Name of the program or phase; letters, digits and ._- only (of a file's names, others become _).
    start_ns, end_ns : int
        Nanoseconds since the start of the recording, or since 1970 if the start is 10¹⁷ or more.
    """

    name: str
    start_ns: int
    end_ns: int

    def seconds(self, begin_ns: int | None) -> tuple[float, float]:
        """Return the start and the end since the start of the recording [s].

        Parameters
        ----------
        begin_ns : int or None
            Start of the recording [ns since 1970], which is subtracted if the mark's times are since 1970; None if it
            is not known, so that these stay since 1970.

        Returns
        -------
        start_s, end_s : float
        """
        origin = begin_ns or 0 if self.is_since_1970() else 0
        return (self.start_ns - origin) / 1e9, (self.end_ns - origin) / 1e9

    def is_since_1970(self) -> bool:
        """Return whether its times are since 1970, and not since the start of the recording."""
        return self.start_ns >= _EPOCH_NS


def read_marks(file: str | Path) -> list[Mark]:
    """Read the marks in a file of lines ``name,start,end``.

    Times are in seconds, or in the unit that the heading names; without a unit, numbers from 10¹⁷ on are nanoseconds.

    Parameters
    ----------
    file : path

    Returns
    -------
    list of Mark

    Raises
    ------
    RecordError
        If the file can't be read, is larger than 4 MiB, has no mark, or has a line that is neither a mark nor a comment
        (``#``) below its heading.
    """
    with errors_as(RecordError, file):
        content = decompress(read_file(Path(file)), file)
    if (n := len(content)) > _MOST_BYTES:
        raise RecordError(f"{file} has {n:,} bytes, and a file of marks {_MOST_BYTES:,} at most. {_FORM}")
    lines = content.decode(errors="replace").splitlines()
    marks, unit = [], None
    rows = [(k, _cells(line)) for k, line in enumerate(lines, 1) if line.strip("# ")]
    for k, cells in rows:
        if k == rows[0][0] and not any(map(_NUMBER.fullmatch, cells[1:])):  # the heading
            units = filter(None, map(_UNIT.search, cells[1:]))
            unit = next((unit[1].lower() for unit in units), None)
        elif not lines[k - 1].startswith("#"):
            marks.append(_mark(file, k, cells, unit))
    if not marks:
        raise RecordError(f"{file} holds no mark. {_FORM}")
    return marks


def _cells(line):
    """Split a line into its fields, which comma, semicolon, tab or blanks separate."""
    separator = next((mark for mark in (",", ";", "\t") if mark in line), None)
    return [cell.strip().strip('"') for cell in line.strip().split(separator)]


def _mark(file, number, cells, unit):
    """Make a mark of a line's fields; raise RecordError if they are none.

    `file` and `number` (of the line) are for the message; `unit` is that of the times, None for s, or ns for large
    numbers.
    """
    if len(cells) != 3 or not all(map(_NUMBER.fullmatch, cells[1:])):
        raise RecordError(f"{file}, line {number}: {' '.join(cells)[:80]!r} is no mark. {_FORM}")
    start, end = (_in_ns(cell, unit) for cell in cells[1:])
    if end <= start:
        raise RecordError(f"{file}, line {number}: {cells[0][:80]!r} ends at {cells[2]}, before it begins.")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", cells[0]).strip("_.-")
    if not name:
        raise RecordError(f"{file}, line {number}: {cells[0][:80]!r} is no name. {_FORM}")
    return Mark(name, start, end)
