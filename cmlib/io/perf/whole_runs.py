"""Read totals of whole runs, join those of one program, and convert them to rows in time.

:func:`totals` gives a list of :class:`~cmlib.io.perf.formats.base.Totals`; :func:`as_intervals` makes a table of one
of them in which each run is an interval. ParseError for text that can't be read, or too many programs or runs.
"""

import itertools
import os
import re
import shlex
import unicodedata
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa

from cmlib.io.events import base_name
from cmlib.io.perf.blocks import TABLE, are_same, heads, program_of
from cmlib.io.perf.formats import find_format
from cmlib.io.perf.formats.base import OF_SEVERAL, TIMED, VARIES, Totals
from cmlib.io.perf.formats.human_readable import HumanReadable
from cmlib.io.perf.formats.lines import TIMED_ROW, as_table, as_unicode
from cmlib.io.perf.formats.per_place import PerPlace
from cmlib.io.perf.grammar import BEGUN, STARTED, ParseError
from cmlib.io.perf.printed import printed, shares_told
from cmlib.io.perf.share_lines import EVENTS

_ROWS = re.compile(r"\s*\n((?:[^\n]*\S[^\n]*\n?)+)")
_ELAPSED = re.compile(r"^ *([0-9]+)[.,]([0-9]+)(?: \+- [0-9.,]+)? seconds time elapsed", re.MULTILINE)
# Programs that start another one, which is what is measured; their options and numbers are skipped.
_STARTERS = re.compile(
    r"(?:(?:[^\s/]*+/)*+(?:taskset|numactl|nice|chrt|env|sudo|time|stdbuf|setarch|timeout)"
    r"(?: +(?:-\S*+|[0-9][0-9a-fx,:-]*+|\w++=\S*+)(?!\S))*+(?: +|$))*+"
)
_DURATION = "duration_time"
# Ratio of instructions, or of IPC, from which on runs are of different programs: those of equal work differ by a few
# percent, and a mean of others holds for none. Of CPUs and cycles, too; that of the times of few runs comes last.
_ALIKE = np.array([1.25, 1.25, 1.25, 1.5])
_FEW = 5  # runs of a command that are no sample of what varies
_ONE_INTERVAL = "Counts are those of one interval, and the file does not tell how long that was."
_JOINED = "Shares of slots are what the tool printed elsewhere in the text: {}."
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
    if holds_tables(text):
        return _by_program([*itertools.islice(_tables(text), _MOST_RUNS + 1)])
    form = find_format(text)
    runs = [*itertools.islice(form.totals(columns, rows_are_runs=rows_are_runs), _MOST_RUNS + 1)]
    return _by_program(runs or [*_one_interval(form)])


def holds_tables(text):
    """Whether a text has perf's tables for people, of whole runs."""
    return bool(TABLE.search(text)) and not TIMED_ROW.search(text)


def _tables(text):
    """Yield the Totals of each of perf's tables for people."""
    lines = text.split("\n")
    above, starts = heads(lines), [0, *itertools.accumulate(len(line) + 1 for line in lines)]
    number = before = 0
    for table in TABLE.finditer(text):
        number += text.count("\n", starts[number], table.start())
        begin = text.rfind("\n# started on ", before, table.start()) + 1 or table.start()
        titles, *whose = above[number]
        last = next((k for k in range(number, len(lines)) if [*above[k][1:]] != whose), len(lines))
        before = end = starts[last]
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
        of_runs = f"Counts are means of {table[2]} runs." if table[2] else OF_SEVERAL
        notes = [*part.remarks(), *[of_runs] * bool(table[2] or VARIES.search(rows[1]))]
        counts = counts.set_column(0, "time_s", pa.array(np.ones(len(counts))))
        yield Totals(text[begin:end], counts, whose[0], (seconds,), remarks=tuple(notes), titles=titles)


def _one_interval(form):
    """Yield the Totals of a text of a single interval, whose length is not known where perf does not tell its start."""
    times = (time[1] for time in TIMED.finditer(form.text))
    first = next(times, None)
    is_told = STARTED in form.text.replace(BEGUN, "")
    if first and form.lists_runs and not is_told and all(time == first for time in times):
        table = form.read()
        table = table.set_column(0, "time_s", pa.array(np.ones(len(table))))
        yield Totals(form.text, table, remarks=(*form.remarks(), _ONE_INTERVAL))


def _by_program(runs):
    """List of Totals: those of the same command, titles, heading and events are joined where their counts are alike;
    others are named apart. Some of the first one's counts again, as text quotes them, are no run. ParseError if there
    are too many.
    """
    programs, firsts, n_parts = {}, {}, 0
    of_command = Counter(run.command for run in runs)
    for number, run in enumerate(runs, 1):
        counts = {*zip(run.table["event"].to_pylist(), run.table["value"].to_pylist(), strict=True)}
        if counts < firsts.setdefault((run.command, run.heading), counts):
            continue
        are_few = of_command[run.command] <= _FEW
        # On a kind of core in one of them only: half of the events are there without a count.
        ran = 2 * sum(map(np.isnan, run.table["value"].to_pylist())) < len(run.table)
        told = _told(run, are_few), (ran, events_of(run)), EVENTS.keys() <= printed(run.text).keys()
        of_key = programs.setdefault((run.command, run.titles, run.heading), [])
        parts = next((parts for like, parts in of_key if _are_alike(run.command, told, like)), {})
        if not parts:
            of_key.append((told, parts))
        n_parts += told[1] not in parts
        parts.setdefault(told[1], []).append(run)
        if number > _MOST_RUNS or n_parts > MOST_PROGRAMS:
            raise ParseError(
                f"line 1: more than {MOST_PROGRAMS:,} programs or {_MOST_RUNS:,} runs come in one file. Split it."
            )
    return [
        joined([replace(run, titles=(*run.titles, *[f"run {k}"] * (len(of_key) > 1))) for run in alike])
        for of_key in programs.values()
        for k, (_, parts) in enumerate(of_key, 1)
        for alike in parts.values()
    ]


