"""The parts of a campaign, those without any recordings first."""

import math
from collections import Counter
from functools import partial

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.campaign.run import Part, Planned
from cmlib.collect.compare.counters import usual_events
from cmlib.collect.record import Request, existing_runs, record_program
from cmlib.collect.samples import record_stream
from cmlib.collect.workloads import kernels, micro, programs
from cmlib.collect.workloads.kernels.executions import plan, record, record_overhead
from cmlib.collect.workloads.micro import selection
from cmlib.collect.workloads.micro.case_runs import Settings, plan_cases, record_cases
from cmlib.collect.workloads.micro.programs import applications
from cmlib.collect.workloads.programs import cases
from cmlib.collect.workloads.spark import TABLE_IV
from cmlib.collect.workloads.tuning import FOLDER, at_levels, at_random, record_runs
from cmlib.errors import CmlibError, NothingRecordedError

# Of a run with what gets it ready [s]; an execution of a kernel, with those beside it that tell the machine's pace.
_MICRO_S, _KERNEL_S, _PROGRAM_S, _STREAM_S, _TUNING_S = 8.0, 1.5, 18.0, 8.0, 20.0
_CORE, _ALL = 12, 240  # events, where this machine does not tell
_NOMINAL = {"L2": [1 << 18] * 3, "L3": [1 << 22] * 3, "M": [1 << 26] * 3}
_STUDIED = ("wordcount", "sort", "pagerank", "kmeans")
_DEGREES = (6, 18, 24, 30, 36)
_TUNED, _RUNS, _PASSES_AT_ENDS = ("sort", "pagerank"), 60, 4


def parts(names=()):
    """The parts of these names, in the campaign's order; all without names."""
    known = [part.name for part in PARTS]
    for name in names:
        if name not in known:
            raise ValueError(f"there is no part {name!r}; there are {', '.join(known)}.")
    return [part for part in PARTS if not names or part.name in names]


def _planned(name, runs, there, seconds):
    missing = max(0, runs - there)
    return Planned(name, runs, missing, missing * seconds / 60)


def _tried(name, make, *arguments):
    """The name of what is made, and what went wrong."""
    try:
        make(*arguments)
    except (CmlibError, ValueError) as error:
        return name, error
    return name, None


def _n_events():
    try:
        return len(selection.listed_events())
    except CmlibError:
        return _ALL


def _plan_micro(setting):
    folder = setting.recordings / selection.FOLDER
    swept = _swept_sizes(folder)
    for case, set_name, runs in plan_cases(swept or _NOMINAL, Settings(), _n_events()):
        # Without a sweep the sizes are not known yet, and a size is part of a case's name.
        there = Counter(meta["set"] for meta in existing_runs(folder / case.name).values()) if swept else {}
        yield _planned(f"{case.name} {set_name}", runs, there.get(set_name, 0), _MICRO_S)


def _record_micro(setting):
    folder = setting.recordings / selection.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    settings, built = Settings(), micro.build(places.results_dir() / "micro")
    events = selection.counting_events(setting.recordings, machine.describe()["microarchitecture"])
    selection.stored_or_new_sweep(folder, built, keep=True)
    listed = plan_cases(_swept_sizes(folder), settings, len(events) or _n_events())
    others, left_out = applications(built, folder, seconds=2 * settings.seconds)
    how = {"counters": setting.counters, "applications": others}
    for name in record_cases(listed, settings, events, built, folder, **how):
        yield name, None
    for reason in left_out:
        yield reason.partition(" ")[0], CmlibError(reason)


def _swept_sizes(folder):
    """Working sets by the latency sweep that is kept with the recordings; None without one."""
    try:
        return micro.working_sets(micro.plateaus(selection.stored_sweep(folder)))
    except NothingRecordedError:
        return None


def _plan_kernels(setting):
    for item in _kernels_to_do(setting):
        there = (_kernels_folder(setting) / item.program.name / f"{item.form}.json").exists()
        n, seconds = len(item.runs), _KERNEL_S * len(item.parts)
        yield _planned(f"{item.program.name} {item.form}", n, n * there, seconds)


def _record_kernels(setting):
    todo = _kernels_to_do(setting)
    binaries, folder = places.results_dir() / "kernels", _kernels_folder(setting)
    about, paces = kernels.describe_host(), {}

    def make(item):
        # By itself: what one program needs, such as Boost's headers, the others don't.
        kernels.build(binaries, [item.program.name])
        record(item, binaries, folder, about, paces=paces)
        if item.form == "good":
            record_overhead(item.program, binaries, item.parts[0], folder, about)

    with machine.counters_lock("recording the kernels"):
        for item in todo:
            yield _tried(f"{item.program.name} {item.form}", make, item)


