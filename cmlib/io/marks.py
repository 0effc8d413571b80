"""Read marks: names of time ranges in a recording.

:func:`read_marks` reads a file with the name, start and end of each mark. A mark is a program or a phase.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from cmlib.io.archive import decompress, errors_as, read_file
from cmlib.io.archive.programs import RecordError

_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?")
_NS_OF_UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
# Unit at the end of a column's name, as in `start_ms` and `end (ns)`.
_UNIT = re.compile(r"[(\[_ -](s|ms|us|µs|ns)[)\]]?$", re.IGNORECASE)
_EPOCH_NS = 10**17  # larger times are nanoseconds since 1970. This one was in 1973
_MOST_BYTES = 4 << 20
_FORMAT = (
    "A mark is a line `name,start,end`. Times are in seconds, or in a heading's unit: `name,start_ns,end_ns`."
)


@dataclass(frozen=True)
class Mark:
    """Named time range in a recording.

    Attributes
    ----------
    name : str
        Name of the program or phase. It consists of letters, digits, ``.``, ``_`` and ``-``.
    start_ns, end_ns : int
        Start and end [ns]. They are relative to 1970 if the start is at least 10¹⁷, otherwise to the start of the
        recording.
    """

    name: str
    start_ns: int
    end_ns: int

    def convert_to_seconds(self, begin_ns: int | None) -> tuple[float, float]:
        """Return the start and the end in seconds.

        Parameters
        ----------
        begin_ns : int or None
            Start of the recording [ns since 1970]. None if unknown.

        Returns
        -------
        start_s, end_s : float
            Seconds since the start of the recording. If it is unknown, times relative to 1970 remain so.
        """
        origin_ns = 0
        if begin_ns is not None and self.is_since_1970():
            origin_ns = begin_ns
        return (self.start_ns - origin_ns) / 1e9, (self.end_ns - origin_ns) / 1e9

    def is_since_1970(self) -> bool:
        """Return True if the times are relative to 1970."""
        return self.start_ns >= _EPOCH_NS


def read_marks(file: str | Path) -> list[Mark]:
    """Read the marks in a text file.

    Parameters
    ----------
    file : path
        Text file with one line ``name,start,end`` per mark:

        - Columns are separated by commas, semicolons, tabs or blanks.
        - A first line with the names of the columns is optional. It can give the unit of the times: s, ms, us or ns.
          For example, ``name,start_ms,end_ms``.
        - Without a unit, times are in seconds. Times of at least 10¹⁷ are in nanoseconds since 1970.
        - Lines that begin with ``#`` are comments.
        - Special characters in names are replaced by ``_``.

    Returns
    -------
    list of Mark

    Raises
    ------
    RecordError
        If the file cannot be read, is larger than 4 MiB, contains no mark, or contains an invalid line.
    """
    with errors_as(RecordError, file):
        content = decompress(read_file(Path(file)), file)
    if len(content) > _MOST_BYTES:
        raise RecordError(
            f"{file} has {len(content):,} bytes, and a file of marks {_MOST_BYTES:,} at most. {_FORMAT}"
        )
    marks = []
    unit = None
    has_heading = False
    for line_number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        if not line.strip("# "):
            continue
        is_comment = line.startswith("#")
        fields = _split_fields(line)
        has_times = any(_NUMBER.fullmatch(field) for field in fields[1:])
        if not (marks or has_heading or has_times):
            named_unit = _find_unit(fields)
            if is_comment:
                unit = unit or named_unit  # the first comment with a unit is used
            else:
                unit = named_unit or unit
                has_heading = True
        elif not is_comment:
            marks.append(_parse_mark(file, line_number, fields, unit))
    if not marks:
        raise RecordError(f"{file} contains no mark. {_FORMAT}")
    return marks


def _split_fields(line: str) -> list[str]:
    """Split a line at its commas, or else at its semicolons, tabs or blanks."""
    separator = next((character for character in (",", ";", "\t") if character in line), None)
    return [field.strip().strip('"') for field in line.strip().split(separator)]


def _find_unit(heading: list[str]) -> str | None:
    """Return the unit in the names of the columns.

    Returns None if they contain no unit.
    """
    for name in heading[1:]:
        match = _UNIT.search(name)
        if match:
            return match[1].lower()
    return None


def _parse_mark(file: str | Path, line_number: int, fields: list[str], unit: str | None) -> Mark:
    """Parse the fields of a line with a mark."""
    if len(fields) != 3 or not all(_NUMBER.fullmatch(field) for field in fields[1:]):
        raise RecordError(f"{file}, line {line_number}: {' '.join(fields)[:80]!r} is not a mark. {_FORMAT}")
    raw_name, start, end = fields
    start_ns = _convert_to_ns(start, unit)
    end_ns = _convert_to_ns(end, unit)
    if end_ns <= start_ns:
        raise RecordError(f"{file}, line {line_number}: {raw_name[:80]!r} ends at {end}, before it begins.")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", raw_name).strip("_.-")
    if not name:
        raise RecordError(f"{file}, line {line_number}: {raw_name[:80]!r} is not a name. {_FORMAT}")
    return Mark(name, start_ns, end_ns)


def _convert_to_ns(number: str, unit: str | None) -> int:
    """Convert a time to nanoseconds.

    Without a unit, times of at least 10¹⁷ are nanoseconds. Smaller times are seconds.
    """
    time = Decimal(number)
    if unit is None:
        unit = "ns" if time >= _EPOCH_NS else "s"
    return int(time * _NS_OF_UNIT[unit])
