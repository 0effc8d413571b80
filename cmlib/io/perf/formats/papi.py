"""Counts of PAPI's events, a line each: ``PAPI_L1_LDM : 159958``, or ``"PAPI_L1_LDM":"159958",``; the rest is left
out.

The second is how PAPI's high-level interface writes a region.

They are read as Totals, the counts of whole runs. ParseError for a count that is no whole number.
"""

import itertools
import re

import numpy as np

from cmlib.io.perf.formats.base import RunFormat, Totals
from cmlib.io.perf.formats.lines import NO_SHARES, as_table, whole_count

_LINE = re.compile(
    r"^[ \t]*+\"?(PAPI_[A-Z0-9_]{2,40}|perf::TASK-CLOCK)\"?[ \t]*(?:[:=][ \t]*|[ \t])\"?"
    r"((?i:[+-]?(?:\d[^\s\",]*+|nan|inf(?:inity)?)"
    r"|true|false|null))\"?,?[ \t\r]*+$",
    re.MULTILINE,
)


class Papi(RunFormat):
    """Reader of lines of an event and its count, without times."""

    name, notes = "lines of PAPI's events", (NO_SHARES,)

    def recognises(self):
        """Whether the text has such a line."""
        return "PAPI_" in self.text and bool(_LINE.search(self.text))

    def totals(self, columns=None, *, rows_are_runs=True):
        """Yield Totals, the counts of a run, for each run; a run begins where an event comes again.

        ParseError for a count that is no whole number. `columns` and `rows_are_runs` are not used.
        """
        starts, runs = [0], [{}]
        for line in _LINE.finditer(self.text):
            if line[1] in runs[-1]:
                starts.append(line.start())
                runs.append({})
            count = whole_count(self.text, line.start(), line[2])
            is_clock = line[1].startswith("perf::")  # in ns
            row = ("task-clock", count / 1e6, np.nan, "msec") if is_clock else (line[1], count, np.nan, "")
            runs[-1][line[1]] = (1.0, *row)
        notes = (*self.notes, "A run, region or thread begins where an event is printed again.")
        for (start, end), rows in zip(itertools.pairwise([*starts, len(self.text)]), runs, strict=True):
            yield Totals(self.text[start:end], as_table(rows.values()), remarks=notes)
