"""`cmlib fetch`."""

import click


@click.command(epilog="Example: cmlib fetch cloudsuite --import data_caching-Xeon-X5650")
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="Show the sets: name, licence, size, what is in them.")
@click.option(
    "--import",
    "wanted",
    multiple=True,
    metavar="PROGRAM",
    help="Import this program of the set among the recordings, or all; may be repeated.",
)
def fetch(name, listed, wanted):
    """Have the public recordings NAME: what is neither here nor in the folder CMLIB_PUBLIC goes to your cache.

    Notebook 09a reads them from there; with --import any notebook takes them as programs of their own.
    """
    if listed or name is None:
        if not listed or name:
            raise click.UsageError("name a set of recordings, or give --list.")
        _show_list()
        return
    from cmlib.public.content import cache_dir
    from cmlib.public.download import fetch as fetch_set
    from cmlib.public.programs import import_programs, programs
    from cmlib.public.registry import sets

    fetched = fetch_set(name)
    where = f" in {cache_dir()}" if fetched else ""
    said = sets().loc[name]
    click.echo(f"{name}: {_files(said['files'])}, {len(fetched)} fetched{where}.")
    click.echo(f"Credit: {said['credit']}; licence: {said['licence']}.")
    if wanted:
        added = import_programs(name, wanted)
        for program in added:
            click.echo(f"cmlib run live -p program={program}")
        if not added:
            click.echo(f"{', '.join(wanted)}: among the recordings already.", err=True)
        return
    known = programs(name)
    click.echo(f"Programs: {', '.join(known)}")
    click.echo(f"Study one: cmlib fetch {name} --import {known[0]}", err=True)


def _show_list():
    from cmlib.public import sets

    table = sets()
    for row in table.itertuples():
        comes = f", {row.shipped} with cmlib" if row.shipped else ""
        click.echo(
            f"{row.Index}: {_files(row.files)}{comes}, {row.bytes / 1e6:.1f} MB, licence: {row.licence}"
        )
        click.echo(f"    {row.description}")


def _files(n):
    return "1 file" if n == 1 else f"{n} files"
