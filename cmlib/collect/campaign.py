"""All recordings that the notebooks read, made in one go on a machine that counts."""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.compare.counters import usual_events
from cmlib.collect.machine.host import counting_processes
from cmlib.collect.record import Request, existing_runs, record_program
from cmlib.collect.sampling import record_stream
from cmlib.collect.workloads import catalog, kernels, micro
from cmlib.collect.workloads.kernels import executions
from cmlib.collect.workloads.micro import selection
from cmlib.collect.workloads.micro.case_runs import Settings, applications, plan_cases, record_cases
from cmlib.collect.workloads.spark import TABLE_IV
from cmlib.collect.workloads.tuning import FOLDER, at_levels, at_random, record_runs
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.io.archive import read_object

_WATCHED_S, _ATTEMPTS, _PAUSE_S = 2.0, 5, 10.0
_USUAL = {"offered": 6, "good": 5}
# Of a run with what gets it ready [s].
_MICRO_S, _PROGRAM_S, _STREAM_S, _TUNING_S = 8.0, 18.0, 8.0, 20.0
_CORE, _ALL = 12, 240  # events, where this machine does not tell
_NOMINAL = {"L2": [1 << 18] * 3, "L3": [1 << 22] * 3, "M": [1 << 26] * 3}
_STUDIED = ("wordcount", "sort", "pagerank", "kmeans")
_DEGREES = (6, 18, 24, 30, 36)
_TUNED, _RUNS, _PASSES_AT_ENDS = ("sort", "pagerank"), 60, 4


@dataclass(frozen=True)
class Setting:
    """Where a campaign writes, and what it counts with."""

    data: Path
    counters: dict

    @property
    def recordings(self):
        return self.data / "recordings"


@dataclass(frozen=True)
class Job:
    """Recordings that are made together; `make` goes on from those that are there, and yields names."""

    name: str
    runs: int
    there: int
    run_s: float
    make: Callable[[], Iterator[str]]

    @property
    def missing(self):
        return max(0, self.runs - self.there)

    @property
    def minutes(self):
        return self.missing * self.run_s / 60


@dataclass(frozen=True)
class Part:
    """Recordings of one kind."""

    name: str
    notebook: str
    about: str
    jobs: Callable[[Setting], Iterator[Job]]


@dataclass
class Outcome:
    """What a campaign has made."""

    made: list = field(default_factory=list)
    failed: dict = field(default_factory=dict)
    left: list = field(default_factory=list)


class BusyMachine(CmlibError):
    """Others use the processors, or the counters."""


def parts(names=()):
    """The parts of these names, in the campaign's order; all without names."""
    known = [part.name for part in PARTS]
    for name in names:
        if name not in known:
            raise ValueError(f"there is no part {name!r}; there are {', '.join(known)}.")
    return [part for part in PARTS if not names or part.name in names]


def setting(data, *, only_list=False):
    """A setting to record in; to list recordings in, where nothing can be counted, one with the usual counters."""
    try:
        with machine.counters_lock("cmlib record-all"):
            return Setting(Path(data), machine.census().checked().counters)
    except CmlibError:
        if only_list:
            return Setting(Path(data), _USUAL)
        raise


def run_parts(parts, setting, *, budget=None, busy=0.05, progress=lambda text: None):
    """Record what is missing, part after part."""
    outcome, end = Outcome(), math.inf if budget is None else time.monotonic() + 60 * budget
    for part in parts:
        if time.monotonic() >= end:
            outcome.left.append(part.name)
            continue
        progress(f"{part.name}: {part.about}")
        try:
            check_quiet(busy)
            for job in part.jobs(setting):
                if not _finished(job, part, outcome, end, progress):
                    outcome.left.append(part.name)
                    break
        except (CmlibError, ValueError) as error:
            outcome.failed[part.name] = str(error)
            progress(f"{part.name}: {error}")
    return outcome


def _finished(job, part, outcome, end, progress):
    """Make what is missing of one job; whether there was time for all of it."""
    try:
        with closing(job.make()) as names:
            for name in names:
                outcome.made.append((part.name, name))
                progress(f"{part.name}: {name}")
                if time.monotonic() >= end:
                    return False
    except (CmlibError, ValueError) as error:
        outcome.failed[f"{part.name}, {job.name}"] = str(error)
        progress(f"{part.name}: {job.name} failed: {error}")
    return time.monotonic() < end


