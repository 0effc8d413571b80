"""Base class of the readers of forms of counts, with the defaults that most of them share.

A :class:`Format` reads counts by interval; :class:`Totals` are the counts of whole runs. ParseError, which names the
line, for text that is not in the form.
"""

import functools
import itertools
import re
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from cmlib.io.perf.formats.lines import TIMED_ROW, as_number, as_table, as_unicode, first_line, with_times
from cmlib.io.perf.grammar import TIME, ParseError, run_starts, whose

_HEADING = re.compile(r"\s*(?:#.*)?$")
_COUNTS = re.compile(r' *(?:[0-9]|<not |CPU[0-9]|[SN][0-9]|\{.*"counter-value")')
# Variation between the runs of -r, which perf writes behind an event.
VARIES = re.compile(r'[0-9]%[!$&*+,:;=?@\\^|~]|"variance" *:|\( *\+- *[0-9]')
OF_SEVERAL = "Counts are means of several runs."
# Counts just below 2^64, in any locale's marks.
_WRAPPED = re.compile(r"(?<![\d.,])1(?:[.,' ]?\d){19}(?![\d.,])")
_LEFT_OUT = "Counts just below 2^64 are impossible, as of a difference below 0, and are left out: {}."
TIMED = re.compile(rf'^ *(?:\{{ *"interval" *: *)?({TIME})[^\n]*\n', re.MULTILINE)


@dataclass(frozen=True)
class Totals:
    """Counts of whole runs of one program, all of the same events.

    Attributes
    ----------
    text : str
        The lines that they were read from.
    table : pyarrow.Table
        A row a reading, with the columns of :func:`cmlib.io.perf.parse_stat`; ``time_s`` is the number of the run,
        from 1.
    command : str
        Command line of the program; empty if not known.
    seconds : tuple of float
        Length of each run [s]; NaN if not known.
    heading : str
        Lines to be put before `text`, once for all runs.
    remarks : tuple of str
        Sentences on what was left out, added up or assumed.
    titles : tuple of str
        What stands above it, the outermost first.
    printed : dict of str to float
        Levels and misses [%] that stand beside the counts in a table.
    """

    text: str
    table: pa.Table
    command: str = ""
    seconds: tuple = (np.nan,)
    heading: str = ""
    remarks: tuple = ()
    titles: tuple = ()
    printed: dict = field(default_factory=dict)