def _told(run, are_few):
    """What tells programs apart (array): IPC; of one that ended, instructions, CPUs; of few runs, cycles and time."""
    names = run.table["event"].to_pylist()
    counted = dict(zip(map(base_name, names), run.table["value"].to_pylist(), strict=True))
    instructions, cycles, ms = (counted.get(of) or np.nan for of in ("instructions", "cycles", "task-clock"))
    if not program_of(run.command):
        return np.array([instructions / cycles])
    seconds = run.seconds[0] or np.nan
    cpus = np.maximum(ms / 1e3 / seconds, 1.0)  # waiting is no other program
    took = seconds if TABLE.search(run.text) else np.nan  # a benchmark's repetitions may be of any length
    return np.array([instructions, cpus, *((cycles, took) if are_few else (np.nan, np.nan))])


def _are_alike(command, told, other):
    """Whether two runs of a command can be of one program: by what was counted, by the events where it was counted of
    what went on already, and by accounts that were printed of other events.

    `told` and `other` are tuples: as of :func:`_told`, whether most was counted and the events, whether an account was
    printed.
    """
    (counted, names, has_account), (of_other, others, has_other) = told, other
    if (abs(np.log(counted / of_other)) > np.log(_ALIKE[: len(counted)])).any():
        return False
    if names != others and names[1] == others[1]:
        return False
    is_attached = command and not program_of(command)
    return names == others or not (is_attached or (has_account and has_other))


def with_shares(counts, alone):
    """List of Totals: `counts` with the shares of slots in `alone` that were printed of the same program, and the
    others of these.

    Of the same program are the only shares of its command, or of its titles where no command is known, or of a text
    with counts in a single table that is not perf's, if no shares stand in that itself.
    """
    of_counts, others = {}, []
    for shares in alone:
        fits = [_kinship(run, shares, len(counts) == len(alone) == 1) for run in counts]
        like = [k for k, fit in enumerate(fits) if fit == max(fits) > 0]
        is_one = like and len({counts[k].titles for k in like}) == 1
        of_counts.setdefault(like[0] if is_one else None, []).append(shares)
    runs = list(counts)
    for k, some in of_counts.items():
        if k is None or len(some) > 1 or "retired" in printed(counts[k].text):
            others += some
        else:
            text, told = f"{counts[k].text.rstrip()}\n\n{some[0].text}", shares_told(printed(some[0].text))
            runs[k] = replace(
                counts[k], text=text, remarks=(*counts[k].remarks, *[_JOINED.format(told)] * bool(told))
            )
    return [*runs, *others]


def _kinship(counts, shares, are_only):
    """How well the titles of shares are those of counts of the same command (int); 0 if they are of another program.

    Beside counts that are no table of perf's, they are of the same if they `are_only` ones, and so are the counts.
    """
    if not TABLE.search(counts.text):
        return int(are_only)
    if program_of(counts.command) and are_same(counts.command, shares.command):
        return 1 + len(os.path.commonprefix([counts.titles, shares.titles]))
    return int(counts.titles == shares.titles != () and shares.command in ("", counts.command))


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


def program_names(programs):
    """Dict from each program, a pair of command (str) and titles (tuple of str), to a unique name: that of the command,
    behind the titles that tell it from others of the same command, and with its arguments if another begins so.
    """
    titles = {}
    for command, of_command in programs:
        titles.setdefault(program_of(command), {})[of_command] = None
    words = {}
    for command, of_command in programs:
        apart = _apart(of_command, [*titles[program_of(command)]])
        apart = apart or [*map(_plain, of_command[-1:])] * (not program_of(command))
        program, *arguments = _words(command)
        is_new = bool(program_of(command)) and program not in "-".join(apart)
        first = "-".join([*apart, *[program] * (is_new or not apart)])
        words[command, of_command] = [first, *arguments]
    firsts = Counter(first for first, *_ in words.values())
    names = {
        key: "-".join(of[:1] if firsts[of[0]] < 2 else of)[:60].strip("_.-") for key, of in words.items()
    }
    alike = Counter(names.values())
    return {
        key: f"{name}-{number}" if alike[name] > 1 else name
        for number, (key, name) in enumerate(names.items(), 1)
    }


def _apart(titles, siblings):
    """Plain words (list of str) of the nearest of some titles that no siblings have, or of all that tell them apart."""
    for title in reversed(titles):
        if len(siblings) > 1 and sum(title in others for others in siblings) == 1:
            return [*filter(None, [_plain(title)])]
    words = []
    for title in titles:
        left = [others for others in siblings if title in others]
        words += [_plain(title)] * (len(left) < len(siblings))
        siblings = left
    return [*filter(None, words)]


def _words(command):
    """Program and arguments of a command as plain words (list of str), without programs that start others."""
    command = command[_STARTERS.match(command).end() :]
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    named = (word.rpartition("/")[2].removesuffix(".exe") for word in filter(None, words))
    return [_plain(word) or "x" for word in named] or ["unnamed"]


def _plain(words):
    """Words (str) with all but Latin letters and digits as ``_``."""
    letters = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.]+", "_", letters).strip("_.")
