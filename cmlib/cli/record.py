"""`cmlib record`."""

import functools
import re

import click
from click.core import ParameterSource

from cmlib.shell import command_of_report
from cmlib.terminal import say

# By Valgrind's name of a cache: ours, and what it is called.
_CACHES = {
    "I1": ("l1i", "first-level instruction"),
    "D1": ("l1d", "first-level data"),
    "L2": ("l2", "second-level"),
    "LL": ("ll", "last-level"),
}
_SIMULATION = [
    click.option("--simulate", is_flag=True, help="Simulate under Valgrind instead of counting with perf."),
    *(
        click.option(
            f"--cache-{ours}",
            name.lower(),
            metavar="SIZE,WAYS,LINE",
            help=f"Simulate this {called} cache, as 32K,8,64, instead of this machine's.",
        )
        for name, (ours, called) in _CACHES.items()
    ),
]


def simulating_options(command):
    """Give a command the options of a simulation; it gets them as `simulated`: caches to simulate, or None."""

    @functools.wraps(command)
    def with_simulation(*, simulate, **given):
        caches = {name: given.pop(name.lower()) for name in _CACHES}
        if not simulate and any(caches.values()):
            raise click.UsageError(
                "--cache-l1i, --cache-l1d, --cache-l2 and --cache-ll belong to --simulate."
            )
        return command(simulated=caches if simulate else None, **given)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_SIMULATION), with_simulation)


def key_values(context, option, given):
    """A click callback: KEY=VALUE, several times, as a dict."""
    if any("=" not in text for text in given):
        raise click.UsageError("--option takes KEY=VALUE.")
    return dict(text.split("=", 1) for text in given)


def _numbers(context, option, pids):
    if pids is not None and not re.fullmatch(r"[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*", pids):
        raise click.UsageError(
            f"--pid takes numbers of processes with commas between, as 812,813, got {pids!r}; `pgrep -a NAME` tells "
            "them."
        )
    return pids and [int(pid) for pid in pids.split(",")]


# What is recorded, and the options that go with not all of it, as functions name them.
_COUNTED, _SAMPLED, _SIMULATED = "counting by perf", "--samples", "--simulate"
_RUNNING = "--pid, --cgroup and --system"
_KINDS_OF_OPTIONS = {
    (_COUNTED,): ("mode", "per_run"),
    (_COUNTED, _SAMPLED): ("program", "scale", "options"),
    (_COUNTED, _SIMULATED): ("passes",),
    (_COUNTED, _RUNNING): ("interval_ms", "pinned"),
    (_COUNTED, _SIMULATED, _RUNNING): ("set_name", "note"),
    (_COUNTED, _SAMPLED, _RUNNING): ("events", "modifier", "wait"),
    (_SAMPLED,): ("period", "compress"),
    (_SIMULATED,): ("every_blocks",),
    (_RUNNING,): ("seconds",),
}
_FLAGS = {"passes": "--runs", "options": "--option", "set_name": "--set"}


@click.command(epilog="Example: cmlib record myapp --mode mlpx --runs 3 -- ./myapp --size 10")
@click.argument("name", required=False)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--program", metavar="PROGRAM", help="Record this one of cmlib's programs, instead of a command."
)
@click.option("--scale", type=float, help="Multiplies its work.  [default: 1]")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    callback=key_values,
    help="Program-specific option, such as spark.local.dir=/tmp.",
)
@click.option(
    "--mode",
    type=click.Choice(["ocoe", "mlpx", "ungrouped"]),
    help="Without or with multiplexing (both if not given), or multiplexed without groups.",
)
@click.option(
    "--events", metavar="core|all|LIST", help="Core events, all that count, or names with commas between."
)
@click.option(
    "--interval-ms", default=100, show_default=True, type=click.IntRange(1), help="Time between samples."
)
@click.option(
    "--runs", "passes", type=click.IntRange(1), help="Passes over the plan.  [default: 3, or 2 of all events]"
)
@click.option(
    "--per-run", default=12, show_default=True, type=click.IntRange(1), help="Events of a multiplexed run."
)
@click.option(
    "--modifier", default="u", show_default=True, help="u counts user mode; empty, the kernel as well."
)
@click.option(
    "--pinned", default="instructions,cycles", show_default=True, help="Events counted all the time."
)
@click.option("--set", "set_name", help="Name of the set, instead of ocoe, mlpx12 or sweep.")
@click.option("--note", default="", help="Kept with every run.")
@click.option("--wait", is_flag=True, help="Wait for another recording to end, instead of failing.")
@click.option(
    "--every-blocks",
    type=click.IntRange(1),
    metavar="N",
    help="Simulated: basic blocks of an interval; saves the run that estimates them.",
)
@click.option(
    "--pid",
    "pids",
    metavar="PID,…",
    callback=_numbers,
    help="Count these processes, which run already, with all threads.",
)
@click.option("--cgroup", metavar="PATH", help="Count this cgroup, such as system.slice/memcached.service.")
@click.option("--system", is_flag=True, help="Count everything that runs on this machine.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=60.0,
    show_default=True,
    help="How long to count what runs already; Ctrl-C ends it earlier.",
)
@click.option("--samples", is_flag=True, help="Sample a group of events once, --events or cycles and misses.")
@click.option(
    "--period",
    default=1_000_000,
    show_default=True,
    type=click.IntRange(1),
    help="Counts of the first event a sample.",
)
@click.option("--compress", is_flag=True, help="Keep lines instead of samples, found while COMMAND runs.")
@simulating_options
@click.pass_context
def record(context, name, command, samples, simulated, **given):
    """Record program NAME: run COMMAND under perf, once for each handful of events and each pass."""
    running = {key: given.pop(key) for key in ("pids", "cgroup", "system")}
    running = {key: value for key, value in running.items() if value not in (None, False)}
    if len(running) > 1:
        raise click.UsageError("--pid, --cgroup and --system: give one of them.")
    kinds = {_RUNNING: running, _SIMULATED: simulated is not None, _SAMPLED: samples}
    kind, *others = [*(kind for kind, chosen in kinds.items() if chosen), _COUNTED]
    if len(others) > 1:
        raise click.UsageError(f"{kind} and {others[0]} are two ways to record: give one of them.")
    _check_options(context, kind)
    if kind == _RUNNING:
        _attach(name, command, running, **given)
    elif kind == _SIMULATED:
        _simulate(name, command, caches=simulated, **given)
    else:
        name, recorded = _what(name, command, **given)
        (_sample if samples else _count)(name, recorded, **given)


