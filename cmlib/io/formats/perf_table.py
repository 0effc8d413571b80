"""Read the table that `perf stat` prints by default, with totals or with one block of lines per interval."""

import itertools
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from math import nan
from typing import NamedTuple

import pandas as pd

from cmlib.io.formats.perf_lines import NOT_COUNTED, NOT_SUPPORTED, STARTED
from cmlib.io.formats.perf_locale import Locale, find_locale
from cmlib.io.formats.perf_runs import (
    Part,
    Table,
    leave_out_unnamed_kinds,
    make_programs,
    quote_line,
)
from cmlib.io.formats.readings import FormatError, Readings, ReadOptions, Run, make_counts, make_metrics

_TITLE = "Performance counter stats for "
_TITLE_LINE = re.compile(rf"[ \t]*{_TITLE}(?P<command>.*)")
_TITLE_END = re.compile(r"(?P<command>.*?)(?: \((?P<repeats>[0-9]{1,9}) runs\))?:[ \t]*")
_MOST_TITLE_LINES = 100
# #           time             counts unit events        #           time      %  tma_retiring %  tma_backend_bound
_INTERVAL_HEADING = re.compile(r"# {1,40}time (?P<columns>.*)")
_METRIC_NAME = re.compile(r"%|per cycle|GHz|retiring|bound|of all |cycles idle")
_PLACE_HEADINGS = re.compile(
    r" *(?:(?:CPU|core|die|cluster|cache|socket|node|comm-pid)(?: +cpus)?(?= ))?", re.IGNORECASE
)
# 10.021000000 seconds time elapsed        0.60689 +- 0.00213 seconds time elapsed  ( +-  0.35% )
_SECONDS = re.compile(
    r"[ \t]*(?P<seconds>[0-9]{1,12}[.,][0-9]{1,12})(?: \+- [0-9.,]{1,24})? {1,8}seconds "
    r"(?P<kind>time elapsed|user|sys)\b"
)
_TIME = re.compile(r"[0-9]{1,12}\.[0-9]{9} +")
_PLACE = re.compile(
    r"(?P<place>CPU[0-9]{1,6}|(?P<aggregate>[SN][0-9]{1,6}(?:-[A-Z]{1,4}[0-9]{1,6}){0,4})"
    r"|[A-Za-z_<(:/][^ \t]{0,60}-[0-9]{1,10}) +(?(aggregate)(?P<n_cpus>[0-9]{1,6}) +)(?=[0-9<])"
)
_MARKS = ".,'\u00a0\u202f\u2019\ufffd"
_COUNT = re.compile(
    rf"{NOT_COUNTED}|{NOT_SUPPORTED}|[0-9]++(?:[{_MARKS}][0-9]++| [0-9]{{3}}(?![0-9]))*+(?=[ \t]|$)"
)
_UNIT = re.compile(r"[A-Za-z%/\u00b0\u00b5]{1,10}")
_EVENT = re.compile(r"[A-Za-z_][^\s]{0,1000}")
_SHARE = re.compile(r"(?:scaled from )?(?P<share>[0-9]{1,3}[.,][0-9]{1,6})%")
_METRIC = re.compile(
    r"(?P<value>-?[0-9]{1,30}(?:[.,][0-9]{1,30})?|-?nan|-?inf)[ \t]*(?:(?P<percent>%)[ \t]*)?(?P<name>(?:\S.*)?)"
)
_VALUE = re.compile(r"(?P<value>-?[0-9]{1,30}(?:[.,][0-9]{1,30})?|-?nan|-?inf)(?P<percent>%?)")
_ROW_BEGIN = re.compile(r"[0-9]|<not ")
_METRIC_TAIL = re.compile(r"[a-z/]{1,20}(?: [a-z/]{1,20}){0,4}")
_CLOCK = re.compile(r"(?:task|cpu)-clock(?:-msecs)?(?::[A-Za-z]{1,8})?")
_INDIVIDUAL_TIMES, _END_OF_INDIVIDUAL_TIMES = "# Table of individual measurements", "# Final result"
_LONGEST_LINE = 2000  # characters
_COUNT_COLUMNS = ("time_s", "place", "event", "value", "supported", "running", "unit", "on_counter_s")
_METRIC_COLUMNS = ("time_s", "place", "event", "value", "name", "running")


