"""Record processes that are already running.

:func:`record_attached` counts for some seconds and stores one run. :func:`processes`, :func:`cgroup` and
:func:`system` choose what to count: some processes, a cgroup (a group of processes that the kernel manages
together), or the whole system.
"""

from __future__ import annotations

import functools
import math
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from cmlib import places
from cmlib.collect import machine
from cmlib.collect.record import session
from cmlib.collect.record.execute import PerfOutcome, check_perf, run_perf, signals_handled, stat_command
from cmlib.collect.record.protocol import Request, encodings, fit_to_counters, plan_options
from cmlib.collect.schedule import make_plans, with_second_reading
from cmlib.errors import InputError, text_of
from cmlib.io import events, perf
from cmlib.io.archive import errors_as, locked, program_folder, programs, working_folder
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import events_of
from cmlib.io.formats.registry import read_counts
from cmlib.shell import command_line
from cmlib.terminal import say

_PAUSE_S = 0.1  # between checks whether perf or the processes have ended
_STOPS = (signal.SIGINT, signal.SIGTERM)
_LINES_SHOWN = 8
# Linux sometimes refuses an event while threads start and end. Then nothing is counted, and perf is started again.
_ATTEMPTS = 3


@dataclass(frozen=True)
class AttachTarget:
    """Running processes to count.

    Attributes
    ----------
    options : tuple of str
        Options for perf. For example, ``-p 12,34``.
    command : str
        Description for the metadata.
    about : dict
        Entry "attached" of the metadata.
    pids : tuple of int
        Process numbers. Empty for a cgroup or the whole system.
    """

    options: tuple[str, ...]
    command: str
    about: dict
    pids: tuple[int, ...] = ()


def processes(pids):
    """Choose some processes and all their threads.

    Parameters
    ----------
    pids : iterable of int
        Process numbers.

    Returns
    -------
    AttachTarget

    Raises
    ------
    RecordError
        If a process is not running.
    """
    counted = []
    for pid in dict.fromkeys(pids):
        if not _is_running(pid):
            raise RecordError(
                f"there is no process {pid}: `pgrep -a NAME` lists the numbers of running processes. Nothing was "
                "recorded."
            )
        process = psutil.Process(pid)
        counted.append({"pid": pid, "name": process.name(), "threads": process.num_threads()})
    names = ", ".join(dict.fromkeys(process["name"] for process in counted))
    chosen = tuple(process["pid"] for process in counted)
    options = ("-p", ",".join(map(str, chosen)))
    return AttachTarget(options, f"{names} (running)", {"processes": counted}, chosen)


def cgroup(path, root="/"):
    """Choose all present and future processes of a cgroup.

    Parameters
    ----------
    path : str
        Path of the cgroup, with or without the mount point. For example, ``system.slice/nginx.service``.
    root : path-like, default "/"
        Folder that contains proc.

    Returns
    -------
    AttachTarget

    Raises
    ------
    RecordError
        If the cgroup does not exist.
    """
    fields = map(str.split, (Path(root) / "proc/mounts").read_text(encoding="utf-8").splitlines())
    mounts = [field[1] for field in fields if field[2] == "cgroup2"]
    inner = functools.reduce(str.removeprefix, mounts, path).strip("/")
    if not any(Path(mount, inner).is_dir() for mount in mounts) or "," in inner:
        folders = " or ".join(mounts) or "a mount of cgroup2"
        raise RecordError(
            f"there is no cgroup {path!r} under {folders}: `systemd-cgls`, or /proc/PID/cgroup of one of its "
            "processes, shows its name."
        )
    return AttachTarget(("-a", "-G", f"/{inner}"), f"cgroup {path} (running)", {"cgroup": path})


def system():
    """Choose all processes of this machine; return an AttachTarget."""
    return AttachTarget(("-a",), "whole system (running)", {"system": True})


