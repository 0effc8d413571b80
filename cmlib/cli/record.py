"""`cmlib record`: a program counted by perf, sampled or simulated, or what runs already."""

import functools
import re

import click
from click.core import ParameterSource

from cmlib.shell import command_of_report
from cmlib.terminal import say

# What counts, as help and messages call it. Options that do not go with all of it name their sources.
_COUNTED, _SAMPLED, _SIMULATED = "counting by perf", "--samples", "--simulate"
_RUNNING = "--pid, --cgroup and --system"
_SOURCES = (_COUNTED, _SAMPLED, _SIMULATED, _RUNNING)
# By Valgrind's name of a cache: ours, and what it is called.
_CACHES = {
    "I1": ("l1i", "first-level instruction"),
    "D1": ("l1d", "first-level data"),
    "L2": ("l2", "second-level"),
    "LL": ("ll", "last-level"),
}


class _SourceOption(click.Option):
    """An option that goes with some sources of counts only, as its help says."""

    def __init__(self, *names, sources, **settings):
        super().__init__(*names, **settings)
        self.sources = sources

    def get_help_record(self, ctx):
        names, text = super().get_help_record(ctx)
        others = [source for source in _SOURCES if source not in self.sources]
        return names, text if len(self.sources) == 1 else f"{text}  [not with {', '.join(others)}]"


class _BySource(click.Command):
    """A command whose help lists apart the options of one source, and those of several."""

    def format_options(self, ctx, formatter):
        sections = {"Options": [], "Options of several": []}
        for option in (param for param in self.get_params(ctx) if isinstance(param, click.Option)):
            sources = getattr(option, "sources", None)
            heading = f"Options of {sources[0] if len(sources) == 1 else 'several'}" if sources else "Options"
            sections.setdefault(heading, []).append(option.get_help_record(ctx))
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _option(*names, sources, **settings):
    return click.option(*names, cls=_SourceOption, sources=sources, **settings)


_SIMULATION = [
    click.option("--simulate", is_flag=True, help="Simulate under Valgrind instead of counting with perf."),
    *(
        _option(
            f"--cache-{ours}",
            name.lower(),
            sources=(_SIMULATED,),
            metavar="SIZE,WAYS,LINE",
            help=f"Simulate this {called} cache, as 32K,8,64, instead of this machine's.",
        )
        for name, (ours, called) in _CACHES.items()
    ),
]


def simulating_options(command):
    """Give a command the options of a simulation; it gets them as `simulated`: caches to simulate, or None."""

    @functools.wraps(command)
    def with_simulation(*, simulate, **others):
        caches = {name: others.pop(name.lower()) for name in _CACHES}
        if not simulate and any(caches.values()):
            raise click.UsageError(
                "--cache-l1i, --cache-l1d, --cache-l2 and --cache-ll belong to --simulate."
            )
        return command(simulated=caches if simulate else None, **others)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_SIMULATION), with_simulation)


def _key_values(context, option, pairs):
    """A click callback: KEY=VALUE, several times, as a dict."""
    if any("=" not in pair for pair in pairs):
        raise click.UsageError("--option takes KEY=VALUE.")
    return dict(pair.split("=", 1) for pair in pairs)


def _numbers(context, option, pids):
    if pids is not None and not re.fullmatch(r"[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*", pids):
        raise click.UsageError(
            f"--pid takes numbers of processes with commas between, as 812,813, got {pids!r}; `pgrep -a NAME` tells "
            "them."
        )
    return pids and [int(pid) for pid in pids.split(",")]