def _kernels_to_do(setting):
    events = usual_events(machine.describe())
    good = setting.counters["good"]
    return plan(kernels.kernels(), events, good_counters=good, nodes=kernels.numa_nodes())


def _kernels_folder(setting):
    return setting.data / "regions" / places.HARDWARE


def _of_suites(*suites):
    return [name for name, recipe in programs.recipes().items() if recipe.suite in suites]


def _usual(name, setting):
    """The core events both ways, and a sweep."""
    return [Request()]


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


def _ungrouped(name, setting):
    return [Request(mode="ungrouped", events="all")]


def _counting(folder):
    """Events that count under a program, the core events first."""
    metas = existing_runs(folder).values()
    swept = next((meta["counting"] for meta in metas if meta["set"] == "sweep" and "counting" in meta), [])
    core = machine.default_events(machine.known_events(machine.describe()))
    return sorted(swept, key=lambda event: core.index(event) if event in core else len(core))


def _record_programs(names, requests, setting):
    def make(name):
        program = programs.to_record(name)
        for request in requests(name, setting):
            record_program(name, program, request, folder=setting.recordings)

    for name in names():
        yield _tried(name, make, name)


def _plan_programs(names, sets, setting):
    for name in names():
        there = Counter(meta["set"] for meta in existing_runs(setting.recordings / name).values())
        for set_name, runs in sets(setting):
            yield _planned(f"{name} {set_name}", runs, there[set_name], _PROGRAM_S)


def _usual_sets(setting):
    n_events = _n_events()
    ocoe = math.ceil(_CORE / (setting.counters["good"] - 2))
    sweep = 2 * math.ceil(n_events / 12)
    return [("ocoe", 3 * ocoe), ("mlpx12", 3), ("probe", math.ceil(n_events / 48)), ("sweep", sweep)]


def _of_programs(name, notebook, about, names, requests, sets):
    record_these = partial(_record_programs, names, requests)
    return Part(name, notebook, about, partial(_plan_programs, names, sets), record_these)


def _plan_streams(setting):
    for case in cases():
        yield _planned(case.name, 1, _stream(case, setting).exists(), _STREAM_S)


def _record_streams(setting):
    def make(case):
        record_stream(case.name, case.to_record(), folder=setting.data / "samples")

    for case in cases():
        if not _stream(case, setting).exists():
            yield _tried(case.name, make, case)


def _stream(case, setting):
    return setting.data / "samples" / case.name / "hardware-00.json"


def _plan_tuning(setting):
    for (program, passes), runs in _designs().items():
        there = sum(len(existing_runs(_tuning_folder(setting) / run.name)) for run in runs)
        kind = "at random" if passes == 1 else "at both ends of a parameter"
        yield _planned(f"{program} {kind}", passes * len(runs), there, _TUNING_S)


def _record_tuning(setting):
    for (program, passes), runs in _designs().items():
        how = {"passes": passes, "counters": setting.counters}
        for name in record_runs({program: runs}, _tuning_folder(setting), **how):
            yield name, None


def _tuning_folder(setting):
    return setting.recordings / FOLDER / places.HARDWARE


def _designs():
    designs = {(program, 1): at_random(program, _RUNS) for program in _TUNED}
    return designs | {(program, _PASSES_AT_ENDS): at_levels(program, list(TABLE_IV)) for program in _TUNED}


PARTS = (
    Part(
        "micro",
        "05",
        "thirteen micro-benchmarks, and programs that no model is trained on",
        _plan_micro,
        _record_micro,
    ),
    Part(
        "kernels",
        "06",
        "AutoPerf's fifteen programs, counted by region in the good and the bad form",
        _plan_kernels,
        _record_kernels,
    ),
    _of_programs(
        "programs",
        "01-04",
        "the sixteen programs: core events without and with multiplexing, and a sweep over all events",
        partial(_of_suites, "HiBench", "CloudSuite 3.0"),
        _usual,
        _usual_sets,
    ),
    _of_programs(
        "degrees",
        "02",
        "four programs multiplexed by 6, 18, 24, 30 and 36 events",
        lambda: _STUDIED,
        _degrees,
        lambda setting: [(f"mlpx{n}", 3) for n in _DEGREES],
    ),
    _of_programs(
        "ungrouped",
        "02",
        "four programs with all events in one list without groups",
        lambda: _STUDIED,
        _ungrouped,
        lambda setting: [("ungrouped", 2)],
    ),
    _of_programs(
        "pairs",
        "09",
        "two pairs of programs on one machine",
        partial(_of_suites, "co-located"),
        _usual,
        _usual_sets,
    ),
    Part(
        "streams",
        "07",
        "35 cases of eight CPU programs, a sample per million cycles",
        _plan_streams,
        _record_streams,
    ),
    Part("tuning", "08", "sort and pagerank under other settings of Spark", _plan_tuning, _record_tuning),
)
