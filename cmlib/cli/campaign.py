"""`cmlib record-all` and the commands that record what one notebook reads."""

from itertools import groupby
from pathlib import Path

import click
from tqdm import tqdm

from cmlib import places
from cmlib.collect import campaign, machine
from cmlib.collect.compare.counters import usual_events
from cmlib.collect.machine.event_names import countable
from cmlib.collect.sampling import HARDWARE_GROUP, record_stream
from cmlib.collect.workloads import kernels, micro, tuning
from cmlib.collect.workloads.catalog import cases
from cmlib.collect.workloads.kernels import executions
from cmlib.collect.workloads.micro import case_runs, selection, simulated
from cmlib.collect.workloads.micro.case_runs import applications
from cmlib.errors import CmlibError
from cmlib.experiments.tuned_runs import load_tuned, rates_to_emit
from cmlib.io.samples.files import samples_dir
from cmlib.tuning import important_events

_list = click.option("--list", "only_list", is_flag=True, help="Only list what would be recorded.")


def _folder(text):
    return click.option("--folder", type=click.Path(path_type=Path), help=text)


@click.command("record-all", epilog="Example: cmlib record-all --only micro --budget 60")
@_list
@click.option("--only", "names", multiple=True, metavar="PART", help="This part; may be repeated.")
@click.option("--budget", type=click.FloatRange(0), metavar="MINUTES", help="Begin no recording after that.")
@click.option(
    "--busy",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Share of the processors that other programs may take.",
)
@_folder("Data folder to record into.  [default: data]")
def record_all(only_list, names, budget, busy, folder):
    """Record everything that the notebooks read, part by part, on a machine whose counters can be read."""
    chosen = campaign.parts(names)
    data = (folder or places.data_dir()).absolute()
    setting = campaign.setting(data, only_list=only_list)
    _show_parts(chosen, setting)
    if only_list:
        return
    outcome = campaign.run_parts(chosen, setting, budget=budget, busy=busy, progress=click.echo)
    _show_outcome(outcome, campaign.rejections(data))
    if outcome.failed:
        raise SystemExit(1)


def _show_parts(chosen, setting):
    total = 0.0
    for part in chosen:
        click.echo(f"{part.name} (notebook {part.notebook}): {part.about}")
        for job in part.jobs(setting):
            click.echo(f"  {job.name:44} {job.missing:4} of {job.runs:4} runs {job.minutes:7.1f} min")
            total += job.minutes
    click.echo(
        f"about {total:.0f} minutes, with {setting.counters['good']} counters, into {setting.data.name}"
    )


def _show_outcome(outcome, rejected):
    click.echo(f"{len(outcome.made)} recordings are complete")
    for name in outcome.left:
        click.echo(f"the time was over: {name} is not complete; give the command again")
    for name, reasons in rejected.items():
        click.echo(f"repeated: {name}: {reasons}")
    for name, error in outcome.failed.items():
        click.echo(f"failed: {name}: {error}", err=True)


@click.command("record-micro", epilog="Example: cmlib record-micro --list")
@_list
@click.option("--simulate", is_flag=True, help="Simulate them under Valgrind, which takes no counters.")
@click.option(
    "--seconds",
    default=case_runs.Settings.seconds,
    show_default=True,
    help="Execution of a case in each run [s].",
)
@click.option(
    "--passes", default=case_runs.Settings.passes, show_default=True, help="Passes over the key events."
)
@click.option(
    "--key-events", default=case_runs.Settings.key_events, show_default=True, help="Events to select."
)
@click.option("--sizes", help="Working sets [KiB] instead of a sweep: L2=64,128;L3=1024;M=131072.")
@_folder("Of all recordings [data/recordings].")
def record_micro(only_list, simulate, sizes, folder, **settings):
    """Record the micro-benchmarks that notebook 05 and `cmlib diagnose` learn from."""
    recordings, settings = folder or places.recordings_dir(), case_runs.Settings(**settings)
    built = micro.build(places.results_dir() / "micro")
    if simulate:
        _simulate_micro(built, recordings / simulated.FOLDER, only_list)
        return
    folder = recordings / selection.FOLDER
    found_sizes = _sizes(sizes, folder, built, not only_list)
    # a list can be made on any machine, of the events that counted where recordings were made
    events = selection.counting_events(
        recordings, None if only_list else machine.describe()["microarchitecture"]
    )
    plan = case_runs.plan_cases(found_sizes, settings, len(events) or len(selection.listed_events()))
    others, left_out = applications(built, folder, seconds=2 * settings.seconds)
    _show_micro(plan, settings, others, left_out)
    if only_list:
        return
    how = {"counters": machine.census().checked().counters, "applications": others}
    for name in case_runs.record_cases(plan, settings, events, built, folder, **how):
        click.echo(name)
    click.echo(f"key events: {', '.join(selection.recorded_key_events(folder))}")


def _simulate_micro(built, folder, only_list):
    for one in simulated.simulated_cases():
        size = f"{one.case.size / 1024:.0f} KiB" if one.case.size else ""
        click.echo(f"{one.name:32} {one.case.label:10} {size:>12} {one.operations:12,} operations")
    for name in () if only_list else simulated.record_simulated_cases(built, folder):
        click.echo(name)


