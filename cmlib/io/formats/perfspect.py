"""CSV of Intel PerfSpect: metrics by interval, or their summary."""

from cmlib.io.formats import delimited
from cmlib.io.formats.delimited import Heading, TableFormat
from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts, make_metrics

_PLACES = {"SKT": "S", "CPU": "CPU", "CID": "cgroup "}


class PerfSpectCsv(TableFormat):
    """Columns TS, SKT, CPU, CID and a metric each; or a row per metric with its mean."""

    name = "perfspect-csv"
    recorded_by = "perfspect metrics --format csv"
    sample = "tests/golden/formats/perfspect-csv.csv"

    @classmethod
    def has_columns(cls, heading: Heading) -> bool:
        """Return True if the heading is PerfSpect's: of intervals, or of a summary."""
        return set(heading.names) >= {"TS", "SKT", "CPU"} or cls._is_summary(heading)

    @staticmethod
    def _is_summary(heading: Heading) -> bool:
        return heading.names[0] in ("metric", "metrics") and not heading.lower_names.isdisjoint(
            {"mean", "avg"}
        )

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the metrics.

        Raises
        ------
        FormatError
            If a row has another length, or a value or time is no number.
        """
        heading = delimited.find_heading(text)
        if heading is None or not cls.has_columns(heading):
            raise FormatError("line 1 is no heading of PerfSpect: TS,SKT,CPU,… or metric,mean,…")
        rows = delimited.read_rows(text, heading)
        columns = dict(zip(heading.names, rows.columns, strict=True))
        if cls._is_summary(heading):
            mean = "mean" if "mean" in columns else "avg"
            metrics = {
                "name": columns[heading.names[0]],
                "value": delimited.parse_counts(columns[mean], rows.lines, mean),
            }
        else:
            metrics = cls._read_intervals(columns, rows.lines)
        program = Program(make_counts({"event": [], "value": []}), metrics=make_metrics(metrics))
        return Readings((program,), notes=("PerfSpect prints metrics and no counts.", *rows.notes))

    @staticmethod
    def _read_intervals(columns: dict[str, tuple[str, ...]], lines: list[int]) -> dict[str, list]:
        times = delimited.parse_times(columns["TS"], lines, "TS")
        metrics: dict[str, list] = {"time_s": [], "place": [], "name": [], "value": []}
        places = []
        for k in range(len(lines)):
            cells_by_name = {name: columns[name][k] for name in _PLACES if name in columns}
            places.append("-".join(f"{_PLACES[name]}{cell}" for name, cell in cells_by_name.items() if cell))
        for name, cells in columns.items():
            if name == "TS" or name in _PLACES:
                continue
            metrics["time_s"] += times.tolist()
            metrics["place"] += places
            metrics["name"] += [name] * len(lines)
            metrics["value"] += delimited.parse_counts(cells, lines, name).tolist()
        return metrics
