"""`cmlib record-all`."""

from itertools import groupby
from pathlib import Path

import click
from tqdm import tqdm

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.samples import HARDWARE_GROUP, record_stream
from cmlib.collect.workloads.programs import cases
from cmlib.collect.workloads.tuning import (
    EMITTERS,
    FOLDER,
    at_levels,
    at_random,
    at_rates,
    check_emitters,
    record_runs,
)
from cmlib.experiments.tuned_runs import load_tuned, rates_to_emit
from cmlib.io.samples.files import samples_dir
from cmlib.tuning import important_events


@click.command("record-all", epilog="Example: cmlib record-all --only micro --budget 60")
@click.option("--list", "only_list", is_flag=True, help="Only list what would be recorded.")
@click.option("--only", "names", multiple=True, metavar="PART", help="This part; may be repeated.")
@click.option("--budget", type=click.FloatRange(0), metavar="MINUTES", help="Begin no recording after that.")
@click.option(
    "--busy",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Share of the processors that other programs may take.",
)
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Data folder to record into.  [default: data]"
)
def record_all(only_list, names, budget, busy, folder):
    """Record everything that the notebooks read, part by part, on a machine whose counters can be read."""
    from cmlib import places
    from cmlib.collect import campaign
    from cmlib.collect.campaign.run import listed_setting, recording_setting

    chosen = campaign.parts(names)
    data = (folder or places.data_dir()).absolute()
    _list(chosen, listed_setting(data) if only_list else (setting := recording_setting(data)))
    if only_list:
        return
    outcome = campaign.run_parts(chosen, setting, budget=budget, busy=busy, progress=click.echo)
    _tell(outcome, campaign.rejections(data))
    if outcome.failed:
        raise SystemExit(1)


def _list(chosen, setting):
    total = 0.0
    for part in chosen:
        click.echo(f"{part.name} (notebook {part.notebook}): {part.about}")
        for line in part.plan(setting):
            click.echo(f"  {line.name:44} {line.missing:4} of {line.runs:4} runs {line.minutes:7.1f} min")
            total += line.minutes
    click.echo(
        f"about {total:.0f} minutes, with {setting.counters['good']} counters, into {setting.data.name}"
    )


def _tell(outcome, rejected):
    click.echo(f"{len(outcome.made)} recordings are complete")
    for name in outcome.left:
        click.echo(f"the time was over: {name} is not complete; give the command again")
    for name, reasons in rejected.items():
        click.echo(f"repeated: {name}: {reasons}")
    for name, error in outcome.failed.items():
        click.echo(f"failed: {name}: {error}", err=True)


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
    """Record the sample streams that notebook 07 reads: 35 cases of eight programs."""
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
    """Record programs on Spark under other settings than usual, that notebook 08 reads."""
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
