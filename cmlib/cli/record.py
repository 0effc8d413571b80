"""The options of recording what runs already."""

import functools
import math
import re

import click
from click.core import ParameterSource

_OPTIONS = [
    click.option(
        "--pid", "pids", metavar="PID,…", help="Count these processes, which run already, with all threads."
    ),
    click.option(
        "--cgroup", metavar="PATH", help="Count this cgroup, such as system.slice/memcached.service."
    ),
    click.option("--system", is_flag=True, help="Count everything that runs on this machine."),
    click.option(
        "--seconds",
        type=float,
        help="How long to count what runs already.  [default: 60; Ctrl-C ends it earlier]",
    ),
]


def attaching_options(command):
    """Give a command the options of attaching; it gets them as `attached`, None without any of them."""

    @functools.wraps(command)
    def with_attaching(*, pids, cgroup, system, seconds, **others):
        given = {"pids": pids, "cgroup": cgroup, "system": system or None}
        given = {key: value for key, value in given.items() if value is not None}
        if len(given) > 1:
            raise click.UsageError("--pid, --cgroup and --system: give one of them.")
        if seconds is not None and not given:
            raise click.UsageError("--seconds belongs to --pid, --cgroup and --system.")
        if seconds is not None and not (seconds > 0 and math.isfinite(seconds)):
            raise click.UsageError(f"--seconds takes a number above 0, got {seconds:g}.")
        if pids is not None:
            given["pids"] = _numbers(pids)
        how = given | {"seconds": 60.0 if seconds is None else seconds}
        return command(attached=how if given else None, **others)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), with_attaching)


def attach(name, attached, request, *, wait, note):
    """Record what runs already, and tell where it is and what to do with it."""
    import json

    from cmlib.collect.record import record_attached
    from cmlib.collect.record.attached import cgroup, processes, system

    if "pids" in attached:
        found = processes(attached["pids"])
    else:
        found = cgroup(attached["cgroup"]) if "cgroup" in attached else system()
    made = record_attached(
        name,
        found,
        request,
        seconds=attached["seconds"],
        wait=wait,
        note=note,
        say=lambda text: click.echo(text, err=True),
    )
    meta = json.loads(made.read_text(encoding="utf-8"))
    click.echo(
        f"{name}: {meta['duration_s']:.1f} s in intervals of {meta['interval_ms']} ms, run {made.stem}"
    )
    click.echo(f"Study it: cmlib run live -p program={name}")


def _numbers(pids):
    if not re.fullmatch(r"[1-9][0-9]{0,8}(,[1-9][0-9]{0,8})*", pids):
        raise click.UsageError(
            f"--pid takes numbers of processes with commas between, as 812,813, got {pids!r}; `pgrep -a NAME` tells "
            "them."
        )
    return [int(pid) for pid in pids.split(",")]


_CACHES = {
    "I1": click.option(
        "--cache-l1i",
        metavar="SIZE,WAYS,LINE",
        help="Simulate this first-level instruction cache, as 32K,8,64, instead of this machine's.",
    ),
    "D1": click.option(
        "--cache-l1d", metavar="SIZE,WAYS,LINE", help="The same of the first-level data cache."
    ),
    "LL": click.option("--cache-ll", metavar="SIZE,WAYS,LINE", help="The same of the last-level cache."),
}
_SIMULATION = [
    click.option("--simulate", is_flag=True, help="Simulate under Valgrind instead of counting with perf."),
    *_CACHES.values(),
]


def simulating_options(command):
    """Give a command the options of a simulation; it gets them as `simulated`: caches to simulate, or None."""

    @functools.wraps(command)
    def with_simulation(*, simulate, cache_l1i, cache_l1d, cache_ll, **others):
        caches = dict(zip(_CACHES, (cache_l1i, cache_l1d, cache_ll), strict=True))
        if not simulate and any(caches.values()):
            raise click.UsageError("--cache-l1i, --cache-l1d and --cache-ll belong to --simulate.")
        return command(simulated=caches if simulate else None, **others)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_SIMULATION), with_simulation)


