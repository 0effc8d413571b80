"""The commands ``cmlib import``, ``cmlib fetch`` and ``cmlib store``, which add recordings.

``cmlib import`` reads files of counts. ``cmlib fetch`` downloads a public set of recordings. ``cmlib store
rebuild`` writes all recordings to an SQL database. The module also defines options that several commands
share.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from cmlib.cli.answers import write_count, write_size
from cmlib.cli.stored import set_names
from cmlib.shell import command_line, command_of_report
from cmlib.terminal import say, say_left_out

if TYPE_CHECKING:
    import pandas as pd


def _find_processor(_context: click.Context, _option: click.Option, text: str | None) -> str | None:
    """Return the name of the processor that `--processor` selects."""
    from cmlib import processors

    try:
        return text and processors.find(text)
    except processors.UnknownProcessorError as error:
        raise click.BadParameter(str(error)) from error


processor_option = click.option(
    "--processor",
    callback=_find_processor,
    help="Processor of the events, for example haswell, zen2, graviton3 or 6248R. A wrong name lists all names.",
)


def _check_format(_context: click.Context, _option: click.Option, name: str | None) -> str | None:
    """Return the name of a file format if it is known."""
    from cmlib.io.formats.registry import formats

    if name is not None and name not in formats():
        raise click.BadParameter(f"unknown format {name!r}; known: {', '.join(formats())}.")
    return name


format_option = click.option(
    "--format",
    callback=_check_format,
    metavar="NAME",
    help="Format of the files (see docs/import.md).  [default: recognized]",
)


place_option = click.option(
    "--place",
    default="",
    metavar="CPU3",
    help="Read only this CPU, core, socket or node. It is imported as program NAME-CPU3.",
)
count_option = click.option(
    "--count",
    "counts",
    multiple=True,
    metavar="COLUMN",
    help="Read this column as counts, although its name is not an event.",
)
level_option = click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="COLUMN",
    help="Read this column as a measured value (not a count), for example power or latency.",
)


@click.command("import", epilog="Example: cmlib import gcc --mode mlpx --set sweep elsewhere/gcc.*.csv.gz")
@click.argument("name")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--mode",
    type=click.Choice(["ocoe", "mlpx"]),
    help="ocoe: events were counted all the time; mlpx: multiplexed.  [default: by the running shares]",
)
@click.option(
    "--set", "set_name", help="Name of the set of runs.  [default: ocoe, mlpx12 for 12 events, or counts]"
)
@format_option
@click.option("--interval-ms", type=int, help="Length of an interval [ms].  [default: from the files]")
@place_option
@count_option
@level_option
@click.option(
    "--marks",
    type=click.Path(exists=True, dir_okay=False),
    help="File with lines name,start,end [s or ns], which cut the recording into programs NAME-name.",
)
@click.option(
    "--condition",
    default="",
    help="Import the runs as program NAME-CONDITION, separately from other runs of NAME.",
)
@click.option("--command", default="", help="Command that was measured.")
@click.option(
    "--machine",
    "about",
    type=click.Path(exists=True),
    help="Output of `cmlib doctor --json` on the measured machine.",
)
@processor_option
@click.option("--note", default="", help="Text that is stored with every run.")
def import_(
    name: str,
    files: tuple[str, ...],
    about: str | None,
    counts: tuple[str, ...],
    levels: tuple[str, ...],
    processor: str | None,
    **settings: Any,
) -> None:
    """Import files of counts as runs of the program NAME.

    FILES are outputs of `perf stat`, tables with one column per event, or files in other formats that
    docs/import.md lists. Files may be compressed. Two files with the same events are imported as two passes.
    A pass counts all events once. Prints the names of the runs. If one file cannot be read, nothing is
    imported.
    """
    from cmlib.collect.record import import_files

    columns = dict.fromkeys(counts, "count") | dict.fromkeys(levels, "level")
    about = read_machine(about) if about else None
    run_files = import_files(name, files, columns=columns, about=about, processor=processor, **settings)
    for file in run_files:
        say(f"{file.parent.name}: imported as run {file.stem}")
    metas = [json.loads(file.read_text(encoding="utf-8")) for file in run_files]
    for remark in dict.fromkeys(meta["note"] for meta in metas if meta["note"] != settings["note"]):
        say(remark, err=True)
    tables = _name_tables(metas)
    if tables:
        say(f"{tables} Name the processor with --machine or --processor.", err=True)
    programs = list(dict.fromkeys(file.parent.name for file in run_files))
    say(f"Study it: {command_of_report(programs[0])}", err=True)
    if len(programs) > 1:
        say(f"Further programs: {', '.join(programs[1:])}", err=True)


def _name_tables(metas: list[dict]) -> str:
    """Name the event tables in which the recorded events were found.

    Only runs on unknown processors are examined. Return one sentence, or "" if no table was found.
    """
    from cmlib.io import events
    from cmlib.io.archive.runs import events_of

    unknown = [meta for meta in metas if not events.find_microarchitecture(meta["machine"])]
    names = {event for meta in unknown for event in events_of(meta)}
    return events.describe_recognised(events.recognise(names - events.second_readings(names).keys()))


def read_machine(file: str) -> dict:
    """Read a machine's description, which ``cmlib doctor --json`` wrote.

    Parameters
    ----------
    file : str
        Path of the JSON file.

    Returns
    -------
    dict

    Raises
    ------
    click.BadParameter
        If the file cannot be read.
    """
    from cmlib.io.archive import ArchiveError, read_object

    try:
        return read_object(file, "what `cmlib doctor --json` prints", "")
    except ArchiveError as error:
        raise click.BadParameter(str(error), param_hint="--machine") from error


@click.command(epilog="Example: cmlib fetch cloudsuite --import data_caching-Xeon-X5650")
@click.argument("name", required=False, shell_complete=set_names)
@click.option(
    "--list", "show_list", is_flag=True, help="List the public sets with license, size and content."
)
@click.option(
    "--import",
    "program_names",
    multiple=True,
    metavar="PROGRAM",
    help="Add this program of the set to the recordings, or all. Can be repeated.",
)
def fetch(name: Any, show_list: bool, program_names: tuple[str, ...]) -> None:
    """Download the public set of recordings NAME, and check its SHA-256.

    Prints the number of files, the credit, the license and the programs of the set. Existing files are not
    downloaded again. The option --list prints all sets. The option --import adds programs of the set to the
    recordings.
    """
    from cmlib.io.public import cache_dir, import_programs, programs, sets
    from cmlib.io.public import fetch as fetch_set

    if show_list == bool(name):
        raise click.UsageError("give either the name of a set or --list.")
    if show_list:
        _print_sets(sets())
        return
    files = fetch_set(name)
    folder = f" in {cache_dir()}" if files else ""
    about = sets().loc[name]
    say(f"{name}: {write_count(about['files'], 'file')}, {len(files)} fetched{folder}.")
    say(f"Credit: {about['credit']}; license: {about['licence']}.")
    if program_names:
        _print_imported(import_programs(name, program_names), program_names)
    else:
        _print_programs(name, programs(name))


def _print_sets(sets: pd.DataFrame) -> None:
    """Print two lines per public set."""
    for row in sets.itertuples():
        shipped = f", {row.shipped} with cmlib" if row.shipped else ""
        say(
            f"{row.Index}: {write_count(row.files, 'file')}{shipped}, {write_size(row.bytes)}, license: {row.licence}"
        )
        say(f"    {row.description}")


def _print_imported(added: list[str], program_names: tuple[str, ...]) -> None:
    """Print the commands that study the imported programs."""
    for program in added:
        say(command_of_report(program))
    if not added:
        say(f"{', '.join(program_names)}: already recorded.", err=True)


def _print_programs(name: str, programs: list[str]) -> None:
    """Print the programs in a public set, and the command that imports one."""
    if programs:
        say(f"Programs: {', '.join(programs)}")
        say(f"Study one: {command_line('cmlib', 'fetch', name, '--import', programs[0])}", err=True)


@click.group()
def store() -> None:
    """Manage the SQL database of the recordings."""


@store.command(epilog="Example: cmlib store rebuild --url postgresql+psycopg://me@127.0.0.1/counters")
@click.option("--url", help="SQLAlchemy URL.  [default: an SQLite file among the results]")
def rebuild(url: str | None) -> None:
    """Make the database again from the recordings.

    Prints the number of runs. Unreadable recordings are skipped and listed on standard error.
    """
    from cmlib.io.store import rebuild as rebuild_store
    from cmlib.io.store import refused

    n_runs = len(rebuild_store(url=url, progress=True))
    say(f"{write_count(n_runs, 'run')} in the store")
    say_left_out(refused(url)["reason"])
