"""Run programs, under perf or alone, and end every process that they started.

:func:`execute` runs a program once under ``perf stat`` and returns a :class:`PerfOutcome`, whatever the exit codes.
:func:`check_outcome` raises a RecordError if they show that it failed. :func:`run_timed` runs a command alone and
returns its times. Errors contain the command and the end of its standard error.
"""

import contextlib
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from cmlib.errors import CmlibError, InputError, InterpreterError, last_lines, text_of
from cmlib.io.archive.metadata import is_text
from cmlib.io.archive.programs import RecordError

_SUPERVISOR = Path(__file__).with_name("supervisor.py")


@dataclass(frozen=True)
class LaunchSpec:
    """A program ready to run.

    Attributes
    ----------
    command : list of str
        The command; for a server, its load.
    pids : tuple of int
        Numbers of a server's processes, which perf counts; empty for other programs.
    environment : mapping of str to str
        Variables that the command needs besides those of this process.
    """

    command: list[str]
    pids: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A program to record.

    Attributes
    ----------
    command : str
        Noted in the metadata.
    prepare : callable
        Takes no argument and returns a context manager that yields a LaunchSpec. For a server it starts and ends
        the server, and the LaunchSpec's command is its load.
    """

    command: str
    prepare: Callable[[], AbstractContextManager[LaunchSpec]]


@dataclass(frozen=True)
class PerfOutcome:
    """What perf and the program of one run wrote, and their exit codes.

    Attributes
    ----------
    raw : bytes
        perf's output.
    exit_code : int or None
        The program's exit code, as a shell gives it; None if perf did not start it.
    perf_code : int
        perf's exit code.
    program_stderr, perf_stderr : str
        What each wrote to standard error.
    ended : {"time", "stopped", "process", "perf"}
        What ended the recording of processes that ran already: the time asked for, a signal, the end of all counted
        processes, or a failure of perf. Always "time" for a program that perf started.
    """

    raw: bytes
    exit_code: int | None
    perf_code: int
    program_stderr: str
    perf_stderr: str
    ended: str = "time"


def as_program(command):
    """Make a Program from a command (list of str); return a Program itself.

    Raises a RecordError if perf or the program is missing, or if the command is empty or not UTF-8.
    """
    program = command
    if not isinstance(command, Program):
        find_program(command)
        program = Program(noted(command), lambda: contextlib.nullcontext(LaunchSpec(list(command))))
    check_perf()
    return program


def noted(command):
    """Write a command (list of str) as text for metadata; raise a RecordError if it has bytes that are not UTF-8."""
    if not all(map(is_text, command)):
        raise RecordError(
            f"the command {shlex.join(command)!r} holds bytes that are not UTF-8, and can't be stored "
            "with its runs: rename the files that it names, or put it into a script."
        )
    return shlex.join(command)


def find_program(command):
    """Find a command's program as a shell does; return the command (list of str), or raise a RecordError."""
    if not command:
        raise RecordError("no command to record: give one after --, as in `cmlib record NAME -- ./program`.")
    program = shutil.which(command[0])
    if program is None:
        raise RecordError(f"{command[0]!r} does not exist, or is not executable.")
    return [os.path.abspath(program) if os.sep in program else program, *command[1:]]


def check_perf():
    """Raise RecordError if perf is not installed."""
    if shutil.which("perf") is None:
        raise RecordError("perf is not installed: on Debian, apt-get install linux-perf. See `cmlib doctor`.")


