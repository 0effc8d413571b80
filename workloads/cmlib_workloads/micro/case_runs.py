"""Record the micro-benchmarks in one go, and the programs that no model is trained on.

:func:`record_cases` makes what is missing and yields names. There are two sets of runs, "all" (all events of the
processor) and "key" (the few that classify best, found from the first set); pages of data are sized by a sweep of
latencies. A CmlibError if no hardware event can be counted or a program fails.
"""

import json
import math
import os
import shlex
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from cmlib.collect import machine
from cmlib.collect.record import LaunchSpec, Program, Request, record_program
from cmlib.errors import CmlibError, NothingRecordedError
from cmlib.experiments.kernels.programs import kernels as all_kernels
from cmlib.experiments.micro.cache_levels import plateaus
from cmlib.experiments.micro.recordings import (
    ALL,
    COMMAND,
    KEY,
    SWEEP,
    cut,
    read_series,
    stored_sweep,
)
from cmlib.fingerprint.key_events import select_key_events
from cmlib.io.archive.programs import readable_runs
from cmlib_workloads import catalog, kernels, micro
from cmlib_workloads.micro.sizes import working_sets

SECONDS, PASSES, ALL_PER_RUN, KEY_EVENTS = 6.0, 3, 60, 40
# A slice is two intervals: half the bytes of the usual 100 ms.
_REQUEST = Request(mode="mlpx", interval_ms=200, second_reading=False)
_NOMINAL = {"L2": [1 << 18] * 3, "L3": [1 << 22] * 3, "M": [1 << 26] * 3}
_N_EVENTS = 240  # where neither cmlib nor perf lists a processor's
_SUITE = "SPEC CPU2006"
_THREADS, _REPEATS = 2, 160  # of a parallel program: some twelve seconds


def plan_cases(sizes):
    """List what is recorded: tuples of case (MicroCase), set ("all" or "key"), and number of runs.

    `sizes` maps levels of memory to working sets [bytes].
    """
    trained, unseen = micro.cases(sizes, trained=True), micro.cases(sizes, trained=False)
    parts = math.ceil(n_events() / ALL_PER_RUN)
    return [
        *((case, ALL, parts) for case in trained),
        *((case, KEY, PASSES) for case in [*trained, *unseen]),
    ]


def n_events():
    """Number (int) of events that this processor has, by cmlib's tables or perf's list; 240 if neither knows it."""
    known = machine.known_events(machine.describe())
    return len(machine.all_events(known)) if len(known) else _N_EVENTS


def stored_sizes(folder):
    """Working sets [bytes] by level of memory: a dict from "L2", "L3" and "M" to three sizes.

    By the latency sweep that is stored with the recordings in `folder`; nominal ones if there is none yet. A
    CmlibError if the sweep shows no levels.
    """
    try:
        return working_sets(plateaus(stored_sweep(folder)))
    except NothingRecordedError:
        return _NOMINAL


def read_slices(folder, set_name, kind="micro"):
    """Read the slices of a kind of programs: a tuple of X and about, DataFrames with a row per slice.

    X has rates of events per cycle, about label (class), size [bytes] and time_s. `folder` holds the recordings,
    `set_name` is "all" or "key", `kind` "micro", "unseen", "CPU", "parallel" or "own". A NothingRecordedError if
    there are none.
    """
    series = read_series(folder, set_name, kind)
    if not series:
        raise NothingRecordedError(f"nothing recorded yet of the {kind} programs: run `{COMMAND}`")
    return cut(series)


def find_key_events(folder, n):
    """Select `n` key events (or all if there are fewer) from the recordings of all events: a list of names.

    `folder` holds the recordings. A NothingRecordedError if there are none.
    """
    X, about = read_slices(folder, ALL)
    candidates = X.loc[:, X.nunique() > 1].drop(columns="instructions")
    return select_key_events(candidates, about["label"], min(n, candidates.shape[1]))


