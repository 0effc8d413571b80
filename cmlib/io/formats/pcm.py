"""Read the CSV of Intel PCM, with counts and metrics per interval.

The heading has two rows: places (the system, its sockets and its cores) and names. The main function is
:meth:`PcmCsv.read`.
"""

import re

import numpy as np

from cmlib.io.formats import delimited
from cmlib.io.formats.delimited import Heading, Rows, TableFormat
from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts, make_metrics

_MILLION = 1e6
# Counts, which PCM prints in millions. All other columns are metrics.
_COUNTS = frozenset(["INST", "ACYC", "L3MISS", "L2MISS"])
_SOCKET = re.compile(r"(?:SKT|Socket ?)[0-9]{1,3}", re.IGNORECASE)
_OWN_NAMES = frozenset(["EXEC", "AFREQ", "PhysIPC", "INSTnom"])  # columns that no other tool writes
_FIRST_CELLS = frozenset(["System", "Date", ""])


class PcmCsv(TableFormat):
    """Reader for the CSV of PCM."""

    name = "pcm-csv"
    recorded_by = "pcm 1 -csv=FILE"
    sample = "tests/golden/formats/pcm-csv.csv"

    @classmethod
    def has_columns(cls, heading: Heading) -> bool:
        """Return True if the heading has columns of PCM.

        The first row of the heading can be missing, and a name can be damaged.
        """
        return (
            heading.names[:3] == ("Date", "Time", "EXEC") or len(_OWN_NAMES.intersection(heading.names)) > 1
        )

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the columns of the complete system.

        If the file has no such columns, the columns of the sockets are read. All other columns are ignored.

        Raises
        ------
        FormatError
            If the heading is incomplete, a row has more or fewer cells than the heading, a value or a time is not a
            number, or times do not increase.
        """
        heading = cls.find_own_heading(text)
        cls._check_heading(heading)
        rows = delimited.read_rows(text, heading)
        places = cls._fill_places(heading.places)
        has_system = any(place == "System" for place in places[2:])
        chosen = [
            k
            for k, name in enumerate(heading.names)
            if k >= 2 and name and (places[k] == "System" if has_system else _SOCKET.fullmatch(places[k]))
        ]
        if not chosen:
            raise FormatError("the heading has no column of the system or of a socket.")
        ends = cls._find_ends(rows)
        counts: dict[str, list] = {"time_s": [], "place": [], "event": [], "value": []}
        metrics: dict[str, list] = {"time_s": [], "place": [], "name": [], "value": []}
        for k in chosen:
            name = heading.names[k]
            values = delimited.parse_counts(rows.columns[k], rows.lines, name)
            is_count = name in _COUNTS
            target = counts if is_count else metrics
            target["time_s"] += ends.tolist()
            target["place"] += ["" if has_system else places[k]] * len(ends)
            target["event" if is_count else "name"] += [name] * len(ends)
            target["value"] += (values * _MILLION if is_count else values).tolist()
        program = Program(make_counts(counts), metrics=make_metrics(metrics))
        notes = [*rows.notes, "PCM prints counts in millions with three digits."]
        if has_system:
            notes.append("Columns of the system were read. Columns of sockets and cores were ignored.")
        return Readings((program,), notes=tuple(notes))

    @staticmethod
    def _check_heading(heading: Heading) -> None:
        """Raise FormatError if the first row of the heading is missing, or its first names are wrong."""
        if not heading.places or heading.places[0] not in _FIRST_CELLS:
            raise FormatError(
                f"line {heading.line} is the second row of PCM's heading, but the first row (System,,…) is missing. "
                "Save the complete file."
            )
        if heading.names[:2] != ("Date", "Time"):
            raise FormatError(
                f"line {heading.line} begins with {', '.join(heading.names[:2])}, but PCM's heading begins with "
                "Date, Time."
            )

    @staticmethod
    def _find_ends(rows: Rows) -> np.ndarray:
        """Return the end of each interval since the start of the first interval [s]."""
        texts = [f"{day} {clock}" for day, clock in zip(*rows.columns[:2], strict=True)]
        times = delimited.parse_times(texts, rows.lines, "Date,Time")
        steps = np.diff(times)
        if (steps <= 0).any():
            line = rows.lines[int(np.flatnonzero(steps <= 0)[0]) + 1]
            raise FormatError(
                f"line {line}: the time is not after the time of the previous row. "
                "Save each recording in a separate file."
            )
        return times - times[0] + delimited.find_step(times)

    @staticmethod
    def _fill_places(cells: tuple[str, ...]) -> list[str]:
        """Return the place of each column. PCM writes a place only above the first of its columns."""
        places, last = [], ""
        for cell in cells:
            last = cell or last
            places.append(last)
        return places