def execute(plan, encodings, counted, folder, *, lock=None, on_demand=False):
    """Run a program once under ``perf stat``, and return its output and exit codes, whatever the codes are.

    Parameters
    ----------
    plan : cmlib.collect.schedule.Plan
        The events to count.
    encodings : dict of str to str
        Perf's encoding of each event.
    counted : LaunchSpec
        The command, and the processes to count. If it has `pids`, perf counts those processes while the command, their
        load, runs.
    folder : Path
        Folder for files.
    lock : int, optional
        Descriptor of the counters' lock, kept open in perf.
    on_demand : bool, default False
        True if the program turns counting on and off itself, through FIFOs whose paths it finds in the variables
        CMLIB_CONTROL and CMLIB_ACK.

    Returns
    -------
    PerfOutcome

    Raises
    ------
    RecordError
        If the program is missing.
    """
    program = find_program(counted.command)
    output = folder / "perf.csv"
    perf_errors = folder / "perf.stderr"
    program_errors = folder / "program.stderr"
    status = folder / "status"
    variables, options = _control(folder) if on_demand else ("", [])
    if counted.pids:
        options += ["-p", ",".join(map(str, counted.pids))]
    shell = _wrap_in_shell(program, variables, program_errors, status)
    command = stat_command(plan, encodings, str(output), options=options, command=shell)
    with perf_errors.open("wb") as stderr, run_perf(command, stderr, lock, counted.environment) as perf:
        perf.wait()
    exit_code = text_of(status)
    return PerfOutcome(
        raw=output.read_bytes() if output.exists() else b"",
        exit_code=int(exit_code) if exit_code else None,
        perf_code=perf.returncode,
        program_stderr=text_of(program_errors),
        perf_stderr=text_of(perf_errors),
    )


def _wrap_in_shell(program, variables, errors, status):
    """Wrap a command in a shell that writes its standard error and its exit code to files.

    The program gets the caller's locale; only perf runs in C, so that its decimal points are points.
    """
    locale = f"LC_ALL={shlex.quote(os.environ['LC_ALL'])}" if "LC_ALL" in os.environ else "unset LC_ALL"
    script = f'{locale}; {variables}"$@" 2>{shlex.quote(str(errors))}; echo $? >{shlex.quote(str(status))}'
    return ["/bin/sh", "-c", script, "cmlib", *program]


def check_outcome(outcome, plan, command):
    """Raise RecordError if perf refused the events, or if the program or perf failed.

    A repetition does not help in these cases. `outcome` is a PerfOutcome (what perf and the program wrote), `plan`
    the Plan (events of one run) that was counted, `command` the program's, as text.
    """
    perf_message = last_lines(outcome.perf_stderr)
    if outcome.exit_code is None:
        events = ", ".join([*plan.pinned, *plan.events])
        perf_message = perf_message or f"perf wrote nothing, and ended with exit code {outcome.perf_code}"
        raise RecordError(
            f"perf could not count {events} under `{command}`:\n{perf_message}\n`cmlib doctor` lists what can be "
            "counted here."
        )
    if outcome.exit_code:
        failure_text = failure(command, outcome.exit_code, outcome.program_stderr)
        raise RecordError(
            f"{failure_text}\nA run is recorded only if its program succeeds; if this code means success, say so: sh "
            "-c 'COMMAND || true'."
        )
    if outcome.perf_code:
        raise RecordError(
            f"perf failed with exit code {outcome.perf_code} after `{command}` had ended:\n{perf_message}"
        )


def ending(code):
    """Describe how a program ended, such as ``exit code 139 (signal 11)``; `code` (int) is as a shell gives it."""
    return f"exit code {code}" + (f" (signal {code - 128})" if code > 128 else "")


def failure(command, code, stderr, where=""):
    """Describe in a sentence that a command failed, with the end of its standard error.

    `command` and `stderr` are text, `code` is the exit code; `where` (str) is added, such as " under Valgrind".
    """
    lines = last_lines(stderr) or "(nothing)"
    return f"`{command}` failed with {ending(code)}{where}. The end of its standard error:\n{lines}"


@contextlib.contextmanager
def run_supervised(command, *, lock=None, environment=(), inherited=os.environ, **options):
    """Yield a Popen of a command; when the block or this process ends, so do the command and all it has started.

    `command` is a list of words. `environment` (dict or pairs) is added to the variables `inherited` (dict, by
    default this process's); `options` are Popen's; `lock` is a descriptor that stays open in the command, or None.
    Raises an InterpreterError if this Python, which watches the command, can't be started.
    """
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SUPERVISOR), *map(str, command)],
            stdin=subprocess.PIPE,
            env=dict(inherited) | dict(environment),
            start_new_session=True,
            pass_fds=() if lock is None else (lock,),
            **options,
        )
    except OSError as error:
        if error.filename != sys.executable:
            raise
        raise InterpreterError(sys.executable, error.strerror) from error
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait()
        if process.stdout:
            process.stdout.close()


