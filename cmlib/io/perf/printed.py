"""Shares of slots that perf or another tool computed itself, and for how long perf had counters on.

Slots are a pipeline's places for operations, as many a cycle as it is wide; top-down analysis divides them into
categories, such as "front end". Tools print the shares of these beside counts, or without any. :func:`printed` takes
a text and gives a dict of category to share (0–1); nothing is refused.
"""

import functools
import itertools
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from cmlib.clean.uncounted import lengths_by_ends
from cmlib.io.perf.blocks import TABLE, Head, heads
from cmlib.io.perf.formats.base import Totals
from cmlib.io.perf.formats.lines import TIME, as_number, as_table
from cmlib.io.perf.markup import without_html

_READ = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_CATEGORIES, _PARTS = _READ["names"], _READ["parts"]
_LONGEST_LINE = 20_000  # of which shares are read
IPC, CPI = "instructions a cycle", "cycles an instruction"
_ALONE = "They are percentages that the tool printed; no count was read."
_IPC_ALONE = "IPC is what the tool printed; no count was read."
_MODES = {None: "", "k": "They are of the kernel alone.", "u": "They are of user mode alone."}
_MEANS = "Printed shares are means of {} rows."
_LEFT_OUT = "Shares of slots that are there again in the same table, without a name, are left out: {}."
_CUT = "Tables of which nothing but the time can be read are left out: {}."
_UNNAMED = "Cores or kinds of core stand beside each other, and the file does not tell which is which."
LEVEL_1 = tuple(_PARTS)
_NAMES = dict(zip(LEVEL_1, ("retiring", "bad_speculation", "frontend_bound", "backend_bound"), strict=True))
_NUMBER = r"[0-9]{1,4}(?:[.,][0-9]{1,6})?"
_NAME = "|".join(f"(?P<c{k}>{names})" for k, names in enumerate(_CATEGORIES.values()))


def _pattern(text):
    """Regular expression (compiled) of a text in printed.yaml, with ``<NAME>``, ``<NUMBER>`` and the like filled in."""
    meanings = {"NAME": _NAME, "NUMBER": _NUMBER, "IPC": _CATEGORIES[IPC], "CPI": _CATEGORIES[CPI]}
    return re.compile(re.sub("<([A-Z]+)>", lambda word: meanings[word[1]], text), re.IGNORECASE)


_SHARES = [_pattern(text) for text in _READ["shares"]]
_IPC, _RATE, _STALLS, _HEADED = (_pattern(_READ[key]) for key in ("ipc", "rate", "stalls", "heading"))
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_FIRST_CELL = re.compile(r"^[|\s]*[^;|\t,]*[;|\t,]")
_NO_ROW_NAMES = re.compile(r"\W*(?:[a-z]*time|date|cpu|core|socket|node|thread|s[0-9])", re.IGNORECASE)
_IN_BRACKETS = re.compile(r" *\([0-9.]+ *%?\)$|%$")  # behind a share, of a part of it
_NO_PROGRAM = re.compile(
    r"[^a-z]*$|value|mean|av|med|min|max|std|unit|delta|diff|change|ratio", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?:\b[a-z]{2,} ){3}")
_MOST_ROWS = 60  # below a heading
_MARKUP = re.compile(r"<[^<>]*>|[*`]")
# What is before the shares of a line: a time, and where they were counted.
_TIMED = re.compile(rf'^[\s|>]*(?:{TIME}|[0-9]+\.[0-9]+(?=[ ;,]+[A-Z])|summary\b|\{{ *"interval")')
_PLACED = re.compile(
    r"^[\s|>]*(?:[0-9]+\.[0-9]+[\s,;|]+)?(S[0-9]+(?:-[A-Z]+[0-9]+)*|C[0-9]+(?:-T[0-9]+)?|CPU[0-9]+)(?=[\s,;|])"
    r'|"(?:cpu|core|cluster|die|socket|node)" *: *"([^"\n]+)"'
)
_ELAPSED = re.compile(r"^[ >]*([0-9]+[.,][0-9]+) (?:\+- [0-9.,]+ )?seconds time elapsed", re.MULTILINE)
_SHARES_OF = _CATEGORIES.keys() - {IPC, CPI}
_VALUE = re.compile(rf"(?<![\w.:-]){_NUMBER}(?![\w.])")
_COUNTS = {name: _pattern(text) for name, text in _READ["counts"].items()}
# One of these is in each line from which anything is read; looked for in a tenth of the time.
_WORDS = _READ["words"]
_STALLED, _CORES = frozenset(["stall_frontend", "stall_backend"]), "cores"
# Behind a share, for how long its events were counted: (20.08%), [ 8.0%]<==.
_RUNNING = re.compile(rf"[(\[] *({_NUMBER}) *%[)\]][ <=]*$", re.MULTILINE)
# What was counted all the time, between separators or as JSON: end of the interval, time on a counter [ns].
_PINNED = r"(?:cpu-)?(?:cycles|instructions)(?::\w*+)?"
_ON = re.compile(
    rf"^ *+({TIME})([^\w. ])[0-9]++\2\2{_PINNED}\2([0-9]++)(?:\2)100[.,]00(?![0-9])"
    rf'|^ *+\{{"interval" *: *([0-9.]+), *"counter-value"[^{{\n]*"event" *: *"{_PINNED}", *'
    '"event-runtime" *: *([0-9]+), *"pcnt-running" *: *100[.,]',
    re.MULTILINE,
)


