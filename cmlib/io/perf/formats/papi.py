"""Counts of PAPI's events, a line each: ``PAPI_L1_LDM : 159958``, or ``"PAPI_L1_LDM":"159958",``; the rest is left
out.

The second is how PAPI's high-level interface writes a region.

A row is a tuple: time (None), event, count (int), running share (NaN: not known), unit (""); Totals are the counts of
whole runs. ParseError for a count that is no whole number.
"""

import itertools
import re

import numpy as np

from cmlib.io.perf.formats.base import Format, Totals
from cmlib.io.perf.formats.lines import NO_SHARES, as_table, whole_count

_LINE = re.compile(
    r"^[ \t]*+\"?(PAPI_[A-Z0-9_]{2,40})\"?[ \t]*(?:[:=][ \t]*|[ \t])\"?((?i:[+-]?(?:\d[^\s\",]*+|nan|inf(?:inity)?)"
    r"|true|false|null))\"?,?[ \t\r]*+$",
    re.MULTILINE,
)


class Papi(Format):
    """Reader of lines of an event and its count, without times."""

    name, notes = "lines of PAPI's events", (NO_SHARES,)

    def recognises(self):
        """Whether the text has such a line."""
        return "PAPI_" in self.text and bool(_LINE.search(self.text))

    def rows(self, interval_ms=None):
        """Yield a row for each line, without time (None) and running share (NaN); ParseError for a count that is no
        whole number.

        `interval_ms` is not used.
        """
        for line in _LINE.finditer(self.text):
            yield None, line[1], whole_count(self.text, line.start(), line[2]), np.nan, ""

    def totals(self, columns=None, *, rows_are_runs=True):
        """Yield Totals, the counts of a run, for each run; a run begins where an event comes again.

        `columns` and `rows_are_runs` are not used.
        """
        starts, runs = [0], [{}]
        for line, row in zip(_LINE.finditer(self.text), self.rows(), strict=True):
            if line[1] in runs[-1]:
                starts.append(line.start())
                runs.append({})
            runs[-1][line[1]] = (1.0, *row[1:])
        notes = (*self.notes, "A run, region or thread begins where an event is printed again.")
        for (start, end), rows in zip(itertools.pairwise([*starts, len(self.text)]), runs, strict=True):
            yield Totals(self.text[start:end], as_table(rows.values()), remarks=notes)
