"""The micro-benchmarks, and the programs whose bottleneck they are to name."""

from collections import Counter

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.campaign.run import Part, Planned
from cmlib.collect.record import existing_runs
from cmlib.collect.workloads.micro import working_sets
from cmlib.collect.workloads.micro.build import build, plateaus
from cmlib.collect.workloads.micro.case_runs import Settings, plan_cases, record_cases
from cmlib.collect.workloads.micro.programs import applications
from cmlib.collect.workloads.micro.selection import (
    FOLDER,
    counting_events,
    kept_sweep,
    listed_events,
    recorded_sweep,
)
from cmlib.errors import CmlibError, NothingRecordedError

_ALL = 240  # events, where this machine does not tell
_SECONDS = 8.0  # a run with what prepares it
_NOMINAL = {"L2": [1 << 18] * 3, "L3": [1 << 22] * 3, "M": [1 << 26] * 3}


def _plan(setting):
    folder, settings = setting.recordings / FOLDER, Settings()
    kept = _kept_sizes(folder)
    listed = []
    for case, set_name, runs in plan_cases(kept or _NOMINAL, settings, _n_events()):
        there = Counter(meta["set"] for meta in existing_runs(folder / case.name).values())[set_name]
        # Without a sweep the sizes are not known yet, and a size is part of a case's name.
        missing = max(0, runs - there) if kept else runs
        listed.append(Planned(f"{case.name} {set_name}", runs, missing, missing * _SECONDS / 60))
    return listed


def _record(setting):
    folder = setting.recordings / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    settings, programs_folder = Settings(), build(places.results_dir() / "micro")
    events = counting_events(setting.recordings, machine.describe()["microarchitecture"])
    recorded_sweep(folder, programs_folder, keep=True)
    cases = plan_cases(_kept_sizes(folder), settings, len(events) or _n_events())
    others, left_out = applications(programs_folder, folder, seconds=2 * settings.seconds)
    made = record_cases(
        cases, settings, events, programs_folder, folder, counters=setting.counters, applications=others
    )
    for name in made:
        yield name, None
    for reason in left_out:
        yield reason.partition(" ")[0], CmlibError(reason)


def _kept_sizes(folder):
    """Working sets by the latency sweep that is kept with the recordings; None without one."""
    try:
        return working_sets(plateaus(kept_sweep(folder)))
    except NothingRecordedError:
        return None


def _n_events():
    try:
        return len(listed_events())
    except CmlibError:
        return _ALL


MICRO = Part(
    "micro", "05", "thirteen micro-benchmarks, and programs that no model is trained on", _plan, _record
)
