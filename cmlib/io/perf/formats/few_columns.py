"""Intervals without running shares: what perf wrote before 3.19, and tools that keep time, count and name.

Three columns (time, count, event) or four (time, count, unit, event), of whole runs without the time, after header
lines that may say what raw codes stand for: ``Event 2 Label:  L1I_CACHE_REFILL  RAW Identifier:  r001``.

A row is a tuple: end of the interval [s] (str, None if not known), event, count (float, "<not counted>" or "<not
supported>"), running share (NaN: not known), unit. ParseError for a line of other columns.
"""

import math
import re

from cmlib.io.events import is_event
from cmlib.io.perf.formats.base import Format
from cmlib.io.perf.formats.lines import NO_SHARES, first_line, match_lines
from cmlib.io.perf.grammar import TIME, UNCOUNTED

_COUNT = rf"[0-9]{{1,300}}(?:\.[0-9]+)?|{UNCOUNTED}"
_ROW = re.compile(
    rf"^ *(?:({TIME})[,;\t|])?({_COUNT})([,;\t|])(?:(n/a|[A-Za-z%][A-Za-z0-9%/]*|)\3)?"
    r"([^\n\t;|0-9][^\n\t;|]*+|[^\s,;|]*/[^/]*+/)\s*+$"
)
_HEADING = re.compile(r"^(?:Start:.*|Event [0-9]+ Label:.*|\s*#.*|\s*)$")
_LABEL = re.compile(
    r"^Event [0-9]+ Label:[ \t]*+(\S++)[ \t]++RAW Identifier:[ \t]*+(r[0-9a-fA-F]++)[ \t\r]*+$", re.MULTILINE
)


class FewColumns(Format):
    """Reader of lines of three columns or four, the last a name of an event."""

    name, notes, lists_runs = "perf stat -x without running shares", (NO_SHARES,), True

    def recognises(self):
        """Whether the first line that is no heading has these columns, and a time or a known event."""
        row = _ROW.match(first_line(self.text, _HEADING))
        event = row[5].strip() if row else ","
        return "," not in re.sub(r"/[^/]*/", "", event) and bool(row[1] or is_event(event))

    def rows(self, interval_ms=None):
        """Yield a row for each line, without running shares (NaN), raw codes by their labels; ParseError for another
        line.

        `interval_ms` is not used.
        """
        names = {code: label for label, code in _LABEL.findall(self.text)}
        expected = "has not the columns of the lines before it: time, count, (unit,) event."
        for _, row in match_lines(self.text, _ROW, _HEADING, expected):
            time, count, _, unit, event = row.groups()
            event = event.strip()
            number = count if count.startswith("<") else float(count)
            yield time, names.get(event, event), number, math.nan, "" if unit in (None, "n/a") else unit