class _Row(NamedTuple):
    """One count, in the spelling of the file."""

    line: int
    time_s: float
    place: str
    is_absent: bool
    written: str
    unit: str
    event: str
    cgroup: str


@dataclass
class _Table:
    """One table, with numbers in the spelling of the file.

    The list `running` has the running share of each row. A share can follow its row on another line.
    """

    command: str = ""
    repeats: int = 1
    started: str = ""
    first_line: int = 0
    last_line: int = 0
    is_timed: bool = False
    seconds: dict[str, str] = field(default_factory=dict)
    rows: list[_Row] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    metrics: list[dict[str, object]] = field(default_factory=list)
    decimals: list[str] = field(default_factory=list)
    names: list[str] | None = None


class PerfTable:
    """Reader of the default output of ``perf stat``.

    A file can contain several tables and other text. Tables with the same command and the same events are runs of one
    program. Numbers can be written in any locale.
    """

    name = "perf-table"
    recorded_by = "perf stat -o FILE -- COMMAND"
    sample = "tests/golden/formats/perf-table.txt"

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the text has a heading of perf with a row below it."""
        has_heading = _TITLE in text or ("#" in text and " time " in text)
        if not has_heading or "Wall-clock time elapsed" in text:
            return False
        lines = _split_lines(text)
        return any(_has_row(lines, block) for block in _find_blocks(lines))

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read all tables. FormatError if a row is damaged."""
        lines = _split_lines(text)
        reader = _Reader(lines)
        tables = [table for block in _find_blocks(lines) for table in reader.read_block(block)]
        tables, notes = _leave_out_summaries([table for table in tables if table.rows or table.metrics])
        if not tables:
            raise FormatError(
                "no table of perf stat has a row. Save perf's output in a file: perf stat -o FILE."
            )
        return _make_readings(lines, tables, notes)


class _Block(NamedTuple):
    """Line numbers of one table, or of the intervals below one heading."""

    command: str
    repeats: int
    heading: int
    begin: int
    end: int
    is_timed: bool


def _split_lines(text: str) -> list[str]:
    """Return the lines. Consecutive bytes that are not UTF-8 become one replacement character."""
    return re.sub("\ufffd+", "\ufffd", text).replace("\r\n", "\n").split("\n")


def _find_blocks(lines: list[str]) -> Iterator[_Block]:
    """Yield the block of each table.

    A table ends with its elapsed time. An incomplete table ends at the first blank line below a row. Intervals end at
    the next table.
    """
    titles = _find_titles(lines)
    intervals = _find_interval_headings(lines, titles)
    begins = sorted([*titles, *intervals])
    for heading, next_heading in itertools.pairwise([*begins, len(lines)]):
        if heading not in titles:
            yield _Block("", 1, heading, heading, next_heading, is_timed=True)
            continue
        command, repeats, begin = titles[heading]
        yield _Block(command, repeats, heading, begin, _find_end(lines, begin, next_heading), is_timed=False)


def _find_interval_headings(lines: list[str], titles: Container[int]) -> list[int]:
    """Return the line numbers of the headings of intervals. Repeated headings are ignored."""
    headings = []
    current = ""
    for number, line in enumerate(lines):
        if number in titles:
            current = ""
        elif line.startswith("# ") and line.rstrip() != current and _is_interval_heading(line):
            headings.append(number)
            current = line.rstrip()
    return headings