def _check_options(context, kind):
    """Refuse an option of the command line that does not go with what is recorded."""
    for kinds, keys in _KINDS_OF_OPTIONS.items():
        for key in keys:
            if kind not in kinds and context.get_parameter_source(key) == ParameterSource.COMMANDLINE:
                flag = _FLAGS.get(key, f"--{key.replace('_', '-')}")
                raise click.UsageError(f"{flag} does not go with {kind}: it is for {', or '.join(kinds)}.")


def _count(name, recorded, *, note, wait, **given):
    from cmlib.collect.record import record_program

    for set_name, made in record_program(name, recorded, _request(given), wait=wait, note=note).items():
        say(f"{name}: {len(made)} runs made, set {set_name} is complete")
    say(f"Study it: {command_of_report(name)}")


def _request(given):
    from cmlib.collect.record import Request

    keys = ("mode", "events", "passes", "interval_ms", "per_run", "modifier", "set_name")
    pinned = tuple(filter(None, given["pinned"].split(",")))
    return Request(pinned=pinned, **{key: given[key] for key in keys})


def _attach(name, command, running, *, seconds, note, wait, **given):
    """Record what runs already, and tell where it is and what to do with it."""
    if name is None:
        raise click.UsageError("give a NAME for what is recorded.")
    if command:
        raise click.UsageError(
            "--pid, --cgroup and --system count what runs already: give no command beside them."
        )
    from cmlib.collect.record import record_attached
    from cmlib.collect.record.attached import cgroup, processes, system

    ways = {"pids": processes, "cgroup": cgroup, "system": lambda _: system()}
    ((way, chosen),) = running.items()
    how = {"seconds": seconds, "wait": wait, "note": note, "notify": functools.partial(say, err=True)}
    made = record_attached(name, ways[way](chosen), _request(given), **how)
    say(f"{name}: run {made.stem} is recorded")
    say(f"Study it: {command_of_report(name)}")


def _sample(name, recorded, *, events, modifier, wait, period, compress, **_):
    """Record one stream of samples, or of lines, and tell where it is."""
    from cmlib.collect.sampling import HARDWARE_GROUP, record_stream

    group = [event.strip() for event in events.split(",")] if events else HARDWARE_GROUP
    how = {"modifier": modifier, "wait": wait, "period": period, "compress": compress}
    out, metadata = record_stream(name, recorded, group, **how)
    form = f"{metadata['n_lines']} lines instead" if compress else "kept as perf printed them"
    say(f"{name}: {metadata['n_samples']} samples ({metadata['n_lost']} lost), {form}: {out}")


def _simulate(name, command, *, caches, **given):
    if name is None or not command:
        raise click.UsageError("--simulate takes a NAME and a command after --.")
    from cmlib.collect.simulate import record_simulated

    chosen = {key: given[key] for key in ("passes", "set_name", "note", "every_blocks") if given[key]}
    notify = functools.partial(say, err=True)
    made = record_simulated(name, command, notify=notify, caches=caches, **chosen)
    say(f"{name}: {len(made)} simulated run{'s' * (len(made) != 1)} made")
    say(f"Study it: {command_of_report(name)}")


def _what(name, command, *, program, scale, options, **_):
    """The name to record under, and the command or the program of cmlib's."""
    if program is None:
        if name is None or not command:
            raise click.UsageError("give a NAME and a command after --, or --program PROGRAM.")
        if scale is not None or options:
            raise click.UsageError("--scale and --option belong to --program.")
        return name, command
    if command:
        raise click.UsageError("give either a command or --program, not both.")
    from cmlib_workloads import catalog

    return name or program, catalog.to_record(program, scale=1.0 if scale is None else scale, options=options)
