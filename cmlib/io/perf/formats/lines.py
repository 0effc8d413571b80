"""Lines and cells of counts, and the rows that forms make of them.

:func:`as_table` makes of rows (time, event, count, share, unit) the table that all forms give, with the columns
time_s [s], event, value, supported, running (0-1) and unit. ParseError, which names the line, for lines and cells of
another form.
"""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cmlib.io.perf.grammar import TIME, ParseError, where

_HEAD = 10_000  # characters among which the first line that is no heading is looked for
# Cells that are always laid out as a table; beyond these, so many for each count.
_ALWAYS, _MOST_CELLS_A_COUNT = 500_000, 4
SCHEMA = pa.schema(
    {
        "time_s": pa.float64(),
        "event": pa.string(),
        "value": pa.float64(),
        "supported": pa.bool_(),
        "running": pa.float64(),
        "unit": pa.string(),
    }
)
NO_SHARES = (
    "The file tells no running shares: for how much of the time an event was counted, and how much was extrapolated, "
    "is not known."
)
TIMED_ROW = re.compile(rf"^ *{TIME}(?! (?:\+-|\(|seconds))", re.MULTILINE)


def first_line(text, heading):
    """The first line (str) of a text that the pattern `heading` does not match; "" if there is none in 10,000
    characters.
    """
    return next((line for line in text[:_HEAD].split("\n") if not heading.match(line)), "")


def match_lines(text, row, heading, expected):
    """Yield (start in the text, match of `row`) for every line that the pattern `heading` does not match.

    ParseError, whose message ends with `expected`, for a line that `row` does not match; a last one may be cut off.
    """
    start = 0
    for line in text.split("\n"):
        if not heading.match(line):
            if match := row.match(line):
                yield start, match
            elif start + len(line) < len(text):
                raise ParseError(f"{where(text, start)} {expected}")
        start += len(line) + 1


def whole_count(text, start, cell):
    """A count (int) as counters hold it, of a `cell` in the line that begins at `start`; ParseError for any other
    text.
    """
    if not re.fullmatch("[0-9]{1,20}", cell):
        raise ParseError(f"{where(text, start)} has {cell[:40]!r} for a count: no whole number up to 10^20.")
    return int(cell)


def as_unicode(text):
    """The text with replacement characters for lone surrogates, which Python makes of bytes that are no text."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def as_number(text):
    """A number (float) of a text with either decimal mark."""
    return float(text.replace(",", "."))


def as_table(rows):
    """A pyarrow.Table with the columns of :func:`cmlib.io.perf.parse_stat`: time_s, event, value, supported, and so on.

    `rows` are tuples: time (None if not known), event, count (number, "<not counted>" or "<not supported>"), running
    share and unit. Where nothing was counted, the value is NaN and the share 0.
    """
    rows = list(rows)
    times, events, counts, shares, units = zip(*rows, strict=True) if rows else ((),) * 5
    columns = [
        [as_number(str(time)) if time else np.nan for time in times],
        [as_unicode(event) for event in events],
        [np.nan if isinstance(count, str) else float(count) for count in counts],
        [count != "<not supported>" for count in counts],
        [0.0 if isinstance(count, str) else share for count, share in zip(counts, shares, strict=True)],
        units,
    ]
    return pa.table(columns, SCHEMA)


def with_times(table):
    """The `table` (a pyarrow.Table) without rows that have no time, if others have one; else unchanged.

    Such rows are totals behind intervals.
    """
    timed = pc.is_finite(table["time_s"])
    return table.filter(timed) if pc.any(timed).as_py() else table


def check_density(n_intervals, n_events, n_counts):
    """Raise ParseError before a table is made that is far larger than what was counted.

    It is if `n_intervals` times `n_events` are more than 500,000 and more than four times `n_counts`.
    """
    if n_intervals * n_events > max(_ALWAYS, _MOST_CELLS_A_COUNT * n_counts):
        raise ParseError(
            f"line 1: {n_intervals:,} intervals of {n_events:,} events would have {n_intervals * n_events:,} counts, "
            f"and the file has {n_counts:,}: each event is there in few intervals only. Is it output of one recording?"
        )
