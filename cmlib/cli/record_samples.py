"""`cmlib record-samples`."""

from pathlib import Path

import click
from tqdm import tqdm

from cmlib.samples.cases import cases
from cmlib.samples.files import samples_dir
from cmlib.samples.keeping import HARDWARE_GROUP, record_stream

SOFTWARE_GROUP = (
    "task-clock",
    "page-faults",
    "raw_syscalls:sys_enter",
    "kmem:mm_page_alloc",
    "context-switches",
)


@click.command("record-samples", epilog="Example: cmlib record-samples --software --case gcc-2")
@click.option("--list", "only_list", is_flag=True, help="Only list what would be recorded.")
@click.option("--software", is_flag=True, help="Software events, every 500 µs of task-clock.")
@click.option(
    "--lines",
    is_flag=True,
    help="Only lines, found as the program runs: the first event counted along, with the drift test.",
)
@click.option("--case", "names", multiple=True, help="Only this one (repeat for more).")
@click.option("--folder", type=click.Path(path_type=Path), help="Where streams go [data/samples].")
def record_samples(only_list, software, lines, names, folder):
    """Record the sample streams that notebook 07 reads: 35 cases of eight programs.

    The list comes first. What exists is kept.
    """
    folder = folder or samples_dir()
    kind, group, period = (
        ("software", SOFTWARE_GROUP, 500_000) if software else ("hardware", HARDWARE_GROUP, 1_000_000)
    )
    chosen = [case for case in cases() if not names or case.name in names]
    file = f"{kind}-lines-00.json" if lines else f"{kind}-00.json"
    missing = [case for case in chosen if not (folder / case.name / file).exists()]
    for case in chosen:
        click.echo(f"{case.name:12} {'missing' if case in missing else 'there':8} {case.label}")
    for case in tqdm([] if only_list else missing, unit="stream"):
        _, metadata = record_stream(
            case.name,
            case.to_record(),
            group[:2] if lines else group,
            period=period,
            compress={"drift": 20.0} if lines else None,
            folder=folder,
            wait=True,
        )
        tqdm.write(
            f"{case.name}: {metadata['n_samples']} samples in {metadata['duration_s']:.1f} s, {metadata['n_lost']} lost"
        )
