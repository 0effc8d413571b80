"""The recordings that the notebooks read: what is to be made, part by part, and one loop that makes it.

A :class:`Part` is what a notebook reads, a :class:`CampaignPart` a job of it; :func:`all_parts` gives the parts,
:func:`run_parts` makes what is missing. A sweep is a set of runs that counts all events of the processor, a pass
one repetition. A job that fails ends none of the others; a CmlibError at the end says which did.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.machine.host import counting_processes
from cmlib.collect.record import Request, existing_runs, record_program
from cmlib.collect.sampling import HARDWARE_GROUP, record_stream
from cmlib.compare.usual_events import list_usual_events
from cmlib.errors import CmlibError
from cmlib.experiments.folders import HARDWARE
from cmlib.experiments.kernels.programs import kernels as all_kernels
from cmlib.experiments.micro import recordings
from cmlib.experiments.tuning.settings import LEVELS_FOLDER, TABLE_IV
from cmlib.io.samples.files import samples_dir
from cmlib_workloads import catalog, kernels, tuning
from cmlib_workloads.kernels import executions
from cmlib_workloads.micro import case_runs, simulated
from cmlib_workloads.neighbours import processor_times, taken_by_others
from cmlib_workloads.tuning.rates import important_rates

# Of a run with what gets it ready [s].
_MICRO_S, _SIMULATED_S, _PROGRAM_S, _STREAM_S, _TUNING_S = 8.0, 10.0, 18.0, 8.0, 20.0
_WATCHED_S, _MOST_BUSY = 2.0, 0.05
_CORE, _DEGREES = 12, (6, 18, 24, 30, 36)
_STUDIED = ("wordcount", "sort", "pagerank", "kmeans")
SOFTWARE_GROUP = (
    "task-clock",
    "page-faults",
    "raw_syscalls:sys_enter",
    "kmem:mm_page_alloc",
    "context-switches",
)
# Of the programs on Spark: their work, parameters tried at both ends, and settings beside which events are emitted.
DESIGNS = {
    "sort": (0.5, ("exc", "nwt", "ssb"), ("default", "exc-high")),
    "pagerank": (0.05, ("dpl", "exc", "nwt"), ("default",)),
}
_RANDOM, _PASSES_AT_ENDS, _EMITTING = 60, 4, 36
# CounterMiner's Fig. 14 (bbs and nwt of sort), with exc as a control, of which only the low end is the default.
_LEVELS, _PASSES_OF_LEVELS = {"sort": ("bbs", "nwt", "exc")}, 6


@dataclass(frozen=True)
class CampaignPart:
    """Recordings that are made together, a job.

    `name` is for the list; `runs` is how many there are to be, `there` how many there are, `run_s` what one takes
    [s]. `make` takes no argument, goes on from those that are there, and yields names (str) of what was recorded.
    Its text is a line for the list.
    """

    name: str
    runs: int
    there: int
    run_s: float
    make: Callable[[], Iterator[str]]

    def __str__(self):
        missing = max(0, self.runs - self.there)
        return f"{self.name:44} {missing:4} of {self.runs:4} runs {missing * self.run_s / 60:7.1f} min"


@dataclass(frozen=True)
class Part:
    """What a notebook reads.

    `notebook` is its number or name (str), `about` a phrase on it; `jobs` takes the counters found (dict of offered and
    good), and options of its own, and yields CampaignParts.
    """

    notebook: str
    about: str
    jobs: Callable[..., Iterator[CampaignPart]]


def all_parts():
    """Every Part (what a notebook reads) by name: a dict."""
    usual = (lambda folder: [Request()], _usual_sets)
    return {
        "micro": Part(
            "hardware_fingerprinting",
            "micro-benchmarks, and programs that no model is trained on",
            _micro,
        ),
        "simulated": Part("05", "the micro-benchmarks, simulated by Valgrind", _simulated),
        "kernels": Part("06", "AutoPerf's programs, by region in the good and the bad form", _kernels),
        "programs": Part(
            "01-04",
            "the sixteen programs: core events without and with multiplexing, and a sweep over all events",
            partial(_programs, catalog.of_suites("HiBench", "CloudSuite 3.0"), *usual),
        ),
        "degrees": Part(
            "02",
            "four programs multiplexed by 6, 18, 24, 30 and 36 events",
            partial(_programs, _STUDIED, _degrees, lambda counters: {f"mlpx{n}": 3 for n in _DEGREES}),
        ),
        "ungrouped": Part(
            "02",
            "four programs with all events in one list without groups",
            partial(
                _programs,
                _STUDIED,
                lambda folder: [Request(mode="ungrouped", events="all")],
                lambda counters: {"ungrouped": 2},
            ),
        ),
        "pairs": Part(
            "09",
            "two pairs of programs on one machine",
            partial(_programs, catalog.of_suites("co-located"), *usual),
        ),
        "streams": Part("07", "35 cases of eight CPU programs, a sample per million cycles", _streams),
        "tuning": Part("08", "programs on Spark under other settings", _tuning),
        "tuning-levels": Part("08", "one parameter of Spark changed, in one session", _tuning_levels),
    }


def run_parts(parts, notify, *, only_list=False, **options):
    """List the jobs of some parts and make what is missing; a CmlibError at the end if any failed.

    `parts` is a dict from name to Part; `notify` takes a line of text, and ``err=True`` of what failed. With
    `only_list` nothing is made; `options` are for the parts' `jobs`.
    """
    counters = machine.census().counters
    failed = []
    for name, part in parts.items():
        notify(f"{name} (notebook {part.notebook}): {part.about}")
        failed += _run_jobs(name, part.jobs(counters, **options), notify, only_list)
    if failed:
        raise CmlibError(
            f"not complete: {'; '.join(failed)}. Given again, the command goes on from what there is."
        )


def _run_jobs(part, jobs, notify, only_list):
    """List the jobs, make what is missing of each, and yield the names of those that failed."""
    for job in jobs:
        notify(f"  {job}")
        try:
            for name in () if only_list else job.make():
                notify(f"  {name} is recorded")
        except (CmlibError, ValueError) as error:
            notify(f"{part}: {job.name} failed: {error}", err=True)
            yield f"{part}, {job.name}"


def check_quiet(root="/"):
    """Raise a CmlibError unless the machine is quiet: nobody else counts, and hardly anybody computes.

    It watches for two seconds; others may take at most 5 % of the processors' time. `root` (path) is the folder
    that holds proc.
    """
    before = processor_times(root)
    time.sleep(_WATCHED_S)
    taken = taken_by_others(before, processor_times(root))
    if counting := counting_processes(root):
        raise CmlibError(
            f"others count already, {', '.join(counting)}, and two at a time spoil each other's counts: "
            "end it, then repeat the command."
        )
    if taken > _MOST_BUSY:
        raise CmlibError(
            f"other programs take {100 * taken:.0f} % of the processors' time, and {100 * _MOST_BUSY:.0f} % is the "
            "most allowed: end them."
        )


def _n_runs(folder):
    """How many runs there are of each set."""
    return Counter(meta["set"] for meta in existing_runs(folder).values())


def _micro(counters):
    """Yield the job of the micro-benchmarks."""
    folder = places.recordings_dir() / recordings.FOLDER
    listed = case_runs.plan_cases(case_runs.stored_sizes(folder))
    there = sum(min(n, _n_runs(folder / case.name)[of]) for case, of, n in listed)
    make = partial(case_runs.record_cases, places.results_dir() / "micro", folder, counters)
    yield CampaignPart(
        "cases, and programs never trained on", sum(n for _, _, n in listed), there, _MICRO_S, make
    )


def _simulated(counters):
    """Yield the job of the simulated micro-benchmarks."""
    folder, listed = places.recordings_dir() / recordings.SIMULATED_FOLDER, simulated.simulated_cases()
    there = sum(bool(existing_runs(folder / one.name)) for one in listed)
    make = partial(simulated.record_simulated_cases, places.results_dir() / "micro", folder)
    yield CampaignPart("cases", len(listed), there, _SIMULATED_S, make)


def _kernels(counters, names=()):
    """Yield a job for each recording of AutoPerf's programs."""
    events, paces = list_usual_events(machine.describe()), {}
    hardware = any(event.hardware for event in events)
    folder = places.data_dir() / "regions" / (HARDWARE if hardware else "")
    chosen = [program for program in all_kernels() if not names or program.name in names]
    for item in executions.plan(chosen, events, good_counters=counters["good"], nodes=kernels.numa_nodes()):
        there = len(item.runs) * (folder / item.program.name / f"{item.form}.json").exists()
        run_s = executions.SECONDS * len(item.parts)
        make = partial(_record_kernel, item, folder, paces)
        yield CampaignPart(f"{item.program.name} {item.form}", len(item.runs), there, run_s, make)


