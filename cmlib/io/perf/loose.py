"""Counts in forms that are no tool's: JSON objects, a column of event names, an event and a number a line.

Functions take a text or a list of lines, and give a wide table as CSV (str), a column an event, a row a run or
program, which :class:`~cmlib.io.perf.formats.wide.Wide` reads; "" if what they get is not in their form, or has fewer
than two events. Nothing is refused.
"""

import contextlib
import csv
import itertools
import json
import re

import pandas as pd

from cmlib.io.events import is_event
from cmlib.io.perf.formats.wide import NOTE, NOTHING, PER_SECOND, without_unit

_LONGEST_JSON, _LONGEST_LINE, _MOST_CELLS = 1 << 24, 1000, 1 << 20
_MARKS = "|;\t,"
_EMOJI = re.compile(r"^:[a-z_]+:[ *`]*")  # in front of a name, as nanobench has it
_FRAME = re.compile(r"^\s*\|(.*?)\|?\s*$")
_RULE = re.compile(r"^[\s|:+-]*-[\s|:+-]*$")
# Columns of a table of events: their names, their counts, where they were counted, and what tells rows apart.
_EVENT = re.compile(r"(?:event|counter|metric|hpc|pmc)(?:[ _-]?names?)?")
_COUNT = re.compile(r"(?:counter[ _-]?)?(?:counts?|values?|total|mean|sum|avg)")
_PLACE = re.compile(r"cpu|core|socket|thread|node")
_KEY = re.compile(
    r"time.*|.*timestamp|seconds|elapsed|program(?:me)?|bench(?:mark)?|name|command|app|workload"
    r"|run(?:[ _-]?(?:id|number))?|rep(?:etition)?|iteration|trial"
)
_NUMBER = r"(?P<count>[0-9][0-9,]{0,30}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,2})?)"
_PLAIN = re.compile(_NUMBER)
_NAME = r"(?P<event>[A-Za-z][\w./-]{1,80}(?::[ukhpPD]{1,5}(?!\w))?)"
# JMH's, with the values of its parameters behind the event; Go's, behind the program's name.
_JMH = re.compile(
    rf"^[\s*#/]*+(?P<program>[^\s:]+)(?::·?{_NAME})?\s+(?P<values>(?:\S+\s+){{0,8}}?)(?:thrpt|avgt|sample|ss)\s.*?(?<=\s)"
    rf"{_NUMBER}(?P<scale>)(?:\s±\s+\S+)?\s+(?:#(?P<unit>/op)|(?P<time>[nu]s/op|ms/op))\s*$"
)
_JMH_HEADING = re.compile(r"^\W*Benchmark\s.*\bScore\b.*\bUnits\W*$")
_GO = re.compile(rf"(?<=\s){_NUMBER}(?P<scale>)\s{_NAME.replace('./', '.')}(?P<unit>/op)(?!\S)")
# Behind a program's name, on google-benchmark's console.
_PAIRS = re.compile(rf"(?<![^\s,;]){_NAME}={_NUMBER}(?P<scale>[kKMGT]?)(?![\w.])")
# Of a sheet: rows and columns of sums and other statistics; numbers where a comma is before the decimals.
_SUM = re.compile(
    r"(?:grand )?totals?|sum(?:me)?|mean|average|avg|median|std|min|max|mittel(?:wert)?|gesamt", re.I
)
_DIGIT = re.compile("[0-9]")
_DECIMAL_COMMA = re.compile(r"[0-9.]+,(?:[0-9]{1,2}|[0-9]{4,})")
_GERMAN = re.compile(r"[0-9.]+,[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+")
# A count in front of its event, between marks.
_BEHIND = re.compile(rf"^[\s|]*{_NUMBER}(?P<scale>)\s*[|;,\t][\s`]*{_NAME}[\s`]*(?:[|;,\t]|$)")
# As poop and LinuxPerf.jl begin their lines.
_FIRST = re.compile(
    rf"^[^\w\n]*{_NAME}[\"'`]?(?:\s*(?:[=:|│;]|,(?=[^,]*$))\s*|\s+)[\"']?{_NUMBER}(?P<scale>(?: ?[kKMGTB])?)(?![\w.])"
)
_WALL_TIME = re.compile(r"^\W*wall_time[ |]+([0-9.]+)(ns|us|µs|ms|s)\b")
_PROGRAM = re.compile(r"^\s*Benchmark[ #]*\d[^:]*:\s*(\S.*)$|^#+ (\S.*)$|^([\w./-]+):\s*$")
_N_RUNS = re.compile(r"(?:\((?=\d+ runs\):)|^Runs: *)(\d+)")
# Intel PCM's screen, and the columns of its CSV that count something, in millions.
_PCM = re.compile(r"(?:Instructions retired|Active cycles): *([0-9.]+) ?([KMGT]?) *;")
# Rows of cores, or of all (`*`), with values such as `30 M`.
_PCM_HEADING = re.compile(r"^ *Core *\| *IPC *\| *Instructions *\| *Cycles *\|.*", re.MULTILINE)
_PCM_CORE = re.compile(
    r"^ *(\*|[0-9]+) +[0-9.]+ +([0-9.]+) ?([KMGT]?) +([0-9.]+) ?([KMGT]?)(?= |$)", re.MULTILINE
)
_OF_PCM = {"INST": "instructions [Mio]", "ACYC": "cycles [Mio]"}
# A count beside another, as in a table with a column a program: which is meant is not known.
_FURTHER = re.compile(r"(?<![\w.,])[0-9]{4}|[0-9],[0-9]{3}|[0-9]e[+0-9]")
_SCALES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12}
# Of tables with a row an event: counts, and columns that are no program's.
_SCALED = re.compile(rf"{_NUMBER} ?(?P<scale>[kKMGTB]?)")
_CELL = re.compile(rf"{_SCALED.pattern}(?:[nuµm]?s)?")
_MEAN = re.compile(r"(?:mean|average|avg|values?|counts?)\b.*", re.IGNORECASE)
_STATISTIC = re.compile(
    r"|(?:min|max|std|sd|σ|var|med|p[0-9]|outl|delta|diff|change|ratio|speed|unit|per\b|cv|err|%|Δ|±|sav|reduc|improv|gain"
    r"|incr|decr|norm|relat|overhead|factor).*|.* (?:[-−/÷]|vs\.?) .*",
    re.IGNORECASE,
)
_FEWEST_COUNTED = 1000  # at most of a column's events; others are ratios, or of an operation
_MOST_BARS = 2  # of a line that is no row of a table
_WALL, _DURATION = re.compile(r"wall[_ -]time|elapsed"), re.compile(r"([0-9.]+) ?(ns|us|µs|ms|s)")
_STALLED, _PERCENT = re.compile(r"(stalled-cycles-\w+) ?%"), re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,4})?) ?%")
_TIMES = ("ns/op", "us/op", "ms/op")
_OTHER_UNITS = frozenset(["task-clock", "cpu-clock", "duration_time"])


