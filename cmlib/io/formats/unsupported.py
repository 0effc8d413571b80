"""Files of tools whose output is not read: how they are recognized, and what to do instead."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from cmlib.io.formats import delimited

HEAD = 20_000  # characters at the beginning of a text that are looked at

_RECORD = "record with `perf stat -I 100 -x, -o FILE -- COMMAND`"


class _Tool(NamedTuple):
    """A tool: a text that its output contains, a pattern of a line in it, and what to say."""

    contains: str
    line: re.Pattern
    advice: str


# Tables whose headings name events but whose counts are in units of their own.
_TABLES = (
    (
        frozenset(["time sec", "scale", "ipc", "cpus", "ghz"]),
        "is a table of perfevent, whose counts are divided by its column scale: multiply the events by it, leave out "
        "scale, IPC, CPUs and GHz, and name the time elapsed_s.",
    ),
    (
        frozenset(["k_cycles", "k_instr"]),
        "is output of pmcarch: thousands of cycles and instructions of all processors; " + _RECORD + ".",
    ),
)
# #PERF_COUNT_HW_INSTRUCTIONS PERF_COUNT_HW_CPU_CYCLES     (a heading)
# PERF_COUNT_HW_INSTRUCTIONS:u:period=100000000 freq=0     (perfmon2's task_smpl)
_STREAM_BEGINNING = re.compile(r"#?PERF_COUNT_HW_[A-Z0-9_]{1,60}[ \t:]")
_STREAM_ADVICE = (
    "is a stream of cumulative samples, which `cmlib.io.streams.read_stream` reads; it has no times and is not "
    "imported as counts."
)

_TOOLS = (
    _Tool(
        "Overhead",
        re.compile(r"# {0,4}(?:Children {1,9}Self|Overhead)\b.{0,300}"),
        f"is output of `perf report`: samples by function. Counts are needed: {_RECORD}.",
    ),
    _Tool(
        "Shared Data Cache Line Table",
        re.compile(r".{0,200}Shared Data Cache Line Table.{0,200}"),
        f"is output of `perf c2c report`: samples of cache lines. Counts are needed: {_RECORD}.",
    ),
    _Tool(
        "Performance counter statistics",
        re.compile(r"Performance counter statistics,.{0,200}"),
        "is output of simpleperf: put its counts into a table of one row whose heading names the events (wide-table).",
    ),
    _Tool(
        "stress-ng:",
        re.compile(r".{0,40}stress-ng: (?:info|metrc|debug):.{0,300}"),
        "is output of stress-ng: record it with `perf stat -x, -o FILE -- stress-ng …`.",
    ),
    _Tool(
        "wall_time",
        re.compile(r" {1,20}wall_time {1,20}.{0,200}"),
        "is output of poop: compare the commands with `cmlib compare './old' './new'`.",
    ),
    _Tool(
        "emon V",
        re.compile(r".{0,200}\b(?:sep/)?emon V[0-9].{0,200}"),
        "is EMON's raw output: process it with EDP, and give the table by core or system that it writes.",
    ),
    _Tool(
        "Benchmark ",
        re.compile(r"Benchmark (?:#?[0-9]{1,3}): .{0,300}"),
        "is output of hyperfine, which measures times only: compare the commands with "
        "`cmlib compare './old' './new'`.",
    ),
    _Tool(
        '"results"',
        re.compile(r'\s{0,40}"command": .{0,300}'),
        "is hyperfine's JSON, which has times only: compare the commands with `cmlib compare './old' './new'`.",
    ),
    _Tool(
        '"benchmarks"',
        re.compile(r'.{0,2000}"metadata":.{0,400}"(?:perf_version|python_implementation|loops)".{0,2000}'),
        "is pyperf's JSON, which has times only: compare the commands with `cmlib compare './old' './new'`.",
    ),
    _Tool(
        "Performance counter stats",
        re.compile(r" Performance counter stats for '[^'\n]{0,2000}':"),
        "begins as output of `perf stat`, and no count follows: the recording was cut off, or the table was changed. "
        "Save perf's own output in a file (-o FILE), unchanged.",
    ),
    _Tool(
        "Bzy_MHz",
        re.compile(r".{0,500}\b(?:Avg|Bzy)_MHz\b.{0,500}"),
        f"is output of turbostat: clock rates, and no counts of a program; {_RECORD}.",
    ),
)

# perf's table of 2009: " 9843.265131  task clock ticks     (msecs)"
_PERF_2009 = re.compile(r" {0,40}[0-9.]{1,20} {1,20}(?:task clock ticks|CPU cycles|pagefaults) .{0,200}")
# sleep 267 [001]  9218.512996:  250000 task-clock:
_PERF_SCRIPT = re.compile(
    r"[^\n]{0,200}?[ \t][0-9]{1,12}\.[0-9]{1,9}:[ \t]{1,40}(?:[0-9]{1,20}[ \t]{1,40})?"
    r"[^\s,;]{1,200}:[a-zA-Z]{0,10}:?(?:\s.{0,400})?"
)

_BEGINNINGS = (
    (
        "PERFILE2",
        f"is perf's own binary format. Give samples to `cmlib import` as perf.data, or for counts {_RECORD}.",
    ),
    ("\xd0\xcf\x11\xe0", "is a spreadsheet: save the sheet with the counts as CSV."),
    ("7z\xbc\xaf", "is an archive: unpack it first."),
    ("Rar!", "is an archive: unpack it first."),
    ("PAR1", "is a table in a binary format: write it as CSV, such as with `to_csv` of pandas."),
    ("ARROW1", "is a table in a binary format: write it as CSV, such as with `to_csv` of pandas."),
    ("\x89HDF", "is a table in a binary format: write it as CSV, such as with `to_csv` of pandas."),
    ("\x93NUMPY", "is a table in a binary format: write it as CSV, such as with `to_csv` of pandas."),
    ("SQLite format 3", "is a database: write the table with the counts as CSV."),
    ("version https://git-lfs", "is what Git LFS keeps in place of a file: fetch that with `git lfs pull`."),
)
_SPREADSHEET_MEMBERS = ("[Content_Types]", "_rels", "xl/", "docProps", "mimetypeapplication/vnd.oasis")


def is_unsupported_table(names: Iterable[str]) -> bool:
    """Return True if a table with these columns belongs to a tool whose tables are not read."""
    return _advise_on_table(names) is not None


def _advise_on_table(names: Iterable[str]) -> str | None:
    lower_names = {name.lower() for name in names}
    if any(name.lstrip("#").startswith("perf_count_hw_") for name in lower_names):
        return _STREAM_ADVICE
    return next((advice for columns, advice in _TABLES if columns <= lower_names), None)


def explain(text: str) -> str | None:
    """Say what a text is that no format recognizes, and what to do instead.

    Parameters
    ----------
    text : str
        Content of the file; bytes that are not UTF-8 may be surrogates.

    Returns
    -------
    str or None
        Predicate of a sentence about the file, such as ``is output of perf report: …``; None if the tool is unknown.
    """
    head = text[:HEAD]
    if not text.strip():
        return "is empty, such as after `perf stat -o` was killed. Record again, and let perf end by itself."
    if advice := _explain_binary(head):
        return advice
    if _STREAM_BEGINNING.match(head):
        return _STREAM_ADVICE
    lines = head.splitlines()
    for tool in _TOOLS:
        if tool.contains in head and any(tool.line.fullmatch(line) for line in lines if len(line) <= 5000):
            return tool.advice
    first = [line for line in lines[:200] if line.strip() and not line.startswith("#")][:1]
    if first:
        for separator in (",", None):
            names = [cell.strip() for cell in first[0][:5000].split(separator)]
            if advice := _advise_on_table(names):
                return advice
        if len(first[0]) <= 1000 and _PERF_SCRIPT.fullmatch(first[0]):
            return (
                "is output of `perf script`: samples. `cmlib import` takes samples as perf.data or perf script output "
                f"of {{cycles,instructions}}:S; for counts, {_RECORD}."
            )
    if advice := _advise_on_heading(text):
        return advice
    if any(_PERF_2009.fullmatch(line) for line in lines if len(line) <= 500):
        return f"is the table of a perf of 2009, whose names and units have changed since: {_RECORD}."
    return None


def _advise_on_heading(text: str) -> str | None:
    """Say that a table's heading names no event, and how to keep a column."""
    heading = delimited.find_heading(text)
    if heading is None or not heading.separator:
        return None
    names = ", ".join(name or "(no name)" for name in heading.names)
    return (
        f"is a table whose heading (line {heading.line}) names no known event: {names[:300]}. Name the columns of "
        "counts as perf does, such as cycles; or keep a column with --count NAME, or --level NAME if it is a level "
        "such as power."
    )


def _explain_binary(head: str) -> str | None:
    content = head.encode("utf-8", "surrogateescape").decode("latin-1")
    for beginning, advice in _BEGINNINGS:
        if content.startswith(beginning):
            return advice
    if content.startswith("PK\x03\x04"):
        is_spreadsheet = content[30:].startswith(_SPREADSHEET_MEMBERS)
        if is_spreadsheet:
            return "is a spreadsheet: save the sheet with the counts as CSV."
        return "is an archive: unpack it first."
    if content[257:262] == "ustar":
        return "is an archive: unpack it first."
    high, low = content[:16:2], content[1:16:2]
    if "\0" * 8 in (high, low) and (high + low).replace("\0", "").isprintable():
        return "is text in UTF-16 or UTF-32 without a mark of its order: convert it with `iconv -t UTF-8`."
    return None
