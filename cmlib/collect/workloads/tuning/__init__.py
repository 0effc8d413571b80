"""Spark programs under other settings than usual, as ``cmlib record-tuning`` records them."""

import math
import re
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.collect import machine
from cmlib.collect.record import Program, record
from cmlib.collect.schedule import Plan, plan_mlpx
from cmlib.collect.workloads.catalog import label, recipe
from cmlib.collect.workloads.recipe import check_installed, compiled, scratch
from cmlib.collect.workloads.server import Server
from cmlib.collect.workloads.spark import TABLE_IV, standalone
from cmlib.errors import CmlibError
from cmlib.io import events

# Without these some of the parameters would do nothing; two executors that fetch from each other over the network.
_ALWAYS = {name: value for setting in TABLE_IV.values() for name, value in setting.needs.items()}
_UNITS = {"": 1, "s": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_QUANTITY = re.compile(r"([0-9.]+)([skmg]?)")
_EMIT = "emit."
_SILENT = 1 / 3  # of the runs, for each event
_LEAST = 0.1  # of its highest rate, where it is emitted at all
_SOURCE = Path(__file__).parent / "src" / "emit.c"
_EVENTS = pd.read_csv(Path(__file__).with_name("events.csv"), comment="#").set_index("event")
# By event that can be emitted, what it brings along.
EMITTERS = _EVENTS.query("emitted == 1")["with"].fillna("").str.split().map(tuple).to_dict()
HIGHEST = _EVENTS["highest"].dropna().to_dict()
FOLDER = "tuning"
_SET = "tuning"
_INTERVAL_MS = 1000  # the GBRT study's
KERNEL_EVENTS = tuple(_EVENTS.index)


@dataclass(frozen=True)
class Run:
    """A program with its settings."""

    name: str
    options: dict
    emitted: dict = field(default_factory=dict)

    @property
    def noted(self):
        """Options as they are noted with the recording: also the emitted rates, as ``emit.EVENT``."""
        return self.options | {f"{_EMIT}{event}": rate for event, rate in self.emitted.items()}


def at_random(program, n, *, seed=0):
    """Settings drawn at random, as both papers do to model the execution time (GBRT study, §4.3)."""
    rng = np.random.default_rng(seed)
    runs = []
    for number in range(n):
        drawn = {setting.name: _between(setting, share) for setting, share in _shares(rng)}
        runs.append(Run(f"{program}-{number:03d}", _options(drawn)))
    return runs


def at_levels(program, parameters):
    """One parameter at a time at its lowest and its highest value, and all at their defaults."""
    unknown = [abbr for abbr in parameters if abbr not in TABLE_IV]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no parameter of Table IV; there are {', '.join(TABLE_IV)}.")
    runs = [Run(f"{program}-default", _options({}))]
    for abbr in parameters:
        setting = TABLE_IV[abbr]
        for level in ("low", "high"):
            options = _options({setting.name: getattr(setting, level)})
            runs.append(Run(f"{program}-{abbr}-{level}", options))
    return runs


def at_rates(program, highest, n, *, at="default"):
    """One setting, and events emitted beside the program at rates drawn at random."""
    options = _setting(program, at).options
    drawn = {event: _rates(event, top, n) for event, top in highest.items()}
    return [
        Run(f"{program}-emit-{at}-{number:03d}", options, {event: of[number] for event, of in drawn.items()})
        for number in range(n)
    ]


def emitted_of(options):
    """Rates of the events that were emitted beside a run [1/s]."""
    return {key.removeprefix(_EMIT): float(rate) for key, rate in options.items() if key.startswith(_EMIT)}


def settings_of(options):
    """Values of Table IV's parameters as numbers."""
    given = _ALWAYS | dict(options)
    return {abbr: quantity(given.get(setting.name, setting.default)) for abbr, setting in TABLE_IV.items()}


def quantity(text):
    """``"64k"`` in bytes, ``"120s"`` in seconds, ``"0.6"`` as it is."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no number with one of the units k, m, g, s, or none.")
    number, unit = match.groups()
    return float(number) * _UNITS[unit]


def _setting(program, at):
    known = {run.name.removeprefix(f"{program}-"): run for run in at_levels(program, TABLE_IV)}
    if at not in known:
        raise ValueError(f"{at!r} is no setting; there are {', '.join(known)}.")
    return known[at]


def _rates(event, highest, n):
    """As they are given to the emitter; an event's draws don't depend on which others are emitted."""
    drawn = np.random.default_rng([0, zlib.crc32(event.encode())]).random((n, 2))
    return ["0" if silent < _SILENT else f"{highest * _LEAST ** (1 - share):.4g}" for silent, share in drawn]


def _shares(rng):
    return zip(TABLE_IV.values(), rng.random(len(TABLE_IV)), strict=True)


def _between(setting, share):
    low, high = quantity(setting.low), quantity(setting.high)
    value = math.exp(math.log(low) + share * math.log(high / low))
    unit = _QUANTITY.fullmatch(setting.low).group(2)
    if unit in ("k", "m", "g"):
        return f"{round(value / 1024)}k"
    return f"{value:.3f}" if "." in setting.low else f"{round(value)}{unit}"


def _options(chosen):
    return {"master": "standalone"} | _ALWAYS | chosen


@contextmanager
def with_emitter(prepared, rates):
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
    return compiled(_SOURCE, "-pthread")


def check_emitters(events):
    """Raise CmlibError if one of these can't be emitted."""
    unknown = [event for event in events if event not in EMITTERS]
    if unknown:
        raise CmlibError(
            f"there is no emitter for {', '.join(unknown)}; there is one for each of {', '.join(EMITTERS)}"
        )


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
    return with_emitter(prepared, run.emitted) if run.emitted else prepared


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
