"""All recordings of the micro-benchmarks in one go: what will be run, and running it."""

import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cmlib import machine
from cmlib.record import record
from cmlib.schedule import plan_mlpx
from cmlib.workloads.micro.build import run
from cmlib.workloads.micro.probing import encodings, listed_events, probe
from cmlib.workloads.micro.programs import cases
from cmlib.workloads.micro.selection import ALL, KEY, find_key_events, recorded_key_events

_OVERHEAD_S = 0.3
_INTERVAL_MS = 200  # a slice is two: half the bytes of the usual 100


@dataclass(frozen=True)
class Settings:
    """How the recordings are made.

    Attributes
    ----------
    seconds : float
        Execution of a case in each run; preparing comes on top.
    passes : int
        Of the key events.
    all_per_run, key_events : int
        Events multiplexed in a run that counts all; key events, which share one run.
    """

    seconds: float = 6.0
    passes: int = 3
    all_per_run: int = 60
    key_events: int = 40


def plan_cases(sizes, settings, n_events):
    """List what is recorded, in this order.

    First all events of the micro-benchmarks, once; the key events are selected from these; then the key
    events of the micro-benchmarks and of the programs never trained on.

    Parameters
    ----------
    sizes : mapping of str to sequence of int
        From `working_sets`.
    settings : Settings
    n_events : int
        Events that count here.

    Returns
    -------
    list of (Case, str, int)
        With the set, and the runs in it.
    """
    parts = -(-n_events // settings.all_per_run)
    trained, unseen = cases(sizes, trained=True), cases(sizes, trained=False)
    return [
        *((case, ALL, parts) for case in trained),
        *((case, KEY, settings.passes) for case in [*trained, *unseen]),
    ]


def estimate_minutes(plan, settings, programs_folder):
    """Expected duration: of each case, the time to prepare it is measured by running one operation.

    Returns
    -------
    list of float
        Minutes of each entry of the plan.
    """
    preparing = {}
    for case, _, _ in plan:
        if case not in preparing:
            start = time.monotonic()
            run(case.argv(operations=1), programs_folder)
            preparing[case] = time.monotonic() - start
    return [n_runs * (settings.seconds + preparing[case] + _OVERHEAD_S) / 60 for case, _, n_runs in plan]


def record_cases(plan, settings, events, programs_folder, folder, *, counters, applications=()):
    """Make the recordings that are not there yet, one after the other.

    Parameters
    ----------
    plan : list
        From `plan_cases`.
    settings : Settings
    events : sequence of str
        Those that count here; if there are none, a probe of the first case finds them.
    programs_folder : path-like
        Where `build` put the programs.
    folder : path-like
        Of the fingerprint recordings, in that of all recordings.
    counters : dict
        ``offered`` and ``good``.
    applications : sequence of Application
        Recorded last, with the key events.

    Yields
    ------
    str
        Program and set of a recording that is complete. The counters are held between two of them, until
        the generator is closed.

    Raises
    ------
    CmlibError
        As :func:`cmlib.record.record`.
    """
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
