"""`cmlib record-all`."""

from pathlib import Path

import click


@click.command("record-all", epilog="Example: cmlib record-all --only micro --budget 60")
@click.option("--list", "only_list", is_flag=True, help="Only list what would be recorded.")
@click.option("--only", "names", multiple=True, metavar="PART", help="This part; may be repeated.")
@click.option("--budget", type=click.FloatRange(0), metavar="MINUTES", help="Begin no recording after that.")
@click.option(
    "--busy",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Share of the processors that other programs may take.",
)
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Data folder to record into.  [default: data]"
)
def record_all(only_list, names, budget, busy, folder):
    """Record everything that the notebooks read, part by part, on a machine whose counters can be read.

    The list with the expected minutes comes first. What exists is kept: given again, the command goes on
    where it stopped. Ctrl-C ends the recording in hand and keeps all before it.

    Recordings of another machine go into a folder of their own: `--folder data/machines/NAME`, and
    `CMLIB_DATA=data/machines/NAME cmlib run paper` then makes the same report from them.
    """
    from cmlib import campaign, places
    from cmlib.campaign.setting import listed_setting, recording_setting

    chosen = campaign.parts(names)
    data = (folder or places.data_dir()).absolute()
    _list(chosen, listed_setting(data) if only_list else (setting := recording_setting(data)))
    if only_list:
        return
    outcome = campaign.run_parts(chosen, setting, budget=budget, busy=busy, progress=click.echo)
    _tell(outcome, campaign.rejections(data))
    if outcome.failed:
        raise SystemExit(1)


def _list(chosen, setting):
    total = 0.0
    for part in chosen:
        click.echo(f"{part.name} (notebook {part.notebook}): {part.about}")
        for line in part.plan(setting):
            click.echo(f"  {line.name:44} {line.missing:4} of {line.runs:4} runs {line.minutes:7.1f} min")
            total += line.minutes
    click.echo(
        f"about {total:.0f} minutes, with {setting.counters['good']} counters, into {setting.data.name}"
    )


def _tell(outcome, rejected):
    click.echo(f"{len(outcome.made)} recordings are complete")
    for name in outcome.left:
        click.echo(f"the time was over: {name} is not complete; give the command again")
    for name, reasons in rejected.items():
        click.echo(f"repeated: {name}: {reasons}")
    for name, error in outcome.failed.items():
        click.echo(f"failed: {name}: {error}", err=True)
