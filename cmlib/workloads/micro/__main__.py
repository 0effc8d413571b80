"""Record the micro-benchmarks: ``python -m cmlib.workloads.micro`` lists what it would do, ``--record`` does it."""

from pathlib import Path

import click

from cmlib import machine, places
from cmlib.errors import CmlibError
from cmlib.workloads.micro.build import build
from cmlib.workloads.micro.latency import plateaus, working_sets
from cmlib.workloads.micro.recording import Settings, estimate_minutes, plan_cases, record_all
from cmlib.workloads.micro.selection import counting_events, recorded_sweep


@click.command(help=__doc__)
@click.option(
    "--record", "do_record", is_flag=True, help="Make the recordings; without it they are only listed."
)
@click.option(
    "--seconds", default=Settings.seconds, show_default=True, help="Execution of a case in each run [s]."
)
@click.option("--passes", default=Settings.passes, show_default=True, help="Passes over the key events.")
@click.option("--key-events", default=Settings.key_events, show_default=True, help="Events to select.")
@click.option("--sizes", help="Working sets [KiB] instead of a sweep: L2=64,128;L3=1024;M=131072.")
@click.option("--folder", type=click.Path(path_type=Path), help="Of the recordings [data/recordings].")
def main(do_record, seconds, passes, key_events, sizes, folder):
    try:
        folder = folder or places.recordings_dir()
        settings = Settings(seconds, passes, key_events=key_events)
        programs_folder = build(places.results_dir() / "micro")
        # a list can be made on any machine, of the events that counted where recordings were made
        events = counting_events(folder, machine.describe()["microarchitecture"] if do_record else None)
        plan = plan_cases(_sizes(sizes, folder, programs_folder, do_record), settings, len(events))
        _show(plan, settings, programs_folder)
        if do_record:
            chosen = record_all(plan, settings, events, programs_folder, folder, counters=_counters())
            click.echo(f"key events: {', '.join(chosen)}")
    except CmlibError as error:
        raise click.ClickException(str(error)) from error


def _sizes(text, folder, programs_folder, keep):
    if not text:
        levels = plateaus(recorded_sweep(folder, programs_folder, keep=keep))
        click.echo(f"what a sweep found [bytes, ns a load]:\n{levels}\n")
        return working_sets(levels)
    try:
        pairs = dict(part.split("=") for part in text.split(";"))
        sizes = {level: [1024 * int(size) for size in listed.split(",")] for level, listed in pairs.items()}
    except ValueError:
        sizes = {}
    if set(sizes) != {"L2", "L3", "M"}:
        raise CmlibError(
            f"--sizes {text!r}: give KiB for all of L2, L3 and M, as in L2=64,128;L3=1024;M=131072"
        )
    return sizes


def _show(plan, settings, programs_folder):
    minutes = estimate_minutes(plan, settings, programs_folder)
    for (case, set_name, n_runs), expected in zip(plan, minutes, strict=True):
        size = f"{case.size / 1024:.0f} KiB" if case.size else ""
        click.echo(
            f"{case.name:32} {case.label:10} {size:>12} {set_name:4} {n_runs:3} runs {expected:6.1f} min"
        )
    click.echo(f"{sum(n_runs for _, _, n_runs in plan)} runs, about {sum(minutes):.0f} minutes")


def _counters():
    found = machine.census()
    if not found.offered:
        raise CmlibError(
            f"no hardware event can be counted here: {found.complaint}. `cmlib doctor` tells why."
        )
    return {"offered": found.offered, "good": found.good}


if __name__ == "__main__":
    main()
