"""`cmlib diagnose`."""

import shlex
from pathlib import Path

import click

from cmlib.cli.simulating import simulating_options


@click.command(epilog="Example: cmlib diagnose --html report.html -- ./myapp --size 10")
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--recorded", metavar="NAME", help="Show a run that is recorded, instead of making one.")
@click.option("--keep", metavar="NAME", help="Keep the run under this name, to be shown again.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the timeline."
)
@click.option("--slice", "slice_s", default=0.4, show_default=True, help="Length of a slice [s].")
@click.option("--wait", is_flag=True, help="Wait for another recording to end, instead of failing.")
@click.option(
    "--every-blocks",
    type=click.IntRange(1),
    metavar="N",
    help="Simulated: basic blocks of an interval.  [default: 500000]",
)
@simulating_options
def diagnose(command, recorded, keep, html, slice_s, wait, every_blocks, simulated):
    """Tell where COMMAND loses its time: phases, their class, the rule that decided, and what to do about it.

    COMMAND is run once, under perf, with the key events of the micro-benchmarks; a decision tree that was
    trained on them labels each slice of the run. A slice unlike all training data is labelled unknown.

    With --simulate it is run once under Valgrind, which takes no counters and 50 to 100 times as long. Phases are
    where KCachegrind's estimated cycles go another way; what stands out is what most of them, beside instructions,
    are charged for, and a tree of the simulated micro-benchmarks names the class. NAME of --recorded and --keep is
    then that of a program, as of `cmlib record --simulate`.
    """
    if bool(command) == bool(recorded):
        raise click.UsageError("give either a command after --, or --recorded NAME.")
    if keep and recorded:
        raise click.UsageError("--keep belongs to a command.")
    if simulated is not None:
        told = {"keep": keep, "every_blocks": every_blocks, "caches": simulated}
        _simulated(list(command), recorded, html, told)
        return
    if every_blocks:
        raise click.UsageError("--every-blocks belongs to --simulate.")
    from cmlib.archive import write_whole
    from cmlib.study import diagnosis as study
    from cmlib.study import fingerprint

    trained = fingerprint.load(kinds=("micro",), with_all=False)
    model = fingerprint.train(*fingerprint.slices(trained.key["micro"]))
    if recorded:
        title, series = recorded, study.recorded_run(recorded)
    else:
        title, series = shlex.join(command), study.new_run(list(command), trained.meta, keep=keep, wait=wait)
    profile = study.profile(model, series, slice_s=slice_s)
    _print(title, profile, study.explain(profile), trained.caveat)
    if html:
        write_whole(html, study.page(title, profile, trained))
        click.echo(f"\n{html}")


def _simulated(command, recorded, html, how):
    from cmlib.archive import write_whole
    from cmlib.study import simulated_diagnosis as study

    if recorded:
        run = study.recorded_run(recorded)
    else:
        run = study.simulate_once(command, say=lambda said: click.echo(said, err=True), **how)
    title, profile = recorded or shlex.join(command), study.simulated_profile(*run)
    click.echo(f"{title}: {profile.about}\n{click.wrap_text(study.CAVEAT, 110)}\n")
    click.echo("      from        to    cycles  class        what stands out, and functions by their share")
    for phase in profile.phases.to_dict("records"):
        click.echo(
            f"{phase['start']:10.3f}{phase['end']:10.3f}{100 * phase['share']:8.1f} %  {phase['class'] or '–':<12} "
            f"{click.style(phase['label'], bold=True)}: {phase['functions']}"
        )
    click.echo("\nfrom, to: 10⁹ instructions; cycles: share of KCachegrind's estimate, none were counted\n")
    for label, meaning, remedy in study.explained(profile.phases):
        click.echo(f"{click.style(label, bold=True)}: {meaning}")
        click.echo(click.wrap_text(remedy, 100, "  → ", "    "))
    if html:
        write_whole(html, study.simulated_page(title, profile))
        click.echo(f"\n{html}")


def _print(title, profile, explained, caveat):
    click.echo(f"{title}: {len(profile.labelled)} slices{caveat.replace('**', '')}\n")
    for label, share in profile.shares.items():
        own = explained[explained["label"] == label]
        click.echo(f"{click.style(label, bold=True)}  {share:.1f} % of slices: {own['meaning'].iloc[0]}")
        click.echo(click.wrap_text(own["remedy"].iloc[0], 100, "  → ", "    "))
        for rule in dict.fromkeys(own["rule"]):
            click.echo(click.wrap_text(f"if {rule}", 100, "  ", "    "))
    click.echo("\n  from [s]    to [s]  class")
    for phase in explained.itertuples():
        click.echo(f"{phase.start_s:10.1f}{phase.end_s:10.1f}  {phase.label}")
