"""The papers' programs, in every way of counting that the notebooks compare."""

import math
from functools import partial

from cmlib.collect import machine
from cmlib.collect.campaign.run import Part, Planned
from cmlib.collect.record import Request, existing_runs, record_program
from cmlib.collect.workloads import programs
from cmlib.collect.workloads.micro.selection import listed_events
from cmlib.errors import CmlibError

_SECONDS = 18.0  # a run with what gets it ready
_STUDIED = ("wordcount", "sort", "pagerank", "kmeans")
_DEGREES = (6, 18, 24, 30, 36)
_CORE, _ALL = 12, 240  # events, where this machine does not tell


def _sixteen():
    return [
        name for name, recipe in programs.recipes().items() if recipe.suite in ("HiBench", "CloudSuite 3.0")
    ]


def _pairs():
    return [name for name, recipe in programs.recipes().items() if recipe.suite == "co-located"]


def _usual(name, setting):
    """The core events both ways, and a sweep."""
    return [Request()]


def _degrees(name, setting):
    """The first 6 to 36 events that count, in one multiplexed run each; 12 is the usual set."""
    counting = _counting(setting.recordings / name)
    if len(counting) < _DEGREES[-1]:
        raise CmlibError(
            f"{name} has no complete sweep yet, which tells what counts: record part programs first."
        )
    return [
        Request(mode="mlpx", events=",".join(counting[:n]), per_run=n, set_name=f"mlpx{n}") for n in _DEGREES
    ]


def _ungrouped(name, setting):
    return [Request(mode="ungrouped", events="all")]


def _counting(folder):
    """Events that count under a program, the core events first."""
    metas = existing_runs(folder).values()
    swept = next((meta["counting"] for meta in metas if meta["set"] == "sweep" and "counting" in meta), [])
    core = [
        event for event in machine.default_events(machine.known_events(machine.describe())) if event in swept
    ]
    return [*core, *(event for event in swept if event not in core)]


def _record(names, requests, setting):
    for name in names():
        try:
            program = programs.to_record(name)
            for request in requests(name, setting):
                made = record_program(name, program, request, folder=setting.recordings)
                yield f"{name}: {', '.join(made)}", None
        except (CmlibError, ValueError) as error:
            yield name, error


def _plan(names, sets, setting):
    listed = []
    for name in names():
        existing = existing_runs(setting.recordings / name).values()
        for set_name, runs in sets(setting):
            there = sum(meta["set"] == set_name for meta in existing)
            missing = max(0, runs - there)
            listed.append(Planned(f"{name} {set_name}", runs, missing, missing * _SECONDS / 60))
    return listed


def _usual_sets(setting):
    n_events = _n_events()
    ocoe = math.ceil(_CORE / (setting.counters["good"] - 2))
    return [
        ("ocoe", 3 * ocoe),
        ("mlpx12", 3),
        ("probe", math.ceil(n_events / 48)),
        ("sweep", 2 * math.ceil(n_events / 12)),
    ]


def _n_events():
    try:
        return len(listed_events())
    except CmlibError:
        return _ALL


def _part(name, notebook, about, names, requests, sets):
    return Part(name, notebook, about, partial(_plan, names, sets), partial(_record, names, requests))


PROGRAMS = _part(
    "programs",
    "01-04",
    "the sixteen programs: core events without and with multiplexing, and a sweep over all events",
    _sixteen,
    _usual,
    _usual_sets,
)
DEGREES = _part(
    "degrees",
    "02",
    "four programs multiplexed by 6, 18, 24, 30 and 36 events",
    lambda: _STUDIED,
    _degrees,
    lambda setting: [(f"mlpx{n}", 3) for n in _DEGREES],
)
UNGROUPED = _part(
    "ungrouped",
    "02",
    "four programs with all events in one list without groups",
    lambda: _STUDIED,
    _ungrouped,
    lambda setting: [("ungrouped", 2)],
)
PAIRS = _part("pairs", "09", "two pairs of programs on one machine", _pairs, _usual, _usual_sets)
