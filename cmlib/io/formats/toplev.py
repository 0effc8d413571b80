"""CSV of toplev (pmu-tools): shares of slots and other metrics, which are no counts."""

import re

from cmlib.io.formats import delimited
from cmlib.io.formats.delimited import Heading, TableFormat
from cmlib.io.formats.readings import Program, Readings, ReadOptions, make_counts, make_metrics


class ToplevCsv(TableFormat):
    """Columns Area, Value and Unit, with Timestamp and CPUs if toplev was told to print them."""

    name = "toplev-csv"
    recorded_by = "toplev.py -l2 -I 1000 -x, -o FILE COMMAND"
    sample = "tests/golden/formats/toplev-csv.csv"

    _BELOW_THRESHOLD = re.compile(r" *<$")  # "% Slots <": below the threshold from which toplev shows it

    @classmethod
    def has_columns(cls, heading: Heading) -> bool:
        """Return True if the heading is toplev's."""
        return {"area", "value", "unit"} <= heading.lower_names

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the metrics: the name is the area and the unit, the event is empty.

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
        return Readings((program,), notes=("toplev prints metrics and no counts.", *rows.notes))
