"""The command ``cmlib record``, which records a program or running processes.

A program is counted by perf, sampled, or simulated by Valgrind. Each run is stored as a file under the NAME
of the program. By default, a command is recorded in two sets of runs. In the set ocoe (one counter, one
event), each event is counted all the time, in several runs. In the set mlpx (multiplexed), events share the
counters within a run.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import click

from cmlib.cli.sources import COUNTED, SIMULATED, BySource, choose_source, option, simulating_options
from cmlib.shell import command_of_report
from cmlib.terminal import say

if TYPE_CHECKING:
    from cmlib.collect.record.protocol import Request

_SAMPLED, _RUNNING = "--samples", "--pid, --cgroup and --system"
_SOURCES = (COUNTED, _SAMPLED, SIMULATED, _RUNNING)


def _parse_pairs(context: click.Context, option: click.Option, pairs: tuple[str, ...]) -> dict[str, str]:
    """Convert texts KEY=VALUE to a dict."""
    if any("=" not in pair for pair in pairs):
        raise click.UsageError("--option takes KEY=VALUE.")
    return dict(pair.split("=", 1) for pair in pairs)


def _parse_numbers(context: click.Context, option: click.Option, pids: str | None) -> list[int] | None:
    """Convert comma-separated process numbers to a list."""
    if pids is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*", pids):
        raise click.UsageError(
            f"--pid takes comma-separated process numbers, for example 812,813, got {pids!r}. See `pgrep -a NAME`."
        )
    return [int(pid) for pid in pids.split(",")]


@click.command(
    cls=BySource,
    sources=_SOURCES,
    epilog="Example: cmlib record myapp --mode mlpx --runs 3 -- ./myapp --size 10",
)
@click.argument("name", required=False)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@option(
    "--program", sources=(COUNTED, _SAMPLED), metavar="PROGRAM",
    help="Record this program of cmlib instead of a command.",
)  # fmt: skip
@option(
    "--scale",
    sources=(COUNTED, _SAMPLED),
    type=float,
    help="Factor for the work of the program.  [default: 1]",
)
@option(
    "--option", "options", sources=(COUNTED, _SAMPLED), multiple=True, metavar="KEY=VALUE", callback=_parse_pairs,
    help="Option of the program, for example spark.local.dir=/tmp.",
)  # fmt: skip
@option(
    "--mode", sources=(COUNTED,), type=click.Choice(["ocoe", "mlpx", "ungrouped"]),
    help="Without multiplexing (ocoe), with it (mlpx), or with it but without groups.  [default: ocoe and mlpx]",
)  # fmt: skip
@option(
    "--events", sources=(COUNTED, _SAMPLED, _RUNNING), metavar="core|all|LIST",
    help="Core events, all events that can be counted, or comma-separated names.",
)  # fmt: skip
@option(
    "--interval-ms", sources=(COUNTED, _RUNNING), default=100, show_default=True, type=click.IntRange(1),
    help="Time between samples [ms].",
)  # fmt: skip
@option(
    "--runs", "passes", sources=(COUNTED, SIMULATED), type=click.IntRange(1),
    help="Number of passes, each of which counts all events.  [default: 3, or 2 with --events all]",
)  # fmt: skip
@option(
    "--modifier", sources=(COUNTED, _SAMPLED, _RUNNING), default="u", show_default=True,
    help="u counts user mode only. Empty also counts the kernel.",
)  # fmt: skip
@option(
    "--pinned", sources=(COUNTED, _RUNNING), default="instructions,cycles", show_default=True,
    help="Events that are counted all the time.",
)  # fmt: skip
@option(
    "--set", "set_name", sources=(COUNTED, SIMULATED, _RUNNING),
    help="Name of the set of runs.  [default: ocoe, mlpx12 or sweep]",
)  # fmt: skip
@option(
    "--note", sources=(COUNTED, SIMULATED, _RUNNING), default="", help="Text that is stored with every run."
)
@option(
    "--wait", sources=(COUNTED, _SAMPLED, _RUNNING), is_flag=True,
    help="Wait until another recording ends, instead of failing.",
)  # fmt: skip
@option(
    "--every-blocks", sources=(SIMULATED,), type=click.IntRange(1), metavar="N",
    help="Length of an interval in basic blocks.  [default: estimated by an additional run]",
)  # fmt: skip
@click.option(
    "--pid", "pids", metavar="PID,…", callback=_parse_numbers,
    help="Count these running processes with all threads.",
)  # fmt: skip
@click.option(
    "--cgroup", metavar="PATH", help="Count this cgroup, for example system.slice/memcached.service."
)
@click.option("--system", is_flag=True, help="Count all processes on this machine.")
@option(
    "--seconds", sources=(_RUNNING,), type=click.FloatRange(0, 1e6, min_open=True), default=60.0, show_default=True,
    help="Time to count running processes. Ctrl-C ends it earlier.",
)  # fmt: skip
@click.option(
    "--samples", is_flag=True, help="Sample a group of events once (--events, or cycles and misses)."
)
@option(
    "--period", sources=(_SAMPLED,), default=1_000_000, show_default=True, type=click.IntRange(1),
    help="Counts of the first event per sample.",
)  # fmt: skip
@option(
    "--compress",
    sources=(_SAMPLED,),
    is_flag=True,
    help="Store fitted lines instead of samples.",
)
@simulating_options
@click.pass_context
def record(
    context: click.Context,
    name: str | None,
    command: tuple[str, ...],
    samples: bool,
    simulated: dict | None,
    **settings: Any,
) -> None:
    """Record COMMAND under the name NAME.

    COMMAND is run under perf several times, because not all events can be counted at once. The option
    --samples samples COMMAND. The option --simulate simulates it. The options --pid, --cgroup and --system
    record running processes instead of COMMAND. Prints the number of runs. NAME is refused if it has runs of
    another command or machine.
    """
    running = {}
    for key in ("pids", "cgroup", "system"):
        value = settings.pop(key)
        if value not in (None, False):
            running[key] = value
    if len(running) > 1:
        raise click.UsageError("--pid, --cgroup and --system: give only one of them.")
    given_sources = {_RUNNING: running, SIMULATED: simulated is not None, _SAMPLED: samples}
    source = choose_source(context, given_sources)
    if source == _RUNNING:
        _attach(name, command, running, **settings)
    elif source == SIMULATED:
        _simulate(name, command, caches=simulated, **settings)
    elif source == _SAMPLED:
        _sample(*_choose_program(name, command, **settings), **settings)
    else:
        _count(*_choose_program(name, command, **settings), **settings)


def _count(name: str, target: Any, *, note: str, wait: bool, **settings: Any) -> None:
    """Count a program under perf, and print the number of runs.

    `target` is a command (list of str) or a program that cmlib provides.
    """
    from cmlib.collect.record import record_program

    files_by_set = record_program(name, target, _make_request(settings), wait=wait, note=note)
    for set_name, files in files_by_set.items():
        say(f"{name}: {len(files)} runs made, set {set_name} is complete")
    say(f"Study it: {command_of_report(name)}")


def _make_request(settings: dict) -> Request:
    """Make the request for a recording from the options."""
    from cmlib.collect.record import Request

    keys = ("mode", "events", "passes", "interval_ms", "modifier", "set_name")
    pinned = tuple(filter(None, settings["pinned"].split(",")))
    return Request(pinned=pinned, **{key: settings[key] for key in keys})


def _attach(
    name: str | None,
    command: tuple[str, ...],
    running: dict,
    *,
    seconds: float,
    note: str,
    wait: bool,
    **settings: Any,
) -> None:
    """Count running processes, and print the name of the run.

    `running` contains the option (pids, cgroup or system) and its value.
    """
    if name is None:
        raise click.UsageError("give a NAME for the recording.")
    if command:
        raise click.UsageError("--pid, --cgroup and --system count running processes. Do not give a command.")
    from cmlib.collect.record import record_attached
    from cmlib.collect.record.attached import cgroup, processes, system

    if "pids" in running:
        target = processes(running["pids"])
    elif "cgroup" in running:
        target = cgroup(running["cgroup"])
    else:
        target = system()
    notify = functools.partial(say, err=True)
    request = _make_request(settings)
    file = record_attached(name, target, request, seconds=seconds, wait=wait, note=note, notify=notify)
    say(f"{name}: run {file.stem} is recorded")
    say(f"Study it: {command_of_report(name)}")


def _sample(
    name: str,
    target: Any,
    *,
    events: str | None,
    modifier: str,
    wait: bool,
    period: int,
    compress: bool,
    **_: Any,
) -> None:
    """Sample a program once, and print the path of the samples."""
    from cmlib.collect.sampling import HARDWARE_GROUP, record_stream

    group = [event.strip() for event in events.split(",")] if events else HARDWARE_GROUP
    settings = {"modifier": modifier, "wait": wait, "period": period, "compress": compress}
    out, metadata = record_stream(name, target, group, **settings)
    stored = f"stored as {metadata['n_lines']} lines" if compress else "stored as perf printed them"
    say(f"{name}: {metadata['n_samples']} samples ({metadata['n_lost']} lost), {stored}: {out}")


def _simulate(name: str | None, command: tuple[str, ...], *, caches: dict | None, **settings: Any) -> None:
    """Simulate a command under Valgrind, and print the number of runs."""
    if name is None or not command:
        raise click.UsageError("--simulate takes a NAME and a command after --.")
    from cmlib.collect.simulate import record_simulated

    keys = ("passes", "set_name", "note", "every_blocks")
    notify = functools.partial(say, err=True)
    chosen = {key: settings[key] for key in keys if settings[key]}
    files = record_simulated(name, command, notify=notify, caches=caches, **chosen)
    runs = "run" if len(files) == 1 else "runs"
    say(f"{name}: {len(files)} simulated {runs} made")
    say(f"Study it: {command_of_report(name)}")


def _choose_program(
    name: str | None,
    command: tuple[str, ...],
    *,
    program: str | None,
    scale: float | None,
    options: dict,
    **_: Any,
) -> tuple[str, Any]:
    """Return the name of the recording and the command or program to record."""
    if program is None:
        if name is None or not command:
            raise click.UsageError("give a NAME and a command after --, or --program PROGRAM.")
        if scale is not None or options:
            raise click.UsageError("--scale and --option need --program.")
        return name, command
    if command:
        raise click.UsageError("give either a command or --program, not both.")
    from cmlib.plugins import load_programs

    return name or program, load_programs().to_record(
        program, scale=1.0 if scale is None else scale, options=options
    )
