"""Command lines that record a program again, as it was recorded before, to be copied into a shell."""

import itertools
import re
import shlex

import numpy as np

from cmlib.collect.simulate.valgrind import PREFETCHING

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


def command_for_groups(meta, groups, pinned=()):
    """The command line that records groups of events, each without multiplexing; empty if perf knows them not."""
    if meta.get("imported"):
        return _with_perf(meta, groups, pinned)
    if meta.get("attached"):
        values = [",".join(group) for group in groups]
        return _for_each(values, lambda value: command_again(meta, f"--events {value}"))
    events = shlex.quote(",".join(itertools.chain(*groups)))
    return command_again(meta, f"--mode ocoe --events {events}")


def command_to_diagnose(meta):
    """The command that simulates a program once more and names the class of each of its phases."""
    return f"cmlib diagnose --simulate -- {meta['command']}"


def _command_to_compare(meta):
    return f"cmlib compare --simulate {shlex.quote(meta['command'])} NEW"


def is_prefetched(meta):
    """Whether streams were prefetched in a simulated run, as where the tree of the micro-benchmarks was trained."""
    return PREFETCHING in meta["simulator"]["options"]


def describe_simulation(meta):
    """How sure simulated counts are, and what else can be asked without a processor's counters."""
    caches = {name: int(shape.split()[0]) / 1024 for name, shape in meta["simulator"]["caches"].items()}
    by_size = sorted(caches.items(), key=lambda cache: cache[1])
    sizes = ", ".join(f"{size:,.0f} KiB ({name})" for name, size in by_size)
    diagnosed = f"``{command_to_diagnose(meta)}`` names the class of each phase, and "
    return {
        "sure": "counts are **simulated** by Valgrind, not measured: instructions, loads, stores and branches are "
        f"exact, misses and mispredictions are modelled, without speculation, with caches of {sizes}",
        "lacking": "IPC, and where cycles go, take a processor's counters. Without any, "
        f"{'' if is_prefetched(meta) else diagnosed}``{_command_to_compare(meta)}`` tells whether another version "
        "executes more",
    }


def _with_perf(meta, groups, pinned):
    program, seconds = shlex.quote(meta["program"]), int(np.ceil(meta["duration_s"]))
    written = [[meta["encodings"].get(event, event) for event in (*pinned, *group)] for group in groups]
    if any(_OTHER_TOOL.search(name) for name in itertools.chain(*written)):
        return ""
    whom = "-p PID" if pinned else "-a"
    file = "next.csv" if len(groups) == 1 else "next-$((n += 1)).csv"
    stat = f"perf stat -I {meta['interval_ms']:.0f} -x, -o {file}"
    counted = _for_each(
        ["{" + ",".join(events) + "}" for events in written],
        lambda value: f"{stat} -e {value} {whom} -- sleep {seconds}",
    )
    return f"{counted} && cmlib import {program} {'next.csv' if len(groups) == 1 else 'next-*.csv'}"


def _for_each(values, command):
    """A command, or a loop over it where there are several values."""
    quoted = [shlex.quote(value) for value in values]
    if len(quoted) == 1:
        return command(quoted[0])
    return f"for events in {' '.join(quoted)}; do {command(chr(34) + '$events' + chr(34))}; done"


def _running(attached):
    """The option that attaches to the same again; processes by their names, as their numbers may be others now."""
    if "cgroup" in attached:
        return f"--cgroup {shlex.quote(attached['cgroup'])}"
    if "processes" not in attached:
        return "--system"
    names = "|".join(dict.fromkeys(re.escape(process["name"]) for process in attached["processes"]))
    return f'--pid "$(pgrep -d, -x {shlex.quote(names)})"'
