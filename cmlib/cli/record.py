"""`cmlib record`."""

import click


@click.command(epilog="Example: cmlib record myapp --mode mlpx --runs 3 -- ./myapp --size 10")
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
