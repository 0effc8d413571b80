"""`cmlib record`: record a program, counted by perf, sampled or simulated, or record what runs already.

Runs are stored as files in the folder of recordings, under the program's NAME. Without --mode, a command is
recorded in two sets of runs. In the set ocoe (one counter, one event) each event is counted all the time, in as
many runs as that takes. In the set mlpx (multiplexed) events take turns on the counters within a run.
"""

import functools
import re

import click

from cmlib.cli.sources import COUNTED, SIMULATED, BySource, choose_source, option, simulating_options
from cmlib.shell import command_of_report
from cmlib.terminal import say

_SAMPLED, _RUNNING = "--samples", "--pid, --cgroup and --system"
_SOURCES = (COUNTED, _SAMPLED, SIMULATED, _RUNNING)


def _parse_pairs(context, option, pairs):
    """Parse texts KEY=VALUE (`pairs`) into a dict; a click callback.

    Raises click.UsageError if one has no ``=``.
    """
    if any("=" not in pair for pair in pairs):
        raise click.UsageError("--option takes KEY=VALUE.")
    return dict(pair.split("=", 1) for pair in pairs)


def _parse_numbers(context, option, pids):
    """Parse process numbers with commas between into a list of int, None if not given; a click callback.

    Raises click.UsageError if the text is something else.
    """
    if pids is not None and not re.fullmatch(r"[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*", pids):
        raise click.UsageError(
            f"--pid takes numbers of processes with commas between, as 812,813, got {pids!r}; see `pgrep -a NAME`."
        )
    return pids and [int(pid) for pid in pids.split(",")]


@click.command(
    cls=BySource,
    sources=_SOURCES,
    epilog="Example: cmlib record myapp --mode mlpx --runs 3 -- ./myapp --size 10",
)
@click.argument("name", required=False)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@option(
    "--program", sources=(COUNTED, _SAMPLED), metavar="PROGRAM",
    help="Record this one of cmlib's programs, instead of a command.",
)  # fmt: skip
@option("--scale", sources=(COUNTED, _SAMPLED), type=float, help="Multiplies its work.  [default: 1]")
@option(
    "--option", "options", sources=(COUNTED, _SAMPLED), multiple=True, metavar="KEY=VALUE", callback=_parse_pairs,
    help="Program-specific option, such as spark.local.dir=/tmp.",
)  # fmt: skip
@option(
    "--mode", sources=(COUNTED,), type=click.Choice(["ocoe", "mlpx", "ungrouped"]),
    help="Without or with multiplexing (both if not given), or multiplexed without groups.",
)  # fmt: skip
@option(
    "--events", sources=(COUNTED, _SAMPLED, _RUNNING), metavar="core|all|LIST",
    help="Core events, all that count, or names with commas between.",
)  # fmt: skip
@option(
    "--interval-ms", sources=(COUNTED, _RUNNING), default=100, show_default=True, type=click.IntRange(1),
    help="Time between samples.",
)  # fmt: skip
@option(
    "--runs", "passes", sources=(COUNTED, SIMULATED), type=click.IntRange(1),
    help="Passes over the plan.  [default: 3, or 2 of all events]",
)  # fmt: skip
@option(
    "--modifier", sources=(COUNTED, _SAMPLED, _RUNNING), default="u", show_default=True,
    help="u counts user mode; empty, the kernel as well.",
)  # fmt: skip
@option(
    "--pinned", sources=(COUNTED, _RUNNING), default="instructions,cycles", show_default=True,
    help="Events counted all the time.",
)  # fmt: skip
@option(
    "--set", "set_name", sources=(COUNTED, SIMULATED, _RUNNING),
    help="Name of the set, instead of ocoe, mlpx12 or sweep.",
)  # fmt: skip
@option("--note", sources=(COUNTED, SIMULATED, _RUNNING), default="", help="Kept with every run.")
@option(
    "--wait", sources=(COUNTED, _SAMPLED, _RUNNING), is_flag=True,
    help="Wait for another recording to end, instead of failing.",
)  # fmt: skip
@option(
    "--every-blocks", sources=(SIMULATED,), type=click.IntRange(1), metavar="N",
    help="Basic blocks of an interval; saves the run that estimates them.",
)  # fmt: skip
@click.option(
    "--pid", "pids", metavar="PID,…", callback=_parse_numbers,
    help="Count these processes, which run already, with all threads.",
)  # fmt: skip
@click.option("--cgroup", metavar="PATH", help="Count this cgroup, such as system.slice/memcached.service.")
@click.option("--system", is_flag=True, help="Count everything that runs on this machine.")
@option(
    "--seconds", sources=(_RUNNING,), type=click.FloatRange(0, 1e6, min_open=True), default=60.0, show_default=True,
    help="How long to count what runs already; Ctrl-C ends it earlier.",
)  # fmt: skip
@click.option("--samples", is_flag=True, help="Sample a group of events once, --events or cycles and misses.")
@option(
    "--period", sources=(_SAMPLED,), default=1_000_000, show_default=True, type=click.IntRange(1),
    help="Counts of the first event a sample.",
)  # fmt: skip
@option(
    "--compress",
    sources=(_SAMPLED,),
    is_flag=True,
    help="Keep lines instead of samples, found while COMMAND runs.",
)
@simulating_options
@click.pass_context
def record(context, name, command, samples, simulated, **settings):
    """Record program NAME: run COMMAND under perf, once for each handful of events and each pass.

    Instead: --samples samples it, --simulate simulates it, and --pid, --cgroup and --system count what runs already.
    Prints how many runs were made. A NAME that has runs of another command or machine is refused.
    """
    running = {}
    for key in ("pids", "cgroup", "system"):
        value = settings.pop(key)
        if value not in (None, False):
            running[key] = value
    if len(running) > 1:
        raise click.UsageError("--pid, --cgroup and --system: give one of them.")
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


