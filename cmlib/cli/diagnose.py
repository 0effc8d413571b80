"""`cmlib diagnose`."""

import shlex
from pathlib import Path

import click

from cmlib.cli.record import simulating_options
from cmlib.terminal import say

_TAKES = (
    "A simulated run takes as long as the program by itself times 6 (it waits for memory), 60 to 70 (gzip, sort) or "
    "200 (loops, Python), as measured. It is run only once, as not every command can be repeated."
)


@click.command(epilog="Example: cmlib diagnose --html report.html -- ./myapp --size 10")
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--recorded", metavar="NAME", help="Show a run that is recorded, instead of making one.")
@click.option("--keep", metavar="NAME", help="Keep the run under this name, to be shown again.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the timeline."
)
@click.option(
    "--every-blocks",
    type=click.IntRange(1),
    metavar="N",
    help="Simulated: basic blocks of an interval.  [default: 500000]",
)
@simulating_options
def diagnose(command, recorded, keep, html, every_blocks, simulated):
    """Tell where COMMAND loses its time."""
    if bool(command) == bool(recorded):
        raise click.UsageError("give either a command after --, or --recorded NAME.")
    if keep and recorded:
        raise click.UsageError("--keep belongs to a command.")
    if simulated is not None:
        _simulated(list(command), recorded, html, keep=keep, every_blocks=every_blocks, caches=simulated)
        return
    if every_blocks:
        raise click.UsageError("--every-blocks belongs to --simulate.")
    from cmlib.experiments.single_run import check_counters, observe, observed

    counters = None if recorded else check_counters()
    from cmlib.experiments import fingerprint
    from cmlib.experiments.diagnosis import explain, profile
    from cmlib.experiments.micro_recordings import cut
    from cmlib.io.archive import write_whole
    from cmlib.report.diagnosis import diagnosis_page

    trained = fingerprint.load(kinds=("micro",), with_all=False)
    model = fingerprint.train(*cut(trained.key["micro"]), trained.tree)
    series = observed(recorded) if recorded else observe(list(command), trained.meta, counters, keep=keep)
    title, found = recorded or shlex.join(command), profile(model, series)
    _print(title, found, explain(found), trained.caveat)
    if html:
        write_whole(html, diagnosis_page(title, found, trained))
        say(f"\n{html}")


def _simulated(command, recorded, html, *, keep, every_blocks, caches):
    from tqdm import tqdm

    from cmlib.collect.simulate import record_simulated
    from cmlib.experiments.diagnosis import explain_simulated, simulated_profile, simulated_text
    from cmlib.experiments.single_run import EVERY_BLOCKS, simulate_once
    from cmlib.io.archive import write_whole
    from cmlib.report.diagnosis import MOST_KINDS, SIMULATED, left_out, simulated_page, summary

    if keep:
        once = {"passes": 1, "levels": 2, "every_blocks": every_blocks or EVERY_BLOCKS, "caches": caches}
        record_simulated(keep, command, prefetch=True, notify=lambda text: say(text, err=True), **once)
    if name := recorded or keep:
        run = simulated_text(name)
    else:
        say(_TAKES, err=True)
        with tqdm(desc=command[0], unit=" basic blocks", unit_scale=True, mininterval=1, leave=False) as bar:
            how = {"progress": lambda done: bar.update(done - bar.n), "every_blocks": every_blocks}
            run = simulate_once(command, caches=caches, **how)
    title, profile = recorded or shlex.join(command), simulated_profile(*run)
    say(f"{title}: {profile.about}\n{click.wrap_text(SIMULATED, 110)}\n")
    for line in summary(profile):
        say(line, bold=True)
    say("\n   cycles  phases      from        to  class        what stands out, and functions by their share")
    for kind in profile.kinds.head(MOST_KINDS).to_dict("records"):
        place = f"{kind['n_phases']:8d}{kind['start']:10.3f}{kind['end']:10.3f}"
        say(f"{100 * kind['share']:7.1f} %{place}  {kind['class'] or '–':<12} ", nl=False)
        say(kind["label"], nl=False, bold=True)
        say(f": {kind['functions']}")
    if left := left_out(profile):
        say(left)
    say("\ncycles: share of KCachegrind's estimate, none were counted; from, to: 10⁹ instructions\n")
    for label, meaning, remedy in explain_simulated(profile.kinds):
        say(label, nl=False, bold=True)
        say(f": {meaning}")
        say(click.wrap_text(remedy, 100, "  → ", "    "))
    if html:
        write_whole(html, simulated_page(title, profile))
        say(f"\n{html}")


def _print(title, profile, explained, caveat):
    say(f"{title}: {len(profile.labelled)} slices{caveat.replace('**', '')}\n")
    for label, share in profile.shares.items():
        own = explained[explained["label"] == label]
        say(label, nl=False, bold=True)
        say(f"  {share:.1f} % of slices: {own['meaning'].iloc[0]}")
        say(click.wrap_text(own["remedy"].iloc[0], 100, "  → ", "    "))
        for rule in dict.fromkeys(own["rule"]):
            say(click.wrap_text(f"if {rule}", 100, "  ", "    "))
    say("\n  from [s]    to [s]  class")
    for phase in explained.itertuples():
        say(f"{phase.start_s:10.1f}{phase.end_s:10.1f}  {phase.label}")