def _record_kernel(item, folder, paces):
    # Each is built by itself: what one program needs, such as Boost's headers, the others don't.
    """Build and record one program in one form, and yield its name."""
    binaries = kernels.build(places.results_dir() / "kernels", [item.program.name])
    with machine.counters_lock("recording the kernels"):
        executions.record(item, binaries, folder, kernels.describe_host(), paces=paces)
        if item.form == "good":
            executions.record_overhead(item.program, binaries, item.parts[0], folder, kernels.describe_host())
    yield f"{item.program.name} {item.form}"


def _programs(names, request, sets, counters):
    """Yield a job for each of the named programs; `request` gives its Requests, `sets` the numbers of runs by set."""
    wanted = sets(counters)
    for name in names:
        folder = places.recordings_dir() / name
        there = _n_runs(folder)
        n_there = sum(min(n_runs, there[set_name]) for set_name, n_runs in wanted.items())
        yield CampaignPart(
            name, sum(wanted.values()), n_there, _PROGRAM_S, partial(_record_program, folder, request)
        )


def _record_program(folder, requests):
    """Record what is missing of a program, and yield its name."""
    program = catalog.to_record(folder.name)
    for request in requests(folder):
        record_program(folder.name, program, request, folder=folder.parent)
    yield folder.name


def _usual_sets(counters):
    """Runs of the core events both ways, and of a sweep over all events."""
    n_events = case_runs.n_events()
    ocoe, probe, sweep = (
        math.ceil(n) for n in (_CORE / max(1, counters["good"] - 2), n_events / 48, n_events / 12)
    )
    return {"ocoe": 3 * ocoe, "mlpx12": 3, "probe": probe, "sweep": 2 * sweep}


