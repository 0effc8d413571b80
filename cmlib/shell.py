"""Make command lines that users can copy into a shell; words from a stranger's file are quoted.

:func:`command_line` takes words, and returns one line (str), which is "" if it can't be printed.
"""

import re
import shlex
import shutil
import sys
from pathlib import Path

from cmlib.spelling import spelling

# Names of events that may stand in a command line; with another one no line is made.
_EVENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/=,@%+#~-]*")


# "cmlib" where a command of it follows, such as "cmlib record"; tests/test_terminal.py lists the commands.
_CALL = re.compile(
    r"(?<![\w./-])cmlib(?= (?:compare|diagnose|doctor|fetch|import|list|programs|record|remove|run|store|summarize)\b)"
)


def spell_calls(text):
    """Write command lines of cmlib as they can be typed here.

    Where `cmlib` is not on the PATH, as in an environment that is not activated, the path with which this process was
    started takes its place: ``.venv/bin/cmlib record NAME -- COMMAND``.

    Parameters
    ----------
    text : object
        Its str is taken.

    Returns
    -------
    str
    """
    started = sys.argv[0] if sys.argv else ""
    if Path(started).name != "cmlib" or shutil.which("cmlib"):
        return str(text)
    return _CALL.sub(lambda _: shlex.quote(started), str(text))


class Quoted(str):
    """A word that is quoted already, and is put into a command line as it is."""


FILES = Quoted("FILE…")


def command_line(*words):
    """Join words to one line that a shell splits into the same words; "" if one of them is unprintable."""
    if not all(str(word).isprintable() for word in words):
        return ""
    return " ".join(word if isinstance(word, Quoted) else shlex.quote(str(word)) for word in words)


def command_of_report(program, profile="live"):
    """Write the command line that makes the report of a program (name): ``cmlib run PROFILE -p program=NAME``.

    `profile` names a folder of parameters, such as "live".
    """
    return command_line("cmlib", "run", profile, "-p", f"program={program}")


def in_turn(lines):
    """Join command lines to one (str) that runs them until one fails; "" if one of them is empty."""
    lines = list(lines)
    return " && ".join(lines) if all(lines) else ""


def recorded_words(command):
    """Split the command (str) in a recording's metadata into words; ``["COMMAND"]`` if it is not a command line."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    return words if words and command.isprintable() and shlex.join(words) == command else ["COMMAND"]


def are_plain(events):
    """Return True if all events (names) can stand in a list of perf's or cmlib's without quotes."""
    return all(map(_EVENT.fullmatch, events))


def perf_stat(events, interval_ms, file="FILE"):
    """Write the `perf stat` command line that counts events by interval; "" for a name that would need quotes.

    `events` are at least two names, the first two on one option; `interval_ms` is the length of an interval [ms],
    `file` what perf writes. The command to run stands as COMMAND. With Intel's slots, the other events are one
    group that slots leads, as perf asks.
    """
    first, second, *others = events
    if not are_plain(events):
        return ""
    others.sort(key=lambda event: spelling(event) != "slots")  # which leads its group
    together = [f"{{{','.join(others)}}}"] if "slots" in map(spelling, others) else others
    listed = [word for event in (f"{first},{second}", *together) for word in ("-e", event)]
    interval = f"{interval_ms:.0f}"
    return command_line("perf", "stat", "-I", interval, "-x,", *listed, "-o", file, "--", "COMMAND")


def command_code(*words):
    """Write a command line of some words as Markdown's code."""
    return as_code(command_line(*words))


def as_code(line):
    """Write a line as Markdown's code, between more backquotes than it has in a row."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    space = " " * (len(ticks) > 1)
    return f"{ticks}{space}{line}{space}{ticks}"
