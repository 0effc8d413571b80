"""Make shell command lines that record a program again as it was recorded before.

Both functions take the metadata (dict) of one of the program's runs and return text to copy into a shell. The text
is "" if a name can't be given to a shell or perf.
"""

import itertools
import re

from cmlib.io import events
from cmlib.shell import Quoted, are_plain, command_line, in_turn, perf_stat, recorded_words

# Names of events in the form of likwid and PAPI, which perf does not know, and headings with blanks.
_OTHER_TOOL = re.compile(r"^[A-Z0-9]+(?:_[A-Z0-9]+)+$|\s")


def command_again(meta, *options):
    """Write the command line that records a program once more in the same way.

    If the run was attached to processes, a control group or the whole system, the command attaches to the same for the
    same time.

    Parameters
    ----------
    meta : dict
        Metadata of a run of the program.
    *options : str
        Further words of the command.

    Returns
    -------
    str
        "" if a word can't be printed.
    """
    record = ["cmlib", "record", meta["program"]]
    attached = meta.get("attached")
    if attached:
        interval = [] if meta["interval_ms"] == 100 else ["--interval-ms", meta["interval_ms"]]
        seconds = ["--seconds", f"{attached['seconds']:g}"]
        return command_line(*record, *_options_to_attach(attached), *seconds, *interval, *options)
    return command_line(*record, *options, "--", *recorded_words(meta["command"]))


def command_to_count(meta, groups, pinned=(), table=None):
    """Write the command lines that count groups of events of a program without multiplexing.

    For a program that was imported, the commands are ``perf stat`` and ``cmlib import``; for other programs, ``cmlib
    record``.

    Parameters
    ----------
    meta : dict
        Metadata of a run of the program.
    groups : list of list of str
        Names of events that fit on the counters together.
    pinned : iterable of str
        Names of events that ``perf stat`` counts with every group, such as cycles.
    table : str, optional
        Name of the event table with the codes of the events for ``perf stat``, which may not know their names.

    Returns
    -------
    str
        Joined by ``&&``; "" if perf can't be given a name.
    """
    if not are_plain(itertools.chain(*groups)):
        return ""
    if meta.get("imported"):
        return _with_perf(meta, groups, pinned, table)
    if meta.get("attached"):
        return in_turn(command_again(meta, "--events", ",".join(group)) for group in groups)
    return command_again(meta, "--mode", "ocoe", "--events", ",".join(itertools.chain(*groups)))


def _with_perf(meta, groups, pinned, table):
    """Return command lines of ``perf stat`` that count each group, and one that imports the files they write."""
    encodings = meta["encodings"]
    modifier = meta.get("modifier") or ""
    if any(_OTHER_TOOL.search(encodings.get(event, event)) for event in itertools.chain(*groups)):
        return ""
    encodings = encodings | {event: f"{event}:{modifier}".rstrip(":") for event in pinned}
    if table:
        event_table = events.table(table)
        encodings |= {event: events.encode(event, event_table, modifier) for event in event_table.index}
    commands = []
    files = []
    for number, group in enumerate(groups, 1):
        file = "next.csv" if len(groups) == 1 else f"next-{number}.csv"
        encoded = [encodings.get(event, event) for event in (*pinned, *group)]
        commands.append(perf_stat(encoded, meta["interval_ms"], file))
        files.append(file)
    return in_turn([*commands, command_line("cmlib", "import", meta["program"], *files)])


def _options_to_attach(attached):
    """Return options of ``cmlib record`` that attach to the same group or processes (by name, as their ids change)."""
    if "cgroup" in attached:
        return ["--cgroup", attached["cgroup"]]
    if "processes" not in attached:
        return ["--system"]
    names = "|".join(dict.fromkeys(re.escape(process["name"]) for process in attached["processes"]))
    return ["--pid", Quoted(f'"$({command_line("pgrep", "-d,", "-x", names)})"')]