def _find_titles(lines: list[str]) -> dict[int, tuple[str, int, int]]:
    """Return the command, the number of runs and the next line of each title, keyed by line number."""
    titles = {}
    for number, line in enumerate(lines):
        title = _TITLE_LINE.match(line) if _TITLE in line and len(line) <= 100 * _LONGEST_LINE else None
        if not title:
            continue
        command, last = title["command"], number
        if not _TITLE_END.fullmatch(command):
            command, last = _join_title(lines, number, command)
        end = _TITLE_END.fullmatch(command)
        written = command[: end.end("command")] if end else command
        repeats = int(end["repeats"]) if end and end["repeats"] else 1
        titles[number] = (_unquote(written), repeats, last + 1)
    return titles


def _join_title(lines: list[str], number: int, command: str) -> tuple[str, int]:
    """Return a command of one or more lines, and the number of its last line."""
    for last in range(number + 1, min(number + _MOST_TITLE_LINES, len(lines))):
        if not lines[last].strip() or _TITLE in lines[last] or len(lines[last]) > 100 * _LONGEST_LINE:
            break
        if re.fullmatch(r".*'(?: \([0-9]{1,9} runs\))?:[ \t]*", lines[last]):
            return " ".join([command, *lines[number + 1 : last + 1]]), last
    return command.rstrip().removesuffix(":"), number


def _unquote(command: str) -> str:
    """Return a command without the quotation marks around it."""
    return command.removeprefix("'").removesuffix("'") if command.startswith("'") else command


def _is_interval_heading(line: str) -> bool:
    """Return True for the heading of intervals with counts or metrics."""
    heading = _INTERVAL_HEADING.match(line) if len(line) <= 100 * _LONGEST_LINE else None
    if not heading:
        return False
    columns = heading["columns"].rstrip()
    return columns.endswith((" events", "counts unit events")) or bool(_METRIC_NAME.search(columns))


def _find_end(lines: list[str], begin: int, end: int) -> int:
    """Return the number of the line after a table."""
    elapsed = [
        k for k in range(begin, end) if "seconds time elapsed" in lines[k] and _SECONDS.match(lines[k])
    ]
    if elapsed:
        last = elapsed[0]
        for number in range(last + 1, min(last + 6, end)):
            if _SECONDS.match(lines[number]):
                last = number
            elif lines[number].strip():
                break
        return last + 1
    has_row = False
    for number in range(begin, end):
        has_row = has_row or _is_like_row(lines[number])
        if has_row and not lines[number].strip():
            return number
    return end


def _is_like_row(line: str) -> bool:
    """Return True for a line that begins like a row of counts or metrics."""
    rest = line[:_LONGEST_LINE].strip()
    place = _PLACE.match(rest)
    return bool(_ROW_BEGIN.match(rest[place.end() :] if place else rest))


def _has_row(lines: list[str], block: _Block) -> bool:
    """Return True if a block has a row of counts or metrics."""
    for number in range(block.begin, block.end):
        rest = lines[number][:_LONGEST_LINE].strip()
        if block.is_timed:
            time = _TIME.match(rest)
            if time:
                return True
        elif _is_like_row(rest) and (_parse_row(number, nan, rest)[0] or _parse_values(rest)):
            return True
    return False


