"""Write the commands that record a program again.

:func:`command_again` repeats a recording. :func:`command_to_count` counts more events of the program. Both use the
metadata of an earlier run.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from cmlib.io import events
from cmlib.shell import Quoted, are_plain, command_line, in_turn, perf_stat, recorded_words

# Event names that perf does not know: names of likwid and PAPI (for example PAPI_TOT_CYC), and names with spaces.
_UNKNOWN_TO_PERF = re.compile(r"^[A-Z0-9]+(?:_[A-Z0-9]+)+$|\s")


def command_again(meta: dict, *options: str) -> str:
    """Return the command that records a program in the same way as before.

    Parameters
    ----------
    meta : dict
        Metadata of an earlier run. If cmlib attached to running processes, the command also attaches to them.
    *options : str
        Additional options of ``cmlib record``.

    Returns
    -------
    str
        Command for the shell. Empty if a word cannot be written in a shell.
    """
    record = ["cmlib", "record", meta["program"]]
    attached = meta.get("attached")
    if attached:
        interval = [] if meta["interval_ms"] == 100 else ["--interval-ms", meta["interval_ms"]]
        seconds = ["--seconds", f"{attached['seconds']:g}"]
        return command_line(*record, *_options_to_attach(attached), *seconds, *interval, *options)
    return command_line(*record, *options, "--", *recorded_words(meta["command"]))


def command_to_count(
    meta: dict, groups: list[list[str]], pinned: Iterable[str] = (), table: str | None = None
) -> str:
    """Return the commands that count groups of events without multiplexing.

    The commands are ``perf stat`` and ``cmlib import`` for an imported program, and ``cmlib record`` for other
    programs.

    Parameters
    ----------
    meta : dict
        Metadata of an earlier run.
    groups : list of list of str
        Event names. The events of a group fit on the counters at the same time.
    pinned : iterable of str
        Events that ``perf stat`` counts with every group. For example, cycles.
    table : str, optional
        Name of the event table, from which ``perf stat`` gets the codes of the events. Default: the names are used.

    Returns
    -------
    str
        Commands for the shell, joined by ``&&``. Empty if perf does not know an event.
    """
    if not are_plain(itertools.chain(*groups)):
        return ""
    if meta.get("imported"):
        return _count_with_perf(meta, groups, pinned, table)
    if meta.get("attached"):
        return in_turn(command_again(meta, "--events", ",".join(group)) for group in groups)
    return command_again(meta, "--mode", "ocoe", "--events", ",".join(itertools.chain(*groups)))


def _count_with_perf(meta, groups, pinned, table):
    """Return the commands that count each group with perf and import the results."""
    encodings = meta["encodings"]
    modifier = meta.get("modifier") or ""
    if any(_UNKNOWN_TO_PERF.search(encodings.get(event, event)) for event in itertools.chain(*groups)):
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
    """Return the options of ``cmlib record`` that attach to the same target.

    Processes are found by name, because their ids change.
    """
    if "cgroup" in attached:
        return ["--cgroup", attached["cgroup"]]
    if "processes" not in attached:
        return ["--system"]
    names = "|".join(dict.fromkeys(re.escape(process["name"]) for process in attached["processes"]))
    return ["--pid", Quoted(f'"$({command_line("pgrep", "-d,", "-x", names)})"')]
