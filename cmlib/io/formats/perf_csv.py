"""Read the CSV of `perf stat -x`: one line per count, with any separator of one character."""

import itertools
import re
from math import nan
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from cmlib.io.formats.perf_lines import (
    STARTED,
    LinePattern,
    OtherLines,
    line_around,
    normalize_line_ends,
    raise_damaged,
    read_lines,
)
from cmlib.io.formats.readings import FormatError, Readings, ReadOptions

_SEPARATORS = r"\t!$&*+,:;=?@\\^|~"
# Time on the counter and running share, between separators: ,1000200,100.00,
_SHARE_FIELDS = re.compile(
    rf"(?P<separator>[{_SEPARATORS}])(?P<doubled>(?P=separator)?)[0-9]{{1,20}}+(?P=separator)(?P=doubled)"
    r"(?:100|[0-9]{1,2}+)[.,][0-9]{2}(?![0-9])",
)
_MOST_CANDIDATES = 1000  # lines that are compared with perf's
_LONGEST_CANDIDATE = 4096  # characters
# Columns before the metrics in the heading of --metric-only.
_PLACE_HEADINGS = (
    "time",
    "CPU",
    "cpu",
    "core",
    "die",
    "cluster",
    "cache",
    "socket",
    "node",
    "cpus",
    "comm-pid",
)
# A part of the name of every metric that perf prints in such a heading.
_METRIC_HEADING = re.compile(
    r"^(?! *\{)(?=[^\n]{1,8000}[^\w\n %] *$)[^\n]*(?:% |per cycle|GHz|retiring|bound|of all |cycles idle)",
    re.MULTILINE,
)
_METRIC_VALUE = re.compile(r"-?(?:[0-9]{1,20}(?:[.,][0-9]{0,20})?|nan|inf) ?%?")
# Units of counts, in lines by which the format is recognized.
_USUAL_UNITS = ("", "msec", "ns")


class _Dialect(NamedTuple):
    """Order and spelling of the fields in a text."""

    separator: str
    decimal: str
    place: str  # "", "cpu", "aggregate" (with a number of CPUs) or "thread"
    has_cgroup: bool
    has_variation: bool
    is_timed: bool


class PerfCsv:
    """Reader of ``perf stat -x,``: one line per count.

    It supports all options of perf that change the lines, for example ``-I``, ``-A``, ``--per-core``, ``-r`` and
    ``--metric-only``. Numbers can have decimal points or decimal commas.
    """

    name = "perf-csv"
    recorded_by = "perf stat -I 1000 -x, -o FILE -- COMMAND"
    sample = "tests/golden/formats/perf-csv.csv"

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text has a line of ``perf stat -x`` with a count or a heading of metrics."""
        if _SHARE_FIELDS.search(text) and (_has_two_separators(text) or _find_dialect(text) is not None):
            return True
        return bool(_find_metric_heading(text))

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the text. FormatError if a line of perf is damaged."""
        if _has_two_separators(text):
            raise FormatError(
                "fields are separated by two characters. Record with one, for example `perf stat -x,`."
            )
        text = normalize_line_ends(text)
        dialect = _find_dialect(text)
        if dialect is None:
            return _read_metrics_alone(text)
        other_lines = OtherLines()
        reader = _OtherLines(dialect, other_lines)
        return read_lines(text, _make_patterns(dialect), reader.read, other_lines)


def _has_two_separators(text: str) -> bool:
    """Return True if the first line with a count has separators of two characters."""
    match = _SHARE_FIELDS.search(text)
    return match is not None and bool(match["doubled"])


def _find_dialect(text: str) -> _Dialect | None:
    """Return the dialect of the first line with a count. None if no line has a count."""
    matches = _SHARE_FIELDS.finditer(text)
    # Most files need only the first candidate. The other candidates are searched for only if it does not match.
    for n_lines in (1, _MOST_CANDIDATES):
        lines_by_separator: dict[str, list[str]] = {}
        last_end = -1
        for match in itertools.islice(matches, n_lines):
            if match.start() < last_end:
                continue
            start, last_end = line_around(text, match.start())
            if last_end - start <= _LONGEST_CANDIDATE:
                line = text[start:last_end].rstrip("\r")
                lines_by_separator.setdefault(match["separator"], []).append(line)
        for separator, lines in lines_by_separator.items():
            dialect = _match_dialect(separator, lines)
            if dialect is not None:
                return dialect
    return None


