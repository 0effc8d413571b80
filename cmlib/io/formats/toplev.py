"""Read the CSV of toplev, a tool of pmu-tools.

toplev prints metrics without counts. For example, the fraction of pipeline slots that wait for instructions.
"""

import re

from cmlib.io.formats import delimited
from cmlib.io.formats.delimited import Heading, TableFormat
from cmlib.io.formats.readings import Program, Readings, ReadOptions, make_counts, make_metrics


class ToplevCsv(TableFormat):
    """Reader for tables with the columns Area, Value and Unit. Timestamp, CPUs and Multiplex are optional."""

    name = "toplev-csv"
    recorded_by = "toplev.py -l2 -I 1000 -x, -o FILE COMMAND"
    sample = "tests/golden/formats/toplev-csv.csv"

    _BELOW_THRESHOLD = re.compile(r" *<$")  # "% Slots <": below toplev's threshold

    @classmethod
    def has_columns(cls, heading: Heading) -> bool:
        """Return True if the heading has the columns of toplev."""
        return {"area", "value", "unit"} <= heading.lower_names

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the metrics. A name consists of the unit and the area. For example, ``% Slots Frontend_Bound``.

        Raises
        ------
        FormatError
            If a row has more or fewer cells than the heading, or if a value or a time is not a number.
        """
        heading = cls.find_own_heading(text)
        rows = delimited.read_rows(text, heading)
        columns = dict(zip((name.lower() for name in heading.names), rows.columns, strict=True))
        units = [cls._BELOW_THRESHOLD.sub("", unit) for unit in columns["unit"]]
        metrics = {
            "value": delimited.parse_counts(columns["value"], rows.lines, "Value"),
            "name": [f"{unit} {area}".strip() for unit, area in zip(units, columns["area"], strict=True)],
            "place": columns.get("cpus", ""),
        }
        if "timestamp" in columns:
            metrics["time_s"] = delimited.parse_times(columns["timestamp"], rows.lines, "Timestamp")
        if "multiplex" in columns:
            shares = [cell if cell else "nan" for cell in columns["multiplex"]]
            metrics["running"] = delimited.parse_counts(shares, rows.lines, "Multiplex") / 100
        program = Program(make_counts({"event": [], "value": []}), metrics=make_metrics(metrics))
        return Readings((program,), notes=("toplev prints metrics without counts.", *rows.notes))
