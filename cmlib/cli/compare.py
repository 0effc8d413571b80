"""`cmlib compare`."""

import contextlib
import functools
import json
import signal

import click
from click.core import ParameterSource

from cmlib.cli.comparisons import programs_as_text, simulated_as_text
from cmlib.cli.simulating import simulating_options

_EXAMPLE = "Example: cmlib compare --events page-faults,context-switches './old --size 9' './new --size 9'"
_DEFAULTS = {"n_runs": 40, "smallest": 5.0}
_SIMULATED_DEFAULTS = {"n_runs": 2, "smallest": 0.5}
_OF_PERF = ("events", "alpha", "keep", "seed")


@click.command(epilog=_EXAMPLE)
@click.argument("old")
@click.argument("new")
@click.option(
    "--events", metavar="LIST", help="Events of commands, with commas between; NAME=CODE for raw ones."
)
@click.option(
    "--runs", "n_runs", type=click.IntRange(1),
    help="Most runs of each command; fewer are made if the result is clear.  [default: 40, or 2 simulated]",
)  # fmt: skip
@click.option(
    "--alpha", default=0.002, show_default=True, type=click.FloatRange(0, 0.5, min_open=True),
    help="False-alarm probability that is accepted.",
)  # fmt: skip
@click.option(
    "--smallest-change", "smallest", metavar="PERCENT", type=click.FloatRange(0, 1000),
    help="Smallest relevant change of the time, or of simulated instructions.  [default: 5, or 0.5 simulated]",
)  # fmt: skip
@click.option("--any-change", is_flag=True, help="Exit code 1 for every change, faster versions as well.")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(0, min_open=True),
    help="End a command that runs longer, and refuse to compare.",
)  # fmt: skip
@click.option(
    "--keep", type=click.Path(file_okay=False), help="Folder for the recordings: old.json and new.json."
)
@click.option(
    "--old-source", type=click.Path(exists=True), help="Source files of OLD, to name what was changed in NEW."
)
@click.option("--new-source", type=click.Path(exists=True), help="Source files of NEW.")
@click.option("--seed", default=0, show_default=True, help="Of the order within pairs, and the autoencoders.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@simulating_options
@click.pass_context
def compare(context, old, new, any_change, old_source, new_source, as_json, simulated, **how):
    """Compare the NEW version of a program with the OLD one: is it slower, where, and which counters differ?

    OLD and NEW are recordings (a .json file), or commands in quotes, which are run here in pairs, {run} in
    them standing for the number of the run. Programs that use cmlib_region.h or cmlib.anomaly.region are
    compared region by region, and every program as a whole.

    A version is slower if elapsed or processor time has changed significantly, with a p-value of at most
    --alpha, and relevantly, by --smallest-change or more.

    With --simulate, both commands run under Valgrind, and their instructions are compared, which repeat to 0.01 %
    on any machine: a change of --smallest-change is told from two runs of each. Modelled misses stand beside.

    Exit code 0: not slower. 1: slower, an anomaly. 2: nothing could be compared; the reason is told.
    """
    if (old_source is None) != (new_source is None):
        raise click.UsageError("--old-source and --new-source belong together.")
    from tqdm import tqdm

    from cmlib.anomaly.programs import compare_programs, refusal

    judge, lines, defaults = compare_programs, programs_as_text, _DEFAULTS
    if simulated is not None:
        from cmlib.anomaly.simulated import compare_simulated

        _drop_what_perf_needs(context, how)
        judge = functools.partial(compare_simulated, caches=simulated)
        lines, defaults = simulated_as_text, _SIMULATED_DEFAULTS
    how |= {name: value for name, value in defaults.items() if how[name] is None}
    how["smallest"] /= 100
    how["sources"] = (old_source, new_source) if old_source else None
    n_commands = sum(not name.endswith(".json") for name in (old, new))
    total = how["n_runs"] * n_commands
    try:
        with (
            _ended_by_signals(),
            tqdm(total=total, unit="run", disable=None if n_commands else True, leave=False) as bar,
        ):
            comparison = judge(
                old, new, tell=lambda text: click.echo(text, err=True), progress=bar.update, **how
            )
    except BaseException as error:
        if as_json:
            _print_json(refusal("interrupted" if isinstance(error, KeyboardInterrupt) else str(error)))
        raise
    if as_json:
        _print_json(comparison)
    else:
        click.echo("\n".join(lines(comparison)))
    alarming = comparison["anomaly"] or (any_change and comparison["verdict"] != "no change")
    context.exit(int(alarming))


def _drop_what_perf_needs(context, how):
    for name in _OF_PERF:
        if context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{name} is for commands that perf counts, and --simulate has no part for it."
            )
        del how[name]


@contextlib.contextmanager
def _ended_by_signals():
    """SIGTERM and SIGHUP end it as Ctrl-C does: with the program that runs, and what it started."""

    def end(*_):
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_json(comparison):
    click.echo(json.dumps(comparison, indent=1, ensure_ascii=False, allow_nan=False))
