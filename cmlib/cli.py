"""The command line: each command is one call into the package."""

import dataclasses
import json

import click
import yaml

from cmlib.errors import CmlibError

_COLOURS = {"ok": "green", "note": "blue", "warning": "yellow", "error": "red"}


class _Commands(click.Group):
    """Tells expected failures on standard error, without a traceback, and exits with 1."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except (CmlibError, ValueError, OSError) as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cmlib")
def main():
    """Answers out of hardware performance counters: record, clean, rank, explain."""


@main.command(epilog="Example: cmlib doctor --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def doctor(as_json):
    """Examine this machine: is there a PMU, who may count, which counters tell the truth.

    Ends with exit code 0 whatever is found: findings are its result.
    """
    from cmlib import machine

    found = machine.examine()
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(found), indent=1, ensure_ascii=False))
        return
    for finding in found.findings:
        click.echo(f"{click.style(f'{finding.severity:<9}', _COLOURS[finding.severity])}{finding.what}")
        below = [finding.numbers] if finding.severity == "ok" else [finding.numbers, f"→ {finding.todo}"]
        for line in filter(None, below):
            click.echo(click.wrap_text(line, 100, " " * 9, " " * 9))
    click.echo(f"{'counters':9}{found.offered_counters} offered, {found.good_counters} good")


@main.command(epilog="Example: cmlib record myapp --mode mlpx --runs 3 -- ./myapp --size 10")
@click.argument("name")
@click.argument("command", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "--mode", type=click.Choice(["ocoe", "mlpx"]), help="Without or with multiplexing; both if not given."
)
@click.option(
    "--events", metavar="core|all|LIST", help="Core events, all that count, or names with commas between."
)
@click.option(
    "--interval-ms", default=100, show_default=True, type=click.IntRange(1), help="Time between samples."
)
@click.option(
    "--runs", "passes", type=click.IntRange(1), help="Passes over the plan.  [default: 3, or 2 of all events]"
)
@click.option(
    "--per-run", default=12, show_default=True, type=click.IntRange(1), help="Events of a multiplexed run."
)
@click.option(
    "--modifier", default="u", show_default=True, help="u counts user mode; empty, the kernel as well."
)
@click.option(
    "--pinned", default="instructions,cycles", show_default=True, help="Events counted all the time."
)
@click.option(
    "--counters", type=click.IntRange(1), help="Good counters to plan for, instead of counting them."
)
@click.option("--set", "set_name", help="Name of the set, instead of ocoe, mlpx12 or sweep.")
@click.option("--note", default="", help="Kept with every run.")
@click.option("--wait", is_flag=True, help="Wait for another recording to end, instead of failing.")
def record(name, command, note, wait, pinned, **wanted):
    """Record program NAME: run COMMAND under perf, once for each handful of events and each pass.

    Without --mode and --events, all that the notebooks read is recorded: the core events without and with
    multiplexing, and a sweep over all events that count.

    What exists is kept: repeated after a break, or with more --runs, the command makes the runs that are missing.

    COMMAND gets no input, its output is discarded, its standard error is shown if it fails. When it ends, whatever
    it left running is ended too.
    """
    from cmlib.record import Request, record_program

    request = Request(pinned=tuple(filter(None, pinned.split(","))), **wanted)
    for set_name, made in record_program(name, command, request, wait=wait, note=note).items():
        click.echo(f"{name}: {len(made)} runs made, set {set_name} is complete")
    click.echo(f"Study it: cmlib run live -p program={name}")


@main.command("import", epilog="Example: cmlib import gcc --mode mlpx --set sweep elsewhere/gcc.*.csv.gz")
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
@click.option("--command", default="", help="The command that was measured.")
@click.option(
    "--machine", "about", type=click.File(), help="What `cmlib doctor --json` said on the machine measured."
)
@click.option("--note", default="", help="Kept with every run.")
def import_(name, files, about, **known):
    """Import FILES, interval output of `perf stat` made elsewhere, as runs of program NAME.

    Plain or gzipped, kept byte for byte. A file with the same events as an earlier one becomes the next pass.
    """
    from cmlib.record import import_files

    for file in import_files(name, files, about=json.load(about) if about else None, **known):
        click.echo(f"{name}/{file.stem}")


@main.command(epilog="Example: cmlib run paper 02_cleaning 03_ranking -p program=gcc")
@click.argument("profile")
@click.argument("notebooks", nargs=-1)
@click.option(
    "-p", "given", multiple=True, metavar="NAME=VALUE", help="A notebook's parameter; may be repeated."
)
@click.option("--jobs", type=int, help="Worker processes; -1 means one a processor.")
def run(profile, notebooks, given, jobs):
    """Run the notebooks of PROFILE (smoke, paper or live), all or those named, and make their report."""
    from cmlib.report import run_profile

    parameters = dict(_parameter(text) for text in given) | ({} if jobs is None else {"jobs": jobs})
    click.echo(run_profile(profile, notebooks, parameters))


@main.group()
def store():
    """The database that is made from the recordings."""


@store.command(epilog="Example: cmlib store rebuild --url postgresql+psycopg://me@127.0.0.1/counters")
@click.option("--url", help="SQLAlchemy URL.  [default: an SQLite file among the results]")
def rebuild(url):
    """Make the store anew from the raw recordings."""
    from cmlib.store import rebuild as rebuild_store

    click.echo(f"{len(rebuild_store(url=url, progress=True))} runs in the store")


def _parameter(text):
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="-p")
    try:
        return name, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise click.BadParameter(f"{text!r}: the value is no YAML", param_hint="-p") from error