def _is_running(pid):
    """Return True if a process (number) exists and is not a zombie."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def _attend(command, output, running, lock):
    """Run perf until it ends, a signal arrives, or all counted processes have ended; return the PerfOutcome."""
    received_signals = []
    errors = output.with_name("perf.stderr")
    with (
        errors.open("wb") as stderr,
        signals_handled(_STOPS, lambda number, frame: received_signals.append(number)),
        run_perf(command, stderr, lock) as perf,
    ):
        while not (received_signals or _has_ended(running) or perf.poll() is not None):
            time.sleep(_PAUSE_S)
        perf.send_signal(signal.SIGINT)  # perf writes its last interval
    if received_signals:
        ended = "stopped"
    elif _has_ended(running):
        ended = "process"
    else:
        ended = "perf" if perf.returncode else "time"
    raw = output.read_bytes() if output.exists() else b""
    return PerfOutcome(raw, None, perf.returncode, "", text_of(errors), ended)


def _has_ended(running):
    """Return True if all counted processes have ended; False for a cgroup or the whole system."""
    return running.pids and not any(map(_is_running, running.pids))


def record_attached(
    name: str,
    running: AttachTarget,
    request: Request | None = None,
    *,
    seconds: float = 60.0,
    folder: str | Path | None = None,
    wait: bool = False,
    note: str = "",
    notify: Callable = say,
) -> Path:
    """Record running processes for some time, as one run.

    If no hardware event can be counted, software events are counted. The recording ends early on Ctrl-C, on SIGTERM,
    and when the last counted process ends. Its counts up to then are stored.

    Parameters
    ----------
    name : str
        Name of the program among the recordings.
    running : cmlib.collect.record.attached.AttachTarget
        What to count: processes, a cgroup, or the whole system.
    request : Request, optional
        How to count. Its events, interval_ms, modifier, pinned and set_name are used.
    seconds : float > 0, default 60
        Duration [s].
    folder : path-like, optional
        Folder of all recordings. The default is the data folder.
    wait : bool, default False
        Whether to wait while another process uses the counters.
    note : str, default ""
        Text for the metadata.
    notify : callable
        Called with each message (str). Prints by default.

    Returns
    -------
    pathlib.Path
        Metadata file of the new run.

    Raises
    ------
    RecordError
        If perf refuses, if nothing was counted, or if existing runs are not comparable with the new run.
    CountersBusy
        If another process uses the counters and `wait` is False.
    ValueError
        If `seconds` is not above 0, or infinite.
    """
    request = request or Request()
    if not (seconds > 0 and math.isfinite(seconds)):
        raise InputError(f"a recording takes more than 0 seconds, got {seconds}.")
    if request.events == "all":
        raise RecordError(
            "running processes are recorded in one run, which can't hold all events: name those to count, as "
            "in --events branches,branch-misses."
        )
    recordings = Path(folder or places.recordings_dir())
    programs.check_names(name, request.set_name or "ocoe")
    check_perf()
    with (
        errors_as(RecordError, recordings),
        machine.counters_lock(command_line("cmlib", "record", name), wait=wait) as lock,
    ):
        plan, meta = _plan_run(name, running, request, programs.existing_runs(recordings / name))
        with program_folder(recordings / name) as target:
            return _record(target, plan, meta | {"note": note}, running, seconds, lock, notify)


def _plan_run(name, running, request, existing):
    """Return the Plan and the metadata of the run.

    Raises a RecordError if existing runs are not comparable with it.
    """
    about = machine.describe()
    table = machine.known_events(about)
    request, counters = fit_to_counters(request, existing)
    codes = encodings(request.events or "core", table, request.modifier)
    available, settings = plan_options(request, counters, table)
    (plan,) = make_plans("mlpx", list(codes), per_run=len(codes), **available, **settings)
    mode = "mlpx" if len(plan.groups) > 1 else "ocoe"
    plan = with_second_reading(replace(plan, mode=mode, set=request.set_name or ""), **available)
    origin = {"program": name, "command": running.command, "counters": dict(counters), "machine": about}
    meta = session.planned_metadata(plan, 0, codes, origin) | {"attached": running.about}
    programs.check_comparable(existing.values(), _add_place(meta, existing))
    return plan, meta


def _record(target, plan, meta, running, seconds, lock, notify):
    """Count for some seconds and store the run; return the metadata file."""
    meta = session.beginning(meta)
    hint = "Ctrl-C ends it earlier, and keeps what was counted"
    notify(f"counting {_name_target(running)} for {seconds:g} s; {hint}")
    n_intervals = max(1, round(1000 * seconds / plan.interval_ms))
    options = ("--interval-count", str(n_intervals), *running.options)
    with working_folder(target / "attached") as folder:
        output = folder / "perf.csv"
        command = stat_command(plan, meta["encodings"], str(output), options=options)
        outcome = _count(command, output, running, lock)
    frame = _check_counts(outcome, plan, running)
    multiplexed = plan.mode == "mlpx" or frame.loc[frame["value"].notna(), "running"].min() < 1
    finished = meta | session.outcome_metadata(frame, outcome) | {"mode": "mlpx" if multiplexed else "ocoe"}
    finished["attached"] = running.about | {"seconds": seconds, "ended": outcome.ended}
    with locked(target.parent):
        file = programs.add_run(target, _add_place(finished, programs.existing_runs(target)), outcome.raw)
    if outcome.ended != "time":
        end = f"{_describe_ends(running)[outcome.ended]} after {finished['duration_s']:.1f} s"
        notify(f"{end}: what was counted until then is kept")
    return file


def _count(command, output, running, lock):
    """Run perf, again if it counted nothing; return the PerfOutcome."""
    for _ in range(_ATTEMPTS):
        session.check_room(output.parent)
        outcome = _attend(command, output, running, lock)
        if outcome.ended != "perf" or not _read_output(outcome).empty:
            break
        output.unlink(missing_ok=True)
    session.check_room(output.parent)
    return outcome


def _describe_ends(running):
    """Return a phrase for each way in which a recording can end early."""
    return {"stopped": "stopped", "process": f"{_name_target(running)} ended", "perf": "perf ended by itself"}


def _check_counts(outcome, plan, running):
    """Return perf's counts (DataFrame); raise a RecordError if perf refused or nothing was counted."""
    frame = _read_output(outcome)
    counted = ", ".join([*plan.pinned, *plan.events])
    if frame.empty and outcome.ended == "perf":
        refusal = "\n".join(outcome.perf_stderr.partition(" Usage:")[0].strip().splitlines()[:_LINES_SHOWN])
        nothing = f"(nothing; exit code {outcome.perf_code})"
        raise RecordError(
            f"perf could not count {counted} of {_name_target(running)}:\n{refusal or nothing}\n`cmlib doctor` lists "
            "what can be counted here. Processes of another user, a cgroup or the whole system require root, "
            "or perf with CAP_PERFMON and CAP_SYS_PTRACE."
        )
    if frame.empty or frame["time_s"].max() < plan.interval_ms / 1000:
        reason = _describe_ends(running).get(outcome.ended, "it ended")
        raise RecordError(
            f"{reason} before the first interval of {plan.interval_ms} ms; nothing was recorded."
        )
    session.validate_run(frame, replace(plan, mode="mlpx"))
    if not _was_on_counter(outcome):
        raise RecordError(
            f"{_name_target(running)} did nothing in {frame['time_s'].max():.1f} s: no event was counted in any "
            "interval. Record it while it works."
        )
    return frame


def _was_on_counter(outcome):
    """Return True if an event was on a counter in some interval."""
    _, readings = read_counts(outcome.raw.decode(errors="replace"))
    return any((program.counts["on_counter_s"] > 0).any() for program in readings.programs)


def _read_output(outcome):
    """Read perf's output as a DataFrame, one row per interval and event."""
    return perf.parse_stat(outcome.raw.decode(errors="replace"))


def _add_place(meta, existing):
    """Add set, pass, part and name of the next run of a set to the metadata.

    If the metadata have no name of the set, it is chosen by the mode and the number of events.
    """
    n_events = len(meta["encodings"]) - len(events.second_readings(meta["encodings"]))
    default_set = f"mlpx{n_events}" if meta["mode"] == "mlpx" else "ocoe"
    place, _ = programs.next_place(meta["program"], meta["set"] or default_set, events_of(meta), existing)
    return meta | place


def _name_target(running):
    """Return a description of the counted processes for messages, with their numbers."""
    numbers = f" (process {', '.join(map(str, running.pids))})" if running.pids else ""
    return running.command.removesuffix(" (running)") + numbers