def _degrees(folder):
    """The first 6 to 36 events that count, the core events first; 12 is the usual set."""
    metas = existing_runs(folder).values()
    swept = next((meta["counting"] for meta in metas if meta["set"] == "sweep" and "counting" in meta), [])
    if len(swept) < _DEGREES[-1]:
        raise CmlibError(
            f"{folder.name} has no sweep yet, which tells what counts: record part programs first."
        )
    core = machine.default_events(machine.known_events(machine.describe()))
    swept = sorted(swept, key=lambda event: core.index(event) if event in core else len(core))
    for n in _DEGREES:
        yield Request(mode="mlpx", events=",".join(swept[:n]), per_run=n, set_name=f"mlpx{n}")


def _streams(counters, names=(), lines=False):
    """Yield a job for each case of which a sample stream is recorded."""
    kind, group, period = ("software", SOFTWARE_GROUP, 500_000)  # ns: of task-clock
    if counters["offered"]:
        kind, group, period = ("hardware", HARDWARE_GROUP, 1_000_000)
    how = {"period": period, "compress": lines}
    for case in catalog.cases():
        if not names or case.name in names:
            file = samples_dir() / case.name / f"{kind}{'-lines' if lines else ''}-00.json"
            make = partial(_record_stream, case, file, group[:2] if lines else group, how)
            yield CampaignPart(case.name, 1, int(file.exists()), _STREAM_S, make)


def _record_stream(case, file, group, how):
    """Record a sample stream if its file is missing, and yield its name."""
    if not file.exists():
        record_stream(case.name, case.to_record(), group, wait=True, **how)
    yield case.name


def _tuning(counters, programs=tuple(DESIGNS)):
    """Yield the jobs of programs on Spark: at random, at both ends, and beside emitted events."""
    folder = places.recordings_dir() / tuning.FOLDER / (HARDWARE if counters["offered"] else "")
    for program in programs:
        scale, ends, levels = DESIGNS.get(program, (1.0, tuple(TABLE_IV), ()))

        def job(about, names, runs, passes=1, program=program, scale=scale):
            there = sum(len(existing_runs(folder / name)) for name in names)
            make = partial(_record_tuning, program, runs, folder, scale, passes, counters)
            return CampaignPart(f"{program} {about}", passes * len(names), there, _TUNING_S, make)

        at_random, at_ends = tuning.at_random(program, _RANDOM), tuning.at_levels(program, ends)
        yield job("at random", [run.name for run in at_random], lambda runs=at_random: runs)
        names = [run.name for run in at_ends]
        yield job(f"at both ends of {', '.join(ends)}", names, lambda runs=at_ends: runs, _PASSES_AT_ENDS)
        for at in levels:
            names = [f"{program}-emit-{at}-{number:03d}" for number in range(_EMITTING)]
            emitting = partial(_emitting, folder, program, at)
            yield job(f"beside emitted events, {at}", names, emitting)


def _tuning_levels(counters):
    """Yield a job for each program with one parameter changed at a time, and with the defaults in the same session."""
    folder = places.recordings_dir() / LEVELS_FOLDER / (HARDWARE if counters["offered"] else "")
    for program, parameters in _LEVELS.items():
        runs = tuning.at_levels(program, parameters)
        n_existing = sum(len(existing_runs(folder / run.name)) for run in runs)
        scale, *_ = DESIGNS[program]
        make = partial(
            _record_tuning, program, lambda runs=runs: runs, folder, scale, _PASSES_OF_LEVELS, counters
        )
        about = f"{program} at both ends of {', '.join(parameters)}, one session"
        yield CampaignPart(about, _PASSES_OF_LEVELS * len(runs), n_existing, _TUNING_S, make)


def _record_tuning(program, runs, folder, scale, passes, counters):
    """Record runs of a program on Spark, and yield their names."""
    yield from tuning.record_runs(program, runs(), folder, scale=scale, passes=passes, counters=counters)


def _emitting(folder, program, at):
    """Runs of a program beside events emitted at random rates."""
    return tuning.at_rates(program, important_rates(folder, program, at), _EMITTING, at=at)