class Format:
    """Reader of a text in one form of counts; each form is a subclass.

    A subclass has a method ``rows(interval_ms=None)`` that yields tuples: end of the interval [s] (str or float, or
    None if not known), event, count (float, or "<not counted>" or "<not supported>"), running share (0-1, NaN if not
    known), unit ("" for plain counts). It raises a ParseError, which names the line, for text that is not in the
    form. Or it overrides :meth:`table`.

    Parameters
    ----------
    text : str
        The whole text.

    Attributes
    ----------
    name : str
        Name of the form in messages.
    notes : tuple of str
        Sentences on what is left out, added up or assumed in every text of the form.
    lists_runs : bool
        True if lines without times are counts of whole runs.
    counts_a_line : int
        Most counts in a line.
    first_row_begins : bool
        True if times are since the start of the first row's interval, not of the recording.
    begin_ns : int or None
        Start of the first interval in ns since 1970, if the times have it.
    """

    name, notes, lists_runs = "", (), False
    counts_a_line, first_row_begins, begin_ns = 1, False, None

    def __init__(self, text):
        self.text = text

    def recognises(self):
        """Whether the text is in this form, by its first lines that are no heading or comment."""
        return True

    def read(self, interval_ms=None, columns=None):
        """Counts of the text: a pyarrow.Table with the columns of :func:`cmlib.io.perf.parse_stat`, a row a reading.

        They are time_s [s], event, value (count), supported (bool), running (share, 0-1) and unit. `interval_ms` is
        the length of an interval where the text has no times. `columns` (dict of name to "count" or "level") is for
        wide tables only: ParseError elsewhere, and for text that is not in the form.
        """
        if columns:
            raise ParseError(f"line 1: columns can be chosen of a wide table only, and this is {self.name}.")
        table = self.table(interval_ms)
        is_wrapped = _is_wrapped(table["value"].to_numpy())
        for name in ("value", "running") if is_wrapped.any() else ():
            column = pa.array(np.where(is_wrapped, np.nan, table[name].to_numpy()))
            table = table.set_column(table.column_names.index(name), name, column)
        return table

    def table(self, interval_ms=None):
        """The pyarrow.Table of what :meth:`rows` yields, with the columns of :func:`cmlib.io.perf.parse_stat`.

        `interval_ms` (int or None) is the length of an interval where the text has no times.
        """
        return with_times(as_table(self.rows(interval_ms)))

    def remarks(self, columns=None):
        """List of sentences (str) on what was left out, added up or assumed in reading the text; `columns` as in
        :meth:`read`.
        """
        n = sum(_is_wrapped(float(re.sub(r"\D", "", count))) for count in _WRAPPED.findall(self.text))
        return [*self.notes, *[_LEFT_OUT.format(n)] * (n > 0)]

    def totals(self, columns=None, *, rows_are_runs=True):
        """Yield the Totals of whole runs; none if lines have times.

        A run begins at perf's "started on", or where the list of events is repeated. `columns` and `rows_are_runs`
        are for wide tables.
        """
        first = first_line(self.text, _HEADING)
        timed = TIMED_ROW.match(first) or '"interval"' in first
        if timed or not self.lists_runs or not _COUNTS.match(first):
            return
        runs = [*itertools.pairwise([*run_starts(self.text), len(self.text)])]
        whole = [(start, end) for start, end in runs if not TIMED_ROW.search(self.text, start, end)]
        for start, end in whole:
            piece = type(self)(as_unicode(self.text[start:end]))
            table = piece.read()
            if n := len(table):
                length = piece.run_length(table["event"].to_pylist())
                notes = piece.remarks()
                notes += [OF_SEVERAL] * bool(VARIES.search(self.text, start, end))
                notes += ["Counts by interval stand beside them, and are left out."] * (whole != runs)
                table = table.set_column(0, "time_s", pa.array(np.arange(n) // length + 1.0))
                command, titles = whose(self.text[start:end])
                seconds = (np.nan,) * (n // length)
                yield Totals(self.text[start:end], table, command, seconds, "", tuple(notes), titles)

    @staticmethod
    def run_length(events):
        """Number of rows after which the list of events (list of str) is repeated; that of all rows if it is not."""
        n = len(events)
        return next((k for k in range(1, n) if n % k == 0 and events == events[:k] * (n // k)), n)

    def run_starts(self):
        """Positions (list of int) in the text at which runs begin, as ``perf stat --append`` writes several."""
        return run_starts(self.text)

    def at_place(self, place):
        """Text (str) with the counts of one CPU, core, socket or node (`place`, its name) alone; ParseError if there
        is none.
        """
        raise ParseError(f"line 1: a place is chosen of counts a CPU, core or such, and this is {self.name}.")

    @functools.cached_property
    def timed_lines(self):
        """Three arrays: start and end in the text of each line that has a time, and its time [s]."""
        rows = ((line.start(), line.end(), as_number(line[1])) for line in TIMED.finditer(self.text))
        lines = np.fromiter(rows, np.dtype("i8,i8,f8"))
        return [lines[field] for field in lines.dtype.names]


def _is_wrapped(counts):
    """Whether counts (float, or an array) are just below 2^64."""
    return abs(counts - 2.0**64) < 1e12


class RunFormat(Format):
    """Reader of counts of whole runs, whose texts have no times: a subclass has a method :meth:`totals`."""

    def table(self, interval_ms=None):
        """The pyarrow.Table of all runs, without times (NaN); `interval_ms` is not used."""
        table = pa.concat_tables([as_table([]), *(run.table for run in self.totals())])
        return table.set_column(0, "time_s", pa.array(np.full(len(table), np.nan)))
