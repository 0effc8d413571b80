"""`cmlib programs`, `cmlib record-all`, and the commands that record what one notebook reads.

The commands that record print a line for each job; with --list nothing is recorded. What failed is printed at the
end, as an error.
"""

import click

from cmlib.collect import machine
from cmlib.experiments.kernels.programs import kernels as all_kernels
from cmlib.terminal import say
from cmlib_workloads import catalog
from cmlib_workloads.campaign import DESIGNS, all_parts, check_quiet, run_parts

_PARTS = all_parts()
_ON_SPARK = [name for name, one in catalog.recipes().items() if {"master", "spark."} <= {*one.options}]
_list = click.option("--list", "only_list", is_flag=True, help="Only list what would be recorded.")


def _names(option, known, help):
    """A click option that takes one of the `known` names, and may be repeated."""
    return click.option(option, "names", multiple=True, type=click.Choice(known), help=help)


def _record(parts, only_list, **options):
    """List or make the recordings of some parts (names)."""
    run_parts({name: _PARTS[name] for name in parts}, say, only_list=only_list, **options)


@click.command("record-all", epilog="Example: cmlib record-all --only micro --only kernels")
@_list
@_names("--only", list(_PARTS), "This part; may be repeated.")
def record_all(only_list, names):
    """Record everything that the notebooks read, part by part, on a machine whose counters can be read."""
    if not only_list:
        machine.census().checked()
        check_quiet()
    _record(names or _PARTS, only_list)


@click.command("record-micro", epilog="Example: cmlib record-micro --list")
@_list
@click.option("--simulate", is_flag=True, help="Simulate them under Valgrind, which takes no counters.")
def record_micro(only_list, simulate):
    """Record the micro-benchmarks that the notebooks on fingerprinting and `cmlib diagnose` learn from."""
    _record(["simulated" if simulate else "micro"], only_list)


@click.command("record-kernels", epilog="Example: cmlib record-kernels --program histogram")
@_list
@_names("--program", [kernel.name for kernel in all_kernels()], "Only this program; may be repeated.")
def record_kernels(only_list, names):
    """Record AutoPerf's fifteen programs, in their good and their bad form, that notebook 06 judges."""
    _record(["kernels"], only_list, names=names)


@click.command("record-samples", epilog="Example: cmlib record-samples --case gcc-2")
@_list
@click.option(
    "--lines", is_flag=True, help="Only lines, found as the program runs, of the first event counted along."
)
@_names("--case", [case.name for case in catalog.cases()], "Only this one; may be repeated.")
def record_samples(only_list, lines, names):
    """Record the sample streams that notebook 07 reads: hardware events, or software events without counters."""
    _record(["streams"], only_list, names=names, lines=lines)


@click.command("record-tuning", epilog="Example: cmlib record-tuning --program sort")
@_list
@click.option(
    "--program",
    "programs",
    multiple=True,
    default=tuple(DESIGNS),
    show_default=True,
    type=click.Choice(_ON_SPARK),
    help="This program of cmlib's on Spark; may be repeated.",
)
@click.option(
    "--levels",
    is_flag=True,
    help="Only sort with one parameter changed at a time, in a separate session (CounterMiner, Fig. 14).",
)
def record_tuning(only_list, programs, levels):
    """Record programs on Spark under other settings than usual, that notebook 08 reads."""
    if levels:
        _record(["tuning-levels"], only_list)
    else:
        _record(["tuning"], only_list, programs=programs)


@click.command(epilog="Example: cmlib programs")
def programs():
    """List the programs that `cmlib record --program` takes, and what they lack here.

    Prints name, suite and what is missing, and on a second line framework and input.
    """
    for name, lacks in catalog.lacking().items():
        recipe, state = catalog.recipes()[name], f"lacks {', '.join(lacks)}" if lacks else "ready"
        say(f"{name:28} {recipe.suite:14} {state}")
        say(f"{'':28} {recipe.framework}; {recipe.input}")