def from_objects(text):
    """The CSV of JSON objects whose keys are events, one for each run or program, with a row an object.

    `text` is a list of objects, objects line by line, or one object of objects; "" if it is none of these.
    """
    if not text.lstrip().startswith(("{", "[")) or len(text) > _LONGEST_JSON:
        return ""
    objects = []
    for pieces in ([text], [text.replace("'", '"')], text.splitlines()):
        with contextlib.suppress(ValueError, RecursionError):
            objects = [json.loads(piece, parse_constant=_refuse) for piece in pieces if piece.strip()]
            break
    if len(objects) == 1 and isinstance(objects[0], list):
        objects = objects[0]
    elif len(objects) == 1 and all(isinstance(counts, dict) for counts in objects[0].values()):
        objects = [{"program": program} | counts for program, counts in objects[0].items()]
    if not all(isinstance(counts, dict) for counts in objects):
        return ""
    return _as_text([{k: "null" if v is None else v for k, v in counts.items()} for counts in objects])


def _refuse(constant):
    """Raise ValueError for a constant of JSON such as NaN, which is no count."""
    raise ValueError(f"{constant} is no count")


def from_columns(lines):
    """Lines with a column of event names and one of counts, as CSV (str) with a column an event; "" for others.

    Rows of the same time, program or run are one row of the result; counts of several CPUs, cores or sockets are
    added up.
    """
    heading, rows = _table(lines)
    names = [name.lower() for name in heading]
    event, count = (next(filter(pattern.fullmatch, names), None) for pattern in (_EVENT, _COUNT))
    if event is None or count is None or len(set(names)) < len(names):
        return ""
    objects, seen = {}, {}
    for row in (dict(zip(names, row, strict=True)) for row in rows if len(row) == len(names)):
        key = tuple((name, cell) for name, cell in row.items() if _KEY.fullmatch(name) and name != event)
        place = next((cell for name, cell in row.items() if _PLACE.fullmatch(name)), "")
        again = seen[key, place, row[event]] = seen.get((key, place, row[event]), 0) + 1
        counts = objects.setdefault((key, again), dict(key))
        before, cell = counts.get(row[event], "0"), row[count].replace(",", "")
        are_numbers = all(map(_PLAIN.fullmatch, (before, cell)))
        counts[row[event]] = repr(float(before) + float(cell)) if are_numbers else cell
    return _as_text(list(objects.values()))


