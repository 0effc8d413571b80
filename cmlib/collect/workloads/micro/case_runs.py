"""All recordings of the micro-benchmarks in one go, and of the programs that no model is trained on."""

import json
import math
import os
import shlex
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cmlib.collect import machine
from cmlib.collect.record import Counted, Program, existing_runs, record
from cmlib.collect.schedule import plan_mlpx
from cmlib.collect.workloads import catalog, kernels
from cmlib.collect.workloads.micro import cases
from cmlib.collect.workloads.micro.selection import (
    ALL,
    KEY,
    encodings,
    find_key_events,
    listed_events,
    probe,
    recorded_key_events,
)
from cmlib.errors import CmlibError

_PREPARING_S = 2.0
_INTERVAL_MS = 200  # a slice is two: half the bytes of the usual 100
CPU, PARALLEL = "CPU", "parallel"
_SUITE = "SPEC CPU2006"
_THREADS, _PROBE_REPEATS = 2, 20


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
        events = list(events) or probe(trained[0], known, seconds=settings.seconds, **how)
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


@dataclass(frozen=True)
class Application:
    """A program to record with the key events."""

    name: str
    kind: str
    program: Program

    @property
    def label(self):
        """What its slices are labelled with in Table 2: its own name."""
        return self.name.partition("-")[2]

    @property
    def note(self):
        """Kept with every run."""
        return json.dumps({"label": self.label, "size": None, "kind": self.kind})


def applications(programs_folder, folder, *, seconds):
    """All programs of others that can run here."""
    ready, left_out = [], []
    for name, lacks in catalog.lacking()[_SUITE].items():
        if lacks:
            left_out.append(f"cpu-{name}: lacks {', '.join(lacks)}")
        else:
            ready.append(Application(f"cpu-{name}", CPU, catalog.to_record(name)))
    for kernel in kernels.kernels():
        try:
            built = kernels.build(programs_folder, [kernel.name])
            ready.append(_parallel(kernel, built, Path(folder), seconds))
        except CmlibError as error:
            left_out.append(f"parallel-{kernel.name}: {error}")
    return ready, left_out


def _parallel(kernel, built, folder, seconds):
    name = f"parallel-{kernel.name}"
    before = next(iter(existing_runs(folder / name).values()), None)
    argv = shlex.split(before["command"]) if before else _lasting(kernel, built, seconds)
    ready = Counted([str(built / argv[0]), *argv[1:]])
    return Application(name, PARALLEL, Program(shlex.join(argv), partial(nullcontext, ready)))


def _lasting(kernel, built, seconds):
    """The command, repeating its work for about so many seconds, without the folder of its program."""
    argv = partial(kernel.argv, built, "good", threads=_THREADS)
    _, took = kernels.execute(argv(repeats=_PROBE_REPEATS))
    repeats = max(1, math.ceil(_PROBE_REPEATS * seconds / took))
    return [kernel.name, *argv(repeats=repeats)[1:]]
