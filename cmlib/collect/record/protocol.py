"""From what a user asks for to the sets of runs that are recorded: which events, which plans, how many passes."""

import functools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tqdm import tqdm

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.record.execute import as_program
from cmlib.collect.record.session import record
from cmlib.collect.schedule import (
    PINNED,
    PROBE,
    needs_counter,
    plan_mlpx,
    plan_ocoe,
    plan_probe,
    plan_ungrouped,
    with_second_reading,
)
from cmlib.io import events, perf
from cmlib.io.archive.programs import RecordError, check_names, existing_runs, read_raw
from cmlib.io.archive.runs import events_of

_PASSES, _SWEEP_PASSES = 3, 2
_NO_COUNTERS = {"offered": 0, "good": 0}


@dataclass(frozen=True)
class Request:
    """What to record of a program."""

    mode: str | None = None
    events: str | None = None
    passes: int | None = None
    interval_ms: int = 100
    per_run: int = 12
    modifier: str = "u"
    pinned: tuple[str, ...] = PINNED
    counters: int | None = None
    set_name: str | None = None


def record_program(name, command, request, *, folder=None, wait=False, note=""):
    """Record what is asked for of one program, set by set."""
    recordings = Path(folder or places.recordings_dir())
    target = recordings / name
    check_names(name, _sets(request)[0].name)
    program = as_program(command)
    table = machine.known_events(machine.describe())
    with machine.counters_lock(f"cmlib record {name}", wait=wait) as lock:
        request, counters = countable(request, existing_runs(target))
        save = functools.partial(
            record, name, program, counters=counters, folder=recordings, lock=lock, note=note
        )
        available, how = plan_options(request, counters, table)
        made = {}
        for wanted in _sets(request):
            codes = encodings(wanted.events, table, request.modifier)
            counting = _remembered(existing_runs(target), wanted.name)
            if wanted.events == "all" and counting is None:
                probe = plan_probe(machine.supported(codes), **available, **how)
                made["probe"] = save(probe, encodings=codes)
                counting = counted_in_probe(target)
            plans = wanted.plan(counting or list(codes), **available, **how)
            if _has_second_readings(existing_runs(target), wanted.name):
                plans = [with_second_reading(plan, **available) for plan in plans]
            made[wanted.name] = save(plans, encodings=codes, passes=wanted.passes, counting=counting)
        return made


@dataclass(frozen=True)
class _Set:
    name: str
    events: str
    passes: int
    plan: Callable


def _sets(request):
    chosen = request.events or "core"
    modes = [request.mode] if request.mode else ["mlpx"] if chosen == "all" else ["ocoe", "mlpx"]
    wanted = [(mode, chosen) for mode in modes]
    if request.mode is None and request.events is None:
        wanted.append(("mlpx", "all"))
    if request.set_name and len(wanted) > 1:
        raise RecordError(f"{len(wanted)} sets would be recorded, and --set names one: choose it by --mode.")
    return [_set(mode, chosen, request) for mode, chosen in wanted]


def _set(mode, chosen, request):
    usual = {"ocoe": "ocoe", "mlpx": f"mlpx{request.per_run}", "ungrouped": "ungrouped"}[mode]
    if chosen == "all":
        usual = {"ocoe": "ocoe_all", "mlpx": "sweep"}.get(mode, mode)
    name = request.set_name or usual
    passes = request.passes or (_SWEEP_PASSES if chosen == "all" else _PASSES)
    plan = {
        "ocoe": plan_ocoe,
        "ungrouped": plan_ungrouped,
        "mlpx": functools.partial(plan_mlpx, per_run=request.per_run),
    }[mode]
    return _Set(name, chosen, passes, functools.partial(plan, set_name=name))


def _remembered(existing, set_name):
    return next(
        (meta["counting"] for meta in existing.values() if meta["set"] == set_name and "counting" in meta),
        None,
    )


def _has_second_readings(existing, set_name):
    """Whether runs of a set have one: those to come as well as those that are there, so that passes are alike."""
    of_set = [meta for meta in existing.values() if meta["set"] == set_name]
    return not of_set or any(map(events.second_readings, map(events_of, of_set)))


def counted_in_probe(folder):
    """Events of the probe that counted at least once, in the order of the table."""
    counting = []
    for run, meta in existing_runs(folder).items():
        if meta["set"] == PROBE:
            counts, _ = perf.series(perf.parse_stat(read_raw(folder, run).decode()))
            planned = [event for group in meta["groups"] for event in group]
            counting += [event for event in planned if event in counts and counts[event].sum() > 0]
    if not counting:
        raise RecordError(
            f"no event ever counted in the probe of {folder.name}: is it a program that computes anything?"
        )
    return counting


def plan_options(request, counters, table):
    """What plans are told of a machine's counters, and of what is asked for."""
    available = {"n_counters": counters["good"], "counters_of": table["counters"].to_dict()}
    how = {"pinned": request.pinned, "interval_ms": request.interval_ms, "modifier": request.modifier}
    return available, how


def encodings(chosen, table, modifier):
    """How perf is told each event asked for."""
    if chosen == "all":
        names = machine.all_events(table)
    elif chosen == "core":
        names = machine.default_events(table, modifier)
    else:
        names = _split(chosen)
    if not names:
        raise RecordError(
            "neither cmlib nor perf has a list of this processor's events: name those to count, as in "
            "--events branches,branch-misses. `cmlib doctor` tells what it knows of this machine."
        )
    return {events.base_name(name): events.encode(name, table, modifier) for name in names}


def _split(names):
    """Names between commas, but for those within ``cpu/…/``."""
    return [name.strip() for name in re.findall(r"(?:[^,/]|/[^/]*/)+", names)]


def countable(request, existing):
    """What of a request this machine can count, and the counters for it."""
    if not any(map(needs_counter, [*request.pinned, *_split(request.events or "core")])):
        return request, _NO_COUNTERS
    remembered = next((meta["counters"] for meta in existing.values() if meta["counters"]["good"]), None)
    if remembered and request.counters in (None, remembered["good"]):
        return request, remembered
    if request.counters is not None:
        return request, {"offered": None, "good": request.counters}
    census = machine.census()
    if census.offered:
        return request, census.counters
    names = machine.software_events()
    if request.mode is None and request.events is None and request.pinned == PINNED:
        tqdm.write(f"{_nothing(census)}; recorded instead: {', '.join(names)}.", file=sys.stderr)
        return _software(request, names), _NO_COUNTERS
    raise RecordError(
        f"{_nothing(census)}. Software events can be recorded: --pinned task-clock --events {','.join(names)}."
    )


def _software(request, names):
    named = {"mode": "ocoe", "events": ",".join(names), "pinned": ("task-clock",)}
    return replace(request, set_name=request.set_name or "software", **named)


def _nothing(census):
    return f"no hardware event can be counted here, and `cmlib doctor` tells why: {census.complaint}"
