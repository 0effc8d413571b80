"""Command lines that record a program again, as it was recorded before, to be copied into a shell."""

import itertools
import re
import shlex

from cmlib.io import events
from cmlib.topdown.answers import perf_line

# As likwid and PAPI name events, and what is a heading and no name.
_OTHER_TOOL = re.compile(r"^[A-Z0-9]+(?:_[A-Z0-9]+)+$|\s")


def command_again(meta, options=""):
    """The command that records a program as one of its runs was recorded."""
    record = f"cmlib record {shlex.quote(meta['program'])}"
    if attached := meta.get("attached"):
        interval = "" if meta["interval_ms"] == 100 else f"--interval-ms {meta['interval_ms']}"
        seconds = f"--seconds {attached['seconds']:g}"
        return " ".join(filter(None, [record, _running(attached), seconds, interval, options]))
    return " ".join(filter(None, [record, options, "--", meta["command"] or "COMMAND"]))


def command_to_count(meta, groups, pinned=(), table=None):
    """The commands that count groups of events, each without multiplexing; empty if perf knows one of them not.

    Of a program that was imported they are perf's, with the events' codes where perf may not know their names.
    """
    if meta.get("imported"):
        return _with_perf(meta, groups, pinned, table)
    if meta.get("attached"):
        return " && ".join(command_again(meta, f"--events {_listed(group)}") for group in groups)
    return command_again(meta, f"--mode ocoe --events {_listed(itertools.chain(*groups))}")


def _with_perf(meta, groups, pinned, table):
    written, modifier = meta["encodings"], meta.get("modifier") or ""
    if any(_OTHER_TOOL.search(written.get(event, event)) for event in itertools.chain(*groups)):
        return ""
    coded = {event: f"{event}:{modifier}".rstrip(":") for event in pinned}
    if table:
        known = events.table(table)
        coded |= {event: events.encode(event, known, modifier) for event in known.index}
    commands, files = [], []
    for number, group in enumerate(groups, 1):
        spelled = [(written | coded).get(event, event) for event in (*pinned, *group)]
        files.append("next.csv" if len(groups) == 1 else f"next-{number}.csv")
        commands.append(f"{perf_line(spelled, meta['interval_ms'])} -o {files[-1]} -- COMMAND")
    return " && ".join([*commands, f"cmlib import {shlex.quote(meta['program'])} {' '.join(files)}"])


def _listed(group):
    return shlex.quote(",".join(group))


def _running(attached):
    """The option that attaches to the same again; processes by their names, as their numbers may be others now."""
    if "cgroup" in attached:
        return f"--cgroup {shlex.quote(attached['cgroup'])}"
    if "processes" not in attached:
        return "--system"
    names = "|".join(dict.fromkeys(re.escape(process["name"]) for process in attached["processes"]))
    return f'--pid "$(pgrep -d, -x {shlex.quote(names)})"'