def _match_dialect(separator: str, lines: list[str]) -> _Dialect | None:
    """Return the dialect of the first line that perf wrote. None if no line matches."""
    texts = pa.array(lines)
    beginnings = dict.fromkeys(_describe_beginning(separator, line) for line in lines)
    first: tuple[int, _Dialect] | None = None
    for (is_timed, place), has_cgroup, has_variation, decimal in itertools.product(
        beginnings, (False, True), (False, True), ".,"
    ):
        dialect = _Dialect(separator, decimal, place, has_cgroup, has_variation, is_timed)
        for pattern in _make_row_patterns(dialect):
            fields = pc.extract_regex(texts, pattern)
            if fields.null_count == len(lines):
                continue
            events, units = fields.field("event"), fields.field("unit")
            is_of_perf = pc.or_(pc.is_in(units, pa.array(_USUAL_UNITS)), pc.match_substring(events, "/"))
            number = pc.index(pc.and_(fields.is_valid(), is_of_perf.fill_null(False)), True).as_py()
            if number >= 0 and (first is None or number < first[0]):
                first = number, dialect
            if number == 0:
                return dialect
    return first[1] if first else None


def _describe_beginning(separator: str, line: str) -> tuple[bool, str]:
    """Return whether a line begins with a time, and the kind of place after it."""
    time = re.match(rf" *+[0-9]{{1,12}}[.,][0-9]{{9}}{re.escape(separator)}", line)
    rest = line[time.end() :] if time else line.lstrip(" ")
    if rest.startswith("CPU"):
        place = "cpu"
    elif re.match(r"[SN][0-9]", rest):
        place = "aggregate"
    else:
        place = "thread" if re.match(r"[^0-9<]", rest) else ""
    return time is not None, place


def _make_patterns(dialect: _Dialect) -> list[LinePattern]:
    """Return the patterns of lines with counts.

    The pattern of plain lines is first, because splitting them is fast.
    """
    untimed_or_timed = dialect._replace(is_timed=not dialect.is_timed)
    regexes = [*_make_row_patterns(dialect), *_make_row_patterns(untimed_or_timed)]
    patterns = [LinePattern(regex) for regex in regexes]
    if dialect.separator not in (dialect.decimal, ":"):
        patterns.insert(0, LinePattern(_make_plain_pattern(dialect), dialect.separator))
    return patterns


def _make_plain_pattern(dialect: _Dialect) -> str:
    """Return the pattern of lines that have all fields of a dialect, and no separator within a field."""
    s, d = re.escape(dialect.separator), re.escape(dialect.decimal)
    fields = [
        rf"(?P<time>[0-9]+{d}[0-9]{{9}})" if dialect.is_timed else "",
        _make_place_pattern(dialect),
        f"(?P<count>{_make_count_pattern(d)})",
        f"(?P<unit>{_make_unit_pattern(s)})",
        f"(?P<event>[^{s}/]+(?:/[^{s}/]*/[^{s}/]*)*)",
        f"(?P<cgroup>{_make_cgroup_pattern(s)})" if dialect.has_cgroup else "",
        f"(?P<varies>[0-9]+{d}[0-9][0-9]%)" if dialect.has_variation else "",
        "(?P<on_counter_ns>[0-9]+)",
        f"(?P<share>[0-9]+{d}[0-9][0-9])",
        f"(?P<cut_off_metric>[^{s}]*)"
        if dialect.decimal == ","
        else f"(?P<metric>{_make_metric_pattern(d)})",
        f"(?P<metric_name>[^{s}]*)",
    ]
    return "^ *" + s.join(field for field in fields if field) + "$"


