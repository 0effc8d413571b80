"""Read the JSON of `perf stat -j`: one object per line."""

import itertools
import json
import re
from math import nan

import pyarrow as pa
import pyarrow.compute as pc

from cmlib.io.formats.perf_lines import LinePattern, OtherLines, line_around, normalize_line_ends, read_lines
from cmlib.io.formats.readings import Readings, ReadOptions

_PLACES = "core|die|cluster|cache|socket|node|thread"
_NUMBER = "[0-9]+(?:[.,][0-9]+)?"
_MOST_CANDIDATES = 1000
_LONGEST_LINE = 8192  # characters of a line without a count
_METRIC_NUMBER = re.compile(r"-?[0-9]{1,20}(?:[.,][0-9]{0,20})?|-?nan|-?inf")
_PLACE_KEYS = {"interval", "cpu", "cgroup", "aggregate-number", "counters", *_PLACES.split("|")}
# perf 6.1 writes decimal commas into JSON in some locales: "pcnt-running" : 100,00
_DECIMAL_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9]+[,} ])")


def _make_pattern(place: str, variation: str) -> str:
    """Return the pattern of a line with a count."""
    metric = '"metric-value" *: *"?(?P<metric>-?(?:[0-9]+(?:[.,][0-9]*)?|nan|inf))"? *, *'
    metric += '"metric-unit" *: *"(?P<metric_name>[^"]*)" *'
    return (
        rf'^ *\{{ *(?:"interval" *: *(?P<time>{_NUMBER}) *, *)?{place}'
        rf'"counter-value" *: *"(?P<count>{_NUMBER}|<not counted>|<not supported>)" *, *'
        r'"unit" *: *"(?P<unit>[^"]*)" *, *"event" *: *"(?P<event>[^"]+)" *, *'
        rf'(?:"cgroup" *: *"(?P<cgroup>[^"]*)" *, *)?{variation}'
        rf'"event-runtime" *: *(?P<on_counter_ns>[0-9]+) *, *"pcnt-running" *: *(?P<share>{_NUMBER}) *'
        rf'(?:, *{metric}(?:, *"metric-threshold" *: *"[^"]*" *)?)?\}} *$'
    )


def _make_patterns() -> tuple[str, ...]:
    """Return the patterns of lines with counts, one per kind of place, without and with ``-r``."""
    places = (
        "",
        '"cpu" *: *"(?P<cpu>[^"]*)" *, *',
        rf'"(?:{_PLACES})" *: *"(?P<place>[^"]*)" *, *(?:"(?:aggregate-number|counters)" *: *(?P<n_cpus>[0-9]+) *, *)?',
    )
    variations = ("", rf'"variance" *: *(?P<varies>{_NUMBER}) *, *')
    return tuple(
        _make_pattern(place, variation) for variation, place in itertools.product(variations, places)
    )


class PerfJson:
    """Reader of ``perf stat -j``: one JSON object per count or metric."""

    name = "perf-json"
    recorded_by = "perf stat -I 1000 -j -o FILE -- COMMAND"
    sample = "tests/golden/formats/perf-json.json"

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text has a line of ``perf stat -j``."""
        return bool(_find_patterns(text)) or _has_metrics_alone(text)

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the text. FormatError if a line of perf is damaged."""
        text = normalize_line_ends(text)
        other_lines = OtherLines()
        reader = _OtherLines(other_lines)
        patterns = [LinePattern(regex) for regex in _find_patterns(text)]
        return read_lines(text, patterns, reader.read, other_lines)


def _find_patterns(text: str) -> list[str]:
    """Return the patterns that match the first lines with counts. Empty if no line has a count."""
    lines, position = [], 0
    while len(lines) < _MOST_CANDIDATES and (position := text.find('"counter-value"', position)) >= 0:
        start, position = line_around(text, position)
        if position - start <= _LONGEST_LINE:
            lines.append(text[start:position].rstrip("\r"))
    texts = pa.array(lines, pa.string())
    return [pattern for pattern in _PATTERNS if pc.extract_regex(texts, pattern).null_count < len(lines)]


def _has_metrics_alone(text: str) -> bool:
    """Return True if one of the first lines has metrics and no count."""
    if "{" not in text:  # searching a large CSV for the pattern is slow
        return False
    for match in itertools.islice(
        re.finditer(r'^ *\{[^\n]*"(?:metric-value"|% |[^"\n]*per cycle|GHz)', text, re.MULTILINE), 100
    ):
        end = text.find("\n", match.start())
        line = text[match.start() : end if end >= 0 else len(text)]
        if len(line) <= _LONGEST_LINE and _read_metrics(line):
            return True
    return False


def _read_metrics(line: str) -> list[dict[str, object]]:
    """Return the metrics in a line without a count. Empty if the line has other values."""
    try:
        cells = json.loads(_DECIMAL_COMMA.sub(".", line))
    except ValueError:
        return []
    if not isinstance(cells, dict):
        return []
    places = [
        str(cells[key]) for key in cells if key in _PLACE_KEYS - {"interval", "aggregate-number", "counters"}
    ]
    metrics = {key: value for key, value in cells.items() if key not in _PLACE_KEYS}
    if "metric-value" in metrics:
        metrics = {str(metrics.get("metric-unit", "")): metrics["metric-value"]}
    if not all(_METRIC_NUMBER.fullmatch(str(value)) for value in metrics.values()):
        return []
    place = places[0] if places else ""
    return [
        {
            "time_s": float(cells.get("interval", nan)),
            "place": f"CPU{place}" if "cpu" in cells else place,
            "value": float(str(value).replace(",", ".")),
            "name": " ".join(name.split()),
            "running": nan,
        }
        for name, value in metrics.items()
        if name.strip() and name != "(null)"
    ]


class _OtherLines:
    """Reader of lines without a count: comments, metrics, and lines of other programs."""

    def __init__(self, other_lines: OtherLines):
        self._other_lines = other_lines

    def read(self, number: int, line: str, is_cut_off: bool) -> None:
        """Read one line."""
        if self._other_lines.read_comment(number, line):
            return
        metrics = _read_metrics(line) if line.lstrip().startswith("{") and len(line) <= _LONGEST_LINE else []
        if metrics:
            is_beside = '"metric-value"' in line
            for metric in metrics:
                self._other_lines.metrics.append(
                    {"line": number, "event": None if is_beside else "", **metric}
                )
        elif re.match(r' *\{ *"(?:interval|counter-value|cpu|core|socket|die|node|thread)"', line):
            self._other_lines.refuse_row(number, line, is_cut_off, "a line of `perf stat -j`")
        else:
            self._other_lines.n_passed += 1


_PATTERNS = _make_patterns()
