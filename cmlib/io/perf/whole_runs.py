"""Read totals of whole runs, join those of one program, and convert them to rows in time.

:func:`totals` gives a list of :class:`~cmlib.io.perf.formats.base.Totals`; :func:`as_intervals` makes a table of one
of them in which each run is an interval. ParseError for text that can't be read, or too many programs or runs.
"""

import itertools
import re
import shlex
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa

from cmlib.io.events import base_name
from cmlib.io.perf.formats import find_format
from cmlib.io.perf.formats.base import Totals
from cmlib.io.perf.formats.human_readable import HumanReadable
from cmlib.io.perf.formats.lines import TIMED_ROW, as_table, as_unicode
from cmlib.io.perf.formats.per_place import PerPlace
from cmlib.io.perf.grammar import ParseError
from cmlib.io.perf.printed import LEVEL_1, printed

# Heading of each table for people: command, and number of runs if the counts are means of several.
_TABLE = re.compile(r"^ *Performance counter stats for (.*?)(?: \(([0-9]+) runs\))?:[ \t]*$", re.MULTILINE)
_ROWS = re.compile(r"\s*\n((?:[^\n]*\S[^\n]*\n?)+)")
_ELAPSED = re.compile(r"^ *([0-9]+)[.,]([0-9]+)(?: \+- [0-9.,]+)? seconds time elapsed", re.MULTILINE)
# What people write above tables to tell them apart: a heading, a remark, a line before a colon; not a run's number.
_TITLE = re.compile(
    r"^(?!.*(?:perf stat|started on)|[^\w\n]*+(?:run|rep\w*+|trial|iteration|error|warning|note|output|results?)?"
    r"[^\w\n]*+[0-9]*+[^\w\n]*+$)[ \t]{0,8}"
    r"(?:(?:#+|/{2,}) *(\w.{0,70}?)|(?:={2,}|-{2,}|\*{1,2}) *(\w.{0,70}?) *[=*-]++:?|(\w.{0,70}?):{1,2}"
    r"|(\w.{0,70}?)(?=[ \t]*\n *[=~-]{3,} *$))[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
# Programs that start another one, which is what is measured; their options and numbers are skipped.
_STARTERS = frozenset(
    ["taskset", "numactl", "nice", "chrt", "env", "sudo", "time", "stdbuf", "setarch", "timeout"]
)
_OF_STARTER = re.compile(r"-.*|[0-9a-fx,:-]+|\w+=.*")
_DURATION = "duration_time"
_ALIKE = 1.5  # ratio of IPC from which on runs without a command are of different programs
# Most programs, and most totals of runs, in a file.
MOST_PROGRAMS, _MOST_RUNS = 1000, 5000


def totals(text, columns=None, *, rows_are_runs=True):
    """List of Totals (counts of whole runs) in a text, one for each program and list of events; empty for intervals.

    Totals are of :mod:`cmlib.io.perf.formats.base`: `table` has a row a reading, `seconds` the runs' lengths.
    `columns` (dict of name to "count" or "level", optional) are those of a wide table that are kept though they name
    no event; with `rows_are_runs` False, rows of a wide table without times are taken for intervals, and not for
    runs. ParseError if the text can't be read, or has more than 1,000 programs or 5,000 runs.
    """
    text = text.replace("\r\n", "\n")
    if _TABLE.search(text) and not TIMED_ROW.search(text):
        return _by_program(_told_apart([*_tables(text)]))
    return _by_program(find_format(text).totals(columns, rows_are_runs=rows_are_runs))


def _tables(text):
    """Yield the Totals of each of perf's tables for people, with the title above it (str)."""
    tables = list(_TABLE.finditer(text))
    starts = [0]
    for before, table in itertools.pairwise(tables):
        started = text.rfind("\n# started on ", before.end(), table.start())
        starts.append(started + 1 if started >= 0 else table.start())
    title, above = "", 0
    for table, start, end in zip(tables, starts, [*starts[1:], len(text)], strict=True):
        title = [title, *(line[line.lastindex] for line in _TITLE.finditer(text, above, table.start()))][-1]
        above = table.end()
        rows = _ROWS.match(text, table.end(), end)
        if not rows or "seconds time elapsed" in rows[1] or not re.match("[^\\n]*[0-9<]", rows[1]):
            continue
        form = PerPlace if PerPlace(rows[1]).recognises() else HumanReadable
        part = form(as_unicode(rows[1]))
        try:
            counts = part.read()
        except ParseError:  # told with the number of the line in the whole text
            form("\n" * text.count("\n", 0, rows.start(1)) + part.text).read()
            raise
        elapsed = _ELAPSED.search(text, rows.end(), end)
        seconds = float(f"{elapsed[1]}.{elapsed[2]}") if elapsed else np.nan
        notes = part.remarks() + [f"Counts are means of {table[2]} runs."] * bool(table[2])
        command = table[1][1:-1] if table[1].startswith("'") else table[1]
        counts = counts.set_column(0, "time_s", pa.array(np.ones(len(counts))))
        yield title, Totals(text[start:end], counts, command, (seconds,), remarks=tuple(notes))


def title_of(line, below):
    """What a line tells of the table below it (str), as people head tables; "" if it is no title.

    `below` is the line after it, which may underline it.
    """
    title = _TITLE.match(f"{line}\n{below}")
    return title[title.lastindex] if title else ""


def _told_apart(titled):
    """Yield the Totals of some (title, Totals), with the title in front of a command below several titles."""
    titles = {}
    for title, run in titled:
        titles.setdefault(run.command, set()).add(title)
    for title, run in titled:
        word = re.sub(r"\W*[^\w.]+\W*", "-", title)
        yield replace(run, command=f"{word} {run.command}") if word and len(titles[run.command]) > 1 else run


def _by_program(runs):
    """List of Totals: those of the same command, heading and events are joined; ParseError if there are too many.

    Runs of a command that count other events are named apart where each has an account printed.
    """
    groups, unnamed = {}, []
    for number, run in enumerate(runs, 1):
        if not run.command and not run.heading:
            run = _named_by_ipc(run, unnamed, number)
        groups.setdefault((run.command, run.heading, events_of(run)), []).append(run)
        if number > _MOST_RUNS or len(groups) > MOST_PROGRAMS:
            raise ParseError(
                f"line 1: more than {MOST_PROGRAMS:,} programs or {_MOST_RUNS:,} runs come in one file. Split it."
            )
    for command in {key[0] for key in groups} if len(groups) > 1 else ():
        of_it = [alike for key, alike in groups.items() if key[0] == command]
        told = [alike for alike in of_it if set(LEVEL_1) <= printed(alike[0].text).keys()]
        for k, alike in enumerate(told if len(told) > 1 else (), 1):  # which one account can't hold for
            alike[:] = [replace(run, command=f"{command} run {k}") for run in alike]
    return [joined(alike) for alike in groups.values()]


def _named_by_ipc(run, unnamed, number):
    """Totals without a command, of the program whose IPC is alike: one answer can't hold for runs that differ so much.

    `unnamed`, a list of (name, IPC), gets those that are like none before.
    """
    names = run.table["event"].to_pylist()
    counted = dict(zip(map(base_name, names), run.table["value"].to_pylist(), strict=True))
    ipc = (counted.get("instructions") or np.nan) / (counted.get("cycles") or np.nan)
    alike = [name for name, other in unnamed if not abs(np.log(ipc / other)) > np.log(_ALIKE)]
    if not alike:
        alike = [f"run {number}" if unnamed else ""]
        unnamed.append((alike[0], ipc))
    return replace(run, command=alike[0])


def events_of(runs):
    """Names (tuple of str) of the events in `runs` (Totals, the counts of whole runs), in order of appearance."""
    return tuple(runs.table["event"].unique().to_pylist())


def joined(runs):
    """Join a list of Totals (as of :func:`totals`) of the same events to one, whose runs are numbered from 1.

    ParseError if the list is empty.
    """
    if not runs:
        raise ParseError("line 1: there are no totals of a run here.")
    before = np.cumsum([0, *(len(run.seconds) for run in runs)])[:-1]
    table = pa.concat_tables([run.table for run in runs])
    numbers = table["time_s"].to_numpy() + np.repeat(before, [len(run.table) for run in runs])
    return replace(
        runs[0],
        text="".join(run.text if run.text.endswith("\n") else f"{run.text}\n" for run in runs),
        table=table.set_column(0, "time_s", pa.array(numbers)),
        seconds=tuple(itertools.chain.from_iterable(run.seconds for run in runs)),
        remarks=tuple(dict.fromkeys(remark for run in runs for remark in run.remarks)),
    )


def as_intervals(runs):
    """DataFrame of the readings in `runs` (a Totals), with times as if the runs had been made one after the other.

    Columns: time_s (end of the run [s]), event, value (float, NaN where not counted), supported (bool), running (0-1,
    NaN if not known) and unit (str). Lengths of runs are those of the Totals, or of perf's event ``duration_time``,
    which is added [ns] where they are known and it was not counted. If a length is not known, each run is taken to
    last 1 s.
    """
    frame, seconds = runs.table.to_pandas(), np.array(runs.seconds)
    counted = frame[frame["event"] == _DURATION].drop_duplicates("time_s")
    if np.isnan(seconds).all() and len(counted) == len(seconds):
        seconds = counted["value"].to_numpy(float) / 1e9
    if not np.isfinite(seconds).all() or not (seconds > 0).all():
        return frame
    if counted.empty:
        share = np.nan if frame["running"].isna().any() else 1.0
        number = np.arange(1, len(seconds) + 1)
        rows = ((n, _DURATION, 1e9 * s, share, "ns") for n, s in zip(number, seconds, strict=True))
        frame = pd.concat([frame, as_table(rows).to_pandas()], ignore_index=True)
        frame = frame.sort_values("time_s", kind="stable", ignore_index=True)
    return frame.assign(time_s=np.cumsum(seconds)[frame["time_s"].to_numpy(int) - 1])


def program_names(commands):
    """Dict from each command (str) to a unique name: that of the program, with its arguments if it is in several
    commands.
    """
    names = {command: _words(command) for command in dict.fromkeys(commands)}
    firsts = Counter(words[0] for words in names.values())
    named = {
        command: "-".join(words if firsts[words[0]] > 1 else words[:1])[:60].strip("_.-")
        for command, words in names.items()
    }
    alike = Counter(named.values())
    return {
        command: f"{name}-{number}" if alike[name] > 1 else name
        for number, (command, name) in enumerate(named.items(), 1)
    }


def _words(command):
    """Program and arguments of a command as plain words (list of str), without programs that start others."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    words = iter(words)
    first = next(words, "")
    while first.rpartition("/")[2] in _STARTERS:
        first = next(itertools.dropwhile(_OF_STARTER.fullmatch, words), "")
    named = filter(None, [first, *words])
    plain = (re.sub(r"[^A-Za-z0-9_.]+", "_", word.rpartition("/")[2]) for word in named)
    return [word.removesuffix(".exe").strip("_.") or "x" for word in plain] or ["unnamed"]
