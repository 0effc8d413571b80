"""`cmlib record-kernels`."""

from pathlib import Path

import click
from tqdm import tqdm

from cmlib import places
from cmlib.collect.compare.counters import usual_events
from cmlib.collect.machine import census, counters_lock, describe
from cmlib.collect.machine.event_names import countable
from cmlib.collect.workloads.kernels import build, describe_host, kernels, numa_nodes
from cmlib.collect.workloads.kernels.executions import estimate_minutes, plan, record, record_overhead
from cmlib.errors import CmlibError


@click.command("record-kernels", epilog="Example: cmlib record-kernels --program histogram")
@click.option("--list", "only_list", is_flag=True, help="Only list what would be recorded.")
@click.option("--program", "names", multiple=True, help="Only this program (repeat for more).")
@click.option(
    "--events",
    "asked",
    metavar="LIST",
    help="With commas between, instead of those usual for this machine; NAME=CODE for raw ones.",
)
@click.option("--max-threads", default=4, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), help="Where recordings go [data/regions].")
def record_kernels(only_list, names, asked, max_threads, folder):
    """Record AutoPerf's fifteen programs, in their good and their bad form, that notebook 06 judges."""
    chosen = _chosen(names)
    binaries = build(places.results_dir() / "kernels", [program.name for program in chosen])
    events = countable(asked) if asked else usual_events(describe())
    good = census().good if any(event.hardware for event in events) else 0
    todo = plan(chosen, events, good_counters=good, nodes=numa_nodes(), max_threads=max_threads)
    _show(todo, chosen, estimate_minutes(todo))
    if only_list:
        return
    _record(todo, binaries, folder or places.data_dir() / "regions")
    click.echo("recorded; see what was found: cmlib run paper 06_anomaly_detection")


def _show(todo, chosen, minutes):
    for item, expected in zip(todo, minutes, strict=True):
        click.echo(
            f"{item.program.name:22} {item.form:13} {len(item.runs):4} runs {item.executions:5} executions "
            f"{expected:5.1f} min"
        )
    for program in chosen:
        if program.nodes > numa_nodes():
            click.echo(
                f"{program.name:22} left out: needs {program.nodes} NUMA nodes, there is {numa_nodes()}"
            )
    click.echo(f"{sum(item.executions for item in todo)} executions, about {sum(minutes):.0f} minutes")


def _chosen(names):
    known = {program.name: program for program in kernels()}
    unknown = set(names) - set(known)
    if unknown:
        raise CmlibError(f"no program {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return [known[name] for name in names] or list(known.values())


def _record(todo, binaries, folder):
    machine = describe_host()
    purpose = "recording the kernels"
    with (
        counters_lock(purpose),
        tqdm(total=sum(len(item.runs) for item in todo), unit="run") as bar,
    ):
        how = {"paces": {}, "progress": lambda run: bar.update()}
        for item in todo:
            made = record(item, binaries, folder, machine, **how)
            if made is None:
                bar.update(len(item.runs))
        for item in todo:
            if item.form == "good":
                record_overhead(item.program, binaries, item.parts[0], folder, machine)