def _count(name, recorded, *, note, wait, **settings):
    """Record a program's sets of runs under perf, and print how many were made.

    `recorded` is a command (list of str) or a Program of cmlib's; `settings` are the options by name.
    """
    from cmlib.collect.record import record_program

    files_by_set = record_program(name, recorded, _make_request(settings), wait=wait, note=note)
    for set_name, files in files_by_set.items():
        say(f"{name}: {len(files)} runs made, set {set_name} is complete")
    say(f"Study it: {command_of_report(name)}")


def _make_request(settings):
    """Make a Request (what to count, and how) from the options (dict)."""
    from cmlib.collect.record import Request

    keys = ("mode", "events", "passes", "interval_ms", "modifier", "set_name")
    pinned = tuple(filter(None, settings["pinned"].split(",")))
    return Request(pinned=pinned, **{key: settings[key] for key in keys})


def _attach(name, command, running, *, seconds, note, wait, **settings):
    """Record what runs already, and print the run's name.

    `running` is a dict of one option's name (pids, cgroup or system) and value. Raises click.UsageError if `command`
    is not empty.
    """
    if name is None:
        raise click.UsageError("give a NAME for what is recorded.")
    if command:
        raise click.UsageError("--pid, --cgroup and --system count what runs: give no command beside them.")
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


def _sample(name, recorded, *, events, modifier, wait, period, compress, **_):
    """Record one stream of samples of a program, or of lines fitted to it (`compress`), and print its path."""
    from cmlib.collect.sampling import HARDWARE_GROUP, record_stream

    group = [event.strip() for event in events.split(",")] if events else HARDWARE_GROUP
    settings = {"modifier": modifier, "wait": wait, "period": period, "compress": compress}
    out, metadata = record_stream(name, recorded, group, **settings)
    stored = f"{metadata['n_lines']} lines instead" if compress else "kept as perf printed them"
    say(f"{name}: {metadata['n_samples']} samples ({metadata['n_lost']} lost), {stored}: {out}")


def _simulate(name, command, *, caches, **settings):
    """Record a command (list of str) under Valgrind, and print how many runs were made.

    `caches` maps Valgrind's names of caches to ``SIZE,WAYS,LINE`` (None for this machine's). Raises click.UsageError
    without a name or command.
    """
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


def _choose_program(name, command, *, program, scale, options, **_):
    """Return the name to record under, and what to run: a command (list of str), or a Program of cmlib's.

    Raises click.UsageError if there is neither or both, or if options of a program come with a command.
    """
    if program is None:
        if name is None or not command:
            raise click.UsageError("give a NAME and a command after --, or --program PROGRAM.")
        if scale is not None or options:
            raise click.UsageError("--scale and --option belong to --program.")
        return name, command
    if command:
        raise click.UsageError("give either a command or --program, not both.")
    from cmlib.plugins import load_programs

    return name or program, load_programs().to_record(
        program, scale=1.0 if scale is None else scale, options=options
    )
