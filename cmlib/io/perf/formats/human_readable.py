"""The table that `perf stat` prints for people, with and without ``-I``: a line an event, its count first.

A row is a tuple: end of the interval [s] (str, None without ``-I``), event, count (float, "<not counted>" or "<not
supported>"), running share (0-1), unit ("" for plain counts). ParseError for another line, or a count that no locale
writes so.
"""

import re

from cmlib.io.events import is_event
from cmlib.io.perf.formats.base import Format
from cmlib.io.perf.formats.lines import as_number, first_line, match_lines
from cmlib.io.perf.grammar import TIME, UNCOUNTED, ParseError, where

# A blank that cannot be broken is written in the locale's encoding, which need not be UTF-8.
_MARK = "[.,' \u00a0\u202f\ufffd\udca0]"
_COUNT = rf"[0-9]{{1,3}}(?: [0-9]{{3}})+(?:[.,][0-9]+)?|[0-9](?:[0-9]|(?! ){_MARK}(?=[0-9]))*|{UNCOUNTED}"
# Marks between digits are the locale's: 74,325,443 or, in India, 6,00,63,89,180, or by four, 1,4784,0455; a count with
# a unit has two decimals, and up to perf 4.20 six: 7.309,17 msec task-clock, 7.309,174663 task-clock (msec).
_NUMBER = re.compile(
    rf"([0-9]+|[0-9]{{1,3}}(?:({_MARK})[0-9]{{3}})(?:\2[0-9]{{3}})*|[0-9]{{1,4}}(?:,[0-9]{{4}})+"
    rf"|[0-9]{{1,2}}(?:({_MARK})[0-9]{{2}})+\3[0-9]{{3}})"
    r"(?:([.,])([0-9]{2}|[0-9]{6}))?"
)
_SHARE = r"[(\[] *+(100[.,]0++|[0-9]{1,2}[.,][0-9]++) *+%[)\]]"
_VARIATION = r"(?:\( *+\+-[^()]*+\))?"
_ROW = re.compile(
    rf"^ *+(?:({TIME}) ++)?({_COUNT}) ++(?:([A-Za-z%][^\s#(]*+) ++)?([^\s#(\[][^\s#]*+)(?: ticks\b)?"
    r"(?: \(([A-Za-z%/]++)\))?"
    rf" *+{_VARIATION} *+(?:#(?:[^\n ]| ++)*?)?(?: *+{_SHARE})? *+{_VARIATION} *+$"
)
_UNITS = {"msec", "nsec", "ns", "Joules", "Bytes", "KiB", "MiB", "GiB", "MB", "MiB/s", "%", "C", "W"}
# Clocks up to perf 3.14 are in milliseconds without saying so.
_IN_MS = re.compile(r".*[.,](?:[0-9]{2}|[0-9]{6}) (?:task|cpu)-clock(?:-msecs)?")
# Clocks of some versions of perf 6 are in nanoseconds without saying so.
_IN_NS = re.compile(r"(?:task|cpu)-clock(?::\w*)?")
# Further metrics of an event, behind the last of which stands its running share.
_METRICS = re.compile(rf"(?:\n *+(?:{TIME} ++)?(?:#|{_SHARE} *+$)[^\n]*+)*+", re.MULTILINE)
# What else such a table holds: headings, a metric or a share by itself, elapsed times.
_HEADING = re.compile(
    r"^\s*+(?:#.*|Performance counter stats for .*|.*(?<= )seconds (?:time elapsed|user|sys)\b.*|[0-9.,\s]++(?<=\s)#.*"
    rf"|(?:{TIME}\s+)?(?:(?:Top[dD]own|Pipeline)[^#]*)?#.*|{_SHARE}\s*+)?$"
)


def row_of(line):
    """Match of a line (str) of such a table that counts an event; None for another line.

    Its groups are time, count (as written), unit, event, unit behind the event, and running share [%]; None if
    missing.
    """
    row = _ROW.match(line)
    return row if row and (row[2][0] == "<" or _NUMBER.fullmatch(row[2])) else None


class HumanReadable(Format):
    """Reader of the rows of such a table below its headings."""

    name, lists_runs = "perf stat's table for people", True

    def recognises(self):
        """Whether the first line that is no heading is a row, without marks between fields."""
        row = _ROW.match(first_line(self.text, _HEADING))
        return bool(row and not re.search(r"[,;|\t]", row[4].split("/")[0]))

    def rows(self, interval_ms=None):
        """Yield a row for each line that counts an event, its running share 1 if none is printed; ParseError for
        another line.

        `interval_ms` is not used.
        """
        expected = (
            "is no line of the table that `perf stat` prints for whole programs. Metrics alone (--topdown) "
            "can't be read; keep perf's output apart from the program's: -o FILE."
        )
        for start, row in match_lines(self.text, _ROW, _HEADING, expected):
            time, count, unit, event, unit_behind, share = row.groups()
            if unit and is_event(f"{unit} {event}"):  # as perf of 2009 has them: cache misses
                unit, event = "", f"{unit}-{event}".lower()
            # A cgroup stands behind the event.
            elif unit and unit not in _UNITS and (is_event(unit) or not is_event(event)):
                unit, event = "", unit
            unit = unit or unit_behind or "msec" * bool(_IN_MS.fullmatch(f"{count} {event}"))
            event = event.removesuffix("-msecs")
            below = re.findall(_SHARE, _METRICS.match(self.text, start + row.end())[0])
            share = share or (below[-1] if below else None)
            count = count if count.startswith("<") else self._count(start, count, unit or "+-" in row[0])
            if _IN_NS.fullmatch(event) and not unit and isinstance(count, float):
                count, unit = count / 1e6, "msec"
            yield time, event, count, as_number(share) / 100 if share else 1.0, unit

    def _count(self, start, cell, decimals):
        """A count (float) of what a cell has, in any locale's marks; ParseError if that is no count.

        `decimals` are known of amounts of a unit, and of means.
        """
        number = _NUMBER.fullmatch(cell)
        if not number or (number[4] and not decimals) or number[4] in (number[2] or "-", number[3] or "-"):
            raise ParseError(f"{where(self.text, start)} has {cell!r} for a count, which no locale writes.")
        whole, *_, decimals = number.groups()
        return float(re.sub(_MARK, "", whole) + (f".{decimals}" if decimals else ""))
