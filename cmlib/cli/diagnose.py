"""`cmlib diagnose`."""

import shlex
from pathlib import Path

import click


@click.command(epilog="Example: cmlib diagnose --html report.html -- ./myapp --size 10")
@click.argument("command", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--recorded", metavar="NAME", help="Show a run that is recorded, instead of making one.")
@click.option("--keep", metavar="NAME", help="Keep the run under this name, to be shown again.")
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with the timeline."
)
@click.option("--slice", "slice_s", default=0.4, show_default=True, help="Length of a slice [s].")
@click.option("--wait", is_flag=True, help="Wait for another recording to end, instead of failing.")
def diagnose(command, recorded, keep, html, slice_s, wait):
    """Tell where COMMAND loses its time: phases, their class, the rule that decided, and what to do about it.

    COMMAND is run once, under perf, with the key events of the micro-benchmarks; a decision tree that was
    trained on them labels each slice of the run. A slice unlike all training data is labelled unknown.
    """
    if bool(command) == bool(recorded):
        raise click.UsageError("give either a command after --, or --recorded NAME.")
    if keep and recorded:
        raise click.UsageError("--keep belongs to a command.")
    from cmlib.archive import write_whole
    from cmlib.study import diagnosis as study
    from cmlib.study import fingerprint

    trained = fingerprint.load(kinds=("micro",), with_all=False)
    model = fingerprint.train(*fingerprint.slices(trained.key["micro"]))
    if recorded:
        title, series = recorded, study.recorded_run(recorded)
    else:
        title, series = shlex.join(command), study.new_run(list(command), trained.meta, keep=keep, wait=wait)
    profile = study.profile(model, *series, slice_s=slice_s)
    _print(title, profile, study.explain(profile), trained.caveat)
    if html:
        write_whole(html, study.page(title, profile, trained))
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
