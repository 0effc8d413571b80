"""Read the CSV of ``perf stat -x`` before perf 3.19.

Lines have three or four columns: time, count, unit (optional) and event. Lines of totals have no time.
"""

import re
from math import isnan, nan

from cmlib.io.formats.delimited import HEADING_LIMIT
from cmlib.io.formats.readings import FormatError, Program, Readings, ReadOptions, make_counts
from cmlib.io.formats.vocabulary import is_known_event

_NOT_SUPPORTED = "<not supported>"
_UNCOUNTED = ("<not counted>", _NOT_SUPPORTED)


class PerfCsvOld:
    """Reader for lines whose last column is the event."""

    name = "perf-csv-old"
    recorded_by = "perf stat -I 1000 -x, of perf before 3.19; tools that keep its columns"
    sample = "tests/golden/formats/perf-csv-old.tsv"

    # 0.500360416<TAB>314148036<TAB>cycles     4.83,,msec,task-clock has no more columns     12345,cycles
    _ROW = re.compile(
        r" {0,40}(?:(?P<time>[0-9]{1,12}\.[0-9]{9})(?P<first>[,;\t|]))?"
        r"(?P<count>[0-9]{1,40}(?:\.[0-9]{1,20})?|<not counted>|<not supported>)(?P<separator>[,;\t|])"
        r"(?:(?P<unit>n/a|[A-Za-z%][A-Za-z0-9%/]{0,20}|)(?P=separator))?"
        r"(?P<event>[^\s\t;|,0-9][^\t;|,\n]{0,200}|[^\s,;|/]{1,80}/[^/\n]{1,200}/[a-zA-Z]{0,10})\s{0,40}"
    )
    # Event 2 Label:<TAB>L1I_CACHE_REFILL<TAB>RAW Identifier:<TAB>r001
    _LABEL = re.compile(
        r"Event [0-9]{1,4} Label:\s{1,40}(\S{1,200})\s{1,40}RAW Identifier:\s{1,40}(r[0-9a-fA-F]{1,16})\s{0,40}"
    )
    # Start:<TAB>1481219964017747737
    _START = re.compile(r"Start:\s{0,40}([0-9]{1,20}(?:\.[0-9]{1,20})?)\s{0,40}")
    _HEADING = re.compile(r"Start:.{0,200}|Event [0-9]{1,4} Label:.{0,600}|#.{0,2000}|\s{0,200}")
    _LONGEST_LINE = 2000

    @classmethod
    def _match(cls, line: str) -> re.Match | None:
        """Match a line with a count. None for other and for very long lines."""
        return cls._ROW.fullmatch(line) if len(line) <= cls._LONGEST_LINE else None

    @classmethod
    def _is_heading(cls, line: str) -> bool:
        """Return True for headings, comments and blank lines."""
        return len(line) <= cls._LONGEST_LINE and cls._HEADING.fullmatch(line) is not None

    @classmethod
    def sniff(cls, text: str) -> bool:
        """Return True if the first line below the headings has a count, and a time or a known event."""
        for line in text[:HEADING_LIMIT].splitlines():
            if cls._is_heading(line):
                continue
            row = cls._match(line)
            return row is not None and bool(row["time"] or is_known_event(row["event"].strip()))
        return False

    @classmethod
    def read(cls, text: str, options: ReadOptions) -> Readings:
        """Read the counts.

        Lines without times are totals. A smaller time or a repeated event name starts a new run. A heading
        ``Event n Label:`` names the event of a raw code.

        Raises
        ------
        FormatError
            If a line is damaged, some lines have times and others not, or no line with a count was found.
        """
        labels, begin_ns = {}, None
        rows, run_events, run, previous_time = [], set(), 1, -1.0
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            if cls._is_heading(line):
                if label := cls._LABEL.fullmatch(line):
                    labels[label[2]] = label[1]
                elif begin_ns is None and (start := cls._START.fullmatch(line)):
                    begin_ns = _parse_start(start[1])
                continue
            row = cls._match(line)
            has_time = row is not None and row["time"] is not None
            if row is None or (rows and has_time == isnan(rows[0][0])):
                if number == len(lines) and not text.endswith("\n"):
                    break  # the recording was cut off
                raise FormatError(
                    f"line {number} is not time, count, (unit,) event like the lines above: {line[:80]!r}."
                )
            event = row["event"].strip()
            time = float(row["time"]) if has_time else nan
            if (has_time and time < previous_time) or (not has_time and event in run_events):
                run, run_events = run + 1, set()
            previous_time = time
            run_events.add(event)
            is_counted = row["count"] not in _UNCOUNTED
            unit = row["unit"] if row["unit"] not in (None, "n/a") else ""
            value = float(row["count"]) if is_counted else nan
            rows.append((time, run, labels.get(event, event), value, row["count"] != _NOT_SUPPORTED, unit))
        if not rows:
            raise FormatError("no line with a count, for example 0.500360416,314148036,cycles, was found.")
        names = ("time_s", "run", "event", "value", "supported", "unit")
        counts = make_counts(dict(zip(names, zip(*rows, strict=True), strict=True)))
        return Readings((Program(counts),), begin_ns=begin_ns)


def _parse_start(cell: str) -> int:
    """Convert the start of a recording to nanoseconds since 1970. Numbers below 1e17 are seconds."""
    is_ns = "." not in cell and int(cell) >= 10**17
    return int(cell) if is_ns else round(float(cell) * 1e9)
