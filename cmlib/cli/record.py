"""`cmlib record`."""

import click
from click.core import ParameterSource

from cmlib.cli.attaching import attach, attaching_options
from cmlib.cli.sampling import sample, sampling_options
from cmlib.cli.simulating import simulating_options

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
    """Record program NAME: run COMMAND under perf, once for each handful of events and each pass.

    With --program, one of those that cmlib knows how to get ready (input, servers, load) is recorded instead,
    under its own name unless NAME is given; servers are counted alone. `cmlib doctor` tells what each of them
    lacks here.

    Without --mode and --events, all that the notebooks read is recorded: the core events without and with
    multiplexing, and a sweep over all events that count.

    What exists is kept: repeated after a break, or with more --runs, the command makes the runs that are
    missing.

    With --samples, one run is sampled instead: every --period counts of the first event, with the counts of
    the others, only of the process itself; each call adds a stream. Notebook 07 reads them.

    With --simulate, COMMAND runs under Valgrind's Callgrind, 50 to 100 times slower: thirteen events, of which
    instructions, loads, stores and branches are exact and misses and mispredictions come from a model, in
    intervals of equal numbers of basic blocks; a second simulation tells misses of the second-level cache. See
    docs/simulated-counts.md.

    With --pid, --cgroup or --system, what runs already is counted instead, for --seconds and in one multiplexed
    run; nothing of it is started, signalled or ended. See docs/running-services.md.

    COMMAND gets no input, its output is discarded, its standard error is shown if it fails. When it ends,
    whatever it left running is ended too.
    """
    from cmlib.record import Request, record_program

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
    from cmlib.simulate import record_simulated

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
    from cmlib.workloads import programs

    chosen = dict(option.split("=", 1) for option in options)
    scale = 1.0 if scale is None else scale
    return name or program, programs.to_record(program, scale=scale, options=chosen)
