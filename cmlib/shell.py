"""Command lines that are printed to be copied into a shell: words from a stranger's file stay words."""

import re
import shlex

from cmlib.spelling import spelling

# What perf, cmlib and most tools name events by; of other names no command is made.
_EVENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/=,@%+#~-]*")


class Quoted(str):
    """A word as a shell reads it, which is not quoted again."""


FILES = Quoted("FILE…")


def command_line(*words):
    """Join words to a line of which a shell makes the same words; empty if one of them has unprintable characters."""
    if not all(str(word).isprintable() for word in words):
        return ""
    return " ".join(word if isinstance(word, Quoted) else shlex.quote(str(word)) for word in words)


def command_of_report(program, profile="live"):
    """The line that makes a program's report."""
    return command_line("cmlib", "run", profile, "-p", f"program={program}")


def in_turn(lines):
    """Join command lines to one that runs them until one fails; empty if one of them is."""
    lines = list(lines)
    return " && ".join(lines) if all(lines) else ""


def output_of(*words):
    """The word that is what a command prints."""
    return Quoted(f'"$({command_line(*words)})"')


def recorded_words(command):
    """Words of the command in a recording's metadata, ``COMMAND`` where it is none that a shell was given."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    return words if words and command.isprintable() and shlex.join(words) == command else ["COMMAND"]


def are_plain(events):
    """Whether events have names that can stand in a list of perf's or cmlib's."""
    return all(map(_EVENT.fullmatch, events))


def perf_stat(events, interval_ms, file="FILE"):
    """The line by which `perf stat` counts events by interval: two beside all others, Intel's slots in one group.

    It is empty where an event's name is not plain.
    """
    first, second, *others = events
    if not are_plain(events):
        return ""
    others.sort(key=lambda event: spelling(event) != "slots")  # which leads its group
    together = [f"{{{','.join(others)}}}"] if "slots" in map(spelling, others) else others
    listed = [word for event in (f"{first},{second}", *together) for word in ("-e", event)]
    return command_line(
        "perf", "stat", "-I", f"{interval_ms:.0f}", "-x,", *listed, "-o", file, "--", "COMMAND"
    )


def command_code(*words):
    """A command line as Markdown's code."""
    return as_code(command_line(*words))


def as_code(line):
    """A line between as many backquotes as Markdown takes for code, whatever backquotes are in it."""
    ticks = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    space = " " * (len(ticks) > 1)
    return f"{ticks}{space}{line}{space}{ticks}"
