"""Counts of one cgroup (``perf stat -G``), with its name behind each event's.

They are read as a table with the columns time_s [s], event, value, supported, running (0-1) and unit. ParseError for
counts of several cgroups, or a line of another form.
"""

import re

from cmlib.io.perf.formats.base import Format
from cmlib.io.perf.formats.lines import first_line
from cmlib.io.perf.formats.separated import Separated
from cmlib.io.perf.grammar import TIME, UNCOUNTED, ParseError, where

_HEADING = re.compile(r" *(?:#.*)?$")
# Perhaps time; count, unit and event; the cgroup, which is no number as the run time behind it is; run time and share.
_ROW = re.compile(
    rf"^( *(?:{TIME}[,;\t|])?(?:[0-9]+(?:[.,][0-9]+)?|{UNCOUNTED})([,;\t|])"
    r"[^\n,;\t|0-9<]*\2(?:[^\n,;\t|/]++|/[^\n/]*/)++)"
    r"\2(?![0-9.,]+%?\2)([^\n,;\t|]+)(?=\2[0-9]+\2[0-9]{1,3}[.,][0-9]{2}(?:\2|$))",
    re.MULTILINE,
)


class Cgroup(Format):
    """Reader of fields between separators, with a cgroup behind the event of the first line that is no comment."""

    name, lists_runs = "perf stat -G", True

    def recognises(self):
        """Whether the first line that is no comment has a cgroup."""
        return _ROW.match(first_line(self.text, _HEADING)) is not None

    def table(self, interval_ms=None):
        """Counts without the cgroup's name: a pyarrow.Table; ParseError if the text counts several cgroups.

        `interval_ms` is not used.
        """
        rows = _ROW.finditer(self.text)
        first = next(rows)
        if other := next((row for row in rows if row[3] != first[3]), None):
            raise ParseError(
                f"{where(self.text, other.start())} counts cgroup {other[3]}, and the first line cgroup {first[3]}. "
                "Keep the lines of one, or record one: `perf stat -I 100 -x, -o FILE -a -e EVENTS -G CGROUP`."
            )
        return Separated(_ROW.sub(r"\1", self.text)).table()

    def remarks(self, columns=None):
        """A sentence that names the cgroup, in a list; `columns` is not used."""
        return [f"Counts are those of cgroup {_ROW.search(self.text)[3]}."]
