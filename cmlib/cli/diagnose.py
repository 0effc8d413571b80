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
    """Tell what keeps COMMAND from running faster, interval by interval.

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
        shown = {"html": html, "as_json": as_json}
        _simulated(list(command), recorded, keep, every_blocks=every_blocks, caches=simulated, **shown)
        return
    from cmlib.experiments.micro.single_run import check_counters, load_recorded, record_once

    # Slices of the run are classified by a decision tree, trained on micro-benchmarks whose bottlenecks are known.
    counters = None if recorded else check_counters()
    from cmlib.experiments.diagnosis import answer_measured, profile
    from cmlib.experiments.micro import fingerprint
    from cmlib.experiments.micro.recordings import cut
    from cmlib.report.diagnosis import diagnosis_page

    trained = fingerprint.load(kinds=("micro",), with_all=False)
    model = fingerprint.train(*cut(trained.key["micro"]), trained.tree)
    series = (
        load_recorded(recorded) if recorded else record_once(list(command), trained.meta, counters, keep=keep)
    )
    profiled = profile(model, series)
    answer = answer_measured(recorded or shlex.join(command), profiled, trained.caveat)
    _show(answer, as_json, html, lambda: diagnosis_page(answer, profiled, trained))


def _is_simulated(name):
    """Return True if a recorded program (name) has a simulated run."""
    from cmlib.experiments.diagnosis import first_simulated

    return first_simulated(name) is not None


def _simulated(command, recorded, keep, *, every_blocks, caches, html, as_json):
    """Diagnose a command (list of str), or a recorded run, by simulated counts, and print the answer.

    `keep` is the name under which the run is kept, or None; `caches` maps Valgrind's names of caches to
    ``SIZE,WAYS,LINE`` (None for this machine's); `html` is a path or None.
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
        once = {"passes": 1, "levels": 2, "every_blocks": every_blocks, "caches": caches}
        record_simulated(keep, command, notify=lambda text: say(text, err=True), **once)
    if name := recorded or keep:
        run = diagnosis.simulated_text(name)
    else:
        with progress_bar(
            desc=command[0], unit=" basic blocks", unit_scale=True, mininterval=1, leave=False
        ) as bar:
            settings = {"progress": lambda done: bar.update(done - bar.n), "every_blocks": every_blocks}
            run = diagnosis.simulate_once(command, caches=caches, **settings)
    shown = recorded or shlex.join(command)
    profile = in_recording(shown, diagnosis.simulated_profile, *run, classify=classify_phases)
    answer = diagnosis.answer_simulated(shown, profile)
    _show(answer, as_json, html, lambda: simulated_page(answer, profile))


def _show(answer, as_json, html, page):
    """Print an answer (dict) as text or JSON, and write its page as HTML.

    `page()` returns the HTML, which is written to the file `html` if one is named.
    """
    from cmlib.io.archive import write_whole

    show(answer, "diagnose.txt.j2", as_json=as_json)
    if html:
        write_whole(html, page())
        say(f"\n{html}", err=as_json)