def _sizes(text, folder, built, keep):
    given = _given_sizes(text) if text else None
    if given and not keep:
        return given
    if keep:
        folder.mkdir(parents=True, exist_ok=True)
    levels = micro.plateaus(selection.stored_or_new_sweep(folder, built, keep=keep))
    click.echo(f"what a sweep found [bytes, ns a load]:\n{levels}\n")
    return given or micro.working_sets(levels)


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


def _show_micro(plan, settings, others, left_out):
    minutes = case_runs.estimate_minutes(plan, settings)
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


@click.command("record-kernels", epilog="Example: cmlib record-kernels --program histogram")
@_list
@click.option("--program", "names", multiple=True, help="Only this program (repeat for more).")
@click.option(
    "--events",
    "event_list",
    metavar="LIST",
    help="With commas between, instead of those usual for this machine; NAME=CODE for raw ones.",
)
@click.option("--max-threads", default=4, show_default=True)
@_folder("Where recordings go [data/regions].")
def record_kernels(only_list, names, event_list, max_threads, folder):
    """Record AutoPerf's fifteen programs, in their good and their bad form, that notebook 06 judges."""
    chosen, nodes = _kernels(names), kernels.numa_nodes()
    binaries = kernels.build(places.results_dir() / "kernels", [program.name for program in chosen])
    events = countable(event_list) if event_list else usual_events(machine.describe())
    good = machine.census().good if any(event.hardware for event in events) else 0
    todo = executions.plan(chosen, events, good_counters=good, nodes=nodes, max_threads=max_threads)
    for item in todo:
        click.echo(
            f"{item.program.name:22} {item.form:13} {len(item.runs):4} runs {item.executions:5} executions "
            f"{item.minutes:5.1f} min"
        )
    for program in (program for program in chosen if program.nodes > nodes):
        click.echo(f"{program.name:22} left out: needs {program.nodes} NUMA nodes, there is {nodes}")
    minutes = sum(item.minutes for item in todo)
    click.echo(f"{sum(item.executions for item in todo)} executions, about {minutes:.0f} minutes")
    if only_list:
        return
    with tqdm(todo, unit="recording") as bar:
        executions.record_all(bar, binaries, folder or places.data_dir() / "regions")
    click.echo("recorded; see what was found: cmlib run paper 06_anomaly_detection")


def _kernels(names):
    known = {program.name: program for program in kernels.kernels()}
    if unknown := sorted(set(names) - set(known)):
        raise CmlibError(f"no program {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names] or list(known.values())


SOFTWARE_GROUP = (
    "task-clock",
    "page-faults",
    "raw_syscalls:sys_enter",
    "kmem:mm_page_alloc",
    "context-switches",
)


@click.command("record-samples", epilog="Example: cmlib record-samples --software --case gcc-2")
@_list
@click.option("--software", is_flag=True, help="Software events, every 500 µs of task-clock.")
@click.option(
    "--lines",
    is_flag=True,
    help="Only lines, found as the program runs: the first event counted along, with the drift test.",
)
@click.option("--case", "names", multiple=True, help="Only this one (repeat for more).")
@_folder("Where streams go [data/samples].")
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
@_list
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
@_folder("Of all recordings [data/recordings].")
def record_tuning(only_list, programs, runs, tuned, emitted, at, passes, scale, folder):
    """Record programs on Spark under other settings than usual, that notebook 08 reads."""
    target, scales = (
        (folder or places.recordings_dir()) / tuning.FOLDER,
        dict.fromkeys(programs, scale or 1.0),
    )
    if emitted:
        known = {name: load_tuned(target, name)[name] for name in programs}
        scales = {name: scale or one.scale for name, one in known.items()}
        listed = {
            name: tuning.at_rates(name, _highest(name, one, emitted, at), runs or _RUNS_EMITTING, at=at)
            for name, one in known.items()
        }
    elif tuned:
        listed = {name: tuning.at_levels(name, tuned) for name in programs}
    else:
        listed = {name: tuning.at_random(name, runs or _RUNS) for name in programs}
    for name, run in ((name, run) for name, of in listed.items() for run in of):
        chosen = " ".join(f"{key}={value}" for key, value in run.noted.items())
        click.echo(f"{name:10} {run.name:20} {chosen}")
    click.echo(f"{sum(map(len, listed.values()))} runs, {passes} times each")
    if only_list:
        return
    counters = machine.census().counters
    for scale, group in groupby(listed, scales.get):
        chosen = {name: listed[name] for name in group}
        for name in tuning.record_runs(chosen, target, scale=scale, passes=passes, counters=counters):
            click.echo(f"{name} is recorded")


def _highest(program, one, emitted, at):
    """The highest rate of each event to emit, told from what was recorded of the program."""
    ranked = important_events(one.runs).index[:_IMPORTANT]
    events = dict.fromkeys(
        event for given in emitted for event in (ranked if given == "important" else [given])
    )
    can = [event for event in events if event in tuning.EMITTERS or event in emitted]
    if left := [event for event in events if event not in can]:
        click.echo(f"{program}: there is no emitter for {', '.join(left)}")
    tuning.check_emitters(can)
    return rates_to_emit(one, can, at=at)
