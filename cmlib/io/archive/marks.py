"""Marks: which program or phase ran when, in a recording that holds many."""

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from cmlib.io.archive import errors_as, plain, read_file
from cmlib.io.archive.programs import RecordError

_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?")
_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
_UNIT = re.compile(r"[(\[_ -](s|ms|us|µs|ns)[)\]]?$", re.IGNORECASE)
_EPOCH_NS = 10**17
_FORM = "A mark is a line `name,start,end`, in seconds, or in nanoseconds where the heading says start_ns."


@dataclass(frozen=True)
class Mark:
    """A stretch of a recording.

    Attributes
    ----------
    name : str
        Of the program or phase; letters, digits and ._- only.
    start_ns, end_ns : int
        Since the recording's beginning, or since 1970 (from 10¹⁷ on).
    """

    name: str
    start_ns: int
    end_ns: int

    def seconds(self, begin_ns):
        """Start and end since the recording's beginning [s]; `begin_ns` is that since 1970, or None if unknown."""
        origin = begin_ns or 0 if self.is_since_1970() else 0
        return (self.start_ns - origin) / 1e9, (self.end_ns - origin) / 1e9

    def is_since_1970(self):
        """Whether its times are those of a clock, and not of the recording."""
        return self.start_ns >= _EPOCH_NS


def read_marks(file):
    """Read a file of marks."""
    with errors_as(RecordError, file):
        content = plain(read_file(Path(file)), file)
    lines = [line.strip() for line in content.decode(errors="replace").splitlines()]
    cells = {k: _cells(line) for k, line in enumerate(lines, 1) if line.strip("# ")}
    heading = next(iter(cells.values()), [])
    unit = next((found[1].lower() for cell in heading[1:] if (found := _UNIT.search(cell))), None)
    marks = [
        _mark(file, k, line, unit)
        for k, line in cells.items()
        if not _is_heading(lines[k - 1], line, heading)
    ]
    if not marks:
        raise RecordError(f"{file} holds no mark. {_FORM}")
    return marks


def _is_heading(line, cells, heading):
    return line.startswith("#") or (cells is heading and not any(map(_NUMBER.fullmatch, cells[1:])))


def _cells(line):
    separator = next((mark for mark in (",", ";", "\t") if mark in line), None)
    return [cell.strip().strip('"') for cell in line.split(separator)]


def _mark(file, number, cells, unit):
    if len(cells) != 3 or not all(map(_NUMBER.fullmatch, cells[1:])):
        raise RecordError(f"{file}, line {number}: {' '.join(cells)[:80]!r} is no mark. {_FORM}")
    start, end = (_nanoseconds(cell, unit) for cell in cells[1:])
    if end <= start:
        raise RecordError(f"{file}, line {number}: {cells[0][:80]!r} ends at {cells[2]}, before it begins.")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", cells[0]).strip("_.-")
    if not name:
        raise RecordError(f"{file}, line {number}: {cells[0][:80]!r} is no name. {_FORM}")
    return Mark(name, start, end)


def _nanoseconds(cell, unit):
    number = Decimal(cell)
    return int(number * (_NS[unit] if unit else 1 if number >= _EPOCH_NS else _NS["s"]))