def printed(text, counted_ipc=np.nan):
    """Read the shares of slots that were printed, and the instructions per cycle.

    Parameters
    ----------
    text : str
        Output of ``perf stat``, of one kind of core: metrics behind counts, on lines of their own, in columns
        (``--metric-only``, ``--topdown``), between separators or as JSON; or what toplev, topdown-tool, VTune,
        PerfSpect, PCM, AMD uProf or likwid print.
    counted_ipc : float, default NaN
        Instructions a cycle of all counts: what is between several printed ones, as of places, agrees with them.

    Returns
    -------
    dict of str to float
        Mean over all lines: by category, its share of the slots (0–1), and ``instructions a cycle``. Categories are
        ``retired``, ``bad speculation``, ``front end`` and ``back end``, and parts of these, such as ``memory``, as
        far as they were printed. Empty if nothing was.
    """
    parts = _parts(text)
    told = [(part, rows) for part in parts for place, rows in part.places.items() if _CORES not in place]
    shares = _means([rows for part, rows in told if part.is_told])
    ipcs = [value for _, rows in told for _, value in rows.get(IPC, ())]
    if ipcs:
        shares[IPC] = float(np.clip(counted_ipc, min(ipcs), max(ipcs)) if counted_ipc > 0 else np.mean(ipcs))
    return shares


def shares_left_out(text):
    """Sentences (list of str) on shares that :func:`printed` leaves out, as nothing tells what they are of."""
    parts = _parts(text)
    further = [_means(part.places.values()) for part in parts if not part.is_told]
    told = ", ".join(filter(None, map(shares_told, further)))
    of_places = [rows for part in parts for rows in part.places.values()]
    times = [f"{rows['seconds'][0][1]:.6g} s" for rows in of_places if rows.keys() == {"seconds"}]
    return [_LEFT_OUT.format(told)] * bool(told) + [_CUT.format(", ".join(times))] * bool(times)


def shares_told(shares):
    """The shares of level 1 in a dict (by category) in words (str)."""
    return ", ".join(f"{name} {100 * shares[name]:.1f} %" for name in LEVEL_1 if name in shares)


def shares_alone(text, *, has_counts=False):
    """Shares of slots that a tool printed without counts: a list of Totals, one for each place of a block in a text.

    Empty if none were printed. The rows of a :class:`cmlib.io.perf.formats.base.Totals` (in `table`) are
    percentages as events: ``retiring``, ``bad_speculation``, ``frontend_bound`` and ``backend_bound``, as far as
    they were printed, at least two; or ``cycles`` (100), ``stall_frontend`` and ``stall_backend``; or the counts
    ``instructions`` and ``cycles`` where they stand beside the shares. Where a quantity is there again of the same
    place, without a time, another block begins. Blocks of the same command and titles are numbered, but for perf's
    tables, which are runs of one program; shares that are all there before are left out. With `has_counts`, only
    those are given that stand beside perf's tables with counts, and not in them.
    """
    kept, seen = [], {}
    for part in _parts(text) if not has_counts or TABLE.search(text) else ():
        for place, rows in part.places.items():
            shares = tuple(_level_1([rows]).items())
            shares = shares if len(shares) > 1 else tuple(_means([rows]).items())
            is_new = len(rows.keys() & _SHARES_OF) > 1 and seen.setdefault(shares, part) is part
            is_rate = "seconds" in rows and len({*rows.get(IPC, ()), *rows.get(CPI, ())}) == 1
            if is_new or is_rate or rows.keys() >= _STALLED:
                kept.append((part, place))
    blocks = dict.fromkeys(part.block() for part, _ in kept)
    n_alike = Counter(block[:2] for block in blocks)
    numbers = {block: (f"table {k}",) * (n_alike[block[:2]] > 1) for k, block in enumerate(blocks, 1)}
    return [
        replace(
            _totals(part, place),
            titles=(*part.head.titles, *numbers[part.block()], *[place] * (len(part.places) > 1)),
        )
        for part, place in kept
        if not (has_counts and part.is_behind_counts)
    ]


