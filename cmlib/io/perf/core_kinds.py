"""Split a file of counts by kind of core, for processors that have several kinds, such as Intel's P- and E-cores.

Kinds are called by the PMU (performance monitoring unit) in perf's names of their events: ``cpu_core``, ``cpu_atom``.
A row that names none is of the kind that was counted for about the same share of the time; a table in which no row
names one is of another machine. ParseError if more than eight kinds are counted.
"""

import functools
import itertools
import re
from collections import Counter

import numpy as np
import pandas as pd

from cmlib.io.events import CORE_EVENT, base_name, is_event
from cmlib.io.perf.blocks import TABLE
from cmlib.io.perf.formats import find_format
from cmlib.io.perf.formats.cells import NOT_COUNTED
from cmlib.io.perf.formats.lines import as_number, as_unicode
from cmlib.io.perf.formats.wide import Wide
from cmlib.io.perf.grammar import STARTED, TIME, ParseError

# In an event's name, in a heading of metrics (`TopdownL1 (cpu_core)`), in toplev's first column.
_KIND = re.compile(
    rf"(?<![\w/.-]){CORE_EVENT.pattern}|\((?P<metrics>cpu_(?:core|atom|lowpower))\)[\s\"}}]*(?:#.*)?$"
    r"|^ *(?:S\d\S* +)?(?P<toplev>core|atom|lowpower)[ ,;]+\S+[ ,;].*% *(?:Slots|Stalls|Clocks)"
)
# Each PMU's name has one of these; finding them is ten times as fast as the regular expression.
_WORDS = ("core", "atom", "lowpower", "armv", "apple")
_MOST_KINDS = 8
_NO_KIND = "none"  # of tables that name none
_TIMED = re.compile(rf' *(?:\{{ *"interval" *: *)?({TIME})')
_EVENT = re.compile(r'(?:\s*+(?:[0-9.,;|\s]|<not \w+>)++|\{.*?"event" *: *")([A-Za-z][^\s,;|"]*+)')
_SHARE = re.compile(
    r'[(\[] *([0-9.,]+) *%[)\]]\s*$|"pcnt-running" *: *([0-9.]+)|([,;\t|])[0-9]++\3([0-9]{1,3}[.,][0-9]{2})(?:\3|$)'
)
# Beginning of a line that has a metric or share and no count: behind `#`, with empty fields in front, or in JSON.
_METRIC = re.compile(
    r" *+[(\[][ 0-9.,]+%[)\]]\s*$"
    rf"| *+(?:{TIME})?(?:(?<=\s)#|\s++#|([,;\t|])(?:[0-9]++\1[0-9.]++\1)?\1{{2}}"
    r'|\{ *(?:"interval" *: *[0-9.]+ *, *)?"metric-value)'
)
_UNCOUNTED = re.compile(r"<not |^(?!\s*[0-9]).*# +-?nan\b")
_OF_SLOTS = re.compile("bound|retiring|speculation", re.IGNORECASE)
_UNTOLD = "Rows that do not tell their kind of core are left out: {}."


def by_kind_of_core(text):
    """Split perf's or toplev's output (str) by kind of core: a dict of PMU, such as ``cpu_atom``, to a part of the
    text.

    A part has the lines of that kind and those of all kinds; "" has tables that name none. If lines name fewer than two
    kinds, or none has a count, it is {"": text}; if they name several and only one has counts, {"": its part}.
    ParseError if more than eight have counts.
    """
    if not any(word in text for word in _WORDS):
        return {"": text}
    form = find_format(text)
    if form.counts_a_line > 1:
        return _columns_by_kind(text) if isinstance(form, Wide) else {"": text}
    lines = [*zip(_kinds(text), text.splitlines(keepends=True), strict=True)]
    counted = dict.fromkeys(kind for kind, line in lines if kind and not _UNCOUNTED.search(line))
    if len({kind for kind, _ in lines if kind} - {_NO_KIND}) < 2 or not counted:
        return {"": text}
    if len(counted) > _MOST_KINDS:
        raise ParseError(f"line 1: {len(counted)} kinds of core, {_MOST_KINDS} at most: was the file edited?")
    rows, parts = [(of, line) for of, line in lines if _event(line) and "<not " not in line], {}
    shares = {kind: [0.0, *(_share(line) or 100.0 for of, line in rows if of == kind)] for kind in counted}
    for kind in sorted(counted, key=lambda kind: -max(shares[kind])):  # what ran most is first
        # Tables without kinds have nothing but headings in common with the others.
        part = [s for of, s in lines if of == kind or of == "" and (kind != _NO_KIND or s[0] in "#\n")]
        parts[kind.replace(_NO_KIND, "")] = "".join(part)
    return parts if len(parts) > 1 else {"": "".join(parts.values())}


