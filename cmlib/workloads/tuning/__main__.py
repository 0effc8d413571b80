"""Record Spark programs under other settings: ``python -m cmlib.workloads.tuning`` lists the runs, ``--record`` makes them."""

from pathlib import Path

import click

from cmlib import machine, places
from cmlib.errors import CmlibError
from cmlib.workloads.tuning.design import at_levels, at_random
from cmlib.workloads.tuning.recording import FOLDER, record_all


@click.command(help=__doc__)
@click.option(
    "--record", "do_record", is_flag=True, help="Make the recordings; without it they are only listed."
)
@click.option(
    "--program",
    "programs",
    multiple=True,
    default=("sort", "pagerank"),
    show_default=True,
    help="A program on Spark.",
)
@click.option("--runs", default=100, show_default=True, help="Under settings drawn at random.")
@click.option(
    "--tune",
    "tuned",
    multiple=True,
    metavar="ABBR",
    help="Instead: this parameter of Table IV at its ends, and all at their defaults.",
)
@click.option("--passes", default=1, show_default=True, help="Recordings of each run.")
@click.option("--scale", default=1.0, show_default=True, help="Multiplies each program's work.")
@click.option("--folder", type=click.Path(path_type=Path), help="Of all recordings [data/recordings].")
def main(do_record, programs, runs, tuned, passes, scale, folder):
    try:
        listed = {name: at_levels(name, tuned) if tuned else at_random(name, runs) for name in programs}
        for name, run in ((name, run) for name, of in listed.items() for run in of):
            chosen = " ".join(f"{key}={value}" for key, value in run.options.items())
            click.echo(f"{name:10} {run.name:20} {chosen}")
        click.echo(f"{sum(map(len, listed.values()))} runs, {passes} times each")
        if do_record:
            found = machine.census()
            counters = {"offered": found.offered, "good": found.good}
            target = (folder or places.recordings_dir()) / FOLDER
            made = record_all(listed, target, scale=scale, passes=passes, counters=counters)
            click.echo(f"{len(made)} new recordings under {target}")
    except (CmlibError, ValueError) as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
