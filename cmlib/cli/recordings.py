"""`cmlib import`, `cmlib fetch` and `cmlib store`: add recordings from elsewhere, and make the database of all.

Import takes files and prints a line PROGRAM/RUN for each run that it made of them. Fetch downloads a public set of
recordings. Store rebuild writes all recordings into an SQL database.
"""

import json

import click

from cmlib.cli.stored import set_names
from cmlib.shell import command_line, command_of_report
from cmlib.terminal import say, say_left_out


def _find_processor(_context, _option, text):
    """Find the name of the processor that `--processor` asks for; raise click.BadParameter if it is not known."""
    from cmlib import processors

    try:
        return text and processors.find(text)
    except processors.UnknownProcessorError as error:
        raise click.BadParameter(str(error)) from error


processor_option = click.option(
    "--processor",
    callback=_find_processor,
    help="Whose events they are: haswell, zen2, graviton3, 6248R; a wrong name lists all.",
)


def _find_format(_context, _option, name):
    """Find the name of a file format; raise click.BadParameter if it is not known."""
    from cmlib.io.formats.registry import formats

    if name is not None and name not in formats():
        raise click.BadParameter(f"unknown format {name!r}; known: {', '.join(formats())}.")
    return name


format_option = click.option(
    "--format",
    callback=_find_format,
    metavar="NAME",
    help="Format of the files, as docs/import.md lists them.  [default: recognized]",
)


place_option = click.option(
    "--place",
    default="",
    metavar="CPU3",
    help="Where CPUs, cores, sockets or nodes are counted each, take this one; imported as program NAME-CPU3.",
)
count_option = click.option(
    "--count", "counts", multiple=True, metavar="COLUMN", help="Keep this column, which names no event."
)
level_option = click.option(
    "--level",
    "levels",
    multiple=True,
    metavar="COLUMN",
    help="Keep this column of a level, not a count, such as power or latency.",
)


@click.command("import", epilog="Example: cmlib import gcc --mode mlpx --set sweep elsewhere/gcc.*.csv.gz")
@click.argument("name")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--mode",
    type=click.Choice(["ocoe", "mlpx"]),
    help="ocoe: each event counted all the time; mlpx: multiplexed.  [default: by the running shares]",
)
@click.option(
    "--set", "set_name", help="Name of the set of runs.  [default: ocoe, mlpx12 for 12 events, or counts]"
)
@format_option
@click.option("--interval-ms", type=int, help="Time between samples.  [default: by the files' times]")
@place_option
@count_option
@level_option
@click.option(
    "--marks",
    type=click.Path(exists=True, dir_okay=False),
    help="File of lines name,start,end [s, or ns]: cuts the recording into programs NAME-name.",
)
@click.option(
    "--condition", default="", help="Keeps the runs apart from NAME's others, as program NAME-CONDITION."
)
@click.option("--command", default="", help="The command that was measured.")
@click.option(
    "--machine", "about", type=click.Path(exists=True), help="What `cmlib doctor --json` said there."
)
@processor_option
@click.option("--note", default="", help="Kept with every run.")
def import_(name, files, about, counts, levels, processor, **known):
    """Import FILES, counts that were recorded elsewhere, as runs of program NAME.

    Output of `perf stat` in any form, by interval or totals, tables of a column per event, and other tools' files, as
    docs/import.md lists them; plain or packed. A file with the same events as an earlier one becomes the next pass.
    Prints the runs made, as PROGRAM/RUN; if one file can't be read, none is imported.
    """
    from cmlib.collect.record import import_files

    columns = dict.fromkeys(counts, "count") | dict.fromkeys(levels, "level")
    about = read_machine(about) if about else None
    run_files = import_files(name, files, columns=columns, about=about, processor=processor, **known)
    for file in run_files:
        say(f"{file.parent.name}/{file.stem}")
    metas = [json.loads(file.read_text(encoding="utf-8")) for file in run_files]
    for remark in dict.fromkeys(meta["note"] for meta in metas if meta["note"] != known["note"]):
        say(remark, err=True)
    tables = _name_tables(metas)
    if tables:
        say(f"{tables} Name the processor with --machine or --processor.", err=True)
    programs = list(dict.fromkeys(file.parent.name for file in run_files))
    say(f"Study it: {command_of_report(programs[0])}", err=True)
    if len(programs) > 1:
        say(f"In the same way: {', '.join(programs[1:])}", err=True)


