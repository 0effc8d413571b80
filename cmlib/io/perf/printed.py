"""Shares of slots that perf or another tool computed itself, and for how long perf had counters on.

Slots are a pipeline's places for operations, as many a cycle as it is wide; top-down analysis divides them into
categories, such as "front end". Tools print the shares of these beside counts, or without any. :func:`printed` takes
a text and gives a dict of category to share (0–1); nothing is refused.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from cmlib.clean.uncounted import lengths_by_ends
from cmlib.io.perf.formats.base import Totals
from cmlib.io.perf.formats.lines import TIME, as_number, as_table

_READ = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
_CATEGORIES, _PARTS = _READ["names"], _READ["parts"]
_LONGEST_LINE = 20_000  # of which shares are read
IPC, CPI = "instructions a cycle", "cycles an instruction"
_ALONE = "No event was counted: the values are the percentages that the tool printed."
_UNNAMED = "Kinds of core stand beside each other, and the file does not tell which is which."
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
_TABLE = re.compile(r"(?=^ *Performance counter stats for '(.*?)'.*:[ \t]*$)", re.MULTILINE)
_FIRST_CELL = re.compile(r"^[^;|\t,]*[;|\t,]")
_ROW_NAMES = "function|module|kernel|program|benchmark|name|process"
_FEWEST_COLUMNS = 3  # separators of a table whose rows are named
_VALUE = re.compile(rf"(?<![\w.:-]){_NUMBER}(?![\w.])")
# One of these is in each line from which anything is read; looked for in a tenth of the time.
_WORDS = _READ["words"]
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
    rows, heading = [], []
    for line in _ESCAPE.sub("", text).split("\n"):
        lowered = line.lower()
        if len(line) > _LONGEST_LINE or not (heading or any(word in lowered for word in _WORDS)):
            continue
        if "{" in line and "metric-unit" not in line:
            rows += _of_object(line)
        elif matches := next(filter(None, ([*share.finditer(line)] for share in _SHARES)), []):
            rows += [_valued(match, match["share"]) for match in matches]
        elif len(named := [*_HEADED.finditer(line)]) > 1:
            heading = named
        elif re.search(r"[a-z]{3}", _FIRST_CELL.sub("", line)):
            heading = []
        elif heading:
            rows += _below(heading, line)
        rows += [(IPC, as_number(match[1])) for match in _IPC.finditer(line)]
        rows += [
            (CPI if match["inverse"] else IPC, as_number(match["rate"])) for match in _RATE.finditer(line)
        ]
    shares = _means(pd.DataFrame(rows, columns=["category", "value"]))
    ipcs = [value for category, value in rows if category == IPC] if counted_ipc > 0 else []
    return shares | ({IPC: float(np.clip(counted_ipc, min(ipcs), max(ipcs)))} if ipcs else {})


def shares_alone(text):
    """Shares of slots that a tool printed without counts: a list of Totals, one for each program in a text.

    Empty if none were printed. The rows of a :class:`cmlib.io.perf.formats.base.Totals` (in `table`) are
    percentages as events: ``retiring``, ``bad_speculation``, ``frontend_bound`` and ``backend_bound``, as far as
    they were printed, at least two; or ``cycles`` (100), ``stall_frontend`` and ``stall_backend``.
    """
    _, *tables = _TABLE.split(text)
    parts = [*zip(tables[1::2], tables[::2], strict=True)]
    sets = [] if len(parts) > 1 else _column_sets(text)
    remark = _UNNAMED if sets else ""
    parts = parts if len(parts) > 1 else sets or _named_rows(text) or _under_headings(text)
    return [run for part, command in parts for run in _alone(part, command, remark)]


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


def _named_rows(text):
    """List of (text of a row with its heading, its first cell) for a table that names a function or program in each
    row.

    [] if the text is no such table with categories in its heading.
    """
    heading, *rows = text.strip("\n").split("\n")
    mark = next((mark for mark in ";|\t," if heading.count(mark) >= _FEWEST_COLUMNS), None)
    named = len({named[0].lower() for named in _HEADED.finditer(heading)}) > 1
    if not (mark and named and re.match(_ROW_NAMES, heading, re.IGNORECASE)):
        return []
    return [
        (f"{heading}\n{row}\n", row.split(mark)[0]) for row in rows if row.count(mark) == heading.count(mark)
    ]


def _under_headings(text):
    """List of (text, name) for each of several tables of the same categories below other headings, as of programs."""
    lines, pieces, before = text.splitlines(keepends=True), [[]], {}
    for line, below in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        names = frozenset(named.lastgroup for named in _HEADED.finditer(line[:_LONGEST_LINE]))
        heads = len(names) > 1 and _VALUE.search(below) and not _VALUE.search(line)
        if heads and before.setdefault(names, line.strip()) != line.strip():
            pieces.append([])
            before = {names: line.strip()}
        pieces[-1].append(line)
    return [("".join(piece), f"table {k}" if len(pieces) > 1 else "") for k, piece in enumerate(pieces, 1)]


def _column_sets(text):
    """List of (text, name) for each of several sets of the same columns, as kinds of core beside each other without
    names.

    [] if the heading repeats no category.
    """
    sets, heading = [], []
    for line in text.split("\n"):
        headed = [next(filter(None, match.groups())) for match in _HEADED.finditer(line)]
        if len(headed) > 1 and len(set(headed)) < len(headed):
            heading, size = headed, len(set(headed))
            sets = sets or [[] for _ in range(len(headed) // size)]
            cells = headed
        else:
            cells = [value[0] for value in _VALUE.finditer(line.replace("%", " "))][-len(heading) :]
            if not heading or len(cells) < len(heading) or re.search("[a-z]", line):
                continue
        for k, lines in enumerate(sets):
            lines.append("   ".join(cells[k * size : (k + 1) * size]))
    return [("\n".join(lines) + "\n", f"cores {k}") for k, lines in enumerate(sets, 1)]


def _alone(text, command, remark):
    """List of the Totals of the shares in a text, or of its stalled cycles; [] if there are none.

    `command` and `remark` (str) become those of the Totals.
    """
    shares = printed(text)
    rows = {_NAMES[name]: 100 * shares[name] for name in LEVEL_1 if name in shares}
    stalls = {f"stall_{match[1].lower()}end": as_number(match[2]) for match in _STALLS.finditer(text)}
    if len(rows) < 2:
        rows = {"cycles": 100.0} | stalls if len(stalls) == 2 else {}
    table = as_table((1, name, value, np.nan, "%") for name, value in rows.items())
    return [Totals(text, table, command, remarks=(_ALONE, remark))] if rows else []


def _valued(match, number):
    """Category of a match, and its value (float): a share is made of percent."""
    name = next(name for k, name in enumerate(_CATEGORIES) if match[f"c{k}"])
    return name, as_number(number) / (1 if name in (IPC, CPI) else 100)


def _of_object(line):
    """Yield (category, value) of the metrics that are keys of a JSON object, as ``-j --metric-only`` writes them."""
    for match in re.finditer(rf'"([^"]*)" *: *"({_NUMBER})"', line):
        if named := _HEADED.search(match[1]):
            yield _valued(named, match[2])


def _below(heading, line):
    """Yield (category, value) of what stands below the names of a heading: between the same separators, or where
    names end.

    `heading` is a list of matches in one line, `line` a line below it.
    """
    line = line.split("#")[0].rstrip()
    separator = next((mark for mark in ";|\t," if heading[0].string.count(mark) >= len(heading) - 1), None)
    if separator:
        columns, cells = heading[0].string.split(separator), line.split(separator)
        if len(cells) >= len(columns) - 1:
            cells = [""] * (len(columns) - len(cells)) + cells
            for column, cell in zip(columns, cells, strict=False):
                named, value = _HEADED.search(column), _VALUE.fullmatch(cell.strip().rstrip("%"))
                if named and value:
                    yield _valued(named, value[0])
        return
    values = [*_VALUE.finditer(line.replace("%", " "))]
    # Kinds of core that stand beside each other without their names are not told apart.
    if len(values) < len(heading) or len({named[0] for named in heading}) < len(heading):
        return
    nothing_else = not re.search("[a-z]", _HEADED.sub("", heading[0].string).replace("time", ""))
    ends = np.array([value.end() for value in values])
    last = values[-len(heading) :]
    for k, named in enumerate(heading):
        value = last[k] if nothing_else else values[int(np.abs(ends - named.end()).argmin())]
        yield _valued(named, value[0])


def _means(rows):
    """Mean by category over tables and intervals (dict); a category of which only the parts were printed is their
    sum.

    `rows` is a DataFrame with the columns category and value.
    """
    shares = {name: float(value) for name, value in rows.groupby("category")["value"].mean().items()}
    if cpi := shares.pop(CPI, 0.0):
        shares.setdefault(IPC, 1 / cpi)
    whole = {
        name: sum(shares[part] for part in parts)
        for name, parts in _PARTS.items()
        if set(parts) <= shares.keys()
    }
    return whole | shares