def _make_row_patterns(dialect: _Dialect) -> list[str]:
    """Return patterns of lines with a count.

    Fields: [time,][place,[number of CPUs,]]count,unit,event,[cgroup,][variation,]time on the counter,share[,metric,
    metric name,…]. If the separator is also the decimal mark, there are two patterns: for counts without and with
    decimals. RE2 matches them faster than a single pattern.
    """
    s, d = re.escape(dialect.separator), re.escape(dialect.decimal)
    time = rf"(?P<time>[0-9]+[.,][0-9]{{9}}){s}" if dialect.is_timed else rf"(?:summary{s})?"
    place = _make_place_pattern(dialect) + s if dialect.place else ""
    unit = f"(?P<unit>{_make_unit_pattern(s)})"
    event = f"(?P<event>[^{s}]+)"
    if dialect.separator == ",":  # cpu/event=0x43,umask=0x4/ has commas
        event = "(?P<event>[^,/]+(?:/[^/]*/[^,/]*)*)"
    elif dialect.separator == ":":  # cycles:u has a colon
        event = "(?P<event>[^:]+(?::[^:0-9][^:]*)*)"
    cgroup = f"(?P<cgroup>{_make_cgroup_pattern(s)}){s}" if dialect.has_cgroup else ""
    variation = rf"(?P<varies>[0-9]+{d}[0-9][0-9])%{s}" if dialect.has_variation else ""
    share = f"(?P<share>[0-9]+{d}[0-9][0-9])"
    metric = f"(?:{s}(?P<metric>{_make_metric_pattern(d)})(?:{s}(?P<metric_name>[^{s}]*)(?:{s}.*)?)?)?"
    if dialect.decimal == ",":  # perf cuts metrics off at their decimal mark
        metric = f"(?:{s}[^{s}]*(?:{s}(?P<metric_name>[^{s}]*)(?:{s}.*)?)?)?"
    counts = [_make_count_pattern(d)]
    if dialect.separator == dialect.decimal:
        counts = ["[0-9]+|<not counted>|<not supported>", f"[0-9]+{d}[0-9]+"]
    return [
        rf"^ *{time}{place}(?P<count>{count}){s}{unit}{s}{event}{s}{cgroup}{variation}"
        rf"(?P<on_counter_ns>[0-9]+){s}{share}{metric}$"
        for count in counts
    ]


def _make_place_pattern(dialect: _Dialect) -> str:
    """Return the pattern of the place of a count. "" if lines have no place."""
    s = re.escape(dialect.separator)
    patterns = {
        "": "",
        "cpu": "(?P<place>CPU[0-9]+)",
        "aggregate": f"(?P<place>[SN][0-9]+(?:-[A-Z]+[0-9]+)*){s}(?P<n_cpus>[0-9]+)",
        "thread": f"(?P<place>[^{s}0-9<][^{s}]*-[0-9]+)",
    }
    return patterns[dialect.place]


def _make_count_pattern(decimal: str) -> str:
    return f"[0-9]+(?:{decimal}[0-9]+)?|<not counted>|<not supported>"


def _make_unit_pattern(separator: str) -> str:
    return f"(?:[^{separator}0-9][^{separator}]*)?"


def _make_cgroup_pattern(separator: str) -> str:
    return f"[^{separator}]*[^{separator}0-9.][^{separator}]*"


def _make_metric_pattern(decimal: str) -> str:
    return f"(?:-?(?:[0-9]+(?:{decimal}[0-9]*)?|nan|inf))?"


class _OtherLines:
    """Reader of lines without a count: comments, metrics, and lines of other programs."""

    def __init__(self, dialect: _Dialect, other_lines: OtherLines):
        self._dialect, self._other_lines = dialect, other_lines
        self._metric_group, self._group_running, self._group_line = "", nan, 0
        s = re.escape(dialect.separator)
        place = {"": "", "cpu": rf"(?P<place>CPU[0-9]{{1,6}}+){s}"}.get(
            dialect.place, rf"(?P<place>[^{s}0-9<][^{s}]{{0,80}}+){s}(?:[0-9]{{1,6}}+{s})?"
        )
        self._prefix = re.compile(
            rf" *+(?:(?P<time>[0-9]{{1,12}}+[.,][0-9]{{9}}){s}|summary{s})?(?:{place})?"
        )
        self._row_begin = re.compile(rf"(?:[0-9]|<not )[^{s}]{{0,40}}+{s}")

    def read(self, number: int, line: str, is_cut_off: bool) -> None:
        """Read one line."""
        if self._other_lines.read_comment(number, line):
            return
        prefix = self._prefix.match(line)
        rest = line[prefix.end() :] if prefix else line.lstrip(" ")
        if rest.startswith(self._dialect.separator):
            self._read_metric(number, prefix, rest)
        elif (
            self._row_begin.match(rest) or (prefix and prefix["time"]) or (is_cut_off and rest[:1].isdigit())
        ):
            self._other_lines.refuse_row(number, line, is_cut_off, "a line of `perf stat -x`")
        else:
            self._other_lines.n_passed += 1

    def _read_metric(self, number: int, prefix: re.Match | None, rest: str) -> None:
        """Read a metric without a count, or the name of a group of metrics.

        Example of a metric: ``,,,,,30.6,%  tma_backend_bound``. Example of a group, with the time on the counter and
        the running share before the name: ``,16067501860,100.00,,,,TopdownL1``.
        """
        if self._dialect.decimal == ",":
            return
        cells = [cell for cell in rest.split(self._dialect.separator) if cell.strip()]
        running = nan
        if len(cells) > 2 and cells[0].isdigit() and re.fullmatch(r"[0-9]{1,3}\.[0-9]{2}", cells[1]):
            running = float(cells[1]) / 100
            cells = cells[2:]
        if len(cells) == 1 and not _METRIC_VALUE.fullmatch(cells[0]):
            self._metric_group, self._group_running, self._group_line = cells[0].strip(), running, number
            return
        if len(cells) < 2 or not _METRIC_VALUE.fullmatch(cells[0]):
            self._other_lines.n_passed += 1
            return
        in_group = bool(self._metric_group) and number == self._group_line + 1
        if in_group:
            self._group_line = number
        groups = prefix.groupdict() if prefix else {}
        self._other_lines.metrics.append(
            {
                "line": number,
                "time_s": float(groups["time"].replace(",", ".")) if groups.get("time") else nan,
                "place": groups.get("place") or "",
                "event": self._metric_group if in_group else None,
                "value": float(cells[0].rstrip("% ")),
                "name": " ".join(cells[1].split()),
                "running": self._group_running if in_group else running,
            }
        )


