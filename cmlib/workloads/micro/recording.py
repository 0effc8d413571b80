"""All recordings of the micro-benchmarks in one go: what will be run, and running it."""

import json
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cmlib import machine
from cmlib.events import encode, table, table_for
from cmlib.record import record
from cmlib.schedule import plan_mlpx
from cmlib.workloads.micro.build import run
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


def record_all(plan, settings, events, programs_folder, folder, *, counters):
    """Make the recordings that are not there yet.

    Parameters
    ----------
    plan : list
        From `plan_cases`.
    settings : Settings
    events : sequence of str
        Those that count here.
    programs_folder : path-like
        Where `build` put the programs.
    folder : path-like
        Of all recordings.
    counters : dict
        ``offered`` and ``good``.

    Returns
    -------
    list of str
        The key events.

    Raises
    ------
    CmlibError
        As :func:`cmlib.record.record`.
    """
    codes, counters_of = _encodings(events)
    trained = [case for case, set_name, _ in plan if set_name == ALL]
    with _on_path(programs_folder), machine.counters_lock(Path(folder), "the micro-benchmarks") as lock:

        def save(case, set_name, counted, per_run, passes):
            record(
                case.name,
                case.argv(seconds=settings.seconds),
                plan_mlpx(
                    counted,
                    counters["good"],
                    counters_of=counters_of,
                    per_run=per_run,
                    set_name=set_name,
                    interval_ms=_INTERVAL_MS,
                ),
                passes=passes,
                encodings=codes,
                counters=counters,
                folder=folder,
                lock=lock,
                on_demand=True,
                note=json.dumps({"label": case.label, "size": case.size}),
            )

        for case in trained:
            save(case, ALL, list(events), settings.all_per_run, 1)
        key_events = recorded_key_events(folder, trained) or find_key_events(
            folder, trained, settings.key_events
        )
        for case, set_name, _ in plan:
            if set_name == KEY:
                save(case, KEY, key_events, len(key_events), settings.passes)
    return key_events


@contextmanager
def _on_path(folder):
    """Programs are called by name: no folder of this machine gets into what is recorded."""
    before = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join([str(Path(folder).resolve()), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def _encodings(names):
    """How perf is told each event, and how many counters each takes."""
    about = machine.describe()
    known = table(table_for(about["vendor"], about["family"], about["model"]))
    return {name: encode(name, known) for name in names}, known["counters"].to_dict()
