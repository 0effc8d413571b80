"""What JMH writes with ``-prof perfnorm``: counts per operation, as CSV, JSON and text."""

import csv
import json
import re
from collections.abc import Iterable
from math import nan
from typing import NamedTuple

from cmlib.io.formats.delimited import Heading, TableFormat
from cmlib.io.formats.readings import (
    FormatError,
    Program,
    Readings,
    ReadOptions,
    Run,
    make_counts,
    make_metrics,
)

_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "hr": 3600.0, "day": 86400.0}
_COUNT_UNIT = "#/op"
_RATIO_UNITS = frozenset(["clks/insn", "insns/clk", "CPI", "IPC"])
_MOST = 1e18
_NO_COUNTS = "there are no counts: run JMH with -prof perfnorm."


class _Score(NamedTuple):
    """One line of JMH's results: `event` is "" for the benchmark's own score."""

    program: str
    event: str
    value: float
    unit: str


def _make_readings(scores: Iterable[_Score]) -> Readings:
    """Sort scores by program: counts and times per operation, CPI and IPC as metrics, others named in a note."""
    by_program: dict[str, list[_Score]] = {}
    for score in scores:
        by_program.setdefault(score.program, []).append(score)
    programs, ignored = [], {}
    for name, of_program in by_program.items():
        counts, metrics, run, seen = [], [], Run(), set()
        for score in of_program:
            if score.event in seen:
                raise FormatError(
                    f"benchmark {name!r} has {score.event or 'its score'!r} twice: save each run alone."
                )
            seen.add(score.event)
            if not score.event:
                run = Run(seconds=_find_seconds(score.value, score.unit))
            elif score.event.upper() in ("CPI", "IPC"):
                metrics.append((score.event, score.value))
            elif score.unit == _COUNT_UNIT:
                counts.append((score.event, score.value))
            else:
                ignored[f"{score.event} [{score.unit}]"] = None
        if counts:
            events, values = zip(*counts, strict=True)
            names, ratios = zip(*metrics, strict=True) if metrics else ((), ())
            programs.append(
                Program(
                    make_counts({"event": events, "value": values}),
                    name,
                    (run,),
                    make_metrics({"name": names, "value": ratios}),
                    per="operation",
                )
            )
    if not programs:
        raise FormatError(_NO_COUNTS)
    notes = []
    without = [name for name in by_program if name not in {program.name for program in programs}]
    if without:
        notes.append(f"Benchmarks without counts were ignored: {', '.join(without)}.")
    if ignored:
        notes.append(f"Results that are no counts were ignored: {', '.join(ignored)}.")
    return Readings(tuple(programs), notes=tuple(notes))


def _find_seconds(score: float, unit: str) -> float:
    """Return the time of an operation [s] from a score in ``ns/op`` or ``ops/s``; NaN for another unit."""
    above, _, below = unit.partition("/")
    if below == "op" and above in _SECONDS:
        return score * _SECONDS[above]
    if above == "ops" and below in _SECONDS and score > 0:
        return _SECONDS[below] / score
    return nan


def _split_label(label: str) -> tuple[str, str]:
    """Split ``org.demo.Walk.go:·cycles:u`` into the benchmark and the event."""
    benchmark, _, event = label.partition(":")
    return benchmark, event.removeprefix("·")


def _name_program(benchmark: str, parameters: Iterable[tuple[str, str]]) -> str:
    """Name a program by its benchmark and parameters: ``org.demo.Walk.go n=64``."""
    return " ".join([benchmark, *(f"{name}={value}" for name, value in parameters)])


def _parse_score(cell: str, line: int) -> float:
    """Parse a score; NaN for NaN, which JMH prints for nothing counted."""
    try:
        value = float(cell.replace(",", "."))
    except ValueError:
        raise FormatError(f"line {line}: score {cell[:40]!r} is no number.") from None
    if value != value:
        return nan
    if not 0 <= value <= _MOST:
        raise FormatError(f"line {line}: score {cell[:40]!r} is no count.")
    return value


