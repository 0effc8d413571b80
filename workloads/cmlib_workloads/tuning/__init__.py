"""Spark programs under other settings than usual, as ``cmlib record-tuning`` records them.

:func:`at_random`, :func:`at_levels` and :func:`at_rates` list :class:`Run` objects (settings of Spark),
:func:`record_runs` records them. Parameters are those of CounterMiner's Table IV, by abbreviation. Beside a program
an emitter can run, which causes events (such as page faults) at set rates. A CmlibError if the program is none of
Spark, or something is not installed.
"""

import math
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from cmlib.collect import machine
from cmlib.collect.record import Program, Request, record_program
from cmlib.errors import CmlibError
from cmlib.experiments.tuning.labels import program_label
from cmlib.experiments.tuning.settings import ALWAYS, EMIT, EVENTS, FOLDER, TABLE_IV, parse_quantity
from cmlib_workloads.catalog import recipe
from cmlib_workloads.recipe import check_installed, compiled, scratch
from cmlib_workloads.server import Server
from cmlib_workloads.spark import standalone

_SILENT = 1 / 3  # of the runs, for each event
_LEAST = 0.1  # of its highest rate, where it is emitted at all
_SOURCE = Path(__file__).parent / "src" / "emit.c"
_INTERVAL_MS = 1000  # the GBRT study's
KERNEL_EVENTS = tuple(EVENTS.index)


@dataclass(frozen=True)
class Run:
    """A program with its settings.

    `name` is that of the recording; `options` maps settings of Spark to text; `emitted` maps events to the rate
    [1/s, text] at which they are caused meanwhile.
    """

    name: str
    options: dict
    emitted: dict = field(default_factory=dict)

    @property
    def noted(self):
        """Options (dict) as they are noted with the recording: also the emitted rates, as ``emit.EVENT``."""
        return self.options | {f"{EMIT}{event}": rate for event, rate in self.emitted.items()}


def at_random(program, n, *, seed=0):
    """List of `n` Runs with settings drawn at random, as both papers do to model the execution time (GBRT study, §4.3).

    Values are drawn uniformly in their logarithm between each parameter's lowest and highest; `program` is a name,
    `seed` that of the draw.
    """
    rng = np.random.default_rng(seed)
    runs = []
    for number in range(n):
        shares = zip(TABLE_IV.values(), rng.random(len(TABLE_IV)), strict=True)
        drawn = {setting.name: _between(setting, share) for setting, share in shares}
        runs.append(Run(f"{program}-{number:03d}", _options(drawn)))
    return runs


def at_levels(program, parameters):
    """List of Runs: all parameters at their defaults, then one at a time at its lowest and its highest value.

    `program` is a name, `parameters` are abbreviations of Table IV; a KeyError for an unknown one.
    """
    runs = [Run(f"{program}-default", _options({}))]
    for abbr in parameters:
        setting = TABLE_IV[abbr]
        for level in ("low", "high"):
            options = _options({setting.name: getattr(setting, level)})
            runs.append(Run(f"{program}-{abbr}-{level}", options))
    return runs


def at_rates(program, highest, n, *, at="default"):
    """List of `n` Runs with one setting, beside which events are emitted at rates drawn at random.

    `program` is a name; `highest` maps events to their highest rate [1/s]; in a third of the runs an event is not
    emitted, else its rate is at least a tenth of the highest. `at` names the setting as :func:`at_levels` does
    ("default", "exc-high").
    """
    options = next(run.options for run in at_levels(program, TABLE_IV) if run.name == f"{program}-{at}")
    drawn = {event: _rates(event, top, n) for event, top in highest.items()}
    return [
        Run(f"{program}-emit-{at}-{number:03d}", options, {event: of[number] for event, of in drawn.items()})
        for number in range(n)
    ]


def _rates(event, highest, n):
    """As they are given to the emitter; an event's draws don't depend on which others are emitted."""
    drawn = np.random.default_rng([0, zlib.crc32(event.encode())]).random((n, 2))
    return ["0" if silent < _SILENT else f"{highest * _LEAST ** (1 - share):.4g}" for silent, share in drawn]


def _between(setting, share):
    """Value of a parameter (text) at a share (0-1) of the way from lowest to highest, in its logarithm."""
    low, high = parse_quantity(setting.low), parse_quantity(setting.high)
    value = math.exp(math.log(low) + share * math.log(high / low))
    unit = setting.low.lstrip("0123456789.")
    if unit in ("k", "m", "g"):
        return f"{round(value / 1024)}k"
    return f"{value:.3f}" if "." in setting.low else f"{round(value)}{unit}"


def _options(chosen):
    """Options of a run on a cluster, with what some settings need."""
    return {"master": "standalone"} | ALWAYS | chosen


@contextmanager
def with_emitter(prepared, rates):
    """A program with the emitter beside it, counted with it: a context manager that yields a LaunchSpec.

    `prepared` is the program's context manager, `rates` maps events to rates [1/s, text].
    """
    command = [build_emitter(), *(f"{event}={rate}" for event, rate in rates.items())]
    with scratch("emit") as folder:
        log = folder / "emit.log"

        def is_ready():
            return "ready" in log.read_text(errors="replace")

        with prepared as counted, Server("the emitter", command, log, ready=is_ready) as emitter:
            yield replace(counted, pids=(*counted.pids, *emitter.pids))


def build_emitter():
    """Compile the emitter, once; return its path."""
    return compiled(_SOURCE, "-pthread")


def record_runs(program, runs, folder, *, scale=1.0, passes=1, counters):
    """Make the recordings that are not there yet, and yield the names of the runs.

    Each run is made once before any is made twice. If there are several passes, each has its own random order, so that
    slow changes of the machine do not favor a setting.

    `program` is a name, `runs` a list of Runs, `folder` that of their recordings, `scale` the factor of the work,
    `passes` how often each is run, `counters` a dict of offered and good. Without counters software events are
    counted. A CmlibError if the program is none of Spark, or something is not installed.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    chosen = recipe(program)
    if "spark." not in chosen.options or "master" not in chosen.options:
        raise CmlibError(f"program {program!r} does not run on a cluster of Spark: it has no settings to try")
    check_installed(chosen)
    how = {"interval_ms": _INTERVAL_MS, "set_name": FOLDER, "second_reading": False}
    request = Request(mode="mlpx", per_run=len(KERNEL_EVENTS), **how)
    if not counters["offered"]:
        software = {"events": ",".join(KERNEL_EVENTS), "pinned": ("task-clock",), "modifier": ""}
        request = replace(request, mode="ocoe", **software)
    with (
        machine.counters_lock("Spark under other settings") as lock,
        scratch("cluster") as place,
        standalone(place) as cluster,
    ):
        how = {"folder": folder, "lock": lock, "counters": counters}
        for number, run in order_runs(runs, passes):
            noted = program_label(program, scale=scale, options=run.noted)
            measured = Program(noted, partial(_prepare, chosen, scale, run, cluster))
            record_program(run.name, measured, replace(request, passes=number), **how)
            yield run.name


def order_runs(runs, passes):
    """Yield (number of the pass, from 1, Run): a single pass in the given order, several passes in random orders."""
    for number in range(1, passes + 1):
        order = range(len(runs)) if passes == 1 else np.random.default_rng(number).permutation(len(runs))
        for position in order:
            yield number, runs[position]


def _prepare(chosen, scale, run, cluster):
    """Get a run ready on a cluster, with its emitter: a context manager that yields a LaunchSpec."""
    prepared = chosen.prepare(scale, run.options, cluster=cluster)
    return with_emitter(prepared, run.emitted) if run.emitted else prepared