def check_quiet(most=0.05, *, root="/"):
    """Raise unless the machine is quiet: nobody else counts, and hardly anybody computes."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S)
        before = machine.processor_times(root)
        time.sleep(_WATCHED_S)
        taken = machine.taken_by_others(before, machine.processor_times(root))
        counting = counting_processes(root)
        if taken <= most and not counting:
            return
    if counting:
        raise BusyMachine(
            f"others count already, {', '.join(counting)}, and two at a time spoil each other's counts: "
            "end it, then repeat the command."
        )
    raise BusyMachine(
        f"other programs take {100 * taken:.0f} % of the processors' time, and {100 * most:.0f} % is the most allowed: "
        "end them, or allow more with --busy."
    )


def rejections(data):
    """List the runs of a data folder that were repeated, and why."""
    reasons_by_name = {}
    for file in sorted(Path(data).glob("re*/**/*.json")):
        about = read_object(file, "a description", "Restore it, or move it away.")
        name = f"{file.parent.name}/{file.stem}"
        if reasons := about.get("rejected"):
            reasons_by_name[name] = "; ".join(reasons)
        elif repeated := about.get("rejected_executions"):
            reasons_by_name[name] = f"{repeated} executions were disturbed, or not counted all the time"
    return reasons_by_name


def _n_events():
    try:
        return len(selection.listed_events())
    except CmlibError:
        return _ALL


def _n_runs(folder):
    """How many runs there are of each set."""
    return Counter(meta["set"] for meta in existing_runs(folder).values())


def _micro(setting):
    folder = setting.recordings / selection.FOLDER
    swept = _swept_sizes(folder)
    cases = plan_cases(swept or _NOMINAL, Settings(), _n_events())
    # Without a sweep the sizes are not known yet, and a size is part of a case's name.
    there = [min(n, _n_runs(folder / case.name)[of]) for case, of, n in cases] if swept else []
    n_runs = sum(n for _, _, n in cases)
    yield Job(f"{len(cases)} cases", n_runs, sum(there), _MICRO_S, partial(_record_micro, setting, folder))


def _record_micro(setting, folder):
    folder.mkdir(parents=True, exist_ok=True)
    settings, built = Settings(), micro.build(places.results_dir() / "micro")
    events = selection.counting_events(setting.recordings, machine.describe()["microarchitecture"])
    selection.stored_or_new_sweep(folder, built, keep=True)
    listed = plan_cases(_swept_sizes(folder), settings, len(events) or _n_events())
    others, left_out = applications(built, folder, seconds=2 * settings.seconds)
    how = {"counters": setting.counters, "applications": others}
    yield from record_cases(listed, settings, events, built, folder, **how)
    if left_out:
        raise CmlibError("; ".join(left_out))


def _swept_sizes(folder):
    """Working sets by the latency sweep that is kept with the recordings; None without one."""
    try:
        return micro.working_sets(micro.plateaus(selection.stored_sweep(folder)))
    except NothingRecordedError:
        return None


def _kernels(setting):
    folder = setting.data / "regions" / places.HARDWARE
    events, paces = usual_events(machine.describe()), {}
    for item in executions.plan(
        kernels.kernels(), events, good_counters=setting.counters["good"], nodes=kernels.numa_nodes()
    ):
        name, n_runs = f"{item.program.name} {item.form}", len(item.runs)
        there = n_runs * (folder / item.program.name / f"{item.form}.json").exists()
        yield Job(
            name,
            n_runs,
            there,
            60 * item.minutes / n_runs,
            partial(_record_kernel, name, item, folder, paces),
        )


def _record_kernel(name, item, folder, paces):
    # Each is built by itself: what one program needs, such as Boost's headers, the others don't.
    binaries = kernels.build(places.results_dir() / "kernels", [item.program.name])
    executions.record_all([item], binaries, folder, paces=paces)
    yield name


def _programs(names, requests, sets, setting):
    for name in names():
        wanted, there = sets(setting), _n_runs(setting.recordings / name)
        n_there = sum(min(n_runs, there[set_name]) for set_name, n_runs in wanted.items())
        make = partial(_record_program, name, requests, setting)
        yield Job(name, sum(wanted.values()), n_there, _PROGRAM_S, make)


def _record_program(name, requests, setting):
    program = catalog.to_record(name)
    for request in requests(name, setting):
        record_program(name, program, request, folder=setting.recordings)
    yield name


def _of_suites(*suites):
    return [name for name, recipe in catalog.recipes().items() if recipe.suite in suites]


def _usual(name, setting):
    """The core events both ways, and a sweep."""
    return [Request()]


def _usual_sets(setting):
    n_events = _n_events()
    ocoe = math.ceil(_CORE / (setting.counters["good"] - 2))
    return {
        "ocoe": 3 * ocoe,
        "mlpx12": 3,
        "probe": math.ceil(n_events / 48),
        "sweep": 2 * math.ceil(n_events / 12),
    }


def _degrees(name, setting):
    """The first 6 to 36 events that count, in one multiplexed run each; 12 is the usual set."""
    counting = _counting(setting.recordings / name)
    if len(counting) < _DEGREES[-1]:
        raise CmlibError(
            f"{name} has no complete sweep yet, which tells what counts: record part programs first."
        )
    return [
        Request(mode="mlpx", events=",".join(counting[:n]), per_run=n, set_name=f"mlpx{n}") for n in _DEGREES
    ]


def _counting(folder):
    """Events that count under a program, the core events first."""
    metas = existing_runs(folder).values()
    swept = next((meta["counting"] for meta in metas if meta["set"] == "sweep" and "counting" in meta), [])
    core = machine.default_events(machine.known_events(machine.describe()))
    return sorted(swept, key=lambda event: core.index(event) if event in core else len(core))


def _ungrouped(name, setting):
    return [Request(mode="ungrouped", events="all")]


def _streams(setting):
    folder = setting.data / "samples"
    for case in catalog.cases():
        there = (folder / case.name / "hardware-00.json").exists()
        yield Job(case.name, 1, there, _STREAM_S, partial(_record_stream, case, folder, there))


def _record_stream(case, folder, there):
    if not there:
        record_stream(case.name, case.to_record(), folder=folder)
        yield case.name


def _tuning(setting):
    folder = setting.recordings / FOLDER / places.HARDWARE
    designs = [("at random", 1, lambda program: at_random(program, _RUNS))]
    designs += [
        ("at both ends of a parameter", _PASSES_AT_ENDS, lambda program: at_levels(program, list(TABLE_IV)))
    ]
    for kind, passes, runs_of in designs:
        for program in _TUNED:
            runs = runs_of(program)
            there = sum(len(existing_runs(folder / run.name)) for run in runs)
            make = partial(record_runs, {program: runs}, folder, passes=passes, counters=setting.counters)
            yield Job(f"{program} {kind}", passes * len(runs), there, _TUNING_S, make)


PARTS = (
    Part("micro", "05", "thirteen micro-benchmarks, and programs that no model is trained on", _micro),
    Part(
        "kernels",
        "06",
        "AutoPerf's fifteen programs, counted by region in the good and the bad form",
        _kernels,
    ),
    Part(
        "programs",
        "01-04",
        "the sixteen programs: core events without and with multiplexing, and a sweep over all events",
        partial(_programs, partial(_of_suites, "HiBench", "CloudSuite 3.0"), _usual, _usual_sets),
    ),
    Part(
        "degrees",
        "02",
        "four programs multiplexed by 6, 18, 24, 30 and 36 events",
        partial(_programs, lambda: _STUDIED, _degrees, lambda setting: {f"mlpx{n}": 3 for n in _DEGREES}),
    ),
    Part(
        "ungrouped",
        "02",
        "four programs with all events in one list without groups",
        partial(_programs, lambda: _STUDIED, _ungrouped, lambda setting: {"ungrouped": 2}),
    ),
    Part(
        "pairs",
        "09",
        "two pairs of programs on one machine",
        partial(_programs, partial(_of_suites, "co-located"), _usual, _usual_sets),
    ),
    Part("streams", "07", "35 cases of eight CPU programs, a sample per million cycles", _streams),
    Part("tuning", "08", "sort and pagerank under other settings of Spark", _tuning),
)
