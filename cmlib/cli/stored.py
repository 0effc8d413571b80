"""The commands ``cmlib list`` and ``cmlib remove``, and shell completion of names.

Functions for completion return the names that start with `incomplete`. They ignore the other two arguments
that click passes.
"""

import shutil
from typing import Any

import click

from cmlib import places
from cmlib.cli.answers import write_count, write_size
from cmlib.terminal import one_line, say


def recorded_names(ctx: Any, param: Any, incomplete: str) -> list[str]:
    """List the recorded programs whose names start with `incomplete`, sorted."""
    folders = sorted(places.recordings_dir().glob("*"))
    return [f.name for f in folders if f.name.startswith(incomplete) and any(f.glob("*.json"))]


def profile_names(ctx: Any, param: Any, incomplete: str) -> list[str]:
    """List the notebook profiles whose names start with `incomplete`, sorted."""
    folders = [folder.name for folder in places.params_dir().iterdir() if folder.is_dir()]
    return sorted(name for name in {*folders, "paper", "live"} if name.startswith(incomplete))


def set_names(ctx: Any, param: Any, incomplete: str) -> list[str]:
    """List the public sets whose names start with `incomplete`."""
    from cmlib.io.public import sets

    return [name for name in sets().index if name.startswith(incomplete)]


@click.command("list", epilog="Example: cmlib list")
def list_() -> None:
    """List the recorded programs.

    Prints one line per program: numbers of runs and events, size, sets of runs, and whether the program was
    recorded here or imported.
    """
    from cmlib.io.archive import readable
    from cmlib.io.archive.programs import existing_runs
    from cmlib.io.archive.runs import events_of

    folders = [places.recordings_dir() / name for name in recorded_names(None, None, "")]
    if not folders:
        say(f"nothing is recorded under {places.recordings_dir()}", err=True)
    for folder, runs in readable(existing_runs, folders).items():
        sets = sorted({meta["set"] for meta in runs.values()})
        origin = "imported" if any(meta.get("imported") for meta in runs.values()) else "recorded here"
        events = {event for meta in runs.values() for event in events_of(meta)}
        size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        numbers = f"{write_count(len(runs), 'run'):>9}  {write_count(len(events), 'event'):>10}  {write_size(size):>9}"
        say(f"{one_line(folder.name):28} {numbers}  {', '.join(sets)}; {origin}")


@click.command(epilog="Example: cmlib remove tryout")
@click.argument("name", shell_complete=recorded_names)
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(name: str, yes: bool) -> None:
    """Remove the recordings and the report of the program NAME.

    Asks for confirmation. A folder that is a link is not removed.
    """
    from cmlib.io.archive import locked
    from cmlib.io.archive.programs import RecordError

    folder = places.recordings_dir() / name
    if name not in recorded_names(None, None, name):
        raise RecordError(f"no program {name!r} is recorded under {folder.parent}. See cmlib list.")
    if folder.is_symlink():
        raise RecordError(
            f"{folder} is a link to {folder.resolve()}. Links are not followed, and nothing was removed. "
            "Remove the link and its target yourself."
        )
    report = places.results_dir() / "live" / name
    removed = [path for path in (folder, report) if path.is_dir() and not path.is_symlink()]
    if not yes:
        click.confirm(one_line(f"Remove {' and '.join(map(str, removed))}?"), abort=True, err=True)
    for path in removed:
        with locked(path):
            shutil.rmtree(path)
        say(f"removed {path}", err=True)