@click.command(cls=_BySource, epilog="Example: cmlib record myapp --mode mlpx --runs 3 -- ./myapp --size 10")
@click.argument("name", required=False)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@_option(
    "--program", sources=(_COUNTED, _SAMPLED), metavar="PROGRAM",
    help="Record this one of cmlib's programs, instead of a command.",
)  # fmt: skip
@_option("--scale", sources=(_COUNTED, _SAMPLED), type=float, help="Multiplies its work.  [default: 1]")
@_option(
    "--option", "options", sources=(_COUNTED, _SAMPLED), multiple=True, metavar="KEY=VALUE", callback=_key_values,
    help="Program-specific option, such as spark.local.dir=/tmp.",
)  # fmt: skip
@_option(
    "--mode", sources=(_COUNTED,), type=click.Choice(["ocoe", "mlpx", "ungrouped"]),
    help="Without or with multiplexing (both if not given), or multiplexed without groups.",
)  # fmt: skip
@_option(
    "--events", sources=(_COUNTED, _SAMPLED, _RUNNING), metavar="core|all|LIST",
    help="Core events, all that count, or names with commas between.",
)  # fmt: skip
@_option(
    "--interval-ms", sources=(_COUNTED, _RUNNING), default=100, show_default=True, type=click.IntRange(1),
    help="Time between samples.",
)  # fmt: skip
@_option(
    "--runs", "passes", sources=(_COUNTED, _SIMULATED), type=click.IntRange(1),
    help="Passes over the plan.  [default: 3, or 2 of all events]",
)  # fmt: skip
@_option(
    "--per-run", sources=(_COUNTED,), default=12, show_default=True, type=click.IntRange(1),
    help="Events of a multiplexed run.",
)  # fmt: skip
@_option(
    "--modifier", sources=(_COUNTED, _SAMPLED, _RUNNING), default="u", show_default=True,
    help="u counts user mode; empty, the kernel as well.",
)  # fmt: skip
@_option(
    "--pinned", sources=(_COUNTED, _RUNNING), default="instructions,cycles", show_default=True,
    help="Events counted all the time.",
)  # fmt: skip
@_option(
    "--set", "set_name", sources=(_COUNTED, _SIMULATED, _RUNNING),
    help="Name of the set, instead of ocoe, mlpx12 or sweep.",
)  # fmt: skip
@_option("--note", sources=(_COUNTED, _SIMULATED, _RUNNING), default="", help="Kept with every run.")
@_option(
    "--wait", sources=(_COUNTED, _SAMPLED, _RUNNING), is_flag=True,
    help="Wait for another recording to end, instead of failing.",
)  # fmt: skip
@_option(
    "--every-blocks", sources=(_SIMULATED,), type=click.IntRange(1), metavar="N",
    help="Basic blocks of an interval; saves the run that estimates them.",
)  # fmt: skip
@click.option(
    "--pid", "pids", metavar="PID,…", callback=_numbers,
    help="Count these processes, which run already, with all threads.",
)  # fmt: skip
@click.option("--cgroup", metavar="PATH", help="Count this cgroup, such as system.slice/memcached.service.")
@click.option("--system", is_flag=True, help="Count everything that runs on this machine.")
@_option(
    "--seconds", sources=(_RUNNING,), type=click.FloatRange(0, 1e6, min_open=True), default=60.0, show_default=True,
    help="How long to count what runs already; Ctrl-C ends it earlier.",
)  # fmt: skip
@click.option("--samples", is_flag=True, help="Sample a group of events once, --events or cycles and misses.")
@_option(
    "--period", sources=(_SAMPLED,), default=1_000_000, show_default=True, type=click.IntRange(1),
    help="Counts of the first event a sample.",
)  # fmt: skip
@_option(
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
    """
    running = {key: settings.pop(key) for key in ("pids", "cgroup", "system")}
    running = {key: value for key, value in running.items() if value not in (None, False)}
    if len(running) > 1:
        raise click.UsageError("--pid, --cgroup and --system: give one of them.")
    chosen = {_RUNNING: running, _SIMULATED: simulated is not None, _SAMPLED: samples}
    source, *others = [*(source for source, asked in chosen.items() if asked), _COUNTED]
    if len(others) > 1:
        raise click.UsageError(f"{source} and {others[0]} are two ways to record: give one of them.")
    _check_options(context, source)
    if source == _RUNNING:
        _attach(name, command, running, **settings)
    elif source == _SIMULATED:
        _simulate(name, command, caches=simulated, **settings)
    else:
        name, recorded = _program(name, command, **settings)
        (_sample if samples else _count)(name, recorded, **settings)


def _check_options(context, source):
    """Refuse an option of the command line that does not go with the source."""
    for param in context.command.params:
        sources = getattr(param, "sources", (source,))
        if source not in sources and context.get_parameter_source(param.name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{param.opts[0]} does not go with {source}: it is for {', or '.join(sources)}."
            )


def _count(name, recorded, *, note, wait, **settings):
    from cmlib.collect.record import record_program

    for set_name, made in record_program(name, recorded, _request(settings), wait=wait, note=note).items():
        say(f"{name}: {len(made)} runs made, set {set_name} is complete")
    say(f"Study it: {command_of_report(name)}")


def _request(settings):
    from cmlib.collect.record import Request

    keys = ("mode", "events", "passes", "interval_ms", "per_run", "modifier", "set_name")
    pinned = tuple(filter(None, settings["pinned"].split(",")))
    return Request(pinned=pinned, **{key: settings[key] for key in keys})


def _attach(name, command, running, *, seconds, note, wait, **settings):
    """Record what runs already, and tell where it is and what to do with it."""
    if name is None:
        raise click.UsageError("give a NAME for what is recorded.")
    if command:
        raise click.UsageError(
            "--pid, --cgroup and --system count what runs already: give no command beside them."
        )
    from cmlib.collect.record import record_attached
    from cmlib.collect.record.attached import cgroup, processes, system

    targets = {"pids": processes, "cgroup": cgroup, "system": lambda _: system()}
    ((kind, named),) = running.items()
    made = record_attached(
        name,
        targets[kind](named),
        _request(settings),
        seconds=seconds,
        wait=wait,
        note=note,
        notify=functools.partial(say, err=True),
    )
    say(f"{name}: run {made.stem} is recorded")
    say(f"Study it: {command_of_report(name)}")


def _sample(name, recorded, *, events, modifier, wait, period, compress, **_):
    """Record one stream of samples, or of lines, and tell where it is."""
    from cmlib.collect.sampling import HARDWARE_GROUP, record_stream

    group = [event.strip() for event in events.split(",")] if events else HARDWARE_GROUP
    out, metadata = record_stream(
        name, recorded, group, modifier=modifier, wait=wait, period=period, compress=compress
    )
    form = f"{metadata['n_lines']} lines instead" if compress else "kept as perf printed them"
    say(f"{name}: {metadata['n_samples']} samples ({metadata['n_lost']} lost), {form}: {out}")


def _simulate(name, command, *, caches, **settings):
    if name is None or not command:
        raise click.UsageError("--simulate takes a NAME and a command after --.")
    from cmlib.collect.simulate import record_simulated

    keys = ("passes", "set_name", "note", "every_blocks")
    notify = functools.partial(say, err=True)
    chosen = {key: settings[key] for key in keys if settings[key]}
    made = record_simulated(name, command, notify=notify, caches=caches, **chosen)
    say(f"{name}: {len(made)} simulated run{'s' * (len(made) != 1)} made")
    say(f"Study it: {command_of_report(name)}")


def _program(name, command, *, program, scale, options, **_):
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