class JmhCsv(TableFormat):
    """JMH's results as CSV."""

    name = "jmh-csv"
    recorded_by = "java -jar benchmarks.jar -prof perfnorm -rf csv -rff FILE.csv"
    sample = "tests/golden/formats/jmh-csv.csv"

    @classmethod
    def has_columns(cls, heading: Heading) -> bool:
        """Return True if the heading is JMH's."""
        return {"benchmark", "mode", "score", "unit"} <= heading.lower_names

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the results; FormatError if a line has other cells than the heading, or a score is no number."""
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if not lines:
            raise FormatError(_NO_COUNTS)
        separator = ";" if lines[0][1].count(";") > lines[0][1].count(",") else ","
        heading = next(csv.reader([lines[0][1]], delimiter=separator))
        missing = [name for name in ("Benchmark", "Score", "Unit") if name not in heading]
        if missing:
            raise FormatError(f"line {lines[0][0]} names no column {missing[0]!r}, as JMH's results do.")
        scores = []
        for number, line in lines[1:]:
            try:
                cells = next(csv.reader([line], delimiter=separator, strict=True))
            except csv.Error as error:
                raise FormatError(f"line {number}: {error}.") from None
            if len(cells) != len(heading):
                raise FormatError(
                    f"line {number} has {len(cells)} cells, and the heading {len(heading)}: {line[:80]!r}."
                )
            row = dict(zip(heading, cells, strict=True))
            benchmark, event = _split_label(row["Benchmark"])
            parameters = [
                (name.removeprefix("Param: "), cell)
                for name, cell in row.items()
                if name.startswith("Param: ")
            ]
            score = _parse_score(row["Score"], number)
            scores.append(_Score(_name_program(benchmark, parameters), event, score, row["Unit"]))
        return _make_readings(scores)


class JmhJson:
    """JMH's results as JSON."""

    name = "jmh-json"
    recorded_by = "java -jar benchmarks.jar -prof perfnorm -rf json -rff FILE.json"
    sample = "tests/golden/formats/jmh-json.json"

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text is a JSON list of results of JMH."""
        return text.lstrip()[:1] == "[" and '"primaryMetric"' in text and '"secondaryMetrics"' in text

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the results; FormatError if the JSON is damaged or has no counts."""
        try:
            scores = [score for result in json.loads(text) for score in cls._list_scores(result)]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(
                f"this is not JSON as JMH writes it: {type(error).__name__} {str(error)[:80]}"
            ) from None
        return _make_readings(scores)

    @staticmethod
    def _list_scores(result: dict) -> list[_Score]:
        name = _name_program(result["benchmark"], result.get("params", {}).items())
        primary = result["primaryMetric"]
        scores = [_Score(name, "", _parse_score(str(primary["score"]), 1), primary["scoreUnit"])]
        for label, metric in result["secondaryMetrics"].items():
            value = _parse_score(str(metric["score"]), 1)
            scores.append(_Score(name, label.removeprefix("·"), value, metric["scoreUnit"]))
        return scores


class JmhText:
    """Reader for the table that JMH, a benchmark tool for Java, prints at the end of its output."""

    name = "jmh-text"
    recorded_by = "java -jar benchmarks.jar -prof perfnorm"
    sample = "tests/golden/formats/jmh-text.txt"

    # Benchmark  (size)  Mode  Cnt  Score   Error  Units
    _HEADING = re.compile(
        r"Benchmark +(?P<parameters>(?:\([^()\n]{1,80}\) +){0,20})Mode +(?:Cnt|Samples) +"
        r"Score +(?:Score )?Error +Units? *"
    )
    _APPROXIMATE = re.compile(r"10(⁻?)([⁰¹²³⁴-⁹]{1,3})")  # ≈ 10⁻⁴

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if a line is the heading of JMH's table, and there are counts per operation."""
        if "Benchmark" not in text or _COUNT_UNIT not in text:
            return False
        return any(cls._HEADING.fullmatch(line) for line in text.splitlines() if line.startswith("Benchmark"))

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the table, which ends at a blank line; what stands above and below it is passed over.

        Raises
        ------
        FormatError
            If a row is none of JMH's, or there is no table or a second one.
        """
        scores, parameters, inside, heading_line = [], [], False, 0
        for number, line in enumerate(text.splitlines(), 1):
            heading = cls._HEADING.fullmatch(line)
            if heading:
                if heading_line:
                    raise FormatError(
                        f"line {number} begins a second table of JMH: save each in a file of its own."
                    )
                parameters = re.findall(r"\(([^()]+)\)", heading["parameters"])
                inside, heading_line = True, number
            elif inside and line.strip():
                scores.append(cls._parse_row(line, number, parameters))
            else:
                inside = False
        if not heading_line:
            raise FormatError("there is no heading such as Benchmark  Mode  Cnt  Score  Error  Units.")
        if not scores:
            raise FormatError(f"line {heading_line} is the heading of JMH's table, and no row follows it.")
        return _make_readings(scores)

    @classmethod
    def _parse_row(cls, line: str, number: int, parameters: list[str]) -> _Score:
        """Parse ``Walk.go:cycles  1000000  thrpt  3  324.000 ± 0.100  #/op``."""
        cells = line.replace("≈", " ").split()
        if "±" in cells:
            at = cells.index("±")
            del cells[at : at + 2]
        # benchmark, parameters, mode, perhaps the number of iterations, score, unit
        n_fixed = len(parameters) + 4
        if len(cells) not in (n_fixed, n_fixed + 1):
            raise FormatError(f"line {number} is no row of JMH's table: {line[:80]!r}.")
        benchmark, event = _split_label(cells[0])
        values = cells[1 : len(parameters) + 1]
        if approximate := cls._APPROXIMATE.fullmatch(cells[-2]):
            exponent = int(approximate[2].translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))
            score = 10.0 ** (-exponent if approximate[1] else exponent)
        else:
            score = _parse_score(cells[-2], number)
        name = _name_program(benchmark, zip(parameters, values, strict=True))
        return _Score(name, event, score, cells[-1])