_COMPRESSION = [
    click.option("--alpha", default=0.01, show_default=True, help="Tolerance for a line's third sample."),
    click.option("--n-sigma", default=3.0, show_default=True, help="Tolerance for the later ones, in σ."),
    click.option("--drift", type=float, help="End lines that samples leave slowly: threshold, such as 20."),
    click.option("--bound", type=float, help="Largest distance of any sample from its line [counts]."),
]
_SAMPLING = [
    click.option(
        "--samples", is_flag=True, help="Sample a group of events once, --events or cycles and misses."
    ),
    click.option(
        "--period", type=click.IntRange(1), help="Counts of the first event a sample.  [default: 1000000]"
    ),
    click.option("--compress", is_flag=True, help="Keep lines instead of samples, found while COMMAND runs."),
    *_COMPRESSION,
]


def sampling_options(command):
    """Give a command the options of sampling; it gets them as `sampling`, None without ``--samples``."""

    @functools.wraps(command)
    def with_sampling(*, samples, period, compress, alpha, n_sigma, drift, bound, **others):
        if not samples and (period or compress):
            raise click.UsageError("--period and --compress belong to --samples.")
        method = {"alpha": alpha, "n_sigma": n_sigma, "drift": drift, "bound": bound}
        wanted = {"period": period or 1_000_000, "compress": method if compress else None}
        return command(sampling=wanted if samples else None, **others)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_SAMPLING), with_sampling)


def sample(name, command, sampling, *, events, modifier, wait):
    """Record one stream of samples, or of lines, and tell where it is."""
    from cmlib.collect.samples import HARDWARE_GROUP, record_stream

    group = [event.strip() for event in events.split(",")] if events else HARDWARE_GROUP
    out, metadata = record_stream(name, command, group, modifier=modifier, wait=wait, **sampling)
    kept = f"{metadata['n_lines']} lines instead" if "n_lines" in metadata else "kept as perf printed them"
    click.echo(f"{name}: {metadata['n_samples']} samples ({metadata['n_lost']} lost), {kept}: {out}")


@click.command(epilog="Example: cmlib compress data/samples/myapp/hardware-00.txt.gz lines --drift 20")
@click.argument("source", type=click.Path(exists=True, dir_okay=False))
@click.argument("out", type=click.Path())
@click.option(
    "--events", metavar="LIST", help="Names as perf prints them, if the file does not know its own."
)
def compress(source, out, events, **method):
    """Turn SOURCE, a stored stream of samples or a perf.data, into piecewise-linear segments: OUT.csv and OUT.json."""
    from cmlib.collect.samples import compress_samples

    metadata = compress_samples(source, out, events.split(",") if events else None, **method)
    click.echo(f"{metadata['n_samples']} samples, {metadata['n_lines']} lines: {out}.csv")


for option in _COMPRESSION:
    option(compress)


