"""Counts in forms that are no tool's: JSON objects, tables of a page, an event and a number a line.

Functions take a text or a list of lines, and give a wide table as CSV (str), a column an event, a row a run or
program, which :class:`~cmlib.io.perf.formats.wide.Wide` reads; "" if what they get is not in their form, or has fewer
than two events. Nothing is refused.
"""

import contextlib
import csv
import itertools
import json
import re
from types import SimpleNamespace

import pandas as pd

from cmlib.io.events import is_event
from cmlib.io.events.naming import normalize_name
from cmlib.io.perf.formats.cells import ALIASES, NOTE, is_called, lasted, metric, n_told, number, without_unit
from cmlib.places import yaml_beside

_LONGEST_JSON, _LONGEST_LINE, _MOST_CELLS = 1 << 24, 1000, 1 << 20
_MARKS = "|;\t,"
_IN_ENGLISH = {ord("."): None, ord(","): "."}
_MOST_WORDS = 4  # of a column's name
_MOST_BARS = 2  # of a line that is no row of a table
_TIMES = ("ns/op", "us/op", "ms/op")
_OTHER_UNITS = frozenset(["task-clock", "cpu-clock", "duration_time"])
_OF_PCM = {"INST": "instructions [Mio]", "ACYC": "cycles [Mio]"}
_TOLD = yaml_beside(__file__)
_FORMS = {
    kind: form.replace("<number>", _TOLD["number"]).replace("<name>", _TOLD["name"])
    for kind, form in _TOLD.items()
}
_RE = SimpleNamespace(**{kind: re.compile(form) for kind, form in _FORMS.items()})


def from_objects(text):
    """The CSV of JSON objects whose keys are events, one for each run or program, with a row an object.

    `text` is a list of objects, objects line by line, one object of objects, or has objects in it; "" if it has none.
    """
    if len(text) > _LONGEST_JSON or "{" not in text:
        return ""
    for pieces in ([text], [text.replace("'", '"')], text.splitlines()):
        with contextlib.suppress(ValueError, RecursionError):
            objects = [json.loads(piece, parse_constant=_refuse) for piece in pieces if piece.strip()]
            break
    else:
        objects = []
        with contextlib.suppress(ValueError):
            objects = [json.loads(piece, parse_constant=_refuse) for piece in _RE.flat.findall(text)]
    objects = objects[0] if len(objects) == 1 and isinstance(objects[0], list) else objects
    if not objects or not all(isinstance(counts, dict) for counts in objects):
        return ""
    if len(objects) == 1 and all(isinstance(counts, dict) for counts in objects[0].values()):
        objects = [{"program": program} | counts for program, counts in objects[0].items()]
    objects = [{k: "null" if v is None else v for k, v in counts.items()} for counts in objects]
    return _as_text(objects, fewest=2 - all("name" in counts for counts in objects))


def _refuse(constant):
    """Raise ValueError for a constant of JSON such as NaN, which is no count."""
    raise ValueError(f"{constant} is no count")


