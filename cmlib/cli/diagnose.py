"""`cmlib diagnose`: find what kind of bottleneck a command has, interval by interval.

The command runs a program once, counted by perf or simulated by Valgrind, or takes a recorded run. It prints the
classes of the intervals (such as memory-bound) and what to do about them, as text or JSON, and writes an HTML page
if one is named.
"""

import shlex
from pathlib import Path

import click

from cmlib.cli.answers import show
from cmlib.cli.sources import COUNTED, SIMULATED, BySource, choose_source, option, simulating_options
from cmlib.terminal import progress_bar, say

_TAKES = (
    "A simulated run takes as long as the program by itself times 6 (it waits for memory), 60 to 70 (gzip, sort) or "
    "200 (loops, Python), as measured. It is run only once, as not every command can be repeated."
)


@click.command(
    cls=BySource,
    sources=(COUNTED, SIMULATED),
    epilog="Example: cmlib diagnose --html report.html -- ./myapp --size 10",
)
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--recorded", metavar="NAME", help="Show a run that is recorded, instead of making one.")
@click.option("--keep", metavar="NAME", help="Keep the run under this name, to be shown again.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the timeline."
)
@option(
    "--every-blocks", sources=(SIMULATED,), type=click.IntRange(1), metavar="N",
    help="Basic blocks of an interval.  [default: 500000]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@simulating_options
@click.pass_context
def diagnose(context, command, recorded, keep, html, every_blocks, as_json, simulated):
    """Show what keeps COMMAND from running faster, interval by interval.

    Runs it once, counted by perf or simulated, and prints the share of each class of intervals, such as bound by
    memory, and what to do about it. Counting takes hardware counters, and the processor on which the classifier was
    trained.
    """
    if bool(command) == bool(recorded):
        raise click.UsageError("give either a command after --, or --recorded NAME.")
    if keep and recorded:
        raise click.UsageError("--keep belongs to a command.")
    source = choose_source(context, {SIMULATED: simulated is not None})
    if source == SIMULATED or (recorded and _is_simulated(recorded)):
        # `simulated` maps caches to the shapes that the options name (None: this machine's).
        answer, write_page = _diagnose_simulated(list(command), recorded, keep, every_blocks, simulated)
    else:
        answer, write_page = _diagnose_counted(list(command), recorded, keep)
    show(answer, "diagnose.txt.j2", as_json=as_json)
    if html:
        from cmlib.io.archive import write_whole

        write_whole(html, write_page())


def _diagnose_counted(command, recorded, keep):
    """Diagnose a command (list of str), or a recorded run, by counts: the answer, and a function that writes its page.

    Slices of the run are classified by a decision tree, trained on micro-benchmarks whose bottlenecks are known.
    """
    from cmlib.experiments.micro.single_run import check_counters, load_recorded, record_once

    counters = None if recorded else check_counters()  # before the slow imports
    from cmlib.experiments.diagnosis import answer_measured, profile
    from cmlib.experiments.micro import fingerprint
    from cmlib.experiments.micro.recordings import cut
    from cmlib.report.diagnosis import diagnosis_page

    trained = fingerprint.load(kinds=("micro",), with_all=False)
    model = fingerprint.train(*cut(trained.key["micro"]), trained.tree)
    if recorded:
        series = load_recorded(recorded)
    else:
        series = record_once(command, trained.meta, counters, keep=keep)
    profiled = profile(model, series)
    answer = answer_measured(recorded or shlex.join(command), profiled, trained.caveat)
    return answer, lambda: diagnosis_page(answer, profiled, trained)


def _is_simulated(name):
    """Return True if a recorded program (name) has a simulated run."""
    from cmlib.experiments.diagnosis import first_simulated

    return first_simulated(name) is not None


def _diagnose_simulated(command, recorded, keep, every_blocks, caches):
    """Diagnose a command (list of str), or a recorded run, by simulation: the answer, and a function for its page.

    `keep` is the name under which the run is kept, or None; `every_blocks` is the length of an interval, or None;
    `caches` maps Valgrind's names of caches to ``SIZE,WAYS,LINE`` (None for this machine's).
    """
    from cmlib.collect.simulate import record_simulated
    from cmlib.experiments import diagnosis
    from cmlib.experiments.simulated_classes import classify_phases
    from cmlib.io.archive import in_recording
    from cmlib.report.diagnosis import simulated_page

    if not recorded:
        say(_TAKES, err=True)
    every_blocks = every_blocks or diagnosis.EVERY_BLOCKS
    if keep:
        settings = {"passes": 1, "levels": 2, "every_blocks": every_blocks, "caches": caches}
        record_simulated(keep, command, notify=lambda text: say(text, err=True), **settings)
    if recorded or keep:
        run = diagnosis.simulated_text(recorded or keep)
    else:
        run = _simulate_once(command, every_blocks, caches)
    title = recorded or shlex.join(command)
    profile = in_recording(title, diagnosis.simulated_profile, *run, classify=classify_phases)
    answer = diagnosis.answer_simulated(title, profile)
    return answer, lambda: simulated_page(answer, profile)


def _simulate_once(command, every_blocks, caches):
    """Simulate a command with a progress bar; nothing is stored."""
    from cmlib.experiments import diagnosis

    with progress_bar(
        desc=command[0], unit=" basic blocks", unit_scale=True, mininterval=1, leave=False
    ) as bar:
        return diagnosis.simulate_once(
            command,
            caches=caches,
            progress=lambda executed: bar.update(executed - bar.n),
            every_blocks=every_blocks,
        )