def _name_tables(metas):
    """Name the event tables of the runs whose processor is not known, in one sentence; "" if there are none.

    `metas` are the runs' metadata (dicts).
    """
    from cmlib.io import events
    from cmlib.io.archive.runs import events_of

    unknown = [meta for meta in metas if not events.find_microarchitecture(meta["machine"])]
    names = {event for meta in unknown for event in events_of(meta)}
    return events.describe_recognised(events.recognise(names - events.second_readings(names).keys()))


def read_machine(file):
    """Read a file that `cmlib doctor --json` wrote (dict).

    Raises click.BadParameter if the file is not JSON with an object.
    """
    from cmlib.io.archive import ArchiveError, read_object

    try:
        return read_object(file, "what `cmlib doctor --json` prints", "")
    except ArchiveError as error:
        raise click.BadParameter(str(error), param_hint="--machine") from error


@click.command(epilog="Example: cmlib fetch cloudsuite --import data_caching-Xeon-X5650")
@click.argument("name", required=False, shell_complete=set_names)
@click.option("--list", "listed", is_flag=True, help="Show the sets: name, licence, size, what is in them.")
@click.option(
    "--import",
    "wanted",
    multiple=True,
    metavar="PROGRAM",
    help="Import this program of the set among the recordings, or all; may be repeated.",
)
def fetch(name, listed, wanted):
    """Download the public set NAME into the cache, and check its SHA-256.

    Prints how many files came, whom to credit, the licence, and the programs in the set. What is there is not
    downloaded again. With --list the sets are only printed; with --import programs of the set become recordings, and
    the commands that study them are printed instead of the programs.
    """
    from cmlib.io.public import cache_dir, import_programs, programs, sets
    from cmlib.io.public import fetch as fetch_set

    if listed == bool(name):
        raise click.UsageError("name a set of recordings, or give --list, and not both.")
    if listed:
        _print_sets(sets())
        return
    files = fetch_set(name)
    folder = f" in {cache_dir()}" if files else ""
    about = sets().loc[name]
    say(f"{name}: {_count_files(about['files'])}, {len(files)} fetched{folder}.")
    say(f"Credit: {about['credit']}; licence: {about['licence']}.")
    if wanted:
        _print_imported(import_programs(name, wanted), wanted)
    else:
        _print_programs(name, programs(name))


def _print_sets(sets):
    """Print two lines for each public set of recordings (DataFrame, a row per set)."""
    for row in sets.itertuples():
        shipped = f", {row.shipped} with cmlib" if row.shipped else ""
        size = f"{row.bytes / 1e6:.1f} MB"
        say(f"{row.Index}: {_count_files(row.files)}{shipped}, {size}, licence: {row.licence}")
        say(f"    {row.description}")


def _print_imported(added, wanted):
    """Print the commands that study the programs that were added to the recordings."""
    for program in added:
        say(command_of_report(program))
    if not added:
        say(f"{', '.join(wanted)}: among the recordings already.", err=True)


def _print_programs(name, programs):
    """Print the programs in a public set, and how to import one."""
    if programs:
        say(f"Programs: {', '.join(programs)}")
        say(f"Study one: {command_line('cmlib', 'fetch', name, '--import', programs[0])}", err=True)


def _count_files(n):
    """Write a number of files as words: "1 file", "2 files"."""
    return "1 file" if n == 1 else f"{n} files"


@click.group()
def store():
    """Manage the database that is made from the recordings."""


@store.command(epilog="Example: cmlib store rebuild --url postgresql+psycopg://me@127.0.0.1/counters")
@click.option("--url", help="SQLAlchemy URL.  [default: an SQLite file among the results]")
def rebuild(url):
    """Make the store anew from the raw recordings.

    Prints how many runs it holds. Recordings that can't be read are left out, and named on standard error.
    """
    from cmlib.io.store import rebuild as rebuild_store
    from cmlib.io.store import refused

    say(f"{len(rebuild_store(url=url, progress=True))} runs in the store")
    say_left_out(refused(url)["reason"])