def from_sheet(lines):
    """Lines (str) of a spreadsheet's table with a column an event, as CSV (str); "" if it has not two events.

    Cells are divided by one of ``|;,`` or tabs. Titles, and rows and columns of sums and statistics, are left out;
    decimal commas become points.
    """
    rows, dropped = [], set()
    with contextlib.suppress(csv.Error):
        lines = [_FRAME.sub(r"\1", line) for line in lines if not _RULE.match(line)]
        mark = max(_MARKS, key=next(filter(_names_events, lines), "".join(lines)).count)
        rows = [
            [_EMOJI.sub("", cell.strip(" *`")) for cell in row]
            for row in csv.reader(lines, delimiter=mark)
            if any(row)
        ]
    named = (k for k, row in enumerate(rows) if _names_events(mark.join(row)))
    heading, *rows = rows[next(named, len(rows)) :] or [[]]
    rows = [row for row in rows if len(row) == len(heading) or sum(map(_is_value, row)) > 1]
    while rows and not any(map(_is_value, rows[0])):  # units, pandas' statistics, or the name of its index
        below = ["" if word == "mean" else word for word in rows.pop(0)]
        dropped |= {k for k, word in enumerate(below) if _SUM.fullmatch(word)}
        named = zip(heading, below, strict=True)
        heading = [f"{name} [{word}]" if name and word else name or word for name, word in named]
    rows = [row for row in rows if any(map(_DIGIT.match, row[1:])) and not any(map(_SUM.fullmatch, row))]
    if not rows or any(len(row) != len(heading) for row in rows) or len(rows) * len(heading) > _MOST_CELLS:
        return ""
    if any(_DECIMAL_COMMA.fullmatch(cell) for row in rows for cell in row):
        in_english = {ord("."): None, ord(","): "."}
        rows = [[c.translate(in_english) if _GERMAN.fullmatch(c) else c for c in row] for row in rows]
    table = pd.DataFrame(rows).drop(columns=sorted(dropped))
    return table.to_csv(header=[heading[k] for k in table], index=False)


def _names_events(line):
    """Whether cells of a line, between those marks that are most frequent in it, name two events or more."""
    cells = line.split(max(_MARKS, key=line.count))
    return sum(is_event(without_unit(cell.strip(' *`"'))[0]) for cell in cells) > 1


def _is_value(cell):
    """Whether a cell holds a number, or says that there is none."""
    return bool(cell) and (bool(_DIGIT.match(cell)) or cell.lower() in NOTHING)


