"""CSV of Intel PCM: counts in millions and metrics by interval, of the system, its sockets and cores."""

import re

import numpy as np

from cmlib.io.formats import delimited
from cmlib.io.formats.delimited import Heading, TableFormat
from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts, make_metrics

_MILLION = 1e6
# Counts, which PCM prints in millions; all other columns are metrics.
_COUNTS = frozenset(["INST", "ACYC", "L3MISS", "L2MISS"])
_SOCKET = re.compile(r"(?:SKT|Socket ?)[0-9]{1,3}", re.IGNORECASE)
_OWN_NAMES = frozenset(["EXEC", "AFREQ", "PhysIPC", "INSTnom"])  # columns that no other tool writes
_FIRST_CELLS = frozenset(["System", "Date", ""])


class PcmCsv(TableFormat):
    """A heading of two rows: where it was counted, and what."""

    name = "pcm-csv"
    recorded_by = "pcm 1 -csv=FILE"
    sample = "tests/golden/formats/pcm-csv.csv"

    @classmethod
    def has_columns(cls, heading: Heading) -> bool:
        """Return True if the heading is PCM's, even if its first row is missing or a name in it is damaged."""
        return (
            heading.names[:3] == ("Date", "Time", "EXEC") or len(_OWN_NAMES.intersection(heading.names)) > 1
        )

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the columns of the whole system, or of the sockets if the file has no columns of the system.

        All other columns are left out.

        Raises
        ------
        FormatError
            If a row has more or fewer cells than the heading, or if a value or a time is not a number.
        """
        heading = cls.find_own_heading(text)
        if not heading.places or heading.places[0] not in _FIRST_CELLS:
            raise FormatError(
                f"line {heading.line} is the second row of PCM's heading, and the first, System,,…, is missing. "
                "Save the whole file."
            )
        if heading.names[:2] != ("Date", "Time"):
            raise FormatError(
                f"line {heading.line} begins with {', '.join(heading.names[:2])}; PCM's heading begins with Date, Time."
            )
        rows = delimited.read_rows(text, heading)
        places = cls._fill_places(heading.places)
        has_system = any(place == "System" for place in places[2:])
        chosen = [
            k
            for k, name in enumerate(heading.names)
            if k >= 2 and name and (places[k] == "System" if has_system else _SOCKET.fullmatch(places[k]))
        ]
        if not chosen:
            raise FormatError("the heading names no column of the system or of a socket.")
        moments = [f"{day} {clock}" for day, clock in zip(*rows.columns[:2], strict=True)]
        times = delimited.parse_times(moments, rows.lines, "Date,Time")
        steps = np.diff(times)
        if (steps <= 0).any():
            line = rows.lines[int(np.flatnonzero(steps <= 0)[0]) + 1]
            raise FormatError(
                f"line {line}: its time is not after the one before. Save each recording alone."
            )
        step = delimited.find_step(times)
        ends = times - times[0] + step
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
        notes = [*rows.notes, "PCM prints counts in millions, with three digits."]
        if has_system:
            notes.append("Columns of the system were read; those of sockets and cores were ignored.")
        return Readings((program,), notes=tuple(notes))

    @staticmethod
    def _fill_places(cells: tuple[str, ...]) -> list[str]:
        """Give each column its place: PCM writes it once, above the first of its columns."""
        places, last = [], ""
        for cell in cells:
            last = cell or last
            places.append(last)
        return places
