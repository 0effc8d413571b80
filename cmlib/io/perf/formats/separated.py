"""What `perf stat -x` and `-j` write for one program."""

import re

import pyarrow as pa
import pyarrow.compute as pc

from cmlib.io.perf.grammar import ParseError, find_grammar, shown
from cmlib.io.perf.plain import read_plain

NAME = "perf stat -x or -j"


def recognises(text):
    """Always: what no other form recognises is read so, or refused with the line."""
    return True


_CHUNK = 1 << 23  # characters
_LINE = re.compile("^.*$", re.MULTILINE)
_FIELDS = ["time", "count", "unit", "event", "share"]
_SCHEMA = pa.schema(
    {
        "time_s": pa.float64(),
        "event": pa.string(),
        "value": pa.float64(),
        "supported": pa.bool_(),
        "running": pa.float64(),
        "unit": pa.string(),
    }
)


def remarks(text, columns=None):
    """None: all is told."""
    return []


def read(text, interval_ms=None):
    """Read output of ``perf stat -x`` or ``-j`` for one program: as :func:`cmlib.io.perf.parse_stat`."""
    grammar = find_grammar(text)
    chunks = _chunks(text, grammar) if grammar else []
    frame = pa.concat_tables([_SCHEMA.empty_table(), *map(_columns, chunks)]).to_pandas()
    # `--summary` adds rows without a time that others have.
    timed = frame["time_s"].notna()
    return frame[timed].reset_index(drop=True) if timed.any() and not timed.all() else frame


def _chunks(text, grammar):
    """Fields, as written, of all rows that count an event; in chunks, as strings of Python take gigabytes."""
    start, found_any = 0, False
    while start < len(text):
        end = text.find("\n", start + _CHUNK)
        end = len(text) if end < 0 else end
        rows = read_plain(text[start:end], grammar)
        rows = _fields(text, grammar, start, end, found_any) if rows is None else rows
        found_any = found_any or len(rows) > 0
        yield rows
        start = end + 1


def _fields(text, grammar, start, end, found_any):
    lines = grammar.line.findall(text, start, end)
    rows = [fields for fields in lines if fields[3]]
    if len(lines) <= text.count("\n", start, end):
        _check_only_cut_off(text, grammar, start, end, found_any or bool(rows))
    columns = [pa.array([fields[k] for fields in rows], pa.string()) for k in range(len(_FIELDS))]
    return pa.table(columns, names=_FIELDS)


def _columns(rows):
    counted = pc.invert(pc.starts_with(rows["count"], "<"))
    values = [
        _numbers(rows["time"]),
        rows["event"].cast(pa.string()),
        _numbers(pc.if_else(counted, rows["count"], "")),
        pc.not_equal(rows["count"], "<not supported>"),
        pc.divide(_numbers(rows["share"]), 100.0),
        rows["unit"].cast(pa.string()),
    ]
    return pa.table(values, _SCHEMA)


def _check_only_cut_off(text, grammar, start, end, found_any):
    """Raise unless the only line that does not read is the last one, and has no end."""
    for line in _LINE.finditer(text, start, end):
        if grammar.line.fullmatch(line[0]) or (line.end() == len(text) and found_any):
            continue
        if grammar.spread.match(line[0]):
            raise ParseError(
                f"{shown(text, line.start())} counts one thread or cgroup of several. Record whole programs: "
                "`perf stat -I 100 -x, -o FILE -- COMMAND`, without --per-thread, --for-each-cgroup."
            )
        raise ParseError(
            f"{shown(text, line.start())} is no line that `perf stat` writes in this format. Keep perf's output apart "
            "from the program's (-o FILE), one run and one format a file."
        )


def _numbers(column):
    """Read numbers with either decimal mark; NaN where there is none."""
    written = pc.replace_substring(pc.ascii_trim(column.cast(pa.string()), " "), ",", ".")
    return pc.cast(pc.if_else(pc.equal(written, ""), "nan", written), pa.float64())