@dataclass(eq=False)
class _Part:
    """Lines in which no quantity of a place is there again.

    Attributes
    ----------
    head : cmlib.io.perf.blocks.Head
    start : int
        Number of its first line.
    is_first : bool
        False for what is not the first of its block.
    places : dict of str to dict
        By place a dict of category or count to pairs: number of the heading that a value stands below, or -1; value.
    of_lines : dict of int to set of str
        By number of a line the places that it tells of.
    written : dict of str to list of str
        By place lines for a column of a table.
    lines : list of str
    """

    head: Head
    start: int
    is_first: bool
    places: dict = field(default_factory=dict)
    of_lines: dict = field(default_factory=dict)
    written: dict = field(default_factory=dict)
    lines: list = field(default_factory=list)

    def ends(self, head, place, name, written, again):
        """Whether another one begins with a quantity (`name`) of a place that stands below a Head.

        `written` is that of a column; `again` tells that it may be there several times, as of intervals.
        """
        is_titled, rows = head.titles != self.head.titles, self.places.get(place)
        if head.number != self.head.number or (is_titled and sum(map(len, self.places.values())) < 2):
            return True
        if rows is None:
            return is_titled or bool(written)
        return name in rows and (is_titled or name not in (IPC, CPI)) and not again

    def block(self):
        """What it has in common with other runs of its program (tuple)."""
        is_table = any(map(TABLE.match, self.lines))
        return self.head.titles, self.head.command, 0 if is_table else self.start

    @property
    def is_behind_counts(self):
        """Whether shares stand behind counts, as in perf's tables."""
        return any("# " in self.lines[number - self.start] for number in self.of_lines)

    @property
    def is_told(self):
        """Whether it is known what the shares are of: not where they are there again in one of perf's tables."""
        return self.is_first or not self.is_behind_counts

    def text_of(self, place):
        """The lines (str) without those that tell of other places only."""
        lines = enumerate(self.lines, self.start)
        of_place = [line for number, line in lines if place in self.of_lines.get(number, (place,))]
        return "\n".join(self.written[place] or of_place).rstrip("\n") + "\n"


@functools.lru_cache(maxsize=1)
def _parts(text):
    """List of the _Part of a text."""
    parts, heading, above, since = [], [], -1, 0
    lines = without_html(_ESCAPE.sub("", text)).split("\n")
    of_lines = heads(lines)
    for number, (line, head) in enumerate(zip(lines, of_lines, strict=True)):
        since = number if head is not of_lines[since] else since
        lowered = line.lower()
        if len(line) > _LONGEST_LINE or not (heading or any(word in lowered for word in _WORDS)):
            continue
        readings, source = _by_column(lines, number) or [("", *row, "") for row in _in_line(line)], -1
        if not readings and len(named := [*_HEADED.finditer(line)]) > 1:
            heading, above = named, number
        elif not readings and re.search(r"[a-z]{3}", _FIRST_CELL.sub("", line)):
            heading = []
        elif not readings and heading:
            readings, source = [*_below(heading, line)], above
        line_place = _place_of(line, heading[0].string if source >= 0 else "")
        for at, name, value, written in [*readings, *(("", *row, "") for row in _beside(line))]:
            place, part = at or line_place, parts[-1] if parts else None
            rows = part.places.get(place, {}).get(name) if part else None
            again = rows and (_TIMED.match(line) or 0 <= source == rows[0][0])
            if not part or (
                number not in part.of_lines and part.ends(head, place, name, written and source < 0, again)
            ):
                start = source if source >= 0 else number
                start = min(since, start) if part and head != part.head else start * bool(part)
                parts.append(part := _Part(head, start, not part or head.number != part.head.number))
            part.places.setdefault(place, {}).setdefault(name, []).append((source, value))
            part.of_lines.setdefault(number, set()).add(place)
            part.written.setdefault(place, []).extend([written] * bool(written))
    for part, end in zip(parts, [*(part.start for part in parts[1:]), len(lines)], strict=False):
        last = max(part.of_lines)
        while last + 1 < end and of_lines[last + 1].number == part.head.number:
            last += 1
        part.lines = lines[part.start : last + 1]
    return parts