class _Reader:
    """Reader of the lines of blocks."""

    def __init__(self, lines: list[str]):
        self._lines = lines
        self._last_read = 0

    def read_block(self, block: _Block) -> Iterator[_Table]:
        """Yield the table of a block, or the runs of its intervals."""
        started = ""
        for number in range(self._last_read, block.heading):
            if self._lines[number].startswith(STARTED):
                started = self._lines[number].removeprefix(STARTED)
        self._last_read = block.end
        table = self._start_table(block, started, block.heading)
        is_individual = False
        for number in range(block.begin, block.end):
            line = self._lines[number]
            rest = line.strip()
            if _INDIVIDUAL_TIMES in line:
                is_individual = True
            elif is_individual and not _SECONDS.match(rest):
                is_individual = _END_OF_INDIVIDUAL_TIMES not in line
            elif block.is_timed:
                if line.startswith(STARTED):
                    started = line.removeprefix(STARTED)
                elif self._starts_run(table, number, rest):
                    yield table
                    table = self._start_table(block, started, number)
                self._read_timed_line(table, number, rest)
            elif rest:
                self._read_line(table, number, nan, rest)
        yield table

    def _start_table(self, block: _Block, started: str, first_line: int) -> _Table:
        """Return an empty table."""
        table = _Table(block.command, block.repeats, started, first_line, block.end, block.is_timed)
        if block.is_timed:
            heading = _INTERVAL_HEADING.match(self._lines[block.heading])
            columns = heading["columns"] if heading else ""
            if columns and not columns.rstrip().endswith(" events"):
                table.names = [_PLACE_HEADINGS.sub("", columns, count=1)]
        return table

    def _starts_run(self, table: _Table, number: int, rest: str) -> bool:
        """Return True if the time of a line is smaller than the last time, because a run begins."""
        if not _TIME.match(rest) or not (table.rows or table.metrics):
            return False
        times = [row.time_s for row in (table.rows[:1] + table.rows[-1:])]
        times = times or [float(str(metric["time_s"])) for metric in (table.metrics[0], table.metrics[-1])]
        time = float(rest.split()[0])
        if time >= times[-1]:
            return False
        if time > 2 * times[0]:
            raise FormatError(f"line {number + 1}: the time goes back to {time} s. Is the file damaged?")
        return True

    def _read_timed_line(self, table: _Table, number: int, rest: str) -> None:
        """Read a line below a heading of intervals. The line can be a repeated heading."""
        if rest.startswith("# ") and _is_interval_heading(self._lines[number]):
            return
        time = _TIME.match(rest)
        if time:
            self._read_line(table, number, float(time[0]), rest[time.end() :])
        elif rest and (rest[0] == "(" or (rest[0] == "#" and table.rows)):
            self._read_line(table, number, table.rows[-1].time_s if table.rows else nan, rest)

    def _read_line(self, table: _Table, number: int, time_s: float, rest: str) -> None:
        """Read a line of a table without its time."""
        seconds = _SECONDS.match(rest)
        if seconds:
            table.seconds[seconds["kind"]] = seconds["seconds"]
            table.decimals.append(seconds["seconds"])
            return
        if len(rest) <= _LONGEST_LINE:
            if table.names is not None and self._read_values(table, number, time_s, rest):
                return
            row, metrics, share = _parse_row(number + 1, time_s, rest)
            if row:
                table.rows.append(row)
                table.running.append(share)
            if row or metrics or (share and rest[0] in "(["):
                self._add_metrics(table, time_s, metrics, share)
                return
        if _is_like_row(rest):
            raise FormatError(
                f"line {number + 1} is not a row of perf's table: {quote_line(self._lines[number])}. Write "
                "perf's output to a separate file: -o FILE."
            )
        self._check_wrapped(number, rest)
        below = next((line for line in self._lines[number + 1 : number + 3] if line.strip()), "")
        if not table.is_timed and _parse_values(below[:_LONGEST_LINE]):
            table.names = [rest]

    def _check_wrapped(self, number: int, rest: str) -> None:
        """Raise FormatError for the end of a wrapped row. For example, e-mail programs wrap rows."""
        is_below_metric = "#" in self._lines[number - 1] and _METRIC_TAIL.fullmatch(rest[:_LONGEST_LINE])
        is_end = _peel_shares(rest[:_LONGEST_LINE])[0] != rest[:_LONGEST_LINE].rstrip()
        if is_below_metric or is_end:
            raise FormatError(
                f"line {number + 1} is the end of a row that was wrapped: {quote_line(self._lines[number])}. Save "
                "perf's own output: perf stat -o FILE."
            )

    def _add_metrics(
        self, table: _Table, time_s: float, metrics: list[dict[str, object]], share: str
    ) -> None:
        """Add the metrics of a line. Its running share also belongs to rows and metrics above without a share."""
        last_row = table.rows[-1] if table.rows else None
        for metric in metrics:
            metric["time_s"] = time_s
            if metric["event"] is None:
                metric["event"] = self._event_above(table)
            if not metric["place"] and last_row and metric["event"] == last_row.event:
                metric["place"] = last_row.place
            metric["cgroup"] = last_row.cgroup if last_row else ""
            metric["row"] = len(table.rows)
            table.metrics.append(metric)
            table.decimals.append(str(metric["value"]))
        if not share:
            return
        table.decimals.append(share)
        if table.running and not table.running[-1]:
            table.running[-1] = share
        for metric in reversed(table.metrics):
            if metric["running"] or metric["row"] != len(table.rows):
                break
            metric["running"] = share

    @staticmethod
    def _event_above(table: _Table) -> str:
        """Return the event of the metrics above, which a line of metrics continues. "" if not found."""
        is_continued = bool(table.metrics) and table.metrics[-1]["row"] == len(table.rows)
        return str(table.metrics[-1]["event"]) if is_continued else ""

    def _read_values(self, table: _Table, number: int, time_s: float, rest: str) -> bool:
        """Read a line of metrics below their names. Return False for another line."""
        place_and_values = _parse_values(rest)
        if place_and_values is None:
            return False
        place, values = place_and_values
        names = table.names or []
        if len(names) == 1:
            names = _split_names(names[0], len(values))
            table.names = names
        if len(names) != len(values):
            raise FormatError(
                f"line {number + 1} has {len(values)} metrics, and its heading {len(names)}: "
                f"{quote_line(self._lines[number])}."
            )
        for name, value in zip(names, values, strict=True):
            is_named = name.startswith("%") or not value["percent"]
            table.metrics.append(
                {
                    "time_s": time_s,
                    "place": place,
                    "cgroup": "",
                    "event": "",
                    "value": value["value"],
                    "name": name if is_named else f"% {name}",
                    "running": "",
                    "row": -1,
                }
            )
            table.decimals.append(value["value"])
        return True


