"""Find the shares of slots that a tool printed, and what stands beside them, in the lines of a text.

:func:`readings` takes lines, and yields a :class:`Reading` for each number: named in its own line, by the heading of
its column, or by the first cell of its row.
"""

import itertools
import re
from typing import NamedTuple

from cmlib.io.perf.formats.lines import TIME, as_number
from cmlib.places import yaml_beside

_READ = yaml_beside(__file__)
CATEGORIES, PARTS = _READ["names"], _READ["parts"]
IPC, CPI = "instructions a cycle", "cycles an instruction"
# Of each category of level 1, the event that its percentage becomes.
EVENTS = dict(zip(PARTS, ("retiring", "bad_speculation", "frontend_bound", "backend_bound"), strict=True))
CORES = "cores"  # and a number: a place that the heading does not name
_LONGEST_LINE = 20_000  # of which shares are read
_NAME = "|".join(f"(?P<c{k}>{names})" for k, names in enumerate(CATEGORIES.values()))
_MEANINGS = {"NAME": _NAME, "NUMBER": r"[0-9]{1,4}(?:[.,][0-9]{1,6})?", "TIME": TIME}
_MEANINGS |= {"IPC": CATEGORIES[IPC], "CPI": CATEGORIES[CPI]}


def _pattern(text):
    """Regular expression (compiled) of a text in share_lines.yaml, with ``<NAME>`` and the like filled in."""
    text = re.sub("<([A-Z]+)>", lambda word: _MEANINGS[word[1]], text)
    return re.compile(text, re.IGNORECASE | re.MULTILINE)


_SHARES = [*map(_pattern, _READ["shares"])]
_BESIDE = [(name, _pattern(text)) for name, texts in _READ["beside"].items() for text in texts]
PATTERNS = {name: _pattern(text) for name, text in _READ["patterns"].items()}
_CELL, _HEADING = PATTERNS["cell"], PATTERNS["heading"]
_MARKUP = re.compile(r"<[^<>]*>|[*`]")


class Reading(NamedTuple):
    """A number of a line.

    Attributes
    ----------
    top : int
        Number of the heading that it stands below, else of its line.
    is_timed : bool
        Whether the line is of an interval, or of all of them.
    place : str
        Program, core, socket or CPU; "" if none is named.
    text : str
        What it is when it stands in a line of its own.
    name : str
        Category of slots, IPC, CPI, a count, ``seconds``, ``stall_frontend`` or ``stall_backend``.
    value : float
        0–1 for a category; percent of the cycles for stalls.
    """

    top: int
    is_timed: bool
    place: str
    text: str
    name: str
    value: float


def readings(lines):
    """Yield (number, list of Reading) for each of some lines (list of str) that has one."""
    names, header, first, is_timed = [], 0, 0, False
    for number, line in enumerate(lines):
        mark = next((mark for mark in "|;\t," if line.count(mark) > 1), "")
        if not mark or not number or line.count(mark) != lines[number - 1].count(mark):
            first = number  # row of a table
        # perf writes further metrics of a row behind a mark of their own.
        is_timed = bool(PATTERNS["timed"].match(line)) or (is_timed and line.lstrip(" |>").startswith("#"))
        lowered = line.lower()
        if len(line) > _LONGEST_LINE or not (names or any(word in lowered for word in _READ["words"])):
            continue
        shares, top = _by_program(_cells(lines[first], mark), _cells(line, mark)) or _in_line(line), number
        if not shares and len(named := [*_HEADING.finditer(line)]) > 1:
            names, header = named, number
        elif not shares and re.search("[a-z]{3}", " ".join(_cells(line, mark)[bool(mark) :])):
            names = []
        elif not shares and names:
            shares, top = _below(names, line), header
        place = _place_of(line, lines[top] if top < number else "")
        running = PATTERNS["running"].search(line)
        before, behind = "summary " * (is_timed or top < number), f" {running[0]}" if running else ""
        if values := [*shares, *_beside(line)]:
            texts = [(at or place, before + text + behind, *value) for at, text, *value in values]
            yield number, [Reading(top, is_timed, *text) for text in texts]


