"""Read separated output of perf quickly, if all its lines have the usual eight fields.

:func:`read_plain` gives None for text of another form, which regular expressions read then.
"""

import io
import re

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

_TEXT = pa.dictionary(pa.int32(), pa.string())
_TYPES = {
    "time": _TEXT,
    "count": pa.string(),
    "unit": _TEXT,
    "event": _TEXT,
    "runtime": pa.string(),
    "share": _TEXT,
}
_UNUSED = ["metric", "metric_unit"]


def read_plain(text, grammar):
    """Read lines of [time] count unit event runtime share metric metric-unit.

    Parameters
    ----------
    text : str
        Whole lines.
    grammar : cmlib.io.perf.grammar.Grammar
        Grammar of the file. All lines that are read here match it; this function is only faster.

    Returns
    -------
    pyarrow.Table or None
        Columns time, count, unit, event and share, as written (no time without
        ``-I``: empty). None if a line that counts something has another form.
    """
    first = next((match for match in grammar.line.finditer(text) if match[4]), None)
    if not grammar.separator or first is None or "\r" in text:
        return None
    names = [name for name in _TYPES if name != "time" or first[1]] + _UNUSED
    if first[0].count(grammar.separator) != len(names) - 1:
        return None
    try:
        table = _read(text.encode(), grammar, names)
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return None
    table = table.filter(pc.not_equal(table["count"], ""))
    if not _is_plain(table, grammar):
        return None
    table = table.filter(pc.not_equal(table["event"].cast(pa.string()), ""))
    return table if first[1] else table.append_column("time", pa.repeat("", len(table)))


def _read(encoded, grammar, names):
    """pyarrow.Table of the text's fields, as str; pyarrow.ArrowInvalid for lines of another form that have a count."""

    def without_count(row):
        """What to do with a row of another number of fields: "skip" if it has no count, else "error"."""
        match = grammar.line.fullmatch(row.text)
        return "skip" if match and not match[4] else "error"

    return csv.read_csv(
        io.BytesIO(encoded),
        csv.ReadOptions(column_names=names, block_size=len(encoded) + 1, use_threads=False),
        csv.ParseOptions(delimiter=grammar.separator, quote_char=False, invalid_row_handler=without_count),
        csv.ConvertOptions(column_types=_TYPES, include_columns=names[: -len(_UNUSED)]),
    )


def _is_plain(table, grammar):
    """Whether every field of a table has the form that the grammar asks for."""
    decimal = re.escape(grammar.decimal)
    forms = {
        "time": "^ *[0-9]{1,12}[.,][0-9]{9}$",
        "count": f"^ *([0-9]{{1,300}}({decimal}[0-9]+)?|<not counted>|<not supported>)$",
        "unit": "^([^0-9]|$)",
        "event": "^([^/]|/[^/]*/)*$" if grammar.separator == "," else "",
        "runtime": "^[0-9]+$",
        "share": f"^(100{decimal}00|[0-9]{{1,2}}{decimal}[0-9]{{2}})$",
    }
    if "time" in table.column_names:
        forms["count"] = forms["count"].replace("^ *", "^")
    return all(
        pc.all(pc.match_substring_regex(values, forms[name]), min_count=0).as_py()
        for name in table.column_names
        for values in _distinct(table[name])
    )


def _distinct(column):
    """List of the chunks of a column; of a dictionary-encoded one, of its distinct values."""
    return [chunk.dictionary if column.type == _TEXT else chunk for chunk in column.chunks]
