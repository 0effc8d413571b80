"""Read results of JMH, a benchmark tool for Java, with counts per operation.

JMH counts events with the option ``-prof perfnorm``. It writes its results as CSV, JSON or text, and each has a reader.
Each benchmark becomes a program.
"""

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
_MOST = 1e18
_NO_COUNTS = "no counts were found. Run JMH with -prof perfnorm."


class _Score(NamedTuple):
    """One result of JMH.

    Attributes
    ----------
    program : str
        Benchmark and parameters.
    event : str
        Name of the event or metric. "" for the time of the benchmark.
    value : float
    unit : str
        For example, ``#/op``.
    """

    program: str
    event: str
    value: float
    unit: str

    def is_metric(self) -> bool:
        """Return True for cycles per instruction and instructions per cycle."""
        return self.event.upper() in ("CPI", "IPC")

    def is_count(self) -> bool:
        """Return True for a count of an event."""
        return bool(self.event) and not self.is_metric() and self.unit == _COUNT_UNIT


def _make_readings(scores: Iterable[_Score]) -> Readings:
    """Make one program per benchmark. Notes name the results that are ignored."""
    scores_by_program: dict[str, list[_Score]] = {}
    for score in scores:
        scores_by_program.setdefault(score.program, []).append(score)
    programs = [_make_program(name, results) for name, results in scores_by_program.items()]
    programs_with_counts = tuple(program for program in programs if len(program.counts))
    if not programs_with_counts:
        raise FormatError(_NO_COUNTS)
    notes = []
    names_without_counts = [program.name for program in programs if not len(program.counts)]
    if names_without_counts:
        notes.append(f"Benchmarks without counts were ignored: {', '.join(names_without_counts)}.")
    ignored = dict.fromkeys(
        f"{score.event} [{score.unit}]"
        for results in scores_by_program.values()
        for score in results
        if score.event and not score.is_metric() and not score.is_count()
    )
    if ignored:
        notes.append(f"Results that are not counts were ignored: {', '.join(ignored)}.")
    return Readings(programs_with_counts, notes=tuple(notes))


def _make_program(name: str, scores: list[_Score]) -> Program:
    """Make a program from the results of a benchmark. FormatError if an event is repeated."""
    run, events = Run(), set()
    for score in scores:
        if score.event in events:
            raise FormatError(
                f"benchmark {name!r} has two results of {score.event or 'its score'!r}. "
                "Save each run in a separate file."
            )
        events.add(score.event)
        if not score.event:
            run = Run(seconds=_find_seconds(score.value, score.unit))
    counts = [score for score in scores if score.is_count()]
    metrics = [score for score in scores if score.is_metric()]
    return Program(
        make_counts({"event": [score.event for score in counts], "value": [score.value for score in counts]}),
        name,
        (run,),
        make_metrics(
            {"name": [score.event for score in metrics], "value": [score.value for score in metrics]}
        ),
        per="operation",
    )


def _find_seconds(score: float, unit: str) -> float:
    """Return the time of an operation [s] from a score in ``ns/op`` or ``ops/s``. NaN for another unit."""
    numerator, _, denominator = unit.partition("/")
    if denominator == "op" and numerator in _SECONDS:
        return score * _SECONDS[numerator]
    if numerator == "ops" and denominator in _SECONDS and score > 0:
        return _SECONDS[denominator] / score
    return nan


def _split_label(label: str) -> tuple[str, str]:
    """Split ``org.demo.Walk.go:·cycles:u`` into the benchmark and the event."""
    benchmark, _, event = label.partition(":")
    return benchmark, event.removeprefix("·")


def _name_program(benchmark: str, parameters: Iterable[tuple[str, str]]) -> str:
    """Return the benchmark and its parameters. For example, ``org.demo.Walk.go n=64``."""
    return " ".join([benchmark, *(f"{name}={value}" for name, value in parameters)])


def _parse_score(cell: str, line: int) -> float:
    """Parse a score. JMH prints NaN if nothing was counted."""
    try:
        value = float(cell.replace(",", "."))
    except ValueError:
        raise FormatError(f"line {line}: score {cell[:40]!r} is not a number.") from None
    if value != value:
        return nan
    if not 0 <= value <= _MOST:
        raise FormatError(f"line {line}: score {cell[:40]!r} is not a count.")
    return value