def _in_line(line):
    """List of ("", text, category, value) of the shares in a line that names them."""
    matches = next(filter(None, ([*share.finditer(line)] for share in _SHARES)), [])
    is_said = matches and PATTERNS["sentence"].search(line[: matches[0].start()])
    return [] if is_said else [("", match[0], *_valued(match, match["share"])) for match in matches]


def _beside(line):
    """Yield ("", text, name, value) of what a line tells beside shares."""
    for name, beside in _BESIDE:
        for match in beside.finditer(line):
            number = re.sub("[.,]", "", match[1]) if name in ("instructions", "cycles") else match[1]
            yield "", match[0], name, as_number(number)


def _by_program(programs, cells):
    """List of (program, text, category, value) of the cells of a row that begins with a category, by those of the
    first row, which names programs.
    """
    named = _HEADING.fullmatch(re.sub(r"^\W+|metric_| *\(%\)", "", cells[0]))
    values = [*itertools.takewhile(bool, map(_CELL.fullmatch, cells[1:]))] if named else []
    columns = [(program, value[1]) for program, value in zip(programs[1:], values, strict=False)]
    columns = [column for column in columns if not PATTERNS["no program"].match(column[0])]
    return [_cell(program, named, value) for program, value in columns] if len(columns) > 1 else []


def _below(names, line):
    """List of (place, text, category, value) of what stands below the names of a heading (matches in a line): between
    the same separators, or where names end. The place is "", or number of the core where names come again.
    """
    above, line = names[0].string, line.split("#")[0].rstrip()
    mark = next((mark for mark in "|;\t," if above.count(mark) >= len(names) - 1), None)
    if mark:
        columns = zip(above.split(mark), line.split(mark), strict=False)
        pairs = [(_HEADING.search(name.strip()), _CELL.fullmatch(cell.strip())) for name, cell in columns]
    else:
        values = [*PATTERNS["value"].finditer(line.replace("%", " "))]
        others = _HEADING.sub("", above).replace("time", "")
        nearest = [min(values, key=lambda value: abs(value.end() - name.end())) for name in names if values]
        pairs = zip(names, nearest if re.search("[a-z]", others) else values[-len(names) :], strict=False)
        pairs = pairs if len(values) >= len(names) else []
    pairs = [(name, value[1]) for name, value in pairs if name and value]
    size = len({name[0].strip(" %") for name, _ in pairs})
    return [_cell(f"{CORES} {k // size + 1}" * (size < len(pairs)), *pair) for k, pair in enumerate(pairs)]


def _cell(place, named, value):
    """(place, text, category, value) of a cell, by the match of its name."""
    name, share = _valued(named, value)
    label = EVENTS.get(name, named[0].strip(" %"))
    return place, f"{label}: {value}" + "%" * (name not in (IPC, CPI)), name, share


def _valued(match, number):
    """Category of a match, and its value (float): a share is made of percent, or told as such."""
    name = next(name for k, name in enumerate(CATEGORIES) if match[f"c{k}"])
    return name, as_number(number) / (1 if name in (IPC, CPI) or "of_one" in match.re.groupindex else 100)


def _cells(line, mark):
    """Cells (list of str) of a line of a table, without bold type and the like."""
    line = _MARKUP.sub("", line).strip().removeprefix("|")
    return [cell.strip() for cell in (line.split(mark) if mark else [line])]


def _place_of(line, heading):
    """Core, socket or CPU of a line, or what its first cell names by the heading above it (str); "" if none."""
    if placed := PATTERNS["placed"].search(line):
        return placed[1] or placed[2]
    mark = next((mark for mark in "|;\t," if mark in heading), "")
    name = _cells(line, mark)[0] if mark and not PATTERNS["no row names"].match(heading) else ""
    return name if name[:1].isalpha() else ""