_OF_PERF = ("mode", "events", "counters", "interval_ms", "per_run", "modifier", "pinned", "wait", "program")
_OF_ATTACHED = ("events", "counters", "interval_ms", "modifier", "set_name")
_OF_COMMANDS = (
    *("program", "scale", "options", "mode", "passes", "per_run"),
    *("intervals", "every_blocks", "levels", "cache_l2"),
)
_OPTION = {"passes": "--runs", "options": "--option"}
_OF_SIMULATION = ("passes", "set_name", "caches", "levels", "note", "intervals", "every_blocks")


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
@click.option(
    "--counters", type=click.IntRange(1), help="Good counters to plan for, instead of counting them."
)
@click.option("--set", "set_name", help="Name of the set, instead of ocoe, mlpx12 or sweep.")
@click.option("--note", default="", help="Kept with every run.")
@click.option("--wait", is_flag=True, help="Wait for another recording to end, instead of failing.")
@click.option(
    "--intervals", type=click.IntRange(1), help="Simulated: about how many intervals.  [default: 200]"
)
@click.option(
    "--every-blocks",
    type=click.IntRange(1),
    metavar="N",
    help="Simulated: basic blocks of an interval; saves the run that estimates them.",
)
@click.option(
    "--levels", type=click.IntRange(2, 3),
    help="Simulated: levels of caches; three take two simulations of each run.  [default: 3]",
)  # fmt: skip
@click.option(
    "--cache-l2", metavar="SIZE,WAYS,LINE",
    help="Simulated: this second-level cache, as 1M,8,64, instead of this machine's.",
)  # fmt: skip
@attaching_options
@sampling_options
@simulating_options
@click.pass_context
def record(context, name, command, program, scale, options, note, wait, pinned, **how):
    """Record program NAME: run COMMAND under perf, once for each handful of events and each pass."""
    from cmlib.collect.record import Request, record_program

    sampling, simulated, attached = (how.pop(key) for key in ("sampling", "simulated", "attached"))
    of_simulation = {key: how.pop(key) for key in ("intervals", "every_blocks", "levels", "cache_l2")}
    if attached is not None:
        _check_attached(context, name, command, sampling, simulated)
        request = Request(pinned=_listed(pinned), **{key: how[key] for key in _OF_ATTACHED})
        attach(name, attached, request, wait=wait, note=note)
        return
    if simulated is not None:
        _check_simulated(context, sampling)
        caches = simulated | {"L2": of_simulation.pop("cache_l2")}
        _simulate(name, command, how, caches=caches, note=note, **of_simulation)
        return
    if any(of_simulation.values()):
        raise click.UsageError("--intervals, --every-blocks, --levels and --cache-l2 belong to --simulate.")
    name, recorded = _what(name, command, program, scale, options)
    if sampling is not None:
        sample(name, recorded, sampling, events=how["events"], modifier=how["modifier"], wait=wait)
        return
    request = Request(pinned=_listed(pinned), **how)
    for set_name, made in record_program(name, recorded, request, wait=wait, note=note).items():
        click.echo(f"{name}: {len(made)} runs made, set {set_name} is complete")
    click.echo(f"Study it: cmlib run live -p program={name}")


def _listed(pinned):
    return tuple(filter(None, pinned.split(",")))


def _check_attached(context, name, command, sampling, simulated):
    if name is None:
        raise click.UsageError("give a NAME for what is recorded.")
    if command:
        raise click.UsageError(
            "--pid, --cgroup and --system count what runs already: give no command beside them."
        )
    if sampling is not None or simulated is not None:
        raise click.UsageError("--samples and --simulate start a command; what runs already is counted.")
    if given := _given(context, _OF_COMMANDS):
        raise click.UsageError(f"{given} is for a command that cmlib starts, not for what runs already.")


def _given(context, keys):
    """The first of some options that stands in the command line, as it stands there; None if none does."""
    chosen = (key for key in keys if context.get_parameter_source(key) == ParameterSource.COMMANDLINE)
    return next((_OPTION.get(key, f"--{key.replace('_', '-')}") for key in chosen), None)


def _check_simulated(context, sampling):
    asked = _given(context, _OF_PERF) or ("--samples" if sampling is not None else None)
    if asked:
        raise click.UsageError(f"{asked} is for perf; a simulation counts all its events in every interval.")


def _simulate(name, command, how, **wanted):
    if name is None or not command:
        raise click.UsageError("--simulate takes a NAME and a command after --.")
    from cmlib.collect.simulate import record_simulated

    chosen = {key: value for key, value in (how | wanted).items() if value and key in _OF_SIMULATION}
    made = record_simulated(name, command, say=lambda text: click.echo(text, err=True), **chosen)
    click.echo(f"{name}: {len(made)} simulated run{'s' * (len(made) != 1)} made")
    click.echo(f"Study it: cmlib run live -p program={name}")


def _what(name, command, program, scale, options):
    """The name to record under, and the command or the program of cmlib's."""
    if program is None:
        if name is None or not command:
            raise click.UsageError("give a NAME and a command after --, or --program PROGRAM.")
        if scale is not None or options:
            raise click.UsageError("--scale and --option belong to --program.")
        return name, command
    if command:
        raise click.UsageError("give either a command or --program, not both.")
    if any("=" not in option for option in options):
        raise click.UsageError("--option takes KEY=VALUE.")
    from cmlib.collect.workloads import programs

    chosen = dict(option.split("=", 1) for option in options)
    scale = 1.0 if scale is None else scale
    return name or program, programs.to_record(program, scale=scale, options=chosen)
