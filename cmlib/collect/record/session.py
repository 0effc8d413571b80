"""Record the missing runs of plans, and repeat a run that was not counted as planned.

A Plan (:mod:`cmlib.collect.schedule`) has the events of one run. A part is the plan's number in its set, a pass is
the number of the repetition. :func:`record` takes a command and Plans, and returns the metadata files (paths) of
the new runs. In an OCOE run (one counter, one event) every event must have been counted all the time; a run that is
not is repeated up to three times.
"""

import errno
import functools
import os
import shutil
from pathlib import Path

import numpy as np

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.record.execute import as_program, check_outcome, execute
from cmlib.collect.schedule import PROBE
from cmlib.io import perf
from cmlib.io.archive import errors_as, locked, now, program_folder, working_folder
from cmlib.io.archive.programs import RecordError, add_run, check_comparable, check_names, existing_runs
from cmlib.io.archive.runs import check_run, run_name
from cmlib.io.events import second_readings
from cmlib.shell import command_line
from cmlib.terminal import progress_bar

_MOST_UNSEEN = 0.02  # share of the first event in intervals in which another event was not counted
_ATTEMPTS = 3
_TO_COME = {"date": None, "duration_s": 0.0, "exit_code": 0}  # metadata that a run gets when it ends
_LEAST_ROOM = 1 << 20  # bytes
_GOES_ON = "Runs recorded before are kept; the command goes on from them when it is repeated."


def validate_run(frame, plan):
    """Check a run that perf counted: return the reason why it has to be repeated, or "" if it is as planned.

    An OCOE run (each event counted all the time) is repeated if an event was not on its counter all the time. Other
    runs are never repeated.

    Parameters
    ----------
    frame : DataFrame
        perf's output, from :func:`cmlib.io.perf.parse_stat`: a row per interval and event.
    plan : Plan
        The events of the run.

    Returns
    -------
    str

    Raises
    ------
    RecordError
        If the run is too short for an interval, an event was refused, or rows are missing.
    """
    duration = frame["time_s"].max() if len(frame) else 0.0
    if duration < plan.interval_ms / 1000:
        raise RecordError(
            f"the program ended after {1000 * duration:.0f} ms, before the first interval of "
            f"{plan.interval_ms} ms was over: give it more work, or take shorter intervals with "
            "--interval-ms."
        )
    refused = sorted(set(frame.loc[~frame["supported"], "event"]))
    if refused and plan.set != PROBE:
        raise RecordError(f"this machine can't count {', '.join(refused)}; see `cmlib doctor`.")
    counts, running = perf.series(frame)
    planned_events = [*plan.pinned, *plan.events]
    if len(frame) != len(counts) * len(planned_events) or not counts.columns.isin(planned_events).all():
        raise RecordError(
            f"perf wrote {len(frame)} rows for {len(counts)} intervals of {len(planned_events)} events: is the disk "
            "full?"
        )
    return (
        _explain_multiplexing(counts[planned_events], running[planned_events]) if plan.mode == "ocoe" else ""
    )


def _explain_multiplexing(counts, running):
    """Explain why a run did not have one counter per event: an event was not counted all the time; "" if all were."""
    is_counted = counts.notna()
    lowest = running.where(is_counted).min()
    if lowest.min() < 1:
        return f"{lowest.idxmin()} was on its counter only {100 * lowest.min():.0f} % of an interval"
    reference = counts.iloc[:, 0].fillna(0.0).to_numpy()
    unseen = reference[~is_counted.all(axis=1).to_numpy()].sum() / max(reference.sum(), np.finfo(float).tiny)
    if unseen > _MOST_UNSEEN:
        return f"some events were not counted in intervals with {100 * unseen:.0f} % of {counts.columns[0]}"
    return ""


def record(
    name, command, plans, *, encodings, counters, passes=1, folder=None, lock=None, on_demand=False, **about
):
    """Record a program: make a run for each plan and pass that is missing.

    Parameters
    ----------
    name : str
        Name of the program.
    command : list of str or Program
        A command, or a command with its preparation.
    plans : list of Plan
        Plans (events of one run each) of one set.
    encodings : dict of str to str
        Perf's encoding of each event.
    counters : dict
        The machine's counters: offered and good.
    passes : int, default 1
        How often each plan is run.
    folder : path-like, optional
        Folder of all recordings. Default: that of the data.
    lock : int, optional
        Descriptor of the counters' lock, if it is held.
    on_demand : bool, default False
        True if the program turns counting on and off itself.
    **about
        Further metadata: `note` (str), `counting` (names of the events that counted in the probe).

    Returns
    -------
    list of Path
        The metadata files of the new runs.

    Raises
    ------
    RecordError
        If the program fails, a run is discarded three times, or existing runs are not comparable with new ones.
    CountersBusy
        If another process counts.
    """
    recordings = Path(folder or places.recordings_dir())
    check_names(name, plans[0].set)
    program = as_program(command)
    with (
        errors_as(RecordError, recordings, hint=_GOES_ON),
        machine.counters_lock(command_line("cmlib", "record", name), held=lock) as held,
        program_folder(recordings / name) as target,
    ):
        existing = existing_runs(target)
        origin = {"program": name, "command": program.command, "counters": dict(counters)}
        jobs = _plan_jobs(plans, passes, encodings, _complete_metadata(about, origin))
        _check_same_schedule(existing, plans, name)
        _check_jobs(jobs, existing, target)
        missing = [(plan, meta) for plan, meta in jobs if meta["run"] not in existing]
        files = []
        run_once = functools.partial(_run_in_own_folder, target, program, held, on_demand)
        with progress_bar(total=len(jobs), initial=len(jobs) - len(missing), desc=name, unit="run") as bar:
            for plan, meta in missing:
                bar.set_postfix_str(meta["run"])
                finished, raw = _record_one(plan, meta, run_once, bar.write)
                with locked(recordings):
                    files.append(add_run(target, finished, raw))
                bar.update()
        return files