def from_tables(lines, above):
    """The CSV (str) of tables with a column an event, a row an event, or a column of events' names and one of counts.

    Tables are framed by `|`, or begin in the text with a heading that names events; "" if there are none. Where counts
    have running shares, lines as of ``perf stat -x`` are given. `above` (list of Head) has the title of each.
    """
    tables, title, note = [], "", ""
    is_page = any(map(_RE.frame.match, lines))
    headed = zip(lines, above, strict=True)
    for is_table, block in itertools.groupby(
        headed, lambda row: not is_page or bool(_RE.frame.match(row[0]))
    ):
        block, heads = zip(*block, strict=True)
        if (last := heads[-1].titles[-1:]) and last[0] != title:
            title, note = last[0], ""
        for line in () if is_table else block:
            if n_runs := _RE.n_runs.match(line):
                note = f"Counts are means of {n_runs[1]} runs. "
        for rows in _tables(block) if is_table else ():
            objects = _wide(rows) or _long(rows) or _transposed(rows, note)
            if objects and isinstance(objects[0], str):
                return "\n".join(objects)
            tables += [(title, rows[0][0], objects)] * bool(objects)
    programs = [counts.get("program") for *_, objects in tables for counts in objects]
    titles, corners = [title for title, *_ in tables], [corner for _, corner, _ in tables]
    for n, (title, corner, objects) in enumerate(tables, 1):
        for counts in objects:
            if (program := counts.get("program")) is not None:
                is_told = program and programs.count(program) == 1
                words = f"{title} {corner * (titles.count(title) > corners.count(corner) == 1)}"
                counts["program"] = " ".join(f"{words * (not is_told)} {program}".split())
            elif len(tables) > 1:
                is_own = title and titles.count(title) == 1
                counts["table"] = title if is_own else f"{title} table {n}".strip()
    return _as_text([counts for *_, objects in tables for counts in objects])


def _tables(lines):
    """Yield the rows (lists of cells) of each table in some lines, from its heading on."""
    lines = [_RE.frame.sub(r"\1", line) for line in lines if line.strip(" \t|") and not _RE.rule.match(line)]
    lines = [re.sub(r"\] *\[", "|", line).strip(" []") if "][" in line else line for line in lines]
    starts = [k for k, line in enumerate(lines) if _is_heading(_cells(line, _mark(line)))]
    starts = [k for n, k in enumerate(starts) if n == 0 or lines[k] != lines[starts[n - 1]]]
    for start, end in itertools.pairwise([*(starts or [0]), len(lines)] if lines else ()):
        mark = _mark(lines[start])
        yield [_cells(line, mark) for line in lines[start:end]]


def _mark(line):
    """What is between the cells of a line (str): the most frequent mark, or "" for blanks."""
    mark = max(_MARKS, key=line.count)
    return mark if mark in line else ""


def _cells(line, mark):
    """Cells (list of str) of a line, between marks or, if there is none, several blanks."""
    is_between_blanks = mark not in line and not line.strip("0123456789. ")
    cells = line.split() if is_between_blanks else _RE.blanks.split(line.strip())
    with contextlib.suppress(csv.Error):
        cells = cells if is_between_blanks or not mark else next(csv.reader([line], delimiter=mark), [])
    return [" ".join(_RE.around.sub("", cell.strip(' *`"')).split()) for cell in cells]


def _is_heading(cells):
    """Whether cells name two events or more, or columns of events' names and of counts."""
    is_long = all(any(is_called(cell, kind) for cell in cells) for kind in ("event", "count"))
    names = [cell for cell in cells if not _RE.digit.match(cell)]
    return (
        is_long or sum(bool(_version(name)[1]) for name in names) > 1 or n_told(names) * (names == cells) > 1
    )


def _version(name):
    """What stands in front of an event in a column's name, and the event (two str, the latter "" if it is none)."""
    words = name.rstrip(".").split(" ")[:_MOST_WORDS]
    tails = ((" ".join(words[:k]), " ".join(words[k:])) for k in range(len(words)))
    return next((tail for tail in tails if is_event(without_unit(tail[1])[0])), ("", ""))