def _in_line(line):
    """List of (category, value) of the shares in a line that names them, or of a JSON object."""
    if "{" in line and "metric-unit" not in line:  # keys of -j --metric-only
        pairs = re.findall(rf'"([^"]*)" *: *"({_NUMBER})"', line)
        return [_valued(named, number) for name, number in pairs if (named := _HEADED.search(name))]
    matches = next(filter(None, ([*share.finditer(line)] for share in _SHARES)), [])
    is_said = matches and _SENTENCE.search(line[: matches[0].start()])
    return [] if is_said else [_valued(match, match["share"]) for match in matches]


def _beside(line):
    """Yield (name, value) of what a line tells beside shares: IPC, CPI, counts, seconds, stalled cycles [%]."""
    yield from ((IPC, as_number(match[1])) for match in _IPC.finditer(line))
    yield from (
        (CPI if match["inverse"] else IPC, as_number(match["rate"])) for match in _RATE.finditer(line)
    )
    yield from ((f"stall_{match[1].lower()}end", as_number(match[2])) for match in _STALLS.finditer(line))
    for name, pattern in _COUNTS.items():
        if match := pattern.match(line):
            yield name, as_number(match[1]) if name == "seconds" else float(re.sub("[.,]", "", match[1]))


def _place_of(line, heading):
    """Core, socket or CPU of a line, or what its first cell names by the heading above it (str); "" if none."""
    if placed := _PLACED.search(line):
        return placed[1] or placed[2]
    mark = next((mark for mark in ";|\t," if mark in heading), None)
    name = line.strip("| ").split(mark)[0].strip(" *`") if mark and not _NO_ROW_NAMES.match(heading) else ""
    return name if name[:1].isalpha() else ""


def _by_column(lines, number):
    """List of (program, category, value, line) of a row that begins with a category, and has a column a program."""
    mark = next((mark for mark in "|;\t," if lines[number].count(mark) > 1), "")
    if not mark or lines[number].lstrip()[:1].isdigit():
        return []
    first, *cells = _cells(lines[number], mark)
    values = [*itertools.takewhile(lambda cell: re.fullmatch(rf"{_NUMBER} *%?", cell), cells)]
    first = re.sub(r"^\W+|metric_| *\(%\)", "", first)
    if len(values) < 2 or not (named := _HEADED.fullmatch(first)):
        return []
    above = itertools.takewhile(
        lambda line: line.count(mark) == lines[number].count(mark),
        lines[max(0, number - _MOST_ROWS) : number][::-1],
    )
    _, *names = _cells([lines[number], *above][-1], mark)
    columns = [
        (name, *_valued(named, value), f"{first}: {value}{'%' * (_valued(named, '1')[1] < 1)}")
        for name, value in zip(names, (value.rstrip(" %") for value in values), strict=False)
        if not _NO_PROGRAM.match(name)
    ]
    return columns if len(columns) > 1 else []


def _cells(line, mark):
    """Cells (list of str) of a line of a table, without bold type and the like."""
    return [cell.strip() for cell in _MARKUP.sub("", line).strip().removeprefix("|").split(mark)]


def cpus_utilized(text):
    """CPUs that a run used on average (float), by how long its cycles or instructions were on a counter in each
    interval.

    perf counts a program only while it runs. None where the text (str) has no intervals with one of these counted all
    the time.
    """
    lines = sorted((float(line[3] or line[5]), as_number(line[1] or line[4])) for line in _ON.finditer(text))
    if not lines:
        return None
    on = pd.Series({end: 1e-9 * ns for ns, end in lines}).sort_index()
    lengths = lengths_by_ends(on.index)
    near = lengths <= 2 * np.median(lengths)  # nothing lies between it and the one before
    return float(on[near].sum() / lengths[near].sum())


