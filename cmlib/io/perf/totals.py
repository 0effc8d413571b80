"""Totals of whole runs: what `perf stat` writes without ``-I``, of one run or of many, and tables of a row a run."""

import itertools
import re
import shlex

import numpy as np

from cmlib.io.perf.formats import find_format, for_people, per_place, separated, wide
from cmlib.io.perf.formats.lines import TIME, Totals, by_program, first_line
from cmlib.io.perf.grammar import run_starts

# Above each table for people: whose counts they are, and of how many runs they are the means.
_TABLE = re.compile(r"^ *Performance counter stats for (.*?)(?: \(([0-9]+) runs\))?:[ \t]*$", re.MULTILINE)
_ROWS = re.compile(r"\s*\n((?:[^\n]*\S[^\n]*\n?)+)")
_ELAPSED = re.compile(r"^ *([0-9]+)[.,]([0-9]+)(?: \+- [0-9.,]+)? seconds time elapsed", re.MULTILINE)
_TIMED = re.compile(rf"^ *{TIME}(?! (?:\+-|seconds))", re.MULTILINE)
_COUNTS = re.compile(r' *(?:[0-9]|<not |CPU[0-9]|[SN][0-9]|\{.*"counter-value")')
# Programs that start another, whose options and numbers are not those of what is measured.
_STARTERS = frozenset(
    ["taskset", "numactl", "nice", "chrt", "env", "sudo", "time", "stdbuf", "setarch", "timeout"]
)
_OF_STARTER = re.compile(r"-.*|[0-9a-fx,:-]+|\w+=.*")


def totals(text, columns=None, *, rows_are_runs=True):
    """Read whole runs, put together by program and events; none if a text holds intervals."""
    text = text.replace("\r\n", "\n")
    if _TABLE.search(text) and not _TIMED.search(text):
        return by_program(_tables(text))
    form = find_format(text)
    if form is wide:
        return by_program(wide.totals(text, columns)) if rows_are_runs else []
    if hasattr(form, "totals"):
        return by_program(form.totals(text))
    first = first_line(text, re.compile(r"\s*(?:#.*)?$"))
    if form in (separated, per_place, for_people) and _COUNTS.match(first) and not _is_timed(first):
        return by_program(_listed(text, form))
    return []


def program_names(commands):
    """A name for each of several commands: of the program, and with its arguments where a program comes twice."""
    names = {command: _words(command) for command in dict.fromkeys(commands)}
    firsts = [words[0] for words in names.values()]
    told = {
        command: "-".join(words if firsts.count(words[0]) > 1 else words[:1])[:60].strip("_.-")
        for command, words in names.items()
    }
    alike = list(told.values())
    return {
        command: f"{name}-{number}" if alike.count(name) > 1 else name
        for number, (command, name) in enumerate(told.items(), 1)
    }


def _words(command):
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    while words and words[0].rpartition("/")[2] in _STARTERS:
        words = list(itertools.dropwhile(_OF_STARTER.fullmatch, words[1:]))
    plain = (re.sub(r"[^A-Za-z0-9_.]+", "_", word.rpartition("/")[2]) for word in words)
    return [word.removesuffix(".exe").strip("_.") or "x" for word in plain] or ["unnamed"]


def _is_timed(line):
    return bool(_TIMED.match(line)) or '"interval"' in line


def _tables(text):
    """Each table for people, with what stands between it and the next."""
    found = list(_TABLE.finditer(text))
    starts = [0]
    for before, table in itertools.pairwise(found):
        started = text.rfind("\n# started on ", before.end(), table.start())
        starts.append(started + 1 if started >= 0 else table.start())
    for table, start, end in zip(found, starts, [*starts[1:], len(text)], strict=True):
        rows = _ROWS.match(text, table.end(), end)
        if not rows or "seconds time elapsed" in rows[1]:
            continue
        lines = "\n" * text.count("\n", 0, rows.start(1)) + rows[1]
        frame = (per_place if per_place.recognises(rows[1]) else for_people).read(lines)
        elapsed = _ELAPSED.search(text, rows.end(), end)
        seconds = float(f"{elapsed[1]}.{elapsed[2]}") if elapsed else np.nan
        said = per_place.remarks(rows[1]) if per_place.recognises(rows[1]) else []
        said += [f"Counts are means of {table[2]} runs."] if table[2] else []
        command = table[1][1:-1] if table[1].startswith("'") else table[1]
        yield Totals(text[start:end], frame.assign(time_s=1), command, (seconds,), remarks=tuple(said))


def _listed(text, form):
    """Runs of fields between separators or JSON: where perf says that it started, or the list of events begins anew."""
    for start, end in itertools.pairwise([*run_starts(text), len(text)]):
        frame = form.read(text[start:end])
        events, n = frame["event"].tolist(), len(frame)
        repeats = form is not per_place and n > 1
        length = (
            next((k for k in range(1, n) if n % k == 0 and events == events[:k] * (n // k)), n)
            if repeats
            else n
        )
        runs = n // length if length else 0
        if runs:
            number = np.repeat(np.arange(1, runs + 1), length)
            said = form.remarks(text[start:end])
            yield Totals(
                text[start:end], frame.assign(time_s=number), "", (np.nan,) * runs, remarks=tuple(said)
            )
