"""What `perf stat -x` and `-j` write for one program."""

import re

import pyarrow as pa
import pyarrow.compute as pc

from cmlib.io.perf.grammar import ParseError, find_grammar, shown

NAME = "perf stat -x or -j"


def recognises(text):
    """Always: what no other form recognises is read so, or refused with the line."""
    return True


# Characters read at once.
_CHUNK = 1 << 23
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
    parts = [_columns(rows) for rows in chunks]
    return _without_totals(pa.concat_tables([_SCHEMA.empty_table(), *parts]).to_pandas())


def _chunks(text, grammar):
    """Yield the fields, as written, of all rows that count an event."""
    start, found_any = 0, False
    while start < len(text):
        end = text.find("\n", start + _CHUNK)
        end = len(text) if end < 0 else end
        rows = _fields_of(text, grammar, start, end, found_any)
        found_any = found_any or len(rows) > 0
        yield rows
        start = end + 1


def _fields_of(text, grammar, start, end, found_any):
    lines = grammar.line.findall(text, start, end)
    rows = [fields for fields in lines if fields[3]]
    if len(lines) != text.count("\n", start, end) + 1:
        _check_only_cut_off(text, grammar, start, end, found_any or bool(rows))
    columns = [pa.array([fields[k] for fields in rows], pa.string()) for k in range(len(_FIELDS))]
    return pa.table(columns, names=_FIELDS)


def _check_only_cut_off(text, grammar, start, end, found_any):
    """Raise unless the only line that does not read is the last one, and has no end."""
    for line in _LINE.finditer(text, start, end):
        cut_off = line.end() == len(text) and found_any
        if cut_off or grammar.line.fullmatch(line[0]):
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


def _columns(rows):
    """The columns of :func:`parse_stat` from the fields of some rows."""
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


def _numbers(column):
    """Read numbers with either decimal mark; NaN where there is none."""
    written = pc.replace_substring(pc.ascii_trim(column.cast(pa.string()), " "), ",", ".")
    return pc.cast(pc.if_else(pc.equal(written, ""), "nan", written), pa.float64())


def _without_totals(frame):
    """Drop rows without a time where others have one: `--summary` adds them up again."""
    timed = frame["time_s"].notna()
    return frame[timed].reset_index(drop=True) if timed.any() and not timed.all() else frame