def _parse_row(number: int, time_s: float, rest: str) -> tuple[_Row | None, list[dict[str, object]], str]:
    """Return the row in a line, its metrics and its running share.

    Absent parts are None, [] and "". Syntax of a line:
    [place [number of CPUs]] count [unit] event [cgroup] [# metric] [( +- variation )] [(share%)]
    """
    rest, share = _peel_shares(rest)
    row_text, *metric_texts = rest.split("#")
    metrics = []
    for metric_text in metric_texts:
        metric = _METRIC.fullmatch(metric_text.strip())
        name = " ".join(metric["name"].split()) if metric else ""
        if metric and not name:  # a line that was wrapped
            return None, [], ""
        if metric:
            name = f"% {name}" if metric["percent"] else name
            metrics.append(
                {"event": None, "place": "", "value": metric["value"], "name": name, "running": ""}
            )
    row_text = row_text.rstrip()
    place = _PLACE.match(row_text)
    written = row_text[place.end() :] if place else row_text
    count = _COUNT.match(written)
    if not count:
        title = " ".join(row_text.split())
        place = _PLACE.match(f"{title} 0") if title else None
        for metric in metrics:
            metric["event"] = None if place else title or None
            metric["place"] = place["place"] if place else ""
        is_title = not title or not _ROW_BEGIN.match(written)
        return None, metrics if is_title else [], share
    words = _split_words(written[count.end() :])
    if words is None or (place and place["aggregate"] and not place["n_cpus"]):
        return None, [], ""
    unit, event, cgroup = words
    for metric in metrics:
        metric["event"] = event
        metric["place"] = place["place"] if place else ""
    is_absent = bool(place and place["n_cpus"] == "0" and count[0].startswith("<"))
    row = _Row(number, time_s, place["place"] if place else "", is_absent, count[0], unit, event, cgroup)
    return row, metrics, share