def _long(rows):
    """Objects (dicts) of rows with a column of events' names, one of counts and another; [] for others.

    Rows of the same time, program or run are one object; counts of several CPUs, cores or sockets are added up. Where
    there are running shares, and programs have no names: lines (str) as of ``perf stat -x``.
    """
    names = [name.lower() for name in rows[0]]
    event, count, share = (
        next((name for name in names if is_called(name, kind)), None) for kind in ("event", "count", "share")
    )
    keys = [name for name in names if is_called(name, "moment", "program", "run") and name != event]
    places = [name for name in names if is_called(name, "place")]
    table = pd.DataFrame([row for row in rows[1:] if len(row) == len(names)], columns=names)
    if None in (event, count) or not (share or keys or places) or len(set(names)) < len(names):
        return []
    words, table[count] = table[count], pd.to_numeric(table[count].str.replace(",", ""), errors="coerce")
    if share and not places and all(is_called(key, "run") for key in keys):
        table[count] = table[count].map("{:.15g}".format).replace("nan", "<not counted>")
        shares = pd.to_numeric(table[share].str.rstrip("% "), errors="coerce").fillna(0.0)
        return [*(table[count] + ",," + table[event] + ",1," + shares.map("{:.2f}".format) + ",,")]
    table["again"] = table.groupby([*keys, *places, event], sort=False).cumcount()
    n_rows, events = len(table[[*keys, "again"]].drop_duplicates()), set(table[event])
    if not any(map(is_event, events)) or n_rows * len(events) > _MOST_CELLS:
        return []
    table["word"] = words.where(table[count].isna())
    grouped = table.groupby([*keys, "again", event], sort=False)
    added = grouped[count].sum(skipna=False).astype(object).fillna(grouped["word"].first())
    return added.unstack(sort=False).reset_index(keys).to_dict("records")


def _wide(rows):
    """Objects (dicts) of rows with a column an event; [] for others, and for rows of different lengths.

    Rows and columns of sums and statistics are left out; decimal commas become points. Where an event has several
    columns, such as `old cycles` and `new cycles`, each row is as many objects.
    """
    heading, *rows = rows
    rows = [row for row in rows if len(row) == len(heading) or sum(map(_is_value, row)) > 1]
    dropped = set()
    while rows and not any(map(_is_value, rows[0])):  # units, pandas' statistics, or the name of its index
        below = ["" if word == "mean" else word for word in rows.pop(0)]
        dropped |= {k for k, word in enumerate(below) if is_called(word, "sum")}
        named = zip(heading, below, strict=True)
        heading = [f"{name} [{word}]" if name and word else name or word for name, word in named]
    rows = [row for row in rows if not any(is_called(cell, "sum") for cell in row)]
    rows = [row for row in rows if any(map(_RE.digit.match, row[1:]))]
    if not rows or any(len(row) != len(heading) for row in rows) or len(rows) * len(heading) > _MOST_CELLS:
        return []
    if any(_RE.decimal_comma.fullmatch(cell) for row in rows for cell in row):
        rows = [[c.translate(_IN_ENGLISH) if _RE.german.fullmatch(c) else c for c in row] for row in rows]
    heading, note = _called([*zip(heading, rows[0], strict=True)])
    times = [k for k, name in enumerate(heading) if _RE.took.search(name) and lasted("", rows[0][k])]
    for row in rows if len(times) == 1 else ():  # units stand in the cells
        heading[times[0]], row[times[0]] = "runtime [s]", str(lasted("", row[times[0]]))
    columns = [(*_version(name), k) for k, name in enumerate(heading) if k not in dropped]
    events = {}
    for version, event, k in columns:
        if event:
            events.setdefault(version, {}).setdefault(event, k)
    if sum(map(len, events.values())) < 2 and n_told(heading) < 2:
        return []
    if len(events) < 2 or min(map(len, events.values())) < 2:
        columns, events = [], {"": {heading[k]: k for *_, k in columns}}
    others = {heading[k]: k for _, event, k in columns if not event}
    versions = [others | of_version for of_version in events.values()]
    return [
        {NOTE: note} | {name: row[k] for name, k in names.items()} | {"version": version}
        for row in rows
        for version, names in zip(events, versions, strict=True)
    ]


def _is_value(cell):
    """Whether a cell holds a number, or says that there is none."""
    return bool(cell) and (bool(_RE.digit.match(cell)) or number(cell) is not None)


