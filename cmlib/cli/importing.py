"""`cmlib import`."""

import json

import click


@click.command("import", epilog="Example: cmlib import gcc --mode mlpx --set sweep elsewhere/gcc.*.csv.gz")
@click.argument("name")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--mode",
    type=click.Choice(["ocoe", "mlpx"]),
    help="How it was recorded; seen from the files if not given.",
)
@click.option("--set", "set_name", help="Name of the set.  [default: ocoe, or mlpx and the number of events]")
@click.option(
    "--interval-ms", type=click.IntRange(1), help="Time between samples; seen from the files if not given."
)
@click.option(
    "--place",
    default="",
    help="Of counts a CPU, core, socket or node, take one: CPU3, as program NAME-CPU3.  [default: all, added up]",
)
@click.option(
    "--count",
    "counts",
    multiple=True,
    metavar="COLUMN",
    help="Keep this column of a wide table though it names no event: what was counted in each interval.",
)
@click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="COLUMN",
    help="The same of a level, such as power or a latency; `run live -p target=COLUMN` explains it.",
)
@click.option(
    "--marks",
    type=click.Path(exists=True, dir_okay=False),
    help="File of lines name,start,end [s, or ns]: cuts the recording into programs NAME-name.",
)
@click.option(
    "--condition",
    default="",
    help="Keeps the runs apart from NAME's others, as program NAME-CONDITION, to be compared with them.",
)
@click.option("--command", default="", help="The command that was measured.")
@click.option(
    "--machine", "about", type=click.File(), help="What `cmlib doctor --json` said on the machine measured."
)
@click.option("--note", default="", help="Kept with every run.")
def import_(name, files, about, counts, levels, **known):
    """Import FILES, counts by interval that were recorded elsewhere, as runs of program NAME.

    Output of `perf stat -I` in any form, wide tables of a column an event, or intervals of likwid-perfctr; plain or
    gzipped, kept byte for byte. A file with the same events as an earlier one becomes the next pass.
    """
    from cmlib.record import import_files

    columns = dict.fromkeys(counts, "count") | dict.fromkeys(levels, "level")
    made = import_files(name, files, columns=columns, about=_read_machine(about) if about else None, **known)
    for file in made:
        click.echo(f"{file.parent.name}/{file.stem}")
    metas = [json.loads(file.read_text(encoding="utf-8")) for file in made]
    for remark in dict.fromkeys(meta["note"] for meta in metas if meta["note"] != known["note"]):
        click.echo(remark, err=True)
    if about is None and (tables := _say_table(metas)):
        click.echo(f"{tables} Or tell it by --machine.", err=True)
    programs = list(dict.fromkeys(file.parent.name for file in made))
    click.echo(f"Study it: cmlib run live -p program={programs[0]}", err=True)
    if len(programs) > 1:
        click.echo(f"In the same way: {', '.join(programs[1:])}", err=True)


def _say_table(metas):
    from cmlib import events

    names = {event for meta in metas for group in (meta["pinned"], *meta["groups"]) for event in group}
    return events.say_recognised(events.recognise(names - events.second_readings(names).keys()))


def _read_machine(file):
    try:
        return json.load(file)
    except (ValueError, RecursionError) as error:
        message = f"{file.name} is not what `cmlib doctor --json` prints: {error}"
        raise click.BadParameter(message, param_hint="--machine") from error
