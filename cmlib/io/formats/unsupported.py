"""Recognize files that cannot be read, and say what to do instead.

:func:`explain` returns the advice for a text. The files come from other tools, or are compressed or binary.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from cmlib.io.formats import delimited

_HEAD_LENGTH = 20_000  # characters at the beginning of a text that are searched

_RECORD = "record with `perf stat -I 100 -x, -o FILE -- COMMAND`"


class _Tool(NamedTuple):
    """A tool whose output cannot be read.

    Attributes
    ----------
    contains : str
        Text in the output of the tool.
    line : re.Pattern
        Pattern of a line in the output. The complete line must match.
    advice : str
        Predicate of a sentence about the file.
    """

    contains: str
    line: re.Pattern
    advice: str


# Columns and advice of tables that have names of events, but counts in other units
_TABLES = (
    (
        frozenset(["time sec", "scale", "ipc", "cpus", "ghz"]),
        "is a table of perfevent. Its counts are divided by the column scale. Multiply the counts by scale, remove the "
        "columns scale, IPC, CPUs and GHz, and rename the time to elapsed_s.",
    ),
    (
        frozenset(["k_cycles", "k_instr"]),
        f"is output of pmcarch: thousands of cycles and instructions of all processors. Instead, {_RECORD}.",
    ),
)
# #PERF_COUNT_HW_INSTRUCTIONS PERF_COUNT_HW_CPU_CYCLES     (a heading)
# PERF_COUNT_HW_INSTRUCTIONS:u:period=100000000 freq=0     (perfmon2's task_smpl)
_STREAM_BEGINNING = re.compile(r"#?PERF_COUNT_HW_[A-Z0-9_]{1,60}[ \t:]")
_STREAM_ADVICE = (
    "is a stream of cumulative samples without times and cannot be imported. Read it with "
    "`cmlib.io.streams.read_stream`."
)

_TOOLS = (
    _Tool(
        "Overhead",
        re.compile(r"# {0,4}(?:Children {1,9}Self|Overhead)\b.{0,300}"),
        f"is output of `perf report`: samples per function. Counts are needed: {_RECORD}.",
    ),
    _Tool(
        "Shared Data Cache Line Table",
        re.compile(r".{0,200}Shared Data Cache Line Table.{0,200}"),
        f"is output of `perf c2c report`: samples of cache lines. Counts are needed: {_RECORD}.",
    ),
    _Tool(
        "Performance counter statistics",
        re.compile(r"Performance counter statistics,.{0,200}"),
        "is output of simpleperf. Write its counts to a table with the event names in the heading and one row of "
        "counts (wide-table).",
    ),
    _Tool(
        "stress-ng:",
        re.compile(r".{0,40}stress-ng: (?:info|metrc|debug):.{0,300}"),
        "is output of stress-ng. Record it with `perf stat -x, -o FILE -- stress-ng …`.",
    ),
    _Tool(
        "wall_time",
        re.compile(r" {1,20}wall_time {1,20}.{0,200}"),
        "is output of poop. Compare the commands with `cmlib compare './old' './new'`.",
    ),
    _Tool(
        "emon V",
        re.compile(r".{0,200}\b(?:sep/)?emon V[0-9].{0,200}"),
        "is raw output of EMON. Process it with EDP, and use the table per core or of the system that EDP writes.",
    ),
    _Tool(
        "Benchmark ",
        re.compile(r"Benchmark (?:#?[0-9]{1,3}): .{0,300}"),
        "is output of hyperfine, which measures only times. Compare the commands with "
        "`cmlib compare './old' './new'`.",
    ),
    _Tool(
        '"results"',
        re.compile(r'\s{0,40}"command": .{0,300}'),
        "is JSON of hyperfine, which measures only times. Compare the commands with `cmlib compare './old' './new'`.",
    ),
    _Tool(
        '"benchmarks"',
        re.compile(r'.{0,2000}"metadata":.{0,400}"(?:perf_version|python_implementation|loops)".{0,2000}'),
        "is JSON of pyperf, which measures only times. Compare the commands with `cmlib compare './old' './new'`.",
    ),
    _Tool(
        "Performance counter stats",
        re.compile(r" Performance counter stats for '[^'\n]{0,2000}':"),
        "begins like output of `perf stat`, but no count follows. The recording was cut off, or the table was changed. "
        "Save the output of perf unchanged (-o FILE).",
    ),
    _Tool(
        "Bzy_MHz",
        re.compile(r".{0,500}\b(?:Avg|Bzy)_MHz\b.{0,500}"),
        f"is output of turbostat: clock rates without counts of a program. Instead, {_RECORD}.",
    ),
)

# Table of perf in 2009: " 9843.265131  task clock ticks     (msecs)"
_PERF_2009 = re.compile(r" {0,40}[0-9.]{1,20} {1,20}(?:task clock ticks|CPU cycles|pagefaults) .{0,200}")
# sleep 267 [001]  9218.512996:  250000 task-clock:
_PERF_SCRIPT = re.compile(
    r"[^\n]{0,200}?[ \t][0-9]{1,12}\.[0-9]{1,9}:[ \t]{1,40}(?:[0-9]{1,20}[ \t]{1,40})?"
    r"[^\s,;]{1,200}:[a-zA-Z]{0,10}:?(?:\s.{0,400})?"
)

_BEGINNINGS = (
    (
        "PERFILE2",
        f"is perf's own binary format. `cmlib import` reads samples from perf.data. For counts, {_RECORD}.",
    ),
    ("\xd0\xcf\x11\xe0", "is a spreadsheet. Save the sheet with the counts as CSV."),
    ("7z\xbc\xaf", "is an archive. Unpack it first."),
    ("Rar!", "is an archive. Unpack it first."),
    ("PAR1", "is a table in a binary format. Save it as CSV, for example with `to_csv` of pandas."),
    ("ARROW1", "is a table in a binary format. Save it as CSV, for example with `to_csv` of pandas."),
    ("\x89HDF", "is a table in a binary format. Save it as CSV, for example with `to_csv` of pandas."),
    ("\x93NUMPY", "is a table in a binary format. Save it as CSV, for example with `to_csv` of pandas."),
    ("SQLite format 3", "is a database. Save the table with the counts as CSV."),
    ("version https://git-lfs", "is a placeholder of Git LFS. Fetch the file with `git lfs pull`."),
)
_SPREADSHEET_MEMBERS = ("[Content_Types]", "_rels", "xl/", "docProps", "mimetypeapplication/vnd.oasis")


def is_unsupported_table(names: Iterable[str]) -> bool:
    """Return True if a table with these columns comes from a tool whose tables cannot be read."""
    return _advise_on_table(names) is not None


def _advise_on_table(names: Iterable[str]) -> str | None:
    """Return the advice for a table with these columns. None if the tool is unknown."""
    lower_names = {name.lower() for name in names}
    if any(name.lstrip("#").startswith("perf_count_hw_") for name in lower_names):
        return _STREAM_ADVICE
    return next((advice for columns, advice in _TABLES if columns <= lower_names), None)


def explain(text: str) -> str | None:
    """Return what a text is that no format recognizes, and what to do instead.

    Parameters
    ----------
    text : str
        Content of the file. Bytes that are not UTF-8 can be surrogates.

    Returns
    -------
    str or None
        Predicate of a sentence about the file. For example, ``is output of `perf report`: …``. None if the tool is
        unknown.
    """
    head = text[:_HEAD_LENGTH]
    if not text.strip():
        return "is empty, for example because `perf stat -o` was killed. Record again, and let perf end by itself."
    if advice := _explain_binary(head):
        return advice
    if _STREAM_BEGINNING.match(head):
        return _STREAM_ADVICE
    lines = head.splitlines()
    for tool in _TOOLS:
        if tool.contains in head and any(tool.line.fullmatch(line) for line in lines if len(line) <= 5000):
            return tool.advice
    first_line = next((line for line in lines[:200] if line.strip() and not line.startswith("#")), None)
    if first_line is not None and (advice := _explain_first_line(first_line)):
        return advice
    if advice := _advise_on_heading(text):
        return advice
    if any(_PERF_2009.fullmatch(line) for line in lines if len(line) <= 500):
        return f"is a table of perf from 2009. Names and units of perf have changed since then. Instead, {_RECORD}."
    return None


def _explain_first_line(line: str) -> str | None:
    """Return the advice for a text with this first line. None if the tool is unknown."""
    for separator in (",", None):
        names = [cell.strip() for cell in line[:5000].split(separator)]
        if advice := _advise_on_table(names):
            return advice
    if len(line) <= 1000 and _PERF_SCRIPT.fullmatch(line):
        return (
            "is output of `perf script`: samples. `cmlib import` reads samples from perf.data, or perf script output "
            f"of {{cycles,instructions}}:S. For counts, {_RECORD}."
        )
    return None


def _advise_on_heading(text: str) -> str | None:
    """Return the advice for a table without names of known events. None if the text is not a table."""
    heading = delimited.find_heading(text)
    if heading is None or not heading.separator:
        return None
    names = ", ".join(name or "(no name)" for name in heading.names)
    return (
        f"is a table whose heading (line {heading.line}) names no known event: {names[:300]}. Name the columns of "
        "counts like events of perf, for example cycles. Or select columns: --count NAME for counts, --level NAME for "
        "levels, for example power."
    )


def _explain_binary(head: str) -> str | None:
    """Return the advice for a binary file. None if the file is text."""
    content = head.encode("utf-8", "surrogateescape").decode("latin-1")
    for beginning, advice in _BEGINNINGS:
        if content.startswith(beginning):
            return advice
    if content.startswith("PK\x03\x04"):
        is_spreadsheet = content[30:].startswith(_SPREADSHEET_MEMBERS)
        if is_spreadsheet:
            return "is a spreadsheet. Save the sheet with the counts as CSV."
        return "is an archive. Unpack it first."
    if content[257:262] == "ustar":
        return "is an archive. Unpack it first."
    high, low = content[:16:2], content[1:16:2]
    if "\0" * 8 in (high, low) and (high + low).replace("\0", "").isprintable():
        return "is text in UTF-16 or UTF-32 without a byte order mark. Convert it with `iconv -t UTF-8`."
    return None