def _peel_shares(rest: str) -> tuple[str, str]:
    """Remove the running share and the variation from the end of a line. Return the line and the share."""
    share = ""
    rest = rest.rstrip()
    while rest.endswith((")", "]")):
        start = max(rest.rfind("("), rest.rfind("["))
        content = rest[start + 1 : -1].strip()
        match = _SHARE.fullmatch(content)
        if match and not share:
            share = match["share"]
        elif not content.startswith("+-"):
            break
        rest = rest[: max(start, 0)].rstrip()
    return rest, share


def _split_words(text: str) -> tuple[str, str, str] | None:
    """Split the text after a count into unit, event and cgroup. None if it does not match.

    One blank precedes a unit. Several blanks precede an event.
    """
    words = text.split()
    if len(words) > 1 and re.fullmatch(r"\[[a-z_0-9]{1,40}\]", words[-1]):  # task-clock [software]
        words[-2:] = [f"{words[-2]} {words[-1]}"]
    is_unit_next = text.startswith(" ") and not text.startswith("  ")
    unit, cgroup = "", ""
    if len(words) == 2 and re.fullmatch(r"\([A-Za-z%/]{1,10}\)", words[1]):  # task-clock (msec)
        unit = words.pop()[1:-1]
    elif len(words) in (2, 3) and is_unit_next and _UNIT.fullmatch(words[0]):
        unit = words.pop(0)
    if len(words) == 2:
        cgroup = words.pop()
    if len(words) != 1 or not _EVENT.fullmatch(words[0]):
        return None
    if "=" in words[0] and "/" not in words[0]:  # such as faults=0A= in a quoted-printable e-mail
        return None
    return unit, words[0], cgroup


def _parse_values(line: str) -> tuple[str, list[re.Match]] | None:
    """Return the place and the values of a line of metrics without counts. None for another line."""
    rest = line.strip()
    place = _PLACE.match(rest)
    cells = (rest[place.end() :] if place else rest).split()
    values = [value for cell in cells if (value := _VALUE.fullmatch(cell))]
    if not cells or len(values) < len(cells):
        return None
    return (place["place"] if place else ""), values


def _split_names(heading: str, n_names: int) -> list[str]:
    """Split a heading of metrics into names. Several blanks or a ``%`` separate the names."""
    heading = re.sub(r"%[ \t]*", "  %", heading).strip()
    names = [" ".join(name.replace("%", "% ").split()) for name in re.split(r"[ \t]{2,}", heading)]
    if len(names) != n_names and len(heading.split()) == n_names:
        return heading.split()
    return names


def _is_summary(table: _Table, before: _Table) -> bool:
    """Return True if a table has the totals of the intervals in the previous table."""
    is_of_same_run = before.is_timed and not table.is_timed and not table.started
    return is_of_same_run and {row.event for row in table.rows} == {row.event for row in before.rows}


def _leave_out_summaries(tables: list[_Table]) -> tuple[list[_Table], list[str]]:
    """Drop tables of totals below the intervals of the same events (``--summary``)."""
    kept_tables, n_left_out = [], 0
    for table in tables:
        before = kept_tables[-1] if kept_tables else None
        if before is not None and _is_summary(table, before):
            before.command = before.command or table.command
            before.seconds = before.seconds or table.seconds
            n_left_out += 1
        else:
            kept_tables.append(table)
    notes = ["Totals that perf printed after the intervals were left out."] if n_left_out else []
    return kept_tables, notes


