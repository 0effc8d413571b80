"""Programs that make one event of the kernel alone, at a rate of one's choosing, beside what is counted."""

import os
import shutil
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from cmlib.collect import machine
from cmlib.collect.record import Program, record
from cmlib.collect.schedule import Plan, plan_mlpx
from cmlib.collect.workloads.programs import label, recipe
from cmlib.collect.workloads.recipe import cached_input, check_installed, run_tool, scratch
from cmlib.collect.workloads.server import Server
from cmlib.collect.workloads.spark import standalone
from cmlib.errors import CmlibError
from cmlib.io import events

_SOURCE = Path(__file__).parent / "src" / "emit.c"
_EVENTS = pd.read_csv(Path(__file__).with_name("events.csv"), comment="#").set_index("event")
# By event that can be emitted, what it brings along.
EMITTERS = _EVENTS.query("emitted == 1")["with"].fillna("").str.split().map(tuple).to_dict()
HIGHEST = _EVENTS["highest"].dropna().to_dict()


@contextmanager
def beside(prepared, rates):
    """A program with the emitter beside it, counted with it."""
    check_emitters(rates)
    command = [build_emitter(), *(f"{event}={rate}" for event, rate in rates.items())]
    with scratch("emit") as folder:
        log = folder / "emit.log"

        def is_ready():
            return "ready" in log.read_text(errors="replace")

        with prepared as counted, Server("the emitter", command, log, ready=is_ready) as emitter:
            yield replace(counted, pids=(*counted.pids, *emitter.pids))


def build_emitter():
    """Compile the emitter, once; its path."""
    compiler = os.environ.get("CC") or "cc"

    def compile_to(path):
        if shutil.which(compiler) is None:
            raise CmlibError(
                f"no C compiler ({compiler}) to build the emitter of events with: install one (Debian: gcc and "
                "libc6-dev), or name one in CC. Recordings that are there can be analysed without."
            )
        run_tool([compiler, "-std=gnu11", "-O2", "-Wall", "-pthread", _SOURCE, "-o", path])

    return cached_input("emit", compile_to, source=_SOURCE.read_text(encoding="utf-8"))


def check_emitters(events):
    """Raise CmlibError if one of these can't be emitted."""
    unknown = [event for event in events if event not in EMITTERS]
    if unknown:
        raise CmlibError(
            f"there is no emitter for {', '.join(unknown)}; there is one for each of {', '.join(EMITTERS)}"
        )


FOLDER = "tuning"
_SET = "tuning"
_INTERVAL_MS = 1000  # the GBRT study's
KERNEL_EVENTS = tuple(_EVENTS.index)


def record_runs(runs, folder, *, scale=1.0, passes=1, counters):
    """Make the recordings that are not there yet, each run once before any is made twice."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for program, listed in runs.items():
        emitted = {event for run in listed for event in run.emitted}
        check_emitters(emitted)
        _check(program)
        if emitted:
            build_emitter()
    plans, codes = _to_count(counters)
    with (
        machine.counters_lock("Spark under other settings") as lock,
        scratch("cluster") as place,
        standalone(place) as cluster,
    ):
        how = {"encodings": codes, "counters": counters, "folder": folder, "lock": lock}
        for number in range(1, passes + 1):
            for program, run in ((program, run) for program, listed in runs.items() for run in listed):
                measured = Program(
                    label(program, scale=scale, options=run.noted),
                    partial(_prepare, program, scale, run, cluster),
                )
                record(run.name, measured, plans, passes=number, **how)
                yield run.name


def _prepare(program, scale, run, cluster):
    prepared = recipe(program).prepare(scale, run.options, cluster=cluster)
    return beside(prepared, run.emitted) if run.emitted else prepared


def _check(program):
    chosen = recipe(program)
    if "spark." not in chosen.options or "master" not in chosen.options:
        raise CmlibError(f"program {program!r} does not run on a cluster of Spark: it has no settings to try")
    check_installed(chosen)


def _to_count(counters):
    """The plan, and how perf is told its events: the core events, or software events and tracepoints."""
    if not counters["offered"]:
        plan = Plan(_SET, "ocoe", 0, ("task-clock",), (KERNEL_EVENTS,), _INTERVAL_MS, modifier="")
        return [plan], {event: event for event in KERNEL_EVENTS}
    known = machine.known_events(machine.describe())
    core = machine.default_events(known)
    plans = plan_mlpx(
        core,
        counters["good"],
        counters_of=known["counters"].to_dict(),
        per_run=len(core),
        set_name=_SET,
        interval_ms=_INTERVAL_MS,
    )
    return plans, {name: events.encode(name, known) for name in core}
