"""`cmlib record-micro`."""

from pathlib import Path

import click
from tqdm import tqdm

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.workloads.micro.build import build, plateaus, sweep, working_sets
from cmlib.collect.workloads.micro.case_runs import (
    Settings,
    compare_twins,
    estimate_minutes,
    plan_cases,
    record_cases,
)
from cmlib.collect.workloads.micro.programs import applications
from cmlib.collect.workloads.micro.selection import (
    FOLDER,
    counting_events,
    listed_events,
    recorded_key_events,
    stored_or_new_sweep,
)
from cmlib.collect.workloads.micro.simulated import FOLDER as SIMULATED
from cmlib.collect.workloads.micro.simulated import record_simulated_cases, simulated_cases
from cmlib.errors import CmlibError


@click.command("record-micro", epilog="Example: cmlib record-micro --list")
@click.option("--list", "only_list", is_flag=True, help="Only list what would be recorded.")
@click.option("--sweep", "do_sweep", is_flag=True, help="Only measure the latency of memory by size.")
@click.option("--twins", "do_twins", is_flag=True, help="Only time both forms of each at equal work.")
@click.option("--simulate", is_flag=True, help="Simulate them under Valgrind, which takes no counters.")
@click.option(
    "--seconds", default=Settings.seconds, show_default=True, help="Execution of a case in each run [s]."
)
@click.option("--passes", default=Settings.passes, show_default=True, help="Passes over the key events.")
@click.option("--key-events", default=Settings.key_events, show_default=True, help="Events to select.")
@click.option("--sizes", help="Working sets [KiB] instead of a sweep: L2=64,128;L3=1024;M=131072.")
@click.option("--folder", type=click.Path(path_type=Path), help="Of all recordings [data/recordings].")
def record_micro(only_list, do_sweep, do_twins, simulate, seconds, passes, key_events, sizes, folder):
    """Record the micro-benchmarks that notebook 05 and `cmlib diagnose` learn from."""
    folder = folder or places.recordings_dir()
    settings = Settings(seconds, passes, key_events=key_events)
    programs_folder = build(places.results_dir() / "micro")
    if simulate:
        _simulate(programs_folder, folder / SIMULATED, only_list)
        return
    if do_sweep:
        _sweep(programs_folder)
        return
    found_sizes = _sizes(sizes, folder / FOLDER, programs_folder, not only_list)
    if do_twins:
        _twins(found_sizes, programs_folder, seconds)
        return
    # a list can be made on any machine, of the events that counted where recordings were made
    events = counting_events(folder, None if only_list else machine.describe()["microarchitecture"])
    plan = plan_cases(found_sizes, settings, len(events) or len(listed_events()))
    others, left_out = applications(programs_folder, folder / FOLDER, seconds=2 * seconds)
    _show(plan, settings, others, left_out)
    if only_list:
        return
    how = {"counters": machine.good_counters(), "applications": others}
    for name in record_cases(plan, settings, events, programs_folder, folder / FOLDER, **how):
        click.echo(name)
    click.echo(f"key events: {', '.join(recorded_key_events(folder / FOLDER))}")


def _simulate(programs_folder, folder, only_list):
    for one in simulated_cases():
        case, size = one.case, f"{one.case.size / 1024:.0f} KiB" if one.case.size else ""
        click.echo(f"{one.name:32} {case.label:10} {size:>12} {one.operations:12,} operations")
    for name in () if only_list else record_simulated_cases(programs_folder, folder):
        click.echo(name)


def _sweep(programs_folder):
    from cmlib.plot import fingerprint as plot

    latencies = sweep(programs_folder)
    levels = plateaus(latencies)
    file = programs_folder / "sweep"
    latencies.to_csv(file.with_suffix(".csv"), index=False)
    figure, _ = plot.latency(latencies, levels, working_sets(levels))
    figure.savefig(file.with_suffix(".png"), dpi=150)
    click.echo(f"levels [bytes, ns a load]:\n{levels}\nworking sets [bytes]: {working_sets(levels)}")
    click.echo(f"{file.with_suffix('.csv')}, and drawn: {file.with_suffix('.png')}")


def _twins(sizes, programs_folder, seconds):
    with tqdm(unit="case", desc="both forms") as bar:
        timed = compare_twins(sizes, programs_folder, seconds=seconds, progress=lambda: bar.update())
    click.echo(timed.round(3).to_string(index=False))


def _sizes(text, folder, programs_folder, keep):
    given = _given_sizes(text) if text else None
    if given and not keep:
        return given
    if keep:
        folder.mkdir(parents=True, exist_ok=True)
    levels = plateaus(stored_or_new_sweep(folder, programs_folder, keep=keep))
    click.echo(f"what a sweep found [bytes, ns a load]:\n{levels}\n")
    return given or working_sets(levels)


def _given_sizes(text):
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


def _show(plan, settings, others, left_out):
    minutes = estimate_minutes(plan, settings)
    for (case, set_name, n_runs), expected in zip(plan, minutes, strict=True):
        size = f"{case.size / 1024:.0f} KiB" if case.size else ""
        click.echo(
            f"{case.name:32} {case.label:10} {size:>12} {set_name:4} {n_runs:3} runs {expected:6.1f} min"
        )
    for one in others:
        click.echo(f"{one.name:32} {one.kind:23} key  {settings.passes:3} runs")
    for reason in left_out:
        click.echo(f"left out: {reason}")
    n_runs, n_others = sum(n_runs for _, _, n_runs in plan), settings.passes * len(others)
    click.echo(f"{n_runs} runs, about {sum(minutes):.0f} minutes, and {n_others} of other programs")
