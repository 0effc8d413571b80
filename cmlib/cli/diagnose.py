"""The command ``cmlib diagnose``, which finds the bottlenecks of a command in each interval.

It runs a command once, counted by perf or simulated by Valgrind, or reads a recorded run. It prints the
classes of the intervals (for example, memory-bound) with advice.
"""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cmlib.cli.answers import show
from cmlib.cli.sources import COUNTED, SIMULATED, BySource, choose_source, option, simulating_options
from cmlib.terminal import progress_bar, say

_DURATION = (
    "A simulated run takes longer than the program: about 6 times (programs that wait for memory), 60 to 70 times "
    "(gzip, sort) or 200 times (loops, Python)."
)


@click.command(
    cls=BySource,
    sources=(COUNTED, SIMULATED),
    epilog="Example: cmlib diagnose --html report.html -- ./myapp --size 10",
)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--recorded", metavar="NAME", help="Show a recorded run instead of running a command.")
@click.option("--keep", metavar="NAME", help="Store the run under this name.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write an HTML page with the timeline."
)
@option(
    "--every-blocks", sources=(SIMULATED,), type=click.IntRange(1), metavar="N",
    help="Length of an interval in basic blocks.  [default: 500000]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@simulating_options
@click.pass_context
def diagnose(
    context: click.Context,
    command: tuple[str, ...],
    recorded: str | None,
    keep: str | None,
    html: Path | None,
    every_blocks: int | None,
    as_json: bool,
    simulated_caches: dict | None,
) -> None:
    """Find the bottlenecks of COMMAND in each interval of its run.

    Runs COMMAND once under perf, or simulates COMMAND. Each interval is assigned to a class of bottlenecks,
    for example memory-bound. Prints the share of each class, with advice. Counting needs hardware counters,
    and the processor on which the classifier was trained.
    """
    if bool(command) == bool(recorded):
        raise click.UsageError("give either a command after --, or --recorded NAME.")
    if keep and recorded:
        raise click.UsageError("--keep needs a command.")
    source = choose_source(context, {SIMULATED: simulated_caches is not None})
    if source == SIMULATED or (recorded and _is_simulated(recorded)):
        answer, write_page = _diagnose_simulated(
            list(command), recorded, keep, every_blocks, simulated_caches
        )
    else:
        answer, write_page = _diagnose_counted(list(command), recorded, keep)
    show(answer, "diagnose.txt.j2", as_json=as_json)
    if html:
        from cmlib.io.archive import write_whole

        write_whole(html, write_page())


def _diagnose_counted(
    command: list[str], recorded: str | None, keep: str | None
) -> tuple[dict, Callable[[], str]]:
    """Diagnose a command or a recorded run by counts.

    Return the result, and a function that makes its page. Intervals are classified by a decision tree, which
    is trained on micro-benchmarks with known bottlenecks.
    """
    from cmlib.experiments.micro.single_run import check_counters, load_recorded, record_once

    counters: Any = None if recorded else check_counters()  # before the slow imports
    from cmlib.experiments.measured_diagnosis import answer_measured, profile_run
    from cmlib.experiments.micro import fingerprint
    from cmlib.experiments.micro.recordings import cut
    from cmlib.report.diagnosis import diagnosis_page

    trained = fingerprint.load(kinds=("micro",), with_all=False)
    model = fingerprint.train(*cut(trained.key["micro"]), trained.tree)
    if recorded:
        series = load_recorded(recorded)
    else:
        series = record_once(command, trained.meta, counters, keep=keep)
    profile = profile_run(model, series)
    answer = answer_measured(recorded or shlex.join(command), profile, trained.caveat)
    return answer, lambda: diagnosis_page(answer, profile, trained)


def _is_simulated(name: str) -> bool:
    """Return True if a recorded program has a simulated run."""
    from cmlib.experiments.simulated_runs import find_simulated_run

    return find_simulated_run(name) is not None


def _diagnose_simulated(
    command: list[str], recorded: str | None, keep: str | None, every_blocks: int | None, caches: dict | None
) -> tuple[dict, Callable[[], str]]:
    """Diagnose a command or a recorded run by simulation.

    Return the result, and a function that makes its page. `every_blocks` is the length of an interval.
    `caches` contains the shapes of caches, keyed by Valgrind's names.
    """
    from cmlib.collect.simulate import record_simulated
    from cmlib.experiments import simulated_runs
    from cmlib.experiments.simulated_classes import classify_phases
    from cmlib.experiments.simulated_diagnosis import answer_simulated, simulated_profile
    from cmlib.io.archive import in_recording
    from cmlib.report.diagnosis import simulated_page

    if not recorded:
        say(_DURATION, err=True)
    every_blocks = every_blocks or simulated_runs.INTERVAL_BLOCKS
    if keep:
        settings = {"passes": 1, "levels": 2, "every_blocks": every_blocks, "caches": caches}
        record_simulated(keep, command, notify=lambda text: say(text, err=True), **settings)
    name = recorded or keep
    if name:
        run = simulated_runs.read_simulated_run(name)
    else:
        run = _simulate_once(command, every_blocks, caches)
    title = recorded or shlex.join(command)
    profile = in_recording(title, simulated_profile, *run, classify=classify_phases)
    answer = answer_simulated(title, profile)
    return answer, lambda: simulated_page(answer, profile)


def _simulate_once(command: list[str], every_blocks: int, caches: dict | None) -> tuple:
    """Simulate a command with a progress bar, without storing it."""
    from cmlib.experiments.simulated_runs import simulate_once

    with progress_bar(
        desc=command[0], unit=" basic blocks", unit_scale=True, mininterval=1, leave=False
    ) as bar:
        return simulate_once(
            command,
            caches=caches,
            progress=lambda executed: bar.update(executed - bar.n),
            interval_blocks=every_blocks,
        )
