"""The command ``cmlib record``, which records a program or running processes.

A program is counted by perf, sampled, or simulated by Valgrind. Each run is stored as a file under the NAME
of the program. By default, a command is counted in three sets of runs:

- ``ocoe`` (one counter, one event): A run counts only as many events as there are counters. Each event is
  counted without interruption. Several runs are needed for all core events, the main events of a processor.
- ``mlpx12`` (multiplexed): A run counts twelve core events. They take turns on the counters.
- ``sweep``: As ``mlpx12``, for all events of the processor.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

import click

from cmlib.cli.answers import write_count
from cmlib.cli.sources import COUNTED, SIMULATED, BySource, choose_source, option, simulating_options
from cmlib.shell import command_of_report
from cmlib.terminal import say

if TYPE_CHECKING:
    from cmlib.collect.record.protocol import Request

# Sources (ways to count) that only this command has. Their names are the options that choose them.
_SAMPLED, _RUNNING = "--samples", "--pid, --cgroup and --system"
_SOURCES = (COUNTED, _SAMPLED, SIMULATED, _RUNNING)
_LISTS = {"core", "all"}  # values of --events that select a list of events


def _parse_pairs(_context: click.Context, _option: click.Option, pairs: tuple[str, ...]) -> dict[str, str]:
    """Convert texts KEY=VALUE to a dict."""
    if any("=" not in pair for pair in pairs):
        raise click.UsageError("--option takes KEY=VALUE.")
    return dict(pair.split("=", 1) for pair in pairs)


def _parse_numbers(_context: click.Context, _option: click.Option, pids: str | None) -> list[int] | None:
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
    help="ocoe: each event is counted all the time, in several runs. mlpx: groups of events take turns on the "
    "counters. ungrouped: single events take turns.  [default: ocoe, then mlpx]",
)  # fmt: skip
@option(
    "--events", sources=(COUNTED, _SAMPLED, _RUNNING), metavar="core|all|LIST",
    help="core (main events of the processor), all (every event), or comma-separated names. --samples takes only names."
    "  [default: core, then all; with --samples cycles,cache-misses,instructions]",
)  # fmt: skip
@option(
    "--interval-ms", sources=(COUNTED, _RUNNING), default=100, show_default=True, type=click.IntRange(1),
    help="Length of the intervals in which events are counted [ms].",
)  # fmt: skip
@option(
    "--runs", "passes", sources=(COUNTED, SIMULATED), type=click.IntRange(1),
    help="How often all events are counted. Each time can take several runs."
    "  [default: 3; 2 for all events; 1 or 2 simulated]",
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
    help="Name of the set of runs.  [default: ocoe, mlpx12 (12 events per run), sweep (all events) or sim (simulated)]",
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
    "--samples",
    is_flag=True,
    help="Run COMMAND once, and store the counts each time an event occurred N times (--period).",
)
@option(
    "--period", sources=(_SAMPLED,), default=1_000_000, show_default=True, type=click.IntRange(1), metavar="N",
    help="How often the first event occurs between two samples.",
)  # fmt: skip
@option(
    "--compress",
    sources=(_SAMPLED,),
    is_flag=True,
    help="Store straight lines that are fitted to the samples, instead of the samples.",
)
@simulating_options
@click.pass_context
def record(
    context: click.Context,
    name: str | None,
    command: tuple[str, ...],
    samples: bool,
    simulated_caches: dict | None,
    **settings: Any,
) -> None:
    """Record COMMAND under the name NAME.

    COMMAND is run under perf several times, because not all events can be counted at once. With --samples,
    COMMAND is run once and sampled. With --simulate, COMMAND is simulated. The options --pid, --cgroup and
    --system record running processes instead of COMMAND. Prints what was recorded. NAME is refused if it has
    runs of another command or machine.
    """
    running = {}
    for key in ("pids", "cgroup", "system"):
        value = settings.pop(key)
        if value not in (None, False):
            running[key] = value
    if len(running) > 1:
        raise click.UsageError("--pid, --cgroup and --system: give only one of them.")
    given_sources = {_RUNNING: running, SIMULATED: simulated_caches is not None, _SAMPLED: samples}
    source = choose_source(context, given_sources)
    if source == _RUNNING:
        _attach(name, command, running, **settings)
    elif source == SIMULATED:
        _simulate(name, command, caches=simulated_caches, **settings)
    elif source == _SAMPLED:
        _sample(*_choose_program(name, command, **settings), **settings)
    else:
        _count(*_choose_program(name, command, **settings), **settings)


def _count(name: str, command_or_program: Any, *, note: str, wait: bool, **settings: Any) -> None:
    """Count a program under perf, and print the number of new runs of each set.

    `command_or_program` is a result of :func:`_choose_program`.
    """
    from cmlib.collect.record import record_program

    request = _make_request(settings)
    files_by_set = record_program(name, command_or_program, request, wait=wait, note=note)
    for set_name, files in files_by_set.items():
        say(f"{name}: {write_count(len(files), 'run')} made, set {set_name} is complete")
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

    `running` contains one value, keyed by the name of its option: pids, cgroup or system.
    """
    if name is None:
        raise click.UsageError("give a NAME for the recording.")
    if command:
        raise click.UsageError("--pid, --cgroup and --system count running processes. Do not give a command.")
    from cmlib.collect.record import record_attached
    from cmlib.collect.record.attached import cgroup, processes, system

    if "pids" in running:
        counted = processes(running["pids"])
    elif "cgroup" in running:
        counted = cgroup(running["cgroup"])
    else:
        counted = system()
    notify = functools.partial(say, err=True)
    request = _make_request(settings)
    file = record_attached(name, counted, request, seconds=seconds, wait=wait, note=note, notify=notify)
    say(f"{name}: run {file.stem} is recorded")
    say(f"Study it: {command_of_report(name)}")


