"""Reading what `perf stat` wrote."""

import re

import pyarrow as pa
import pyarrow.compute as pc

from cmlib.perf.grammar import ParseError, find_grammar, run_starts, shown
from cmlib.perf.plain import read_plain

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


def parse_stat(text):
    """Read machine-readable output of `perf stat` (5.x and 6.x).

    Fields may be separated (``-x``) by comma, semicolon, tab or any other one
    character but a space, or come as JSON (``-j``); which it is, and whether
    the locale writes decimal commas, is found out. So are perf's table for people,
    files of three or four columns without running shares, and counts a CPU, core,
    socket or node, which are added up (:mod:`cmlib.perf.formats`). Comments, blank lines,
    totals printed after the intervals, and rows that hold only metrics or name
    no event are left out, and so is a last line that was cut off. Counts are as
    perf prints them: scaled up by the share of time the event was counted. With
    ``-r``, ``perf stat -I`` runs the program several times, and writes the intervals of one run.

    Parameters
    ----------
    text : str
        Output of ``perf stat -I`` (rows come with a time), or of ``perf stat``
        without it (the time is NaN).

    Returns
    -------
    DataFrame
        A row a counter and interval, in perf's order.

        time_s : float
            End of the interval since the start [s].
        event : str
            As perf writes it, with modifiers.
        value : float
            Count, or amount of `unit`; NaN for ``<not counted>`` and ``<not supported>``.
        supported : bool
            False for ``<not supported>``.
        running : float
            Share of the time enabled in which the event was counted, 0 to 1, as
            perf prints it: perf 6.x cuts it down to whole percents. Where an event
            is not counted, 0 means that it got no counter; 1 that nothing of the
            program ran, or that its count comes with the next interval's.
        unit : str
            Such as ``msec``; empty for plain counts.

    Raises
    ------
    ParseError
        On any other line, naming its number and content; also on counts a
        thread or cgroup, which don't belong to one program, on several runs in
        one file, and if no line counts an event.

    Examples
    --------
    >>> from pathlib import Path
    >>> text = Path("tests/golden/perf-6.1-zen5/mlpx.csv").read_text()
    >>> counts = parse_stat(text)
    >>> counts.loc[2, ["event", "value", "running"]].tolist()
    ['ic_tag_hit_miss.instruction_cache_miss', np.float64(83411798.0), np.float64(0.28)]
    """
    from cmlib.perf.formats import find_format

    text = _unicode(text).replace("\r\n", "\n")
    form = find_format(text)
    if form is None or form.__name__.endswith("per_place"):
        _check_is_one_run(text)
    return parse_rows(text) if form is None else form.read(text)


def parse_rows(text):
    """Read output of ``perf stat -x`` or ``-j`` for one program, with lines that end in a line feed."""
    grammar = find_grammar(text)
    chunks = _chunks(text, grammar) if grammar else []
    parts = [_columns(rows) for rows in chunks]
    return _without_totals(pa.concat_tables([_SCHEMA.empty_table(), *parts]).to_pandas())


def _check_is_one_run(text):
    starts = run_starts(text)
    if len(starts) > 1:
        raise ParseError(
            f"{shown(text, starts[1])} begins another run, as `perf stat --append` writes it. Split "
            "the file there, and "
            "read each part by itself, as `cmlib import` does."
        )


def _unicode(text):
    """Replace lone surrogates, which Python makes of bytes that are no text."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _chunks(text, grammar):
    """Yield the fields, as written, of all rows that count an event."""
    start, found_any = 0, False
    while start < len(text):
        end = text.find("\n", start + _CHUNK)
        end = len(text) if end < 0 else end
        rows = read_plain(text[start:end], grammar)
        if rows is None:
            rows = _read_any(text, grammar, start, end, found_any)
        found_any = found_any or len(rows) > 0
        yield rows
        start = end + 1


def _read_any(text, grammar, start, end, found_any):
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
