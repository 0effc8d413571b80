"""`cmlib store`."""

import click


@click.group()
def store():
    """The database that is made from the recordings."""


@store.command(epilog="Example: cmlib store rebuild --url postgresql+psycopg://me@127.0.0.1/counters")
@click.option("--url", help="SQLAlchemy URL.  [default: an SQLite file among the results]")
def rebuild(url):
    """Make the store anew from the raw recordings."""
    from cmlib.store import rebuild as rebuild_store
    from cmlib.store import refused

    click.echo(f"{len(rebuild_store(url=url, progress=True))} runs in the store")
    for reason in refused(url)["reason"]:
        click.echo(f"left out: {reason}", err=True)
