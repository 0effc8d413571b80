"""Record all runs of a program that a user requests.

:func:`record_program` takes a command and a :class:`Request` and decides which events are counted in which runs. Runs
are grouped in sets. A set is a named list of events, divided into parts of as many events as one run can count. A
pass counts all parts once. The probe is a set of a few runs that finds out which events can be counted at all.
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

_PASSES = 3  # default number of passes of a set of named or core events
_SWEEP_PASSES = 2  # default number of passes of a set of all events
_PROBED = 48  # events in a run of the probe
_NO_COUNTERS = {"offered": 0, "good": 0}
# Names of the sets of all events, keyed by mode.
_SET_OF_ALL = {"ocoe": "ocoe_all", "mlpx": "sweep"}


@dataclass(frozen=True)
class Request:
    """Events to count and how to count them.

    Fields that are None are chosen for the machine.

    Attributes
    ----------
    mode : {"ocoe", "mlpx", "ungrouped"} or None
        "ocoe": without multiplexing. "mlpx": groups of events take turns on the counters. "ungrouped": single events
        take turns on the counters. None: first "ocoe", then "mlpx".
    events : str or None
        Names separated by commas, "core" (a list for the processor) or "all".
    passes : int or None
        Number of passes of each set.
    interval_ms : int
        Length of an interval [ms].
    per_run : int
        Number of events in a multiplexed run.
    modifier : str
        Perf's modifier. For example, "u" counts in user mode only.
    pinned : tuple of str
        Events that every run counts all the time.
    set_name : str or None
        Name of the set, if there is only one.
    second_reading : bool
        Whether to count one event of a multiplexed run twice.
    """

    mode: str | None = None
    events: str | None = None
    passes: int | None = None
    interval_ms: int = 100
    per_run: int = 12
    modifier: str = "u"
    pinned: tuple[str, ...] = PINNED
    set_name: str | None = None
    second_reading: bool = True


def record_program(
    name, command, request, *, folder=None, lock=None, counters=None, wait=False, note="", on_demand=False
):
    """Record all requested runs of a program.

    Existing runs are not repeated.

    Parameters
    ----------
    name : str
        Name of the program among the recordings.
    command : list of str or Program
        A command, or a command with its preparation.
    request : Request
        Events to count and how to count them.
    folder : path-like, optional
        Folder of all recordings. The default is the data folder.
    lock : int, optional
        File descriptor of the lock on the counters, if the caller holds it.
    counters : dict, optional
        Numbers of offered and good counters, if the caller knows them. By default they are determined.
    wait : bool, default False
        Whether to wait while another process uses the counters.
    note : str, default ""
        Text for the metadata.
    on_demand : bool, default False
        Whether the program turns counting on and off itself.

    Returns
    -------
    dict of str to list of Path
        Metadata files of the new runs, keyed by set. A list is empty if all runs of the set exist.

    Raises
    ------
    RecordError
        If the program fails, if perf refuses, or if existing runs are not comparable with new ones.
    CountersBusy
        If another process uses the counters and `wait` is False.
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
        Events to count and how to count them.
    table : DataFrame
        Events of this machine.
    options : tuple of two dicts
        From :func:`plan_options`.
    save : callable
        The function :func:`record`, without the parameters `plans`, `encodings`, `passes` and `counting`.
    """

    target: Path
    request: Request
    table: pd.DataFrame
    options: tuple[dict, dict]
    save: Callable

    def record_set(self, set_name, mode, chosen):
        """Record a set, and before a set of all events the probe; return the new metadata files, keyed by set."""
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
        """Record the probe and return its new metadata files."""
        available, settings = self.options
        names = machine.supported(codes)
        plans = make_plans("mlpx", names, per_run=_PROBED, set_name=PROBE, **available, **settings)
        return self.save(plans, encodings=codes)

    def _plan(self, mode, names, set_name, existing):
        """Plan the runs of a set, with second readings if they are requested and existing runs have them."""
        available, settings = self.options
        plans = make_plans(
            mode, names, per_run=self.request.per_run, set_name=set_name, **available, **settings
        )
        # All passes of a set have the same events.
        have_second_readings = any(events.second_readings(events_of(meta)) for meta in existing)
        if self.request.second_reading and (have_second_readings or not existing):
            plans = [with_second_reading(plan, **available) for plan in plans]
        return plans


def _list_sets(request):
    """List name, mode and events of each set to record."""
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
    """Return the default name of a set with this mode and these events."""
    if names == "all" and mode in _SET_OF_ALL:
        return _SET_OF_ALL[mode]
    if names != "all" and mode == "mlpx":
        return f"mlpx{request.per_run}"
    return mode


def counted_in_probe(folder):
    """List the events that were counted in the probe of a program.

    Parameters
    ----------
    folder : Path
        Folder of the program's recordings.

    Returns
    -------
    list of str
        Events with a count above 0 in at least one interval.

    Raises
    ------
    RecordError
        If no event was counted.
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
    """Return the options for planning runs.

    They are keyword arguments of :func:`cmlib.collect.schedule.make_plans`.

    Parameters
    ----------
    request : Request
        Events to count and how to count them.
    counters : dict
        Numbers of offered and good counters.
    table : DataFrame
        Events of this machine, from :func:`cmlib.collect.machine.known_events`.

    Returns
    -------
    available : dict
        Keys: n_counters and counters_of.
    settings : dict
        Keys: pinned, interval_ms and modifier.
    """
    available = {"n_counters": counters["good"], "counters_of": table["counters"].to_dict()}
    settings = {"pinned": request.pinned, "interval_ms": request.interval_ms, "modifier": request.modifier}
    return available, settings


def encodings(chosen, table, modifier):
    """Encode events for perf.

    Parameters
    ----------
    chosen : str
        Names separated by commas, "core" or "all".
    table : DataFrame
        Events of this machine, from :func:`cmlib.collect.machine.known_events`.
    modifier : str
        Perf's modifier. For example, "u".

    Returns
    -------
    dict of str to str
        Perf's encoding of each event.

    Raises
    ------
    RecordError
        If no event of this machine is known.
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
    """Split names at commas, except at commas within ``cpu/…/``."""
    return [name.strip() for name in re.findall(r"(?:[^,/]|/[^/]*/)+", names)]


def fit_to_counters(request, existing, counters=None):
    """Adapt a request to the counters of this machine.

    If no hardware event can be counted, software events replace the default events.

    Parameters
    ----------
    request : Request
        Events to count and how to count them.
    existing : dict of str to dict
        Metadata of the existing runs, keyed by run. New runs use the same counters.
    counters : dict, optional
        Numbers of offered and good counters. By default they are determined.

    Returns
    -------
    request : Request
    counters : dict
        Numbers of offered and good counters. Both are 0 if only software events are counted.

    Raises
    ------
    RecordError
        If hardware events are requested and none can be counted.
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