def from_rows(lines):
    """The CSV (str) of tables with a row an event and a column a program, with a row a program; "" if there are none.

    Tables are framed by `|`, or the whole text is one. A column of means is of the program whose name stands above.
    """
    objects, title, note = {}, "", ""
    is_page = any(map(_FRAME.match, lines))
    for is_table, block in itertools.groupby(lines, lambda line: not is_page or bool(_FRAME.match(line))):
        block = [*block]
        for line in () if is_table else block:
            if heading := _PROGRAM.match(line):
                title, note = next(filter(None, heading.groups())).strip(" `"), ""
            if n_runs := _N_RUNS.search(line):
                note = f"Counts are means of {n_runs[1]} runs. "
        for name, counts in _by_column(block, note) if is_table else ():
            name = f"{title} {name}".strip() if not name or name in objects else name
            name = f"{name} table {len(objects) + 1}".strip() if name in objects else name
            objects[name] = {"program": name} | counts
    return _as_text([*objects.values()])


def _by_column(block, note):
    """Yield (program, dict of counts) of the columns in the lines of a table; the program "" of means."""
    heading, rows = _table(block)
    rows = [row for row in rows if len(row) - len(heading) in (0, 1)]
    if rows and is_event(rows[0][-1]) and not is_event(rows[0][0]):  # its name behind a count
        heading, rows = heading[::-1], [row[::-1] for row in rows]
    counted = [row for row in rows if is_event(row[0])]
    read = [row for row in rows if is_event(row[0]) or _WALL.match(row[0])]
    width = len(read[0]) if read else 0
    names = ["", *heading[1 - width :]]
    columns = [k for k, cells in enumerate(zip(*read, strict=False)) if all(map(_CELL.fullmatch, cells))]
    columns = [k for k in columns if not _STATISTIC.fullmatch(names[k]) and not _PLAIN.fullmatch(names[k])]
    are_means = all(_MEAN.fullmatch(names[k]) for k in columns)
    if len({row[0] for row in counted}) < len(counted) or {width} != {*map(len, read)}:
        return
    known = {row[0] for row in read}
    others = ", ".join(row[0] for row in rows if row[0] not in known and not _STALLED.fullmatch(row[0]))
    note += f"Rows that name no event are left out: {others}." * bool(others)
    for k in columns[:1] if are_means else columns:
        counts = {NOTE: note} | {row[0]: _count(_SCALED.fullmatch(row[k])) for row in counted}
        if counted and max(list(counts.values())[1:]) < _FEWEST_COUNTED:
            continue
        for row in rows:
            if _WALL.match(row[0]) and (seconds := _DURATION.fullmatch(row[k])):
                counts["time [s]"] = float(seconds[1]) / PER_SECOND.get(seconds[2][0], 1.0)
            stalled = _STALLED.fullmatch(row[0])
            if stalled and "cycles" in counts and (share := _PERCENT.fullmatch(row[k])):
                counts[stalled[1]] = float(share[1]) / 100 * counts["cycles"]
        yield "" if are_means else names[k], counts


def from_lines(lines):
    """The CSV (str) of lines with an event and its count each, with a row a program or run; "" if there are none."""
    objects, program, mean, above = [], "", {"title": ""}, ""
    for line in lines:
        line = line[:_LONGEST_LINE] if line.count("|") <= _MOST_BARS or _BEHIND.match(line) else ""
        if _JMH_HEADING.match(line):
            mean = {"title": above}
        if heading := _PROGRAM.match(line):
            program, mean = next(filter(None, heading.groups())).strip(" `"), {"title": ""}
        if n_runs := _N_RUNS.search(line):
            mean |= {NOTE: f"Counts are means of {n_runs[1]} runs."}
        if took := _WALL_TIME.match(line):
            seconds = float(took[1]) / PER_SECOND.get(took[2][0] if took[2] != "s" else "", 1.0)
            objects.append({"program": program, "time [s]": seconds} | mean)
        matches = next(
            filter(None, ([*form.finditer(line)] for form in (_JMH, _GO, _PAIRS, _FIRST, _BEHIND))), []
        )
        if matches and _FURTHER.search(line, matches[-1].end()):
            return ""
        for match in matches:
            told = match.groupdict(default="")
            before = next(iter(line[: matches[0].start()].split()), program)
            event = told["event"] + told.get("unit", "") + told.get("time", "")
            name = " ".join(f"{told.get('program', '')} {told.get('values', '')}".split()) or before
            if not is_event(without_unit(event)[0]) and event not in _TIMES or event in _OTHER_UNITS:
                continue
            if not objects or objects[-1]["program"] != name or event in objects[-1]:
                objects.append({"program": name} | mean)
            objects[-1][event] = _count(told)
        above = above if matches or not line.strip() else line.strip(" *#/=-:")
    objects = [counts for counts in objects if any(is_event(without_unit(name)[0]) for name in counts)]
    titled = {(counts["title"], counts["program"]) for counts in objects}
    are_alike = len({name for _, name in titled}) < len(titled)  # of the same name in several tables
    for counts in objects:
        title = counts.pop("title")
        counts["program"] = f"{title * are_alike} {counts['program']}".strip()
    return _as_text(objects)


