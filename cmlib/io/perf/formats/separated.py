"""What `perf stat -x` (fields between separators) and `-j` (JSON) write for one program.

They are read as a table with the columns time_s [s] (NaN without ``-I``), event, value (NaN if not counted),
supported, running (0-1) and unit. ParseError for another line but a last one that is cut off, and for counts of one
thread or cgroup of several.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

from cmlib.io.perf.formats.base import Format
from cmlib.io.perf.formats.lines import SCHEMA, with_times
from cmlib.io.perf.grammar import ParseError, find_grammar, where

_CHUNK = 1 << 23  # characters
_LINE = re.compile("^.*$", re.MULTILINE)
_FIELDS = ["time", "count", "unit", "event", "share"]


class Separated(Format):
    """Reader of fields between separators, or JSON: what no other form recognises is read so, or refused with the
    line.
    """

    name, lists_runs = "perf stat -x or -j", True

    def table(self, interval_ms=None):
        """Counts as a pyarrow.Table; `interval_ms` is not used.

        ParseError for a line that perf does not write, or that counts one thread or cgroup.
        """
        grammar = find_grammar(self.text)
        chunks = _chunks(self.text, grammar) if grammar else []
        return with_times(pa.concat_tables([SCHEMA.empty_table(), *map(_columns, chunks)]))


def _chunks(text, grammar):
    """Yield pyarrow.Tables of the fields, as written, of all rows that count an event.

    In chunks, as strings of Python take gigabytes.
    """
    start, found_any = 0, False
    while start < len(text):
        end = text.find("\n", start + _CHUNK)
        end = len(text) if end < 0 else end
        rows = _fields(text, grammar, start, end, found_any)
        found_any = found_any or len(rows) > 0
        yield rows
        start = end + 1


def _fields(text, grammar, start, end, found_any):
    """pyarrow.Table of the fields, as written, of the rows between two positions.

    `found_any`: whether earlier chunks have rows, after which a last line may be cut off.
    """
    lines = grammar.findall(text, start, end)
    rows = [fields for fields in lines if fields[3]]
    if len(lines) <= text.count("\n", start, end):
        _check_only_cut_off(text, grammar, start, end, found_any or bool(rows))
    columns = [pa.array([fields[k] for fields in rows], pa.string()) for k in range(len(_FIELDS))]
    return pa.table(columns, names=_FIELDS)


def _columns(rows):
    """pyarrow.Table with the columns of SCHEMA, of one with the fields as written."""
    counted = pc.invert(pc.starts_with(rows["count"], "<"))
    values = [
        _numbers(rows["time"]),
        rows["event"],
        _numbers(pc.if_else(counted, rows["count"], "")),
        pc.not_equal(rows["count"], "<not supported>"),
        pc.divide(_numbers(rows["share"]), 100.0),
        rows["unit"],
    ]
    return pa.table(values, SCHEMA)


def _check_only_cut_off(text, grammar, start, end, found_any):
    """Raise ParseError unless the only line that can't be read is the last one, and has no end."""
    for line in _LINE.finditer(text, start, end):
        if not grammar.fullmatch(line[0]) and (line.end() < len(text) or not found_any):
            raise ParseError(
                f"{where(text, line.start())} is no line that `perf stat` writes in this format. Keep perf's output "
                "apart from the program's (-o FILE), one run and one format a file, and record whole programs, "
                "without --per-thread, --for-each-cgroup."
            )


def _numbers(column):
    """Numbers (pyarrow array of float) of a column of texts with either decimal mark; NaN where a text is empty."""
    written = pc.replace_substring(pc.ascii_trim(column, " "), ",", ".")
    return pc.cast(pc.if_else(pc.equal(written, ""), "nan", written), pa.float64())
