"""Counts a CPU, core, die, socket, node or thread (``perf stat -A``, ``--per-…``), each called a place, added up.

They are read as a table with the columns time_s [s], event, value, supported, running (0-1) and unit. ParseError for
a line of another form, or a place that is not there.
"""

import re

import pyarrow as pa

from cmlib.io.perf.formats.base import Format
from cmlib.io.perf.formats.human_readable import HumanReadable
from cmlib.io.perf.formats.lines import SCHEMA
from cmlib.io.perf.formats.separated import Separated
from cmlib.io.perf.grammar import TIME, ParseError

# With -A a CPU; with --per-… a place, and the number of CPUs in it; with --per-thread its name and number.
_THREAD = r"[A-Za-z_][\w./:@+()\[\]#-]{0,40}-[0-9]{1,10}"
_MARK = r"(?:[,;\t|!]| +(?=[0-9<]))"  # blanks in the table for people
_PLACE = re.compile(
    rf"^( *(?:{TIME}(?:[,;\t|!]| +))?)"
    rf"(?:CPU[0-9]+|[SN][0-9]+(?:-[A-Z]+[0-9]+)*{_MARK}[0-9]+|{_THREAD}(?={_MARK}[0-9<])){_MARK}",
    re.MULTILINE,
)
_NAME = re.compile(rf"CPU[0-9]+|[SN][0-9]+(?:-[A-Z]+[0-9]+)*|{_THREAD}")
_KEY = re.compile(
    r'"(?:cpu|core|cluster|cache|die|socket|node|thread)" *: *"([^"\n]*)" *, *'
    r'(?:"(?:aggregate-number|counters)" *: *[0-9]+ *, *)?'
)
_ABSENT = re.compile(r"(?<=[ ,;\t|]0)([ ,;\t|]++)<not counted>")  # on no CPU of a place
_DATA = re.compile(r"^ *[^ #\n][^\n]*", re.MULTILINE)


class PerPlace(Format):
    """Reader of lines that name a place before their count; counts are added up over all places."""

    name, lists_runs = "perf stat -A or --per-…", True

    def recognises(self):
        """Whether the first line that is no comment names a place."""
        first = _DATA.search(self.text)
        return first is not None and _place_of(first[0]) is not None

    def table(self, interval_ms=None):
        """Counts over all places: a pyarrow.Table, its running shares the mean of the places'; `interval_ms` is not
        used.

        An event that was not counted at one place is not counted, with share 0; places that do not support it are
        left out.
        """
        there = _ABSENT.sub(r"\1<not supported>", self.text)
        bare = _KEY.sub("", _PLACE.sub(r"\1", there))
        form = HumanReadable(bare)
        rows = (form if form.recognises() else Separated(bare)).table().to_pandas()
        rows["missing"] = rows["supported"] & rows["value"].isna()
        rows["running"] = rows["running"].where(rows["supported"])
        by = rows.groupby(["time_s", "event"], sort=False, dropna=False)
        added = by.agg({"supported": "any", "running": "mean", "unit": "first", "missing": "any"})
        added["value"] = by["value"].sum(min_count=1).mask(added["missing"])
        added["running"] = added["running"].fillna(0.0).mask(added["missing"], 0.0)
        return pa.Table.from_pandas(added.reset_index()[SCHEMA.names], SCHEMA)

    def remarks(self, columns=None):
        """A sentence, in a list, that names the place, or says how many are added up; `columns` is not used."""
        places = list(dict.fromkeys(filter(None, map(_place_of, self.text.split("\n")))))
        if len(places) == 1:
            return [f"Counts are those of {places[0]}."]
        return [f"Counts of {len(places)} places, {places[0]} to {places[-1]}, are added up."]

    @staticmethod
    def run_length(events):
        """Number of all rows: each is one of several places, so that repeated events are no further run."""
        return len(events)

    def at_place(self, place):
        """Text (str) with the counts of one place (its name, such as ``CPU3``) alone; ParseError if no line names
        it.
        """
        lines = self.text.splitlines(keepends=True)
        places = [_place_of(line) for line in lines]
        if place not in places:
            known = list(dict.fromkeys(filter(None, places)))
            raise ParseError(f"line 1: no line counts {place!r}; there are {', '.join(known[:100])}.")
        return "".join(line for line, at in zip(lines, places, strict=True) if at in (None, place))


def _place_of(line):
    """The place (str) that a line counts; None for a comment and the like."""
    if line.lstrip().startswith("{"):
        key = _KEY.search(line)
        return key[1] if key else None
    written = _PLACE.match(line)
    return _NAME.search(written[0])[0] if written else None