class JmhCsv(TableFormat):
    """Reader for the CSV of JMH."""

    name = "jmh-csv"
    recorded_by = "java -jar benchmarks.jar -prof perfnorm -rf csv -rff FILE.csv"
    sample = "tests/golden/formats/jmh-csv.csv"

    @classmethod
    def has_columns(cls, heading: Heading) -> bool:
        """Return True if the heading has the columns of JMH."""
        return {"benchmark", "mode", "score", "unit"} <= heading.lower_names

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the results.

        Raises
        ------
        FormatError
            If a column is missing, a row has more or fewer cells than the heading, or a score is not a number.
        """
        lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if not lines:
            raise FormatError(_NO_COUNTS)
        separator = ";" if lines[0][1].count(";") > lines[0][1].count(",") else ","
        heading = next(csv.reader([lines[0][1]], delimiter=separator))
        for name in ("Benchmark", "Score", "Unit"):
            if name not in heading:
                raise FormatError(f"line {lines[0][0]}: the heading has no column {name!r}.")
        return _make_readings(
            [cls._parse_row(line, number, heading, separator) for number, line in lines[1:]]
        )

    @staticmethod
    def _parse_row(line: str, number: int, heading: list[str], separator: str) -> _Score:
        """Parse a line below the heading."""
        try:
            cells = next(csv.reader([line], delimiter=separator, strict=True))
        except csv.Error as error:
            raise FormatError(f"line {number}: {error}.") from None
        if len(cells) != len(heading):
            raise FormatError(
                f"line {number} has {len(cells)} cells, but the heading has {len(heading)}: {line[:80]!r}."
            )
        row = dict(zip(heading, cells, strict=True))
        benchmark, event = _split_label(row["Benchmark"])
        parameters = [
            (name.removeprefix("Param: "), cell) for name, cell in row.items() if name.startswith("Param: ")
        ]
        score = _parse_score(row["Score"], number)
        return _Score(_name_program(benchmark, parameters), event, score, row["Unit"])


class JmhJson:
    """Reader for the JSON of JMH."""

    name = "jmh-json"
    recorded_by = "java -jar benchmarks.jar -prof perfnorm -rf json -rff FILE.json"
    sample = "tests/golden/formats/jmh-json.json"

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text is a JSON list of results of JMH."""
        return text.lstrip()[:1] == "[" and '"primaryMetric"' in text and '"secondaryMetrics"' in text

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the results. FormatError if the JSON is damaged or has no counts."""
        try:
            scores = [score for result in json.loads(text) for score in cls._list_scores(result)]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(
                f"the text is not JSON of JMH: {type(error).__name__} {str(error)[:80]}"
            ) from None
        return _make_readings(scores)

    @staticmethod
    def _list_scores(result: dict) -> list[_Score]:
        """Return the time and the counts of a benchmark."""
        name = _name_program(result["benchmark"], result.get("params", {}).items())
        primary = result["primaryMetric"]
        scores = [_Score(name, "", _parse_score(str(primary["score"]), 1), primary["scoreUnit"])]
        for label, metric in result["secondaryMetrics"].items():
            value = _parse_score(str(metric["score"]), 1)
            scores.append(_Score(name, label.removeprefix("·"), value, metric["scoreUnit"]))
        return scores


class JmhText:
    """Reader for the table that JMH prints at the end of its output."""

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
        """Return True if the text has the heading of JMH's table and counts per operation."""
        if "Benchmark" not in text or _COUNT_UNIT not in text:
            return False
        return any(cls._HEADING.fullmatch(line) for line in text.splitlines() if line.startswith("Benchmark"))

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the table. It ends at a blank line. Lines outside of it are ignored.

        Raises
        ------
        FormatError
            If a row is damaged, no table was found, or the text has a second table.
        """
        scores, parameters, is_inside, heading_line = [], [], False, 0
        for number, line in enumerate(text.splitlines(), 1):
            heading = cls._HEADING.fullmatch(line)
            if heading:
                if heading_line:
                    raise FormatError(
                        f"line {number} is the heading of a second JMH table. Save each table in a separate file."
                    )
                parameters = re.findall(r"\(([^()]+)\)", heading["parameters"])
                is_inside, heading_line = True, number
            elif is_inside and line.strip():
                scores.append(cls._parse_row(line, number, parameters))
            else:
                is_inside = False
        if not heading_line:
            raise FormatError("the heading Benchmark  Mode  Cnt  Score  Error  Units was not found.")
        if not scores:
            raise FormatError(f"line {heading_line} is the heading of a JMH table, but no row follows.")
        return _make_readings(scores)

    @classmethod
    def _parse_row(cls, line: str, number: int, parameters: list[str]) -> _Score:
        """Parse ``Walk.go:cycles  1000000  thrpt  3  324.000 ± 0.100  #/op``."""
        cells = line.replace("≈", " ").split()
        if "±" in cells:
            at = cells.index("±")
            del cells[at : at + 2]
        # benchmark, parameters, mode, number of iterations (optional), score, unit
        n_fixed = len(parameters) + 4
        if len(cells) not in (n_fixed, n_fixed + 1):
            raise FormatError(f"line {number} is not a row of a JMH table: {line[:80]!r}.")
        benchmark, event = _split_label(cells[0])
        values = cells[1 : len(parameters) + 1]
        if approximate := cls._APPROXIMATE.fullmatch(cells[-2]):
            exponent = int(approximate[2].translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")))
            score = 10.0 ** (-exponent if approximate[1] else exponent)
        else:
            score = _parse_score(cells[-2], number)
        name = _name_program(benchmark, zip(parameters, values, strict=True))
        return _Score(name, event, score, cells[-1])