def _sample(
    name: str,
    command_or_program: Any,
    *,
    events: str | None,
    modifier: str,
    wait: bool,
    period: int,
    compress: bool,
    **_: Any,
) -> None:
    """Sample a program once, and print the path of the samples.

    `command_or_program` is a result of :func:`_choose_program`.
    """
    group = [event.strip() for event in events.split(",")] if events else None
    if group and not _LISTS.isdisjoint(group):
        raise click.UsageError(
            "--samples takes names of events, not core or all, because it counts them as one group. "
            "For example: --events cycles,cache-misses"
        )
    from cmlib.collect.sampling import HARDWARE_GROUP, record_stream

    settings = {"modifier": modifier, "wait": wait, "period": period, "compress": compress}
    out, metadata = record_stream(name, command_or_program, group or HARDWARE_GROUP, **settings)
    stored = f"stored as {metadata['n_lines']} lines" if compress else "stored as perf printed them"
    say(f"{name}: {metadata['n_samples']} samples ({metadata['n_lost']} lost), {stored}: {out}")


def _simulate(name: str | None, command: tuple[str, ...], *, caches: dict | None, **settings: Any) -> None:
    """Simulate a command under Valgrind, and print the number of new runs.

    `caches` contains the shapes of caches, keyed by Valgrind's names.
    """
    if name is None or not command:
        raise click.UsageError("--simulate takes a NAME and a command after --.")
    from cmlib.collect.simulate import record_simulated

    keys = ("passes", "set_name", "note", "every_blocks")
    notify = functools.partial(say, err=True)
    given = {key: settings[key] for key in keys if settings[key]}
    files = record_simulated(name, command, notify=notify, caches=caches, **given)
    say(f"{name}: {write_count(len(files), 'simulated run')} made")
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
    """Return the name of the recording and what to record.

    This is the command (tuple of str), or the program of cmlib that ``--program`` names.
    """
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