def _make_readings(lines: list[str], tables: list[_Table], notes: list[str]) -> Readings:
    """Convert tables to readings."""
    starts = [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    parts, count_rows, metric_rows = [], [], []
    for table in tables:
        locale = find_locale([(row.line, row.written, bool(row.unit)) for row in table.rows], table.decimals)
        cgroups = list(dict.fromkeys([row.cgroup for row in table.rows])) or [""]
        seconds = {kind: locale.read_decimal(written) for kind, written in table.seconds.items()}
        run = Run(
            seconds.get("time elapsed", nan), seconds.get("user", nan), seconds.get("sys", nan), table.started
        )
        span = (starts[table.first_line], min(starts[table.last_line], starts[-1] - 1))
        for cgroup in cgroups:
            number = len(parts)
            name = cgroup if len(cgroups) > 1 or cgroup else table.command
            parts.append(Part(name, run, table.repeats, span))
            for row, share in zip(table.rows, table.running, strict=True):
                if row.cgroup == cgroup:
                    count_rows.append(_convert_row(row, share, locale, number))
            for metric in table.metrics:
                if metric["cgroup"] == cgroup or len(cgroups) == 1:
                    metric_rows.append(_convert_metric(metric, locale, number))
    counts = _make_columns(count_rows, make_counts, _COUNT_COLUMNS)
    metrics = _make_columns(metric_rows, make_metrics, _METRIC_COLUMNS)
    counts, kind_notes = leave_out_unnamed_kinds(counts)
    programs, run_notes = make_programs(parts, counts, metrics)
    n_outside = _count_lines_outside(lines, tables)
    if n_outside:
        notes.append(f"Lines outside of perf's tables were left out: {n_outside:,}.")
    return Readings(programs, notes=(*notes, *kind_notes, *run_notes))


def _count_lines_outside(lines: list[str], tables: list[_Table]) -> int:
    """Count the lines outside of all tables. Blank lines and comments are not counted."""
    n_lines, end = 0, 0
    bounds = [(table.first_line, table.last_line) for table in tables]
    for begin, next_end in [*bounds, (len(lines), len(lines))]:
        n_lines += sum(1 for line in lines[end:begin] if line.strip() and line[0] != "#")
        end = max(end, next_end)
    return n_lines


def _convert_row(row: _Row, share: str, locale: Locale, part: int) -> dict[str, object]:
    """Convert a row to numbers.

    perf omits the running share of an event that was counted all the time. If perf also writes ``<not counted>``, the
    event was never enabled.
    """
    unit, value = row.unit, nan
    event = row.event.removesuffix("-msecs")
    if not row.written.startswith("<"):
        value, has_decimals = locale.read_count(row.written, row.line)
        if _CLOCK.fullmatch(row.event) and not unit:
            # Up to perf 3.14 in ms with decimals, in some versions of perf 6 in ns; both without saying so.
            value, unit = (value if has_decimals else value / 1e6), "msec"
    return {
        "time_s": row.time_s,
        "place": row.place,
        "event": event,
        "value": value,
        "supported": row.written != NOT_SUPPORTED and not row.is_absent,
        "running": locale.read_decimal(share) / 100 if share else 1.0,
        "unit": unit,
        "on_counter_s": 0.0 if row.written == NOT_COUNTED and not share else nan,
        "part": part,
    }


def _convert_metric(metric: dict[str, object], locale: Locale, part: int) -> dict[str, object]:
    """Convert a metric to numbers."""
    return {
        "time_s": metric["time_s"],
        "place": metric["place"],
        "event": metric["event"] or "",
        "value": locale.read_decimal(str(metric["value"])),
        "name": metric["name"],
        "running": locale.read_decimal(str(metric["running"])) / 100 if metric["running"] else nan,
        "part": part,
    }


def _make_columns(
    rows: list[dict[str, object]], make: Callable[[dict[str, object]], pd.DataFrame], columns: Sequence[str]
) -> Table:
    """Make columns of counts or metrics, with a column ``part``."""
    frame = pd.DataFrame(rows, columns=[*columns, "part"])
    part = frame.pop("part").to_numpy(int)
    made = make(dict(frame.items()))
    are_texts = {name: isinstance(dtype, pd.CategoricalDtype) for name, dtype in made.dtypes.items()}
    arrays = {
        name: made[name].array if is_text else made[name].to_numpy() for name, is_text in are_texts.items()
    }
    return {**arrays, "part": part}