def _find_metric_heading(text: str) -> tuple[str, str] | None:
    """Return the first heading of metrics with a line of values below it, and its separator. None if not found."""
    for match in itertools.islice(_METRIC_HEADING.finditer(text), _MOST_CANDIDATES):
        end = text.find("\n", match.end())
        if end < 0:
            break
        line = text[match.start() : end].rstrip("\r ")
        separator = line[-1:]
        if not re.fullmatch(f"[{_SEPARATORS}]", separator):
            continue
        cells = line[:-1].split(separator)
        n_places = sum(1 for cell in cells if cell in _PLACE_HEADINGS)
        metrics = cells[n_places:]
        are_names = all(re.fullmatch(r"[^\d\s<>(){}\"'][^<>(){}\"']{1,80}", cell) for cell in metrics)
        values = text[end + 1 : end + 1 + _LONGEST_CANDIDATE].split("\n")[0].strip().split(separator)
        values = values[n_places : len(cells)]
        have_values = len(values) == len(metrics) and all(_METRIC_VALUE.fullmatch(value) for value in values)
        if metrics and are_names and have_values:
            return line, separator
    return None


def _read_metrics_alone(text: str) -> Readings:
    """Read ``perf stat --metric-only -x,``: a heading with names, and one line of values per interval and place."""
    heading_and_separator = _find_metric_heading(text)
    if heading_and_separator is None:
        raise FormatError(
            "the text has no line with a count and no heading of metrics. Record with "
            "`perf stat -I 1000 -x, -o FILE`."
        )
    heading, separator = heading_and_separator
    cells = heading[:-1].split(separator)
    names = [" ".join(cell.split()) for cell in cells if cell not in _PLACE_HEADINGS]
    before = [cell for cell in cells if cell in _PLACE_HEADINGS]
    other_lines = OtherLines()
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(STARTED):
            other_lines.starts[number] = line.removeprefix(STARTED)
        elif line.strip() and not line.startswith("#") and line.rstrip(" ") != heading:
            _read_metric_row(number, line, separator, before, names, other_lines)
    return read_lines("", [], lambda *_: None, other_lines)


def _read_metric_row(
    number: int, line: str, separator: str, before: list[str], names: list[str], other_lines: OtherLines
) -> None:
    """Read a line of values below a heading of metrics."""
    cells = [cell.strip() for cell in line.split(separator)]
    if len(cells) <= len(before) + len(names) - 1:
        other_lines.n_passed += 1
        return
    columns = dict(zip(before, cells, strict=False))
    values = cells[len(before) : len(before) + len(names)]
    time = columns.get("time", "")
    is_row = re.fullmatch(r"[0-9]{1,12}\.[0-9]{1,9}", time) or "time" not in columns
    if not is_row or not all(_METRIC_VALUE.fullmatch(value) or not value for value in values):
        raise_damaged(number, line, "a line of metrics of `perf stat -x --metric-only`")
    places = [columns[name] for name in before if name not in ("time", "cpus")]
    for name, value in zip(names, values, strict=True):
        other_lines.metrics.append(
            {
                "line": number,
                "time_s": float(time) if time else nan,
                "place": places[0] if places else "",
                "event": "",
                "value": float(value.rstrip("% ").replace(",", ".")) if value else nan,
                "name": name,
                "running": nan,
            }
        )
