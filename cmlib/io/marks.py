"""Read marks: lines with the name, start and end of a program or phase in a recording."""

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from cmlib.io.archive import decompress, errors_as, read_file
from cmlib.io.archive.programs import RecordError

_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?")
_NS_OF_UNIT = {"s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "ns": 1}
# A unit at the end of a heading's field: `start_ms`, `end (ns)`.
_UNIT = re.compile(r"[(\[_ -](s|ms|us|µs|ns)[)\]]?$", re.IGNORECASE)
_EPOCH_NS = 10**17  # larger times are nanoseconds since 1970: 10**17 ns were over in 1973
_MOST_BYTES = 4 << 20
_FORMAT = "A mark is a line `name,start,end`, in seconds, or in the unit of a heading such as `name,start_ns,end_ns`."


@dataclass(frozen=True)
class Mark:
    """Name and times of a piece of a recording.

    Attributes
    ----------
    name : str
        Name of the program or phase, of letters, digits, ``.``, ``_`` and ``-``.
    start_ns, end_ns : int
        Nanoseconds since the start of the recording, or since 1970 if the start is 10¹⁷ or more.
    """

    name: str
    start_ns: int
    end_ns: int

    def convert_to_seconds(self, begin_ns: int | None) -> tuple[float, float]:
        """Return the start and the end since the start of the recording [s].

        Parameters
        ----------
        begin_ns : int or None
            Start of the recording [ns since 1970], which is subtracted from times since 1970. If None, times since
            1970 stay as they are.

        Returns
        -------
        start_s, end_s : float
        """
        origin_ns = 0
        if begin_ns is not None and self.is_since_1970():
            origin_ns = begin_ns
        return (self.start_ns - origin_ns) / 1e9, (self.end_ns - origin_ns) / 1e9

    def is_since_1970(self) -> bool:
        """Return whether the times are since 1970 instead of since the start of the recording."""
        return self.start_ns >= _EPOCH_NS


def read_marks(file: str | Path) -> list[Mark]:
    """Read the marks in a file of lines ``name,start,end``.

    Fields are separated by commas, semicolons, tabs or blanks. Lines that begin with ``#`` are comments. A heading may
    stand above the marks, also as a comment, and name the unit of the times: s, ms, µs (us) or ns. Without a unit,
    times are in seconds, or in nanoseconds if the number is 10¹⁷ or more. Characters that a :class:`Mark`'s name can't
    have are replaced by ``_``.

    Parameters
    ----------
    file : path

    Returns
    -------
    list of Mark

    Raises
    ------
    RecordError
        If the file can't be read, is larger than 4 MiB, has no mark, or has a line that is neither a heading, a comment
        nor a mark.
    """
    with errors_as(RecordError, file):
        content = decompress(read_file(Path(file)), file)
    if (n_bytes := len(content)) > _MOST_BYTES:
        raise RecordError(
            f"{file} has {n_bytes:,} bytes, and a file of marks {_MOST_BYTES:,} at most. {_FORMAT}"
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
                unit = unit or named_unit  # of several comments, the first that names a unit counts
            else:
                unit = named_unit or unit
                has_heading = True
        elif not is_comment:
            marks.append(_parse_mark(file, line_number, fields, unit))
    if not marks:
        raise RecordError(f"{file} holds no mark. {_FORMAT}")
    return marks


def _split_fields(line: str) -> list[str]:
    """Split a line at commas, semicolons, tabs or blanks: the first of these that it has."""
    separator = next((character for character in (",", ";", "\t") if character in line), None)
    return [field.strip().strip('"') for field in line.strip().split(separator)]


def _find_unit(heading: list[str]) -> str | None:
    """Return the unit of the times, which a field of the heading behind the first names; None if none does."""
    for field in heading[1:]:
        if match := _UNIT.search(field):
            return match[1].lower()
    return None


def _parse_mark(file: str | Path, line_number: int, fields: list[str], unit: str | None) -> Mark:
    """Make a mark of the fields of a line; RecordError if they are not a name and two times."""
    if len(fields) != 3 or not all(_NUMBER.fullmatch(field) for field in fields[1:]):
        raise RecordError(f"{file}, line {line_number}: {' '.join(fields)[:80]!r} is no mark. {_FORMAT}")
    raw_name, start, end = fields
    start_ns = _convert_to_ns(start, unit)
    end_ns = _convert_to_ns(end, unit)
    if end_ns <= start_ns:
        raise RecordError(f"{file}, line {line_number}: {raw_name[:80]!r} ends at {end}, before it begins.")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "_", raw_name).strip("_.-")
    if not name:
        raise RecordError(f"{file}, line {line_number}: {raw_name[:80]!r} is no name. {_FORMAT}")
    return Mark(name, start_ns, end_ns)


def _convert_to_ns(number: str, unit: str | None) -> int:
    """Convert a time to nanoseconds; without a unit, it is in ns if it is 10¹⁷ or more, else in seconds."""
    time = Decimal(number)
    if unit is None:
        unit = "ns" if time >= _EPOCH_NS else "s"
    return int(time * _NS_OF_UNIT[unit])