def _transposed(rows, note):
    """Objects (dicts) of rows with a row an event, an object a column of counts; [] for others.

    A column of means is of the program whose name stands above. `note` is put before what is said of the rows.
    """
    rows = [*itertools.dropwhile(lambda row: sum(map(bool, row)) < 2, rows)]  # a title
    heading, rows = (rows or [[]])[0], [row for row in rows[1:] if len(row) - len(rows[0]) in (0, 1)]
    if rows and is_event(rows[0][-1]) and not is_event(rows[0][0]):  # its name behind a count
        heading, rows = heading[::-1], [row[::-1] for row in rows]
    names, said = _called(rows)
    rows, note = [[name, *row[1:]] for name, row in zip(names, rows, strict=True)], note + said
    rows = [*map(_in_ms, rows)]
    events = [row for row in rows if not any(map(_RE.duration.search, row))]
    events = [row for row in events if is_event(row[0]) or without_unit(row[0])[1] > 1]
    counted = {row[0]: row for row in events}
    levels = [row for row in rows if row[0] not in counted and metric(row[0])]
    per = "".join(f"/{unit}" for unit in _RE.per_op.findall(" ".join(heading[:1])))
    took = next((row for row in rows if _RE.wall.match(row[0]) and lasted(*row[:2])), None)
    read = [*counted.values(), *([took] if took else [])] or levels
    width = len(read[0]) if read else 0
    names = ["", *heading[1 - width :]]
    columns = [k for k, cells in enumerate(zip(*read, strict=False)) if all(map(_RE.cell.fullmatch, cells))]
    columns = [k for k in columns if not is_called(names[k], "statistic")]
    are_means = all(is_called(names[k], "mean") for k in columns)
    if len(counted) < len(events) or {width} != {*map(len, read)}:
        return []
    read += levels
    others = ", ".join(row[0] for row in rows if row not in read and not _RE.stalled.fullmatch(row[0]))
    note += f"Rows whose names are no known events are left out: {others}." * bool(others)
    objects = []
    for k in columns[:1] if are_means else columns:
        if not counted or any(_RE.large.search(row[k]) for row in counted.values()):
            name = {"program": "" if are_means else names[k]}
            seconds = {"runtime [s]": lasted(took[0], took[k])} if took else {}
            told = {row[0]: row[k] for row in levels if len(row) == width}
            counts = {event: row[k].partition(" (")[0] for event, row in counted.items()}
            for row in rows if "cycles" in counts else ():
                if (stalled := _RE.stalled.fullmatch(row[0])) and (share := _RE.percent.fullmatch(row[k])):
                    counts[stalled[1]] = number(counts["cycles"].replace(",", "")) * float(share[1]) / 100
            counts = {_RE.blank.sub("-", event) + per: count for event, count in counts.items()}
            objects.append(name | {NOTE: note} | counts | seconds | told)
    return objects


def _in_ms(row):
    """A row (list of str) of the time of CPUs in perf's ms, where a cell of it is another unit; others as they are."""
    units = {"s": 1e3, "us": 1e-3, "ns": 1e-6}
    scale = next((units[cell] for cell in row[1:] if cell in units), 1.0)
    if scale == 1 or row[0] not in _OTHER_UNITS:
        return row
    return [f"{number(cell) * scale:.9g}" if number(cell) is not None else cell for cell in row]


def _called(rows):
    """What the first cells of some rows call in perf's words (list of str), with ``%`` where it is percent, and a note
    on what is taken for another event.
    """
    taken, there = {_event_called(row): row[0] for row in rows}, {normalize_name(row[0]) for row in rows}
    taken = {name: event for event, name in taken.items() if event and normalize_name(event) not in there}
    note = "".join(f"{name} is taken for {event}. " for name, event in taken.items())
    names = ((taken.get(row[0], row[0]), row[1].endswith("%")) for row in rows)
    return [name + " %" * (is_percent and "%" not in name) for name, is_percent in names], note