def from_pcm(lines):
    """Lines of Intel PCM's CSV, or of its screen, as CSV (str): instructions and cycles of the whole system.

    "" for others, and for shares of slots.
    """
    screens = [
        [float(n) * _SCALES[k.lower()] for n, k in _PCM.findall(line)] for line in lines if "retired:" in line
    ]
    objects = [
        dict(zip(("instructions", "cycles"), counts, strict=True)) for counts in screens if len(counts) == 2
    ]
    objects = objects or _of_cores(lines)
    rows = [re.split("[,;]", line) for line in lines]
    for places, names in itertools.pairwise(rows):
        if names[:2] == ["Date", "Time"]:  # of the whole system first, then of sockets and cores
            n = next((k for k, place in enumerate(places) if place not in ("System", "")), len(places))
            names = ["time", *(_OF_PCM.get(name, name) for name in names[2:n])]
            timed = (
                [f"{row[0]}T{row[1]}", *row[2:n]] for row in rows if row[0][:1].isdigit() and len(row) >= n
            )
            objects = [dict(zip(names, cells, strict=True)) for cells in timed]
    return "" if any("retiring" in line.lower() for line in lines) else _as_text(objects)


def _of_cores(lines):
    """Instructions and cycles of PCM's tables of cores: a dict a table, of the row of all cores, or added up."""
    objects = []
    for table in _PCM_HEADING.split("\n".join(lines))[1:]:
        rows = _PCM_CORE.findall(table)
        used = [row for row in rows if row[0] == "*"] or rows
        note = (
            {NOTE: f"Counts of the {len(rows)} cores that are listed are added up."} if used is rows else {}
        )
        counts = (sum(float(row[k]) * _SCALES[row[k + 1].lower()] for row in used) for k in (1, 3))
        objects.append(dict(zip(("instructions", "cycles"), counts, strict=True)) | note)
    return objects


def _table(lines):
    """Cells of the first line, and an iterator over the cells of each further one, by the mark between cells, or
    blanks.
    """
    lines = [line for line in lines if line.replace("|", " ").strip() and not _RULE.match(line)] or [""]
    mark = max(_MARKS, key=lines[0].count)
    mark = mark if mark in lines[0] else None
    cells = ([cell.strip(' *`"') for cell in line.strip().strip("|").split(mark)] for line in lines)
    return next(cells), cells


def _count(told):
    """A count (float) of its number and scale, as groups of a match."""
    return float(told["count"].replace(",", "")) * _SCALES[told["scale"].strip().lower()]


def _as_text(objects):
    """The CSV of some objects (dicts), a row each, without empty columns.

    "" if fewer than two keys are events, or there would be too many cells.
    """
    names = set().union(*objects)
    if sum(is_event(without_unit(name)[0]) for name in names) < 2 or len(names) * len(objects) > _MOST_CELLS:
        return ""
    table = pd.DataFrame(objects)
    return table.loc[:, (table != "").any()].to_csv(index=False)