def _totals(part, place):
    """The Totals of the shares of a place in a part, of counts beside them, or of its stalled cycles."""
    rows, text = part.places[place], part.text_of(place)
    counts = {event: rows[event][0][1] for event in _COUNTS if event in rows}
    elapsed, n_rows = _ELAPSED.search(text), max(len(rows.get(category, ())) for category in LEVEL_1)
    seconds = counts.pop("seconds", as_number(elapsed[1]) if elapsed else np.nan)
    mode = _MODES[re.search(r"(?:ing|tion|bound):([ku])\b|$", text)[1]]
    remarks = [
        _ALONE if len(rows.keys() - {IPC, CPI, "seconds"}) else _IPC_ALONE,
        _MEANS.format(n_rows) * (n_rows > 1),
        _UNNAMED * (_CORES in place),
        mode,
    ]
    values = {_NAMES[category]: 100 * share for category, share in _level_1([rows]).items()}
    if not values:
        values = {"cycles": 100.0} | {event: rows[event][0][1] for event in sorted(_STALLED & rows.keys())}
    elif len(counts) > 1:
        values, remarks = counts, remarks[1:]
    unit = "" if values is counts else "%"
    told = "\n".join(part.lines[number - part.start] for number, at in part.of_lines.items() if place in at)
    running = [as_number(share) / 100 for share in _RUNNING.findall(told) if unit] or [np.nan]
    table = as_table((1, event, value, np.mean(running), unit) for event, value in values.items())
    return Totals(text, table, part.head.command, (seconds,), remarks=tuple(remarks), titles=part.head.titles)


def _valued(match, number):
    """Category of a match, and its value (float): a share is made of percent."""
    name = next(name for k, name in enumerate(_CATEGORIES) if match[f"c{k}"])
    return name, as_number(number) / (1 if name in (IPC, CPI) else 100)


def _below(heading, line):
    """Yield ("", category, value, "") of what stands below the names of a heading: between the same separators, or
    where names end; and (kind of core, category, value, line) where names come again, as of kinds of core.

    `heading` is a list of matches in one line, `line` a line below it.
    """
    line = line.split("#")[0].rstrip()
    separator = next((mark for mark in ";|\t," if heading[0].string.count(mark) >= len(heading) - 1), None)
    size, pairs = len({named[0].strip(" %") for named in heading}), []
    if separator:
        columns, cells = heading[0].string.split(separator), line.split(separator)
        if len(cells) >= len(columns) - 1:
            cells = [""] * (len(columns) - len(cells)) + cells
            for column, cell in zip(columns, cells, strict=False):
                named, value = (
                    _HEADED.search(column.strip()),
                    _VALUE.fullmatch(_IN_BRACKETS.sub("", cell.strip())),
                )
                pairs += [(named, value[0])] if named and value else []
    elif len(values := [*_VALUE.finditer(line.replace("%", " "))]) >= len(heading):
        nothing_else = not re.search("[a-z]", _HEADED.sub("", heading[0].string).replace("time", ""))
        ends = np.array([value.end() for value in values])
        last = values[-len(heading) :]
        for k, named in enumerate(heading):
            value = last[k] if nothing_else else values[int(np.abs(ends - named.end()).argmin())]
            pairs.append((named, value[0]))
    for k, (named, value) in enumerate(pairs):
        kind, written = "", ""
        if size < len(heading):  # a line that is not taken for another run's
            kind, written = f"{_CORES} {k // size + 1}", f"summary {named[0].strip(' %')}: {value}%"
        yield kind, *_valued(named, value), written


def _means(blocks):
    """Mean by category of dicts as of :class:`_Part`; a category of which only the parts were printed is their sum."""
    names = sorted(set().union(*blocks) & _CATEGORIES.keys())
    values = {name: [value for rows in blocks for _, value in rows.get(name, ())] for name in names}
    shares = {name: float(np.mean(values[name])) for name in names}
    if cpi := shares.pop(CPI, 0.0):
        shares.setdefault(IPC, 1 / cpi)
    whole = {
        name: sum(shares[part] for part in parts)
        for name, parts in _PARTS.items()
        if set(parts) <= shares.keys()
    }
    return whole | shares


def _level_1(blocks):
    """Shares of level 1 of some blocks (dict by category)."""
    shares = _means(blocks)
    return {name: shares[name] for name in LEVEL_1 if name in shares}
