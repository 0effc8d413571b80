"""A form in which counts come: what is asked of a text in it, and the answers that most forms share."""

import functools
import itertools
import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cmlib.io.perf.formats.lines import TIMED_ROW, as_number, as_table, as_unicode, first_line, with_times
from cmlib.io.perf.grammar import TIME, ParseError, run_starts

_HEADING = re.compile(r"\s*(?:#.*)?$")
_COUNTS = re.compile(r' *(?:[0-9]|<not |CPU[0-9]|[SN][0-9]|\{.*"counter-value")')
# Behind an event, by how much it varied between the runs of -r.
_VARIES = re.compile(r'[0-9]%[^\s\w]|"variance" *:')
_TIMED = re.compile(rf'^ *(?:\{{ *"interval" *: *)?({TIME})[^\n]*\n', re.MULTILINE)


@dataclass(frozen=True)
class Totals:
    """Counts of whole runs of one program.

    Attributes
    ----------
    text : str
        What they were read from.
    table : pyarrow.Table
        As of :meth:`Format.read`; ``time_s`` is the number of the run, from 1.
    command : str
        Empty where it is not told.
    seconds : tuple of float
        How long each run took; NaN where it is not told.
    heading : str
        What goes before `text`, once for all runs.
    remarks : tuple of str
    """

    text: str
    table: pa.Table
    command: str = ""
    seconds: tuple = (np.nan,)
    heading: str = ""
    remarks: tuple = ()


class Format:
    """A text in a form that is a class below this one.

    A form has :meth:`rows` of time, event, count or "<not …>", share and unit.

    Attributes
    ----------
    name : str
        Of the form, in messages.
    notes : tuple of str
        What was left out, added up or taken for granted in every text of it.
    lists_runs : bool
        Whether lines without times are counts of whole runs.
    counts_a_line : int
        How many a line holds at most.
    first_row_begins : bool
        Whether times are told since the first row's beginning, and not since the recording's.
    begin_ns : int or None
        When the first interval began, since 1970, where the times tell it.
    """

    name, notes, lists_runs = "", (), False
    counts_a_line, first_row_begins, begin_ns = 1, False, None

    def __init__(self, text):
        self.text = text

    def recognises(self):
        """Whether the text is in this form, by its first lines that hold something."""
        return True

    def read(self, interval_ms=None, columns=None):
        """The columns of :func:`cmlib.io.perf.parse_stat`, as a table of pyarrow's."""
        if columns:
            raise ParseError(f"line 1: columns can be chosen of a wide table only, and this is {self.name}.")
        return self.table(interval_ms)

    def table(self, interval_ms=None):
        """All rows."""
        return with_times(as_table(self.rows(interval_ms)))

    def remarks(self, columns=None):
        """Sentences on what was left out, added up or taken for granted."""
        return list(self.notes)

    def totals(self, columns=None, *, rows_are_runs=True):
        """Whole runs: where perf says that it started, or the list of events begins anew."""
        first = first_line(self.text, _HEADING)
        timed = TIMED_ROW.match(first) or '"interval"' in first
        if timed or not self.lists_runs or not _COUNTS.match(first):
            return
        for start, end in itertools.pairwise([*run_starts(self.text), len(self.text)]):
            piece = type(self)(as_unicode(self.text[start:end]))
            table = piece.read()
            if n := len(table):
                length = piece.run_length(table["event"].to_pylist())
                notes = piece.remarks()
                notes += ["Counts are means of several runs."] * bool(_VARIES.search(self.text, start, end))
                table = table.set_column(0, "time_s", pa.array(np.arange(n) // length + 1.0))
                yield Totals(
                    self.text[start:end], table, seconds=(np.nan,) * (n // length), remarks=tuple(notes)
                )

    @staticmethod
    def run_length(events):
        """After how many rows the list of events begins anew."""
        n = len(events)
        return next((k for k in range(1, n) if n % k == 0 and events == events[:k] * (n // k)), n)

    def run_starts(self):
        """Where each run begins in what ``perf stat --append`` has put together."""
        return run_starts(self.text)

    def at_place(self, place):
        """The text without the counts of all CPUs, cores, sockets or nodes but one."""
        raise ParseError(
            f"line 1: a place is chosen of counts a CPU, core, socket or node, and this is {self.name}."
        )

    @functools.cached_property
    def timed_lines(self):
        """Where each line with a time starts and ends, and its time [s]."""
        rows = ((line.start(), line.end(), as_number(line[1])) for line in _TIMED.finditer(self.text))
        lines = np.fromiter(rows, np.dtype("i8,i8,f8"))
        return [lines[field] for field in lines.dtype.names]