@contextlib.contextmanager
def signals_handled(numbers, handler):
    """Let `handler` handle some signals during a ``with`` block; restore the previous handlers afterwards.

    `numbers` are those of the signals; `handler` is called with a signal's number and the interrupted frame.
    """
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class TooLongError(CmlibError):
    """Raised when a command (list of str) was ended because it took longer than its limit [s]."""

    def __init__(self, command, limit_s):
        super().__init__(f"`{shlex.join(command)}` took longer than {limit_s:g} s and was ended")


def run_timed(argv, *, environment, timeout=None):
    """Run a command (`argv`, list of str) to its end, end what it left running, and return its times.

    They are elapsed and processor time [s], a tuple of floats. `environment` is a dict of variables; of those named
    CMLIB_* the command gets no others. Raises a CmlibError if it fails, TooLongError after `timeout` [s] (None for
    no limit).
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        began, before = time.monotonic(), _read_cpu_times()
        bare = {key: value for key, value in os.environ.items() if not key.startswith("CMLIB_")}
        streams = {"stdout": subprocess.DEVNULL, "stderr": errors}
        with run_supervised(argv, inherited=bare, environment=environment, **streams) as process:
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired as error:
                raise TooLongError(argv, timeout) from error
        times = time.monotonic() - began, _read_cpu_times() - before
        errors.seek(0)
        if process.returncode:
            raise CmlibError(failure(shlex.join(argv), process.returncode, errors.read()))
    return times


def _read_cpu_times():
    """Return the user and system time [s] of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_perf(command, errors, lock=None, environment=()):
    """Run a command of perf (list of str) supervised; a context manager that yields its Popen.

    When the block or this process ends, so do perf and all it has started. `environment` (dict or pairs) is added
    to this process's variables, `lock` is a descriptor that stays open in perf, or None. Its numbers have decimal
    points; its standard error goes to `errors` (an open file), its standard output nowhere.
    """
    environment = dict(environment) | {"LC_ALL": "C"}
    streams = {"stdout": subprocess.DEVNULL, "stderr": errors}
    return run_supervised(command, lock=lock, environment=environment, **streams)


def stat_command(plan, encodings, output, *, options=(), command=()):
    """Write the ``perf stat`` command (list of str) that counts a plan's events by interval into the file `output`.

    It runs `command`; without one it counts what `options` name until it is stopped. `encodings` maps events to
    perf's encodings. Raises a ValueError if the plan has no events.
    """
    pinned = [_encode(event, plan.modifier, encodings, pinned=True) for event in plan.pinned]
    groups = [
        "{" + ",".join(_encode(event, plan.modifier, encodings) for event in group) + "}"
        for group in plan.groups
    ]
    if not pinned and not groups:
        raise InputError(f"plan {plan.set!r}, part {plan.part}: no event to count.")
    selected = [argument for event in [*pinned, *groups] for argument in ("-e", event)]
    counting = ["perf", "stat", "-I", str(plan.interval_ms), "-x", ",", "-o", output, *selected, *options]
    return [*counting, "--", *command] if command else counting


def _encode(event, modifier, encodings, *, pinned=False):
    """Encode an event for perf; a pinned one gets the modifier D, so that it is never multiplexed."""
    encoding = encodings.get(event, f"{event}:{modifier}" if modifier else event)
    if not pinned:
        return encoding
    opened = "/" in encoding or ":" in encoding.removeprefix(event)
    return f"{encoding}D" if opened else f"{encoding}:D"


def _control(folder):
    """Make two FIFOs by which a program turns counting on and off; shell text that names them, and perf's options."""
    control, ack = folder / "control", folder / "ack"
    for fifo in (control, ack):
        os.mkfifo(fifo)
    variables = f"CMLIB_CONTROL={shlex.quote(str(control))} CMLIB_ACK={shlex.quote(str(ack))} "
    return variables, ["--delay=-1", "--control", f"fifo:{control},{ack}"]
