"""Record what runs already: processes, a cgroup (group of processes that the kernel manages together), or the system.

:func:`processes`, :func:`cgroup` and :func:`system` choose what to count. :func:`record_attached` counts it for
some seconds, stores one run, and returns the path of its metadata. Raises a RecordError if perf refuses, or nothing
was counted, and CountersBusy if another process counts.
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

_PAUSE_S = 0.1  # between two looks at whether perf or the processes have ended
_STOPS = (signal.SIGINT, signal.SIGTERM)
_LINES_SHOWN = 8
# Linux sometimes refuses an event while threads start and end, and then nothing is counted: perf is started again.
_ATTEMPTS = 3


@dataclass(frozen=True)
class AttachTarget:
    """Something that runs already and is to be counted.

    Attributes
    ----------
    options : tuple of str
        perf's options, such as ``-p 12,34``.
    command : str
        Name in the metadata.
    about : dict
        Noted with the recording as "attached".
    pids : tuple of int
        Numbers of the processes; empty for a cgroup or the system.
    """

    options: tuple[str, ...]
    command: str
    about: dict
    pids: tuple[int, ...] = ()


def processes(pids):
    """Choose processes, with all their threads, to be counted by :func:`record_attached`: an AttachTarget.

    `pids` are their numbers (iterable of int). Raises a RecordError if one does not run.
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
    """Choose all processes that are in a cgroup, or come into it, to be counted: an AttachTarget.

    `path` (str) is the cgroup's path in its file system, with or without the mount point; `root` is the folder that
    contains ``proc``, for tests. Raises a RecordError if there is no such cgroup.
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
    """Choose everything that runs on this machine to be counted by :func:`record_attached`: an AttachTarget."""
    return AttachTarget(("-a",), "whole system (running)", {"system": True})


def _is_running(pid):
    """Return True if a process (number) exists and is not a zombie."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def _attend(command, output, running, lock):
    """Run perf until it ends, a signal comes or all counted processes have ended; return its PerfOutcome."""
    stopped, errors = [], output.with_name("perf.stderr")
    with (
        errors.open("wb") as stderr,
        signals_handled(_STOPS, lambda *received: stopped.append(received)),
        run_perf(command, stderr, lock) as perf,
    ):
        while not (stopped or _has_ended(running) or perf.poll() is not None):
            time.sleep(_PAUSE_S)
        perf.send_signal(signal.SIGINT)  # it writes its last interval
    raw, code = output.read_bytes() if output.exists() else b"", perf.returncode
    ended = "stopped" if stopped else "process" if _has_ended(running) else "perf" if code else "time"
    return PerfOutcome(raw, None, code, "", text_of(errors), ended)


def _has_ended(running):
    """Return True if processes are counted, and all of them have ended."""
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
    """Count for some time what runs already, as one run of a program.

    Groups are scheduled to fit the counters, and one event is counted twice, as in every multiplexed run. Where
    no hardware event can be counted, software events are. Ctrl-C and SIGTERM end the recording
    before its time; what was counted until then is kept, as it is when the last process counted ends.

    Parameters
    ----------
    name : str
        Name of the program, and of its folder among the recordings.
    running : cmlib.collect.record.attached.AttachTarget
        What to count: processes, a cgroup, or the whole system.
    request : Request, optional
        How to count: its events, interval_ms, modifier, pinned and set_name are used.
    seconds : float > 0, default 60
        How long [s].
    folder : path, optional
        Folder of all recordings; `data/recordings` by default.
    wait : bool, default False
        Whether to wait until another recording ends.
    note : str, default ""
        Kept with the metadata.
    notify : callable
        Called with sentences (str): what is counted, and why the recording ended early. Prints by default.

    Returns
    -------
    pathlib.Path
        Metadata file of the new run: the next pass of those that count the same events.

    Raises
    ------
    RecordError
        If perf refuses, if nothing was counted in a whole interval, or if what exists was recorded otherwise.
    CountersBusy
        If another recording is being made.
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
    """Return the Plan and the metadata of the run; raise a RecordError if `existing` runs can't be compared with it."""
    table = machine.known_events(about := machine.describe())
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
    """Count for so many seconds, and store the run; its metadata file."""
    meta = session.beginning(meta)
    hint = "Ctrl-C ends it earlier, and keeps what was counted"
    notify(f"counting {_name_target(running)} for {seconds:g} s; {hint}")
    times = ("--interval-count", str(max(1, round(1000 * seconds / plan.interval_ms))))
    with working_folder(target / "attached") as folder:
        output = folder / "perf.csv"
        command = stat_command(plan, meta["encodings"], str(output), options=(*times, *running.options))
        for _ in range(_ATTEMPTS):
            session.check_room(folder)
            outcome = _attend(command, output, running, lock)
            if outcome.ended != "perf" or not _read_output(outcome).empty:
                break
            output.unlink(missing_ok=True)
        session.check_room(folder)
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


def _describe_ends(running):
    """Describe in a phrase each way in which a recording can end early."""
    return {"stopped": "stopped", "process": f"{_name_target(running)} ended", "perf": "perf ended by itself"}


def _check_counts(done, plan, running):
    """Return the counts (DataFrame) that perf wrote; raise a RecordError if perf refused, or nothing was counted."""
    frame = _read_output(done)
    counted = ", ".join([*plan.pinned, *plan.events])
    if frame.empty and done.ended == "perf":
        refusal = "\n".join(done.perf_stderr.partition(" Usage:")[0].strip().splitlines()[:_LINES_SHOWN])
        nothing = f"(nothing; exit code {done.perf_code})"
        raise RecordError(
            f"perf could not count {counted} of {_name_target(running)}:\n{refusal or nothing}\n`cmlib doctor` lists "
            "what can be counted here. Processes of another user, a cgroup or the whole system require root, "
            "or perf with CAP_PERFMON and CAP_SYS_PTRACE."
        )
    if frame.empty or frame["time_s"].max() < plan.interval_ms / 1000:
        reason = _describe_ends(running).get(done.ended, "it ended")
        raise RecordError(
            f"{reason} before the first interval of {plan.interval_ms} ms; nothing was recorded."
        )
    session.validate_run(frame, replace(plan, mode="mlpx"))
    if not _ran(done):
        raise RecordError(
            f"{_name_target(running)} did nothing in {frame['time_s'].max():.1f} s: no event was counted in any "
            "interval. Record it while it works."
        )
    return frame


def _ran(done):
    """Return True if any event was on a counter in some interval."""
    _, readings = read_counts(done.raw.decode(errors="replace"))
    return any((program.counts["on_counter_s"] > 0).any() for program in readings.programs)


def _read_output(done):
    """Read perf's output as a DataFrame, a row per interval and event."""
    return perf.parse_stat(done.raw.decode(errors="replace"))


def _add_place(meta, existing):
    """Add set, pass, part and name to the metadata of a run, as the next one in its set.

    The set's name may be missing.
    """
    n = len(meta["encodings"]) - len(events.second_readings(meta["encodings"]))
    usual = f"mlpx{n}" if meta["mode"] == "mlpx" else "ocoe"
    place, _ = programs.next_place(meta["program"], meta["set"] or usual, events_of(meta), existing)
    return meta | place


def _name_target(running):
    """Name what is counted, with the numbers of its processes, for messages."""
    numbers = f" (process {', '.join(map(str, running.pids))})" if running.pids else ""
    return running.command.removesuffix(" (running)") + numbers
