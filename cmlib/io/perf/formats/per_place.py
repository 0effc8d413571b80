"""Counts a CPU, core, die, socket or node (``-A``, ``--per-…``), added up."""

import re

from cmlib.io.events import CORE_EVENT
from cmlib.io.perf.formats import human_readable, separated
from cmlib.io.perf.formats.lines import TIME
from cmlib.io.perf.grammar import ParseError

NAME = "perf stat -A or --per-…"

# With -A a CPU; with --per-… a place, and the number of CPUs in it.
_PLACE = re.compile(
    rf"^( *(?:{TIME}([,;\t|!]))?)(?:CPU[0-9]+([,;\t|!])|[SN][0-9]+(?:-[A-Z]+[0-9]+)*([,;\t|!])[0-9]+\4)",
    re.MULTILINE,
)
# The same in the table for people.
_PLACE_IN_TABLE = re.compile(
    rf"^( *(?:{TIME} +)?)(?:CPU[0-9]+|[SN][0-9]+(?:-[A-Z]+[0-9]+)* +[0-9]+)(?= +[0-9<])", re.MULTILINE
)
_NAME = re.compile(r"CPU[0-9]+|[SN][0-9]+(?:-[A-Z]+[0-9]+)*")
_KEY = re.compile(
    r'"(?:cpu|core|cluster|cache|die|socket|node)" *: *"([^"\n]*)" *, *'
    r'(?:"(?:aggregate-number|counters)" *: *[0-9]+ *, *)?'
)
_DATA = re.compile(r"^ *[^ #\n][^\n]*", re.MULTILINE)
_KIND = re.compile(rf"(?<![\w/.-]){CORE_EVENT.pattern}")

_MOST_KINDS = 8
_KIND_OF_METRIC = re.compile(r"\((cpu_(?:core|atom|lowpower))\)\s*(?:#.*)?$")
_KIND_OF_TOPLEV = re.compile(r"^ *(?:S\d\S* +)?(core|atom|lowpower)[ ,;]+\S+[ ,;].*% *Slots")
_METRIC = re.compile(
    rf" *+(?:{TIME})?(?:(?<=\s)#|\s++#|([,;\t|])\1{{2}}|\{{ *(?:\"interval\" *: *[0-9.]+ *, *)?\"metric-value)"
)


def recognises(text):
    """Whether the first line that is no comment names a place before its count."""
    first = _DATA.search(text)
    return first is not None and _place_of(first[0]) is not None


def read(text, interval_ms=None):
    """Read such counts, and add them up over all places."""
    first = _DATA.search(text)
    if _PLACE_IN_TABLE.match(first[0]):
        rows = human_readable.read(_PLACE_IN_TABLE.sub(r"\1", text))
    else:
        rows = separated.read(_KEY.sub("", _PLACE.sub(r"\1", text)))
    columns = list(rows)
    rows["missing"] = rows["supported"] & rows["value"].isna()
    rows["running"] = rows["running"].where(rows["supported"])
    by = rows.groupby(["time_s", "event"], sort=False, dropna=False)
    added = by.agg({"supported": "any", "running": "mean", "unit": "first", "missing": "any"})
    added["value"] = by["value"].sum(min_count=1).mask(added["missing"])
    added["running"] = added["running"].fillna(0.0).mask(added["missing"], 0.0)
    added = added.reset_index()
    return added[columns]


def remarks(text, columns=None):
    """Which counts are added up."""
    places = list(dict.fromkeys(filter(None, map(_place_of, text.split("\n")))))
    if len(places) == 1:
        return [f"Counts are those of {places[0]}."]
    return [f"Counts of {len(places)} places, {places[0]} to {places[-1]}, are added up."]


def by_kind_of_core(text):
    """The lines of each kind of core, by its PMU's name, with those of none, where several counted; else all, by ""."""
    lines = text.splitlines(keepends=True)
    kinds = []
    for line in lines:  # a metric by itself is of the kind of core that the line above it counts
        found, above = _KIND.search(line) or _KIND_OF_METRIC.search(line), kinds[-1] if kinds else ""
        if toplev := _KIND_OF_TOPLEV.search(line):
            kinds.append(f"cpu_{toplev[1]}")
        else:
            kinds.append(found[1] if found else above if _METRIC.match(line) else "")
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
        kind: "".join(line for line, own in zip(lines, kinds, strict=True) if own in ("", kind))
        for kind in counted
    }
    return parts if len(parts) > 1 else {"": "".join(parts.values())}


def only(text, place):
    """Leave out the counts of all places but one."""
    lines = text.splitlines(keepends=True)
    places = [_place_of(line) for line in lines]
    if place not in places:
        known = list(dict.fromkeys(filter(None, places)))
        raise ParseError(f"line 1: no line counts {place!r}; there are {', '.join(known[:100])}.")
    return "".join(line for line, own in zip(lines, places, strict=True) if own in (None, place))


def _place_of(line):
    """The place that a line counts; None of a comment and the like."""
    if line.lstrip().startswith("{"):
        found = _KEY.search(line)
        return found[1] if found else None
    found = _PLACE.match(line) or _PLACE_IN_TABLE.match(line)
    return _NAME.search(found[0])[0] if found else None