def _complete_metadata(about, origin):
    """Return the metadata that all runs share; None in `about` means that there is no such entry."""
    given = {key: value for key, value in about.items() if value is not None}
    return {"note": ""} | given | origin | {"machine": machine.describe()}


def _plan_jobs(plans, passes, encodings, about):
    """List each run to make, as a pair of its Plan and its planned metadata; pass by pass."""
    jobs = []
    for number in range(passes):
        for plan in plans:
            jobs.append((plan, planned_metadata(plan, number, encodings, about)))
    return jobs


def _check_jobs(jobs, existing, target):
    """Raise an error if the metadata of a run are malformed, or can't be compared with those of existing runs."""
    for _, meta in jobs:
        check_run(meta | _TO_COME, target / f"{meta['run']}.json")
        check_comparable(existing.values(), meta)


def _record_one(plan, meta, run_once, notify):
    """Make a run, and repeat it up to three times until it is as planned; return metadata (dict) and raw output."""
    rejected = []
    for _ in range(_ATTEMPTS):
        started = beginning(meta)
        outcome = run_once(plan, meta)
        frame = perf.parse_stat(outcome.raw.decode(errors="replace"))
        reason = validate_run(frame, plan)
        if not reason:
            finished = started | outcome_metadata(frame, outcome) | {"rejected": rejected}
            for line in finished["warnings"]:
                notify(f"{meta['run']}: perf says: {line}")
            return finished, outcome.raw
        notify(f"{meta['run']}: thrown away, {reason}")
        rejected.append(reason)
    program, run = meta["program"], meta["run"]
    raise RecordError(
        f"{program}/{run} was thrown away {_ATTEMPTS} times, the last time because {rejected[-1]}. "
        "Something else uses the counters, or fewer are good than planned for: see `cmlib doctor`."
    )


def beginning(meta):
    """Copy a run's metadata (`meta`, dict), and add the present time and load of the machine."""
    return meta | {"date": now(), "machine": meta["machine"] | {"load_1min": machine.load_1min()}}


def outcome_metadata(frame, outcome):
    """Return the metadata of a run's outcome: a dict of duration_s, exit_code and warnings (perf's lines).

    `frame` is perf's output (DataFrame of :func:`cmlib.io.perf.parse_stat`, a row per interval and event),
    `outcome` the PerfOutcome (what perf and the program wrote).
    """
    return {
        "duration_s": float(frame["time_s"].max()),
        "exit_code": outcome.exit_code,
        "warnings": outcome.perf_stderr.splitlines(),
    }


def _run_in_own_folder(target, program, lock, on_demand, plan, meta):
    """Run a program once as planned, in a folder that is removed afterwards; return its PerfOutcome."""
    with working_folder(target / meta["run"]) as folder:
        check_room(folder)
        # The outcome is checked within the block, which ends servers: one that has died raises its own error.
        with program.prepare() as counted:
            outcome = execute(plan, meta["encodings"], counted, folder, lock=lock, on_demand=on_demand)
            check_room(folder)
            check_outcome(outcome, plan, meta["command"])
        return outcome


def check_room(folder):
    """Raise OSError if the disk of `folder` is full, as neither perf nor a shell does."""
    if shutil.disk_usage(folder).free < _LEAST_ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def planned_metadata(plan, pass_number, encodings, about):
    """Return the metadata (dict) of a run that are known before it is made.

    They are `about` (dict) and the entries of its `plan`. `pass_number` is the number of the repetition (int).
    `encodings` is a dict from event to perf's encoding.
    """
    event_by_second_reading = second_readings(plan.events)
    return about | {
        "set": plan.set,
        "pass": pass_number,
        "part": plan.part,
        "mode": plan.mode,
        "run": run_name(plan.set, pass_number, plan.part),
        "pinned": list(plan.pinned),
        "groups": [list(group) for group in plan.groups],
        "modifier": plan.modifier,
        "interval_ms": plan.interval_ms,
        "encodings": {event: encodings[event_by_second_reading.get(event, event)] for event in plan.events},
    }


def _check_same_schedule(existing, plans, name):
    """Raise RecordError if a run of the set is none of these plans'."""
    set_name, planned = plans[0].set, {plan.part for plan in plans}
    for run, meta in existing.items():
        if meta["set"] == set_name and meta["part"] not in planned:
            raise RecordError(
                f"{name}/{run} belongs to another schedule of set {set_name!r}, which now has {len(plans)} "
                "parts: record under another name or --set, or move the old runs away."
            )
