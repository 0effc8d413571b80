"""Record the sets of runs that a user asks for: which events are counted, in which plans, in how many passes.

A set is a named plan of events. It is divided into parts, one run each, of as many events as fit; a pass counts all
parts once. The probe is a set of few runs that only finds out which events count at all. :func:`record_program`
takes a name, a command and a :class:`Request`, and returns a dict from set to the new metadata files (paths).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.record.execute import as_program
from cmlib.collect.record.session import record
from cmlib.collect.schedule import PINNED, PROBE, make_plans, with_second_reading
from cmlib.io import events, perf
from cmlib.io.archive.programs import RecordError, check_names, existing_runs, read_raw
from cmlib.io.archive.runs import events_of
from cmlib.shell import command_line
from cmlib.terminal import say

if TYPE_CHECKING:
    import pandas as pd

# Passes by default: of a set of named or core events, of one of all events. Events in a run of the probe.
_PASSES, _SWEEP_PASSES, _PROBED = 3, 2, 48
_NO_COUNTERS = {"offered": 0, "good": 0}
# Names of the sets that hold all events, by mode.
_SET_OF_ALL = {"ocoe": "ocoe_all", "mlpx": "sweep"}


@dataclass(frozen=True)
class Request:
    """What to record of a program; a field that is None is chosen from the machine and the other fields.

    Attributes
    ----------
    mode : {"ocoe", "mlpx", "ungrouped"} or None
        "ocoe": without multiplexing. "mlpx": groups of events take turns on the counters. "ungrouped": events take
        turns one by one.
    events : str or None
        Names with commas between, "core" (a list for the processor) or "all".
    passes : int or None
        How often each set is counted.
    interval_ms : int
        Length of an interval [ms].
    per_run : int
        Number of events of a multiplexed run.
    modifier : str
        perf's modifier, such as "u" for user mode.
    pinned : tuple of str
        Events that are counted all the time in every run.
    set_name : str or None
        Name of the only set.
    second_reading : bool
        True to count one event of a multiplexed run twice.
    """

    mode: str | None = None
    events: str | None = None
    passes: int | None = None
    interval_ms: int = 100
    per_run: int = 12
    modifier: str = "u"
    pinned: tuple[str, ...] = PINNED
    set_name: str | None = None
    second_reading: bool = True  # one event of a multiplexed run is counted twice


def record_program(
    name, command, request, *, folder=None, lock=None, counters=None, wait=False, note="", on_demand=False
):
    """Record the sets of runs of one program that a Request asks for; existing runs are not repeated.

    Parameters
    ----------
    name : str
        Name of the program.
    command : list of str or Program
        A command, or a command with its preparation.
    request : Request
        What is to be recorded.
    folder : path-like, optional
        Folder of all recordings. Default: that of the data.
    lock : int, optional
        Descriptor of the counters' lock, from a caller that holds it. Default: the counters are locked here.
    counters : dict, optional
        Offered and good counters, from a caller that knows them. Default: they are counted.
    wait : bool, default False
        True to wait for another recording that uses the counters.
    note : str, default ""
        Text for the metadata.
    on_demand : bool, default False
        True if the program turns counting on and off itself.

    Returns
    -------
    dict of str to list of Path
        The metadata files of the new runs, by set; a list is empty if all runs existed.

    Raises
    ------
    RecordError
        If the program fails, perf refuses, or existing runs are not comparable with new ones.
    CountersBusy
        If another recording is made, and `wait` is False.
    """
    recordings = Path(folder or places.recordings_dir())
    target = recordings / name
    check_names(name, _list_sets(request)[0][0])
    program = as_program(command)
    table = machine.known_events(machine.describe())
    with machine.counters_lock(command_line("cmlib", "record", name), wait=wait, held=lock) as held:
        request, counters = fit_to_counters(request, existing_runs(target), counters)
        recorder = _SetRecorder(
            target=target,
            request=request,
            table=table,
            options=plan_options(request, counters, table),
            save=functools.partial(
                record,
                name,
                program,
                counters=counters,
                folder=recordings,
                lock=held,
                note=note,
                on_demand=on_demand,
            ),
        )
        files = {}
        for set_name, mode, chosen in _list_sets(request):
            files |= recorder.record_set(set_name, mode, chosen)
        return files


@dataclass(frozen=True)
class _SetRecorder:
    """Record the sets of runs of one program.

    Attributes
    ----------
    target : Path
        Folder of the program's recordings.
    request : Request
        What is to be recorded.
    table : DataFrame
        Events of this machine.
    options : tuple of two dicts
        From :func:`plan_options`.
    save : callable
        Makes the runs of some plans, as :func:`record` does; takes `plans`, `encodings`, `passes` and `counting`.
    """

    target: Path
    request: Request
    table: pd.DataFrame
    options: tuple[dict, dict]
    save: Callable

    def record_set(self, set_name, mode, chosen):
        """Record one set, and before it a probe if it has all events: a dict of set to new metadata files."""
        codes = encodings(chosen, self.table, self.request.modifier)
        existing = [meta for meta in existing_runs(self.target).values() if meta["set"] == set_name]
        counting = next((meta["counting"] for meta in existing if "counting" in meta), None)
        files = {}
        if chosen == "all" and counting is None:
            files[PROBE] = self._probe(codes)
            counting = counted_in_probe(self.target)
        plans = self._plan(mode, counting or list(codes), set_name, existing)
        passes = self.request.passes
        if not passes:
            passes = _SWEEP_PASSES if chosen == "all" else _PASSES
        files[set_name] = self.save(plans, encodings=codes, passes=passes, counting=counting)
        return files

    def _probe(self, codes):
        """Record the probe, which finds out which events count at all; return its new metadata files."""
        available, settings = self.options
        names = machine.supported(codes)
        plans = make_plans("mlpx", names, per_run=_PROBED, set_name=PROBE, **available, **settings)
        return self.save(plans, encodings=codes)

    def _plan(self, mode, names, set_name, existing):
        """Plan the runs of a set; with second readings if they are asked for and `existing` runs have them, too."""
        available, settings = self.options
        plans = make_plans(
            mode, names, per_run=self.request.per_run, set_name=set_name, **available, **settings
        )
        # All passes of a set are alike.
        have_second_readings = any(events.second_readings(events_of(meta)) for meta in existing)
        if self.request.second_reading and (have_second_readings or not existing):
            plans = [with_second_reading(plan, **available) for plan in plans]
        return plans


def _list_sets(request):
    """List the sets to record, each as (name, mode, events)."""
    chosen = request.events or "core"
    if request.mode:
        sets = [(request.mode, chosen)]
    elif chosen == "all":
        sets = [("mlpx", "all")]
    else:
        sets = [("ocoe", chosen), ("mlpx", chosen)]
    if request.mode is None and request.events is None:
        sets.append(("mlpx", "all"))
    if request.set_name and len(sets) > 1:
        raise RecordError(f"{len(sets)} sets would be recorded, and --set names one: choose it by --mode.")
    return [(request.set_name or _name_set(mode, names, request), mode, names) for mode, names in sets]


def _name_set(mode, names, request):
    """Name a set by its mode, and by whether it has all events."""
    if names == "all" and mode in _SET_OF_ALL:
        return _SET_OF_ALL[mode]
    if names != "all" and mode == "mlpx":
        return f"mlpx{request.per_run}"
    return mode


def counted_in_probe(folder):
    """List the events that counted at least once in a program's probe: runs that are made only to find that out.

    `folder` (path) is that of the program's recordings. Raises a RecordError if there is none.
    """
    counting = []
    for run, meta in existing_runs(folder).items():
        if meta["set"] == PROBE:
            counts, _ = perf.series(perf.parse_stat(read_raw(folder, run).decode()))
            planned = [event for group in meta["groups"] for event in group]
            counting += [event for event in planned if event in counts and counts[event].sum() > 0]
    if not counting:
        raise RecordError(f"no event ever counted in the probe of {folder.name}: does it compute anything?")
    return counting


def plan_options(request, counters, table):
    """Make the options for planning runs: keyword arguments of :func:`cmlib.collect.schedule.make_plans`.

    Parameters
    ----------
    request : Request
        What is to be recorded.
    counters : dict
        Numbers of offered and good counters.
    table : DataFrame
        The event table of this machine, from :func:`cmlib.collect.machine.known_events`.

    Returns
    -------
    tuple of two dicts
        The first has n_counters and counters_of, the second pinned, interval_ms and modifier.
    """
    available = {"n_counters": counters["good"], "counters_of": table["counters"].to_dict()}
    settings = {"pinned": request.pinned, "interval_ms": request.interval_ms, "modifier": request.modifier}
    return available, settings


def encodings(chosen, table, modifier):
    """Encode each event for perf: a dict of str by event.

    `chosen` is "all", "core" or names with commas between. `table` is the event table of this machine (DataFrame of
    :func:`cmlib.collect.machine.known_events`), `modifier` perf's (str, such as "u"). Raises a RecordError if "all"
    or "core" has no events on this machine.
    """
    if chosen == "all":
        names = machine.all_events(table)
    elif chosen == "core":
        names = machine.default_events(table, modifier)
    else:
        names = _split(chosen)
    if not names:
        raise RecordError(
            "neither cmlib nor perf has a list of this processor's events: name those to count, as in "
            "--events branches,branch-misses. `cmlib doctor` lists what it knows of this machine."
        )
    return {events.base_name(name): events.encode(name, table, modifier) for name in names}


def _split(names):
    """Split names at commas (list); a comma within ``cpu/…/`` does not divide."""
    return [name.strip() for name in re.findall(r"(?:[^,/]|/[^/]*/)+", names)]


def fit_to_counters(request, existing, counters=None):
    """Fit a Request to what this machine can count; return it with the counters (dict of offered and good).

    Without hardware counters, a request that names no events becomes one of software events; one that names
    hardware events raises a RecordError. The counters are those of runs in `existing` (dict from run's name to
    metadata), or else `counters`, or else those of a census. Both are 0 if only software events are asked for.
    """
    if not any(map(events.needs_counter, [*request.pinned, *_split(request.events or "core")])):
        return request, _NO_COUNTERS
    recorded_counters = [meta["counters"] for meta in existing.values() if meta["counters"]["good"]]
    if recorded_counters or counters:
        return request, recorded_counters[0] if recorded_counters else counters
    census = machine.census()
    if census.offered:
        return request, census.counters
    names = machine.software_events()
    message = f"no hardware event can be counted here, as `cmlib doctor` explains: {census.complaint}"
    if request.mode is None and request.events is None and request.pinned == PINNED:
        say(f"{message}; recorded instead: {', '.join(names)}.", err=True)
        software = {"mode": "ocoe", "events": ",".join(names), "pinned": ("task-clock",)}
        return replace(request, set_name=request.set_name or "software", **software), _NO_COUNTERS
    raise RecordError(f"{message}. Record software events: --pinned task-clock --events {','.join(names)}.")