def recorded_events(folder, set_name, only="micro-*"):
    """Events of a set of recordings that was begun before, in all runs of one program: a list; empty if there is none.

    `folder` holds the recordings, `set_name` is "all" or "key"; `only` is a pattern of the program's folder.
    """
    for place in sorted(Path(folder).glob(f"{only}/")):
        metas = [meta for meta in readable_runs(place).values() if meta["set"] == set_name]
        if metas:
            return list(dict.fromkeys(event for meta in metas for event in meta["encodings"]))
    return []


def record_cases(programs_folder, folder, counters):
    """Make the recordings that are not there yet, one after the other, and yield their names (str).

    `programs_folder` is for the compiled programs, `folder` for the recordings; `counters` is a dict of offered and
    good. A CmlibError if no hardware event can be counted, a program fails, or, at the end, if some could not run
    here.
    """
    if not counters["offered"]:
        raise CmlibError("no hardware event can be counted here: `cmlib doctor` tells why.")
    built = micro.build(programs_folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / SWEEP).is_file():
        micro.sweep(built).to_csv(folder / SWEEP, index=False)
    sizes = stored_sizes(folder)
    trained, unseen = micro.cases(sizes, trained=True), micro.cases(sizes, trained=False)
    ready, left_out = applications(built)
    with on_path(built), machine.counters_lock("the micro-benchmarks") as lock:
        how = {"counters": counters, "folder": folder, "lock": lock}
        counting = "all"  # the first case tells which events count
        for case in trained:
            _record(
                case, replace(_REQUEST, events=counting, per_run=ALL_PER_RUN, passes=1, set_name=ALL), **how
            )
            counting = ",".join(recorded_events(folder, ALL, trained[0].name))
            yield f"{case.name} {ALL}"
        keys = recorded_events(folder, KEY) or find_key_events(folder, KEY_EVENTS)
        request = replace(_REQUEST, events=",".join(keys), per_run=len(keys), passes=PASSES, set_name=KEY)
        for case in [*trained, *unseen]:
            _record(case, request, **how)
            yield f"{case.name} {KEY}"
        for name, (kind, program) in ready.items():
            note = json.dumps({"label": name.partition("-")[2], "size": None, "kind": kind})
            record_program(name, program, request, note=note, **how)
            yield f"{name} {KEY}"
    if left_out:
        raise CmlibError("; ".join(left_out))


def _record(case, request, **how):
    """Record one case: only what its program executes, not what prepares its data."""
    record_program(case.name, case.argv(seconds=SECONDS), request, note=case.note, on_demand=True, **how)


@contextmanager
def on_path(folder):
    """During a ``with`` block, put a folder on the path, so that programs are called by name.

    So no folder of this machine gets into what is recorded.
    """
    before = os.environ["PATH"]
    os.environ["PATH"] = os.pathsep.join([str(Path(folder).resolve()), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


def applications(programs_folder):
    """Find the programs of others that can run here: a dict from name to (kind, Program), and a list of reasons.

    The latter are sentences (str) why the rest can't. `programs_folder` is for the compiled ones. Kinds are "CPU"
    and "parallel".
    """
    ready, left_out = {}, []
    for name in catalog.of_suites(_SUITE):
        if lacks := catalog.lacking()[name]:
            left_out.append(f"cpu-{name}: lacks {', '.join(lacks)}")
        else:
            ready[f"cpu-{name}"] = "CPU", catalog.to_record(name)
    for kernel in all_kernels():
        try:
            built = kernels.build(programs_folder, [kernel.name])
        except CmlibError as error:
            left_out.append(f"parallel-{kernel.name}: {error}")
        else:
            argv = kernels.argv_of(kernel, built, "good", threads=_THREADS, repeats=_REPEATS)
            noted = shlex.join([kernel.name, *argv[1:]])  # without the folder of its program
            ready[f"parallel-{kernel.name}"] = (
                "parallel",
                Program(noted, partial(nullcontext, LaunchSpec(argv))),
            )
    return ready, left_out
