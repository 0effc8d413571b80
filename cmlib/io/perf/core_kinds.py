"""Split a file of counts by kind of core, for processors that have several kinds, such as Intel's P- and E-cores.

Kinds are called by the PMU (performance monitoring unit) in perf's names of their events: ``cpu_core``, ``cpu_atom``.
ParseError if more than eight kinds are counted.
"""

import re

import pandas as pd

from cmlib.io.events import CORE_EVENT
from cmlib.io.perf.formats import find_format
from cmlib.io.perf.formats.cells import NOT_COUNTED
from cmlib.io.perf.formats.lines import as_unicode
from cmlib.io.perf.formats.wide import Wide
from cmlib.io.perf.grammar import TIME, ParseError

_KIND = re.compile(rf"(?<![\w/.-]){CORE_EVENT.pattern}")

# Each PMU's name has one of these; finding them is ten times as fast as the regular expression.
_WORDS = ("core", "atom", "lowpower", "armv", "apple")
_MOST_KINDS = 8
_KIND_OF_METRIC = re.compile(r"\((cpu_(?:core|atom|lowpower))\)[\s\"}]*(?:#.*)?$")
_KIND_OF_TOPLEV = re.compile(r"^ *(?:S\d\S* +)?(core|atom|lowpower)[ ,;]+\S+[ ,;].*% *Slots")
# Beginning of a line that has a metric and no count: behind `#`, with empty fields in front, or in JSON.
_METRIC = re.compile(
    rf" *+(?:{TIME})?(?:(?<=\s)#|\s++#|([,;\t|])\1{{2}}|\{{ *(?:\"interval\" *: *[0-9.]+ *, *)?\"metric-value)"
)


def by_kind_of_core(text):
    """Split perf's or toplev's output (str) by kind of core: a dict of PMU, such as ``cpu_atom``, to a part of the
    text.

    A part has the lines of that kind and those of no kind. If lines name fewer than two kinds, or none has a count,
    it is {"": text}; if they name several and only one has counts, {"": its part}. ParseError if more than eight have
    counts.
    """
    if not any(word in text for word in _WORDS):
        return {"": text}
    form = find_format(text)
    if form.counts_a_line > 1:
        return _columns_by_kind(text) if isinstance(form, Wide) else {"": text}
    lines = text.splitlines(keepends=True)
    kinds = []
    for line in lines:  # a line with a metric alone belongs to the kind of core of the line above it
        named, above = _KIND.search(line) or _KIND_OF_METRIC.search(line), kinds[-1] if kinds else ""
        if toplev := _KIND_OF_TOPLEV.search(line):
            kinds.append(f"cpu_{toplev[1]}")
        else:
            kinds.append(named[1] if named else above if _METRIC.match(line) else "")
    counted = dict.fromkeys(
        kind for kind, line in zip(kinds, lines, strict=True) if kind and "<not " not in line
    )
    if len(set(kinds) - {""}) < 2 or not counted:
        return {"": text}
    if len(counted) > _MOST_KINDS:
        raise ParseError(
            f"line 1: {len(counted)} kinds of core are counted, and no processor has more than {_MOST_KINDS}: was the "
            "file edited?"
        )
    parts = {
        kind: "".join(line for line, of_line in zip(lines, kinds, strict=True) if of_line in ("", kind))
        for kind in counted
    }
    return parts if len(parts) > 1 else {"": "".join(parts.values())}


def _columns_by_kind(text):
    """The table of each kind of core that columns of a wide table name, with the columns of no kind."""
    form = Wide(as_unicode(text))
    kinds = [match[1] if (match := _KIND.search(name)) else "" for name in form.names]
    if not 1 < len(set(kinds) - {""}) <= _MOST_KINDS:
        return {"": text}
    table, parts = pd.DataFrame(dict(enumerate(form.cells))), {}
    for kind in dict.fromkeys(filter(None, kinds)):
        columns = [k for k, of_column in enumerate(kinds) if of_column in ("", kind)]
        counted = ~table[[k for k in columns if kinds[k]]].isin(NOT_COUNTED).all(axis=1)
        heading, separator = [form.heading[k] for k in columns], form.separator or " "
        parts[kind] = table.loc[counted, columns].to_csv(sep=separator, header=heading, index=False)
    return parts
