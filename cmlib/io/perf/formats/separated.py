"""What `perf stat -x` and `-j` write for one program."""

import re

import pyarrow as pa
import pyarrow.compute as pc

from cmlib.io.perf.grammar import ParseError, find_grammar, shown

NAME = "perf stat -x or -j"


def recognises(text):
    """Always: what no other form recognises is read so, or refused with the line."""
    return True


_LINE = re.compile("^.*$", re.MULTILINE)


def remarks(text, columns=None):
    """None: all is told."""
    return []


def read(text, interval_ms=None):
    """Read output of ``perf stat -x`` or ``-j`` for one program: as :func:`cmlib.io.perf.parse_stat`."""
    grammar = find_grammar(text)
    lines = grammar.line.findall(text) if grammar else []
    rows = [fields for fields in lines if fields[3]]
    if grammar and len(lines) <= text.count("\n"):
        _check_only_cut_off(text, grammar, bool(rows))
    fields = list(zip(*rows, strict=True)) or [()] * 5
    time, count, unit, event, share = (pa.array(field, pa.string()) for field in fields)
    counted = pc.invert(pc.starts_with(count, "<"))
    columns = {
        "time_s": _numbers(time),
        "event": event,
        "value": _numbers(pc.if_else(counted, count, "")),
        "supported": pc.not_equal(count, "<not supported>"),
        "running": pc.divide(_numbers(share), 100.0),
        "unit": unit,
    }
    frame = pa.table(columns).to_pandas()
    # `--summary` adds rows without a time that others have.
    timed = frame["time_s"].notna()
    return frame[timed].reset_index(drop=True) if timed.any() and not timed.all() else frame


def _check_only_cut_off(text, grammar, found_any):
    """Raise unless the only line that does not read is the last one, and has no end."""
    for line in _LINE.finditer(text):
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
    written = pc.replace_substring(pc.ascii_trim(column, " "), ",", ".")
    return pc.cast(pc.if_else(pc.equal(written, ""), "nan", written), pa.float64())