def _event_called(row):
    """The event (str) that people call as a row's name where its cells are counts of a run; "" for other rows."""
    are_counts = all(_RE.cell.fullmatch(cell) and _RE.large.search(cell) for cell in row[1:2])
    name = _RE.aside.sub("", row[0])
    return ALIASES.get(name.lower(), name * (name != row[0] and is_event(name))) if are_counts else ""


def from_lines(lines):
    """The CSV (str) of lines with an event and its count each, with a row a program or run; "" if there are none."""
    objects, program, title, above = [], "", "", ""
    for line in lines:
        line, bare = line[:_LONGEST_LINE], line[:_LONGEST_LINE].replace("|", " ")
        is_jmh = _RE.jmh.match(bare) or _RE.jmh_heading.match(bare)  # as a page's table, too
        line = bare if is_jmh else line * bool(line.count("|") <= _MOST_BARS or _RE.behind.match(line))
        if heading := _RE.program.match(line):
            title = program = next(filter(None, heading.groups())).strip(" `")
        if is_heading := bool(_RE.jmh_heading.match(line)):
            title = above
        tried = (
            (form, [*form.finditer(line)])
            for form in (_RE.jmh, _RE.go, _RE.pairs, _RE.listed, _RE.first, _RE.behind)
        )
        form, matches = next((pair for pair in tried if len(pair[1]) > (pair[0] is _RE.listed)), (None, []))
        if matches and form is not _RE.listed and _RE.large.search(line, matches[-1].end()):
            return ""
        before = line[: matches[0].start()].split() if matches else []
        for match in matches:
            told = match.groupdict(default="")
            event = told["event"] + told.get("unit", "") + told.get("time", "")
            name = " ".join(f"{told.get('program', '')} {told.get('values', '')}".split())
            name = name or " ".join(before if form is _RE.listed else before[:1]) or program
            is_level = form is _RE.jmh and metric(event)
            if not (is_event(without_unit(event)[0]) or event in _TIMES or is_level) or event in _OTHER_UNITS:
                continue
            if not objects or objects[-1]["program"] != name or event in objects[-1]:
                objects.append({"title": title, "program": name})
            objects[-1][event] = told["count"] + told.get("scale", "")
        if line.strip() and not matches and not is_heading:
            above = line.strip(" *#/=-:")
    objects = [counts for counts in objects if n_told(counts)]
    are_alike = len({counts["program"] for counts in objects}) < len(objects)
    for counts in objects:
        title = counts.pop("title")
        counts["program"] = f"{title * are_alike} {counts['program']}".strip()
    return _as_text(objects)


def from_pcm(lines):
    """Lines of Intel PCM's CSV, or of its screen, as CSV (str): instructions and cycles of the whole system.

    "" for others, and for shares of slots.
    """
    screens = (map("".join, _RE.pcm.findall(line)) for line in lines if "retired:" in line)
    objects = [dict(zip(("instructions", "cycles"), counts, strict=False)) for counts in screens]
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
    for table in _RE.pcm_heading.split("\n".join(lines))[1:]:
        rows = _RE.pcm_core.findall(table)
        used = [row for row in rows if row[0] == "*"] or rows
        note = f"Counts of the {len(rows)} cores that are listed are added up." * (used is rows)
        instructions, cycles = (sum(number(row[k]) for row in used) for k in (1, 2))
        objects.append({"instructions": instructions, "cycles": cycles, NOTE: note})
    return objects


def _as_text(objects, fewest=2):
    """The CSV of some objects (dicts), a row each, without empty columns.

    "" if :func:`~cmlib.io.perf.formats.cells.n_told` gives fewer than `fewest` keys, or there would be too many cells.
    """
    names = set().union(*objects)
    is_told = n_told(names) >= fewest and len(names) * len(objects) <= _MOST_CELLS
    table = pd.DataFrame(objects if is_told else [])
    return table.loc[:, (table != "").any()].to_csv(index=False) if len(table) else ""