def is_counted(text, kind):
    """Whether an event that names a kind of core (str) is counted in a text, or none does."""
    named = [line for line in text.splitlines() if _named_kind(line) == kind]
    return not named or not all(map(_UNCOUNTED.search, named))


def without_kind(text):
    """Sentences (list of str) on the rows that :func:`by_kind_of_core` leaves out, as nothing tells their kind."""
    lines = [line for line, kind in zip(text.splitlines(), _kinds(text), strict=True) if kind is None]
    lines = [line for line in lines if "<not " not in line and (_event(line) or _OF_SLOTS.search(line))]
    names = dict.fromkeys(_event(line) or "shares of the slots" for line in lines)
    return [_UNTOLD.format(", ".join(names))] * bool(names)


@functools.lru_cache(maxsize=1)
def _kinds(text):
    """List of each line's kind of core: "" for all kinds, None for one that nothing tells."""
    lines = text.splitlines()
    tables = itertools.accumulate(bool(TABLE.match(line)) or line.startswith(STARTED) for line in lines)
    times = (time[1] if (time := _TIMED.match(line)) else "" for line in lines)
    blocks = itertools.groupby(zip(tables, times, lines, strict=True), key=lambda of: of[:2])
    return [kind for _, block in blocks for kind in _of_block([line for *_, line in block])]


def _of_block(lines):
    """List of the kind of core of each line of a table or interval; without any, those of a table are _NO_KIND.

    A name tells, that of the row or heading above metrics, too; without one, for how long events were counted. An
    event is of one kind if it is there more often than those that name theirs; of none that has it by name.
    """
    named = [*map(_named_kind, lines)]
    if not any(named):
        is_other = any(_event(line) and not _TIMED.match(line) for line in lines)
        return [_NO_KIND * (is_other and (line[:1] not in "#" or line.startswith(STARTED))) for line in lines]
    events, metrics, behind = [*map(_event, lines)], [*map(_METRIC.match, lines)], [*map(_share, lines)]
    often, shares = Counter(events), {}
    usual = max(
        (often[event] for event, kind in zip(events, named, strict=True) if event and kind), default=1
    )
    for k in reversed(range(len(lines) - 1)):  # metrics of an event have its share behind the last
        if metrics[k + 1] and not named[k + 1] and (metrics[k] or lines[k + 1].lstrip()[:1] in "(["):
            behind[k] = behind[k] or behind[k + 1]
    for line, kind, share in zip(lines, named, behind, strict=True):
        if kind and "<not " not in line:
            shares.setdefault(kind, []).extend([share] * bool(share))
    shares = {kind: (min(some, default=100.0), max(some, default=100.0)) for kind, some in shares.items()}
    has = {(pmu[1], pmu[2]) for line in lines if (pmu := CORE_EVENT.search(line))}
    of_kinds = {event for _, event in has}
    kinds, above, is_sure = [], "", False
    for line, kind, event, is_metric, share in zip(lines, named, events, metrics, behind, strict=True):
        share = share or 100.0 * (bool(event) or "#" in line)
        if not kind and is_metric:
            kind = above if is_sure or not _OF_SLOTS.search(line) else _nearest(share, shares)
        else:
            if not kind and event and (often[event] > usual or base_name(event) in of_kinds):
                kind = None if "<not " in line else _nearest(share, shares)
                kind = None if (kind, base_name(event)) in has else kind
            above, is_sure = kind, kind and (not event or _OF_SLOTS.search(line))
        kinds.append(kind)
    return kinds


def _named_kind(line):
    """The kind of core (str) that a line names; "" if none."""
    kind = _KIND.search(line)
    return (kind[1] or kind["metrics"] or f"cpu_{kind['toplev']}") if kind else ""


def _event(line):
    """The event (str) that a line counts; None for other lines."""
    event = _EVENT.match(line)
    return event[1] if event and is_event(event[1]) else None


def _share(line):
    """For how much of the time a line says that events were counted [%, float]; None if it does not."""
    share = _SHARE.search(line)
    return as_number(next(filter(None, share.group(1, 2, 4)))) if share else None


def _nearest(share, shares):
    """The kind of core whose `shares` (least, most) are much nearer to a share [%] than others'; None if none is,
    or the share is 0 (not known)."""
    distances = sorted((max(low - share, share - high, 0.0), kind) for kind, (low, high) in shares.items())
    (near, kind), (far, _) = [*distances, (np.inf, None), (np.inf, None)][:2]
    return kind if share and far > 3 * near + 1 else None


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
