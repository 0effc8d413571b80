"""`cmlib record-tuning`."""

from itertools import groupby
from pathlib import Path

import click

from cmlib import machine, places
from cmlib.study.tuning.tuned_runs import load_tuned, rates_to_emit
from cmlib.tuning import important_events
from cmlib.workloads.tuning.cluster_runs import FOLDER, record_runs
from cmlib.workloads.tuning.design import at_levels, at_random, at_rates
from cmlib.workloads.tuning.emitters import EMITTERS, check_emitters

_RUNS, _RUNS_EMITTING, _IMPORTANT = 100, 36, 10


@click.command("record-tuning", epilog="Example: cmlib record-tuning --program sort --tune exc")
@click.option("--list", "only_list", is_flag=True, help="Only list what would be recorded.")
@click.option(
    "--program",
    "programs",
    multiple=True,
    default=("sort", "pagerank"),
    show_default=True,
    help="A program on Spark.",
)
@click.option("--runs", type=int, help="Drawn at random [100, or 36 with --emit].")
@click.option(
    "--tune",
    "tuned",
    multiple=True,
    metavar="ABBR",
    help="Instead: this parameter of Table IV at its ends, and all at their defaults.",
)
@click.option(
    "--emit",
    "emitted",
    multiple=True,
    metavar="EVENT",
    help="Instead: this event of the kernel made beside the program, at rates drawn at random; `important`: the ten "
    "that matter most in the runs recorded so far.",
)
@click.option(
    "--at",
    default="default",
    show_default=True,
    metavar="LEVEL",
    help="With --emit: all parameters at their defaults, or one at an end, such as exc-high.",
)
@click.option("--passes", default=1, show_default=True, help="Recordings of each run.")
@click.option(
    "--scale", type=float, help="Multiplies each program's work [1, or with --emit as in the runs so far]."
)
@click.option("--folder", type=click.Path(path_type=Path), help="Of all recordings [data/recordings].")
def record_tuning(only_list, programs, runs, tuned, emitted, at, passes, scale, folder):
    """Record programs on Spark under other settings than usual, that notebook 08 reads.

    The list of the runs comes first. What exists is kept.
    """
    target, scales = (folder or places.recordings_dir()) / FOLDER, dict.fromkeys(programs, scale or 1.0)
    if emitted:
        known = {name: load_tuned(target, name)[name] for name in programs}
        scales = {name: scale or one.scale for name, one in known.items()}
        listed = {
            name: at_rates(name, _highest(name, one, emitted, at), runs or _RUNS_EMITTING, at=at)
            for name, one in known.items()
        }
    elif tuned:
        listed = {name: at_levels(name, tuned) for name in programs}
    else:
        listed = {name: at_random(name, runs or _RUNS) for name in programs}
    for name, run in ((name, run) for name, of in listed.items() for run in of):
        chosen = " ".join(f"{key}={value}" for key, value in run.noted.items())
        click.echo(f"{name:10} {run.name:20} {chosen}")
    click.echo(f"{sum(map(len, listed.values()))} runs, {passes} times each")
    if only_list:
        return
    census = machine.census()
    counters = {"offered": census.offered, "good": census.good}
    for scale, group in groupby(listed, scales.get):
        chosen = {name: listed[name] for name in group}
        for name in record_runs(chosen, target, scale=scale, passes=passes, counters=counters):
            click.echo(f"{name} is recorded")


def _highest(program, one, emitted, at):
    """The highest rate of each event to emit, told from what was recorded of the program."""
    ranked = important_events(one.runs).index[:_IMPORTANT]
    events = dict.fromkeys(
        event for given in emitted for event in (ranked if given == "important" else [given])
    )
    can = [event for event in events if event in EMITTERS or event in emitted]
    if left := [event for event in events if event not in can]:
        click.echo(f"{program}: there is no emitter for {', '.join(left)}")
    check_emitters(can)
    return rates_to_emit(one, can, at=at)
