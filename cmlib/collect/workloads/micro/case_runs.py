"""All recordings of the micro-benchmarks in one go: what will be run, and running it."""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cmlib.collect import machine
from cmlib.collect.record import record
from cmlib.collect.schedule import plan_mlpx
from cmlib.collect.workloads.micro.programs import cases
from cmlib.collect.workloads.micro.selection import (
    ALL,
    KEY,
    encodings,
    find_key_events,
    listed_events,
    probe,
    recorded_key_events,
)

_PREPARING_S = 2.0
_INTERVAL_MS = 200  # a slice is two: half the bytes of the usual 100


@dataclass(frozen=True)
class Settings:
    """How the recordings are made."""

    seconds: float = 6.0
    passes: int = 3
    all_per_run: int = 60
    key_events: int = 40


def plan_cases(sizes, settings, n_events):
    """List what is recorded, in this order."""
    parts = -(-n_events // settings.all_per_run)
    trained, unseen = cases(sizes, trained=True), cases(sizes, trained=False)
    return [
        *((case, ALL, parts) for case in trained),
        *((case, KEY, settings.passes) for case in [*trained, *unseen]),
    ]


def estimate_minutes(plan, settings):
    """Expected duration of each case, with what prepares it."""
    return [n_runs * (settings.seconds + _PREPARING_S) / 60 for _, _, n_runs in plan]


def record_cases(plan, settings, events, programs_folder, folder, *, counters, applications=()):
    """Make the recordings that are not there yet, one after the other."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    known = listed_events()
    trained = [case for case, set_name, _ in plan if set_name == ALL]
    with on_path(programs_folder), machine.counters_lock("the micro-benchmarks") as lock:
        how = {"counters": counters, "folder": folder, "lock": lock}
        events = list(events) or probe(trained[0], known, programs_folder, seconds=settings.seconds, **how)
        codes, counters_of = encodings(events, known)
        options = {"counters_of": counters_of, "interval_ms": _INTERVAL_MS}
        plans = plan_mlpx(events, counters["good"], per_run=settings.all_per_run, set_name=ALL, **options)
        for case in trained:
            argv = case.argv(seconds=settings.seconds)
            record(case.name, argv, plans, passes=1, encodings=codes, on_demand=True, note=case.note, **how)
            yield f"{case.name} {ALL}"
        keys = recorded_key_events(folder) or find_key_events(folder, settings.key_events)
        plans = plan_mlpx(keys, counters["good"], per_run=len(keys), set_name=KEY, **options)
        how |= {"encodings": codes, "passes": settings.passes}
        for case, set_name, _ in plan:
            if set_name == KEY:
                argv = case.argv(seconds=settings.seconds)
                record(case.name, argv, plans, on_demand=True, note=case.note, **how)
                yield f"{case.name} {KEY}"
        for one in applications:
            record(one.name, one.program, plans, on_demand=False, note=one.note, **how)
            yield f"{one.name} {KEY}"


@contextmanager
def on_path(folder):
    """Programs are called by name: no folder of this machine gets into what is recorded."""
    before = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join([str(Path(folder).resolve()), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before
