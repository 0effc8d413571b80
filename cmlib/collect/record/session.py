"""Record the missing runs of a set.

:func:`record` takes a command and the plans of a set, one for each part of its events. It makes each run that does
not exist yet. A run without multiplexing in which an event was not counted all the time is repeated, up to three
times (:func:`validate_run`).
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

_MOST_UNSEEN = 0.02  # largest share of the first event in intervals without counts of another event
_ATTEMPTS = 3
_TO_COME = {"date": None, "duration_s": 0.0, "exit_code": 0}  # placeholders for metadata of a finished run
_LEAST_ROOM = 1 << 20  # bytes
_GOES_ON = "Runs recorded before are kept; the command goes on from them when it is repeated."


def validate_run(frame, plan):
    """Check whether a run was counted as planned.

    Parameters
    ----------
    frame : DataFrame
        Output of perf, from :func:`cmlib.io.perf.parse_stat`. One row per interval and event.
    plan : Plan
        The events of the run.

    Returns
    -------
    str
        The reason to repeat the run, or "". Only a run without multiplexing is repeated, if an event was not counted
        all the time.

    Raises
    ------
    RecordError
        If the run is shorter than an interval, an event cannot be counted, or rows are missing.
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
    """Describe an event that was not counted all the time; return "" if all events were."""
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
    """Record the missing runs of a set.

    Parameters
    ----------
    name : str
        Name of the program among the recordings.
    command : list of str or Program
        A command, or a command with its preparation.
    plans : list of Plan
        The plans of the set. Each contains the events of one run.
    encodings : dict of str to str
        Perf's encoding of each event.
    counters : dict
        Numbers of counters of the machine: offered and good.
    passes : int, default 1
        Number of runs for each plan.
    folder : path-like, optional
        Folder of all recordings. The default is the data folder.
    lock : int, optional
        File descriptor of the lock on the counters, if the caller holds it.
    on_demand : bool, default False
        Whether the program turns counting on and off itself.
    **about
        Further metadata: `note` (str) and `counting` (names of the events that can be counted).

    Returns
    -------
    list of Path
        Metadata files of the new runs. Empty if all runs exist.

    Raises
    ------
    RecordError
        If the program fails, if a run is not as planned in three attempts, or if existing runs are not comparable
        with new ones.
    CountersBusy
        If another process uses the counters.
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
    """Return the metadata that all runs share; entries of `about` that are None are ignored."""
    given = {key: value for key, value in about.items() if value is not None}
    return {"note": ""} | given | origin | {"machine": machine.describe()}


def _plan_jobs(plans, passes, encodings, about):
    """List the plan and the planned metadata of each run, in order of passes."""
    jobs = []
    for number in range(passes):
        for plan in plans:
            jobs.append((plan, planned_metadata(plan, number, encodings, about)))
    return jobs


def _check_jobs(jobs, existing, target):
    """Raise an error if the metadata of a run are malformed or not comparable with existing runs."""
    for _, meta in jobs:
        check_run(meta | _TO_COME, target / f"{meta['run']}.json")
        check_comparable(existing.values(), meta)


def _record_one(plan, meta, run_once, notify):
    """Make a run in up to three attempts until it is as planned; return its metadata (dict) and perf's output."""
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
    """Return the metadata of a run with the current date and load of the machine."""
    return meta | {"date": now(), "machine": meta["machine"] | {"load_1min": machine.load_1min()}}


def outcome_metadata(frame, outcome):
    """Return the metadata that are known after a run.

    Parameters
    ----------
    frame : DataFrame
        Output of perf, from :func:`cmlib.io.perf.parse_stat`.
    outcome : PerfOutcome
        Exit codes and standard error of the run.

    Returns
    -------
    dict
        Keys: duration_s, exit_code and warnings (lines of perf's standard error).
    """
    return {
        "duration_s": float(frame["time_s"].max()),
        "exit_code": outcome.exit_code,
        "warnings": outcome.perf_stderr.splitlines(),
    }


def _run_in_own_folder(target, program, lock, on_demand, plan, meta):
    """Run a program once in a temporary folder; return the PerfOutcome."""
    with working_folder(target / meta["run"]) as folder:
        check_room(folder)
        # The outcome is checked before servers are ended. A server that has died raises its own error.
        with program.prepare() as counted:
            outcome = execute(plan, meta["encodings"], counted, folder, lock=lock, on_demand=on_demand)
            check_room(folder)
            check_outcome(outcome, plan, meta["command"])
        return outcome


def check_room(folder):
    """Raise an OSError if the disk of a folder is full, which neither perf nor a shell reports."""
    if shutil.disk_usage(folder).free < _LEAST_ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


def planned_metadata(plan, pass_number, encodings, about):
    """Return the metadata that are known before a run.

    Parameters
    ----------
    plan : Plan
        The events of the run.
    pass_number : int
        Number of the pass.
    encodings : dict of str to str
        Perf's encoding of each event.
    about : dict
        Metadata that all runs share.

    Returns
    -------
    dict
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
    """Raise a RecordError if a run of the set belongs to none of the plans."""
    set_name, planned = plans[0].set, {plan.part for plan in plans}
    for run, meta in existing.items():
        if meta["set"] == set_name and meta["part"] not in planned:
            raise RecordError(
                f"{name}/{run} belongs to another schedule of set {set_name!r}, which now has {len(plans)} "
                "parts: record under another name or --set, or move the old runs away."
            )
