"""Run programs, under perf or alone, and end all processes that they started.

:func:`execute` runs a program once under ``perf stat``. It returns a :class:`PerfOutcome`, also if the program
failed. :func:`check_outcome` raises an error for a failed program. :func:`run_timed` runs a command without perf and
measures its time. Errors contain the command and the end of its standard error.
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
    """A program that is ready to run.

    Attributes
    ----------
    command : list of str
        The command. For a server, the command that sends it requests.
    pids : tuple of int
        Numbers of the server processes, which perf counts. Empty for other programs.
    environment : mapping of str to str
        Additional environment variables for the command.
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
        Text for the metadata.
    prepare : callable
        Returns a context manager that yields a LaunchSpec. For a server, it starts the server and ends it afterwards.
    """

    command: str
    prepare: Callable[[], AbstractContextManager[LaunchSpec]]


@dataclass(frozen=True)
class PerfOutcome:
    """Output and exit codes of perf and of the program in one run.

    Attributes
    ----------
    raw : bytes
        Output of perf.
    exit_code : int or None
        Exit code of the program, as reported by a shell. None if perf did not start the program.
    perf_code : int
        Exit code of perf.
    program_stderr, perf_stderr : str
        Standard error of the program and of perf.
    ended : {"time", "stopped", "process", "perf"}
        Why a recording of running processes ended: after the requested time, by a signal, because all counted
        processes ended, or because perf failed. Always "time" for a program that perf started.
    """

    raw: bytes
    exit_code: int | None
    perf_code: int
    program_stderr: str
    perf_stderr: str
    ended: str = "time"


def as_program(command):
    """Convert a command to a Program.

    Parameters
    ----------
    command : list of str or Program
        A Program is returned unchanged.

    Returns
    -------
    Program

    Raises
    ------
    RecordError
        If perf or the program is missing, or if the command is empty or not UTF-8.
    """
    program = command
    if not isinstance(command, Program):
        find_program(command)
        program = Program(noted(command), lambda: contextlib.nullcontext(LaunchSpec(list(command))))
    check_perf()
    return program


def noted(command):
    """Return a command (list of str) as text for metadata; raise a RecordError if it is not UTF-8."""
    if not all(map(is_text, command)):
        raise RecordError(
            f"the command {shlex.join(command)!r} holds bytes that are not UTF-8, and can't be stored "
            "with its runs: rename the files that it names, or put it into a script."
        )
    return shlex.join(command)


def find_program(command):
    """Find the program of a command on the PATH.

    Parameters
    ----------
    command : list of str
        The program and its arguments.

    Returns
    -------
    list of str
        The command with the absolute path of the program.

    Raises
    ------
    RecordError
        If the command is empty, or the program does not exist or is not executable.
    """
    if not command:
        raise RecordError("no command to record: give one after --, as in `cmlib record NAME -- ./program`.")
    program = shutil.which(command[0])
    if program is None:
        raise RecordError(f"{command[0]!r} does not exist, or is not executable.")
    return [os.path.abspath(program) if os.sep in program else program, *command[1:]]


def check_perf():
    """Raise a RecordError if perf is not installed."""
    if shutil.which("perf") is None:
        raise RecordError("perf is not installed: on Debian, apt-get install linux-perf. See `cmlib doctor`.")


def execute(plan, encodings, counted, folder, *, lock=None, on_demand=False):
    """Run a program once under ``perf stat``.

    Parameters
    ----------
    plan : cmlib.collect.schedule.Plan
        The events to count.
    encodings : dict of str to str
        Perf's encoding of each event.
    counted : LaunchSpec
        The command. If it has `pids`, perf counts these processes while the command runs.
    folder : Path
        Folder for temporary files.
    lock : int, optional
        File descriptor of the lock on the counters. It stays open until all processes have ended.
    on_demand : bool, default False
        Whether the program turns counting on and off itself. It finds the paths of the FIFOs for this in the
        environment variables CMLIB_CONTROL and CMLIB_ACK.

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
    """Return a shell command that runs a program and writes its standard error and its exit code to files.

    The program gets the locale of the caller. Perf itself runs in the C locale.
    """
    locale = f"LC_ALL={shlex.quote(os.environ['LC_ALL'])}" if "LC_ALL" in os.environ else "unset LC_ALL"
    script = f'{locale}; {variables}"$@" 2>{shlex.quote(str(errors))}; echo $? >{shlex.quote(str(status))}'
    return ["/bin/sh", "-c", script, "cmlib", *program]


def check_outcome(outcome, plan, command):
    """Raise an error if the program or perf failed, or if perf refused the events.

    Parameters
    ----------
    outcome : PerfOutcome
        Output and exit codes of the run.
    plan : cmlib.collect.schedule.Plan
        The events of the run.
    command : str
        The command of the program.

    Raises
    ------
    RecordError
        If the run failed.
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
    """Describe an exit code that a shell reported, for example ``exit code 139 (signal 11)``."""
    return f"exit code {code}" + (f" (signal {code - 128})" if code > 128 else "")


def failure(command, code, stderr, circumstance=""):
    """Describe the failure of a command, with the end of its standard error.

    `circumstance` is added to the sentence, for example " under Valgrind".
    """
    lines = last_lines(stderr) or "(nothing)"
    return f"`{command}` failed with {ending(code)}{circumstance}. The end of its standard error:\n{lines}"


@contextlib.contextmanager
def run_supervised(command, *, lock=None, environment=(), inherited=os.environ, **options):
    """Run a command during a ``with`` block, and end all processes that it started.

    The processes also end if this process is killed.

    Parameters
    ----------
    command : list of str or path-like
        The program and its arguments.
    lock : int, optional
        File descriptor that stays open until all processes have ended.
    environment : mapping of str to str, or pairs
        Additional environment variables.
    inherited : mapping of str to str
        Other environment variables. The default is the environment of this process.
    **options
        Options of :class:`subprocess.Popen`.

    Yields
    ------
    subprocess.Popen

    Raises
    ------
    InterpreterError
        If the Python that supervises the command cannot be started.
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
    """Handle signals by `handler` during a ``with`` block, and restore the previous handlers afterwards.

    `handler` is called with the number of the signal and the interrupted frame.
    """
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class TooLongError(CmlibError):
    """Raised when a command was ended because it took longer than its limit [s]."""

    def __init__(self, command, limit_s):
        super().__init__(f"`{shlex.join(command)}` took longer than {limit_s:g} s and was ended")


def run_timed(argv, *, environment, timeout=None):
    """Run a command without perf, and measure its time.

    Parameters
    ----------
    argv : list of str
        The program and its arguments.
    environment : dict of str to str
        Additional environment variables. Variables of this process whose names begin with CMLIB_ are removed.
    timeout : float, optional
        Longest time [s].

    Returns
    -------
    elapsed, processor : float
        Elapsed time and processor time [s].

    Raises
    ------
    CmlibError
        If the command fails.
    TooLongError
        If the command takes more than `timeout`.
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
    """Run perf during a ``with`` block, as :func:`run_supervised` does.

    Perf writes its standard error to the open file `errors`. It runs in the C locale and writes decimal points.
    """
    environment = dict(environment) | {"LC_ALL": "C"}
    streams = {"stdout": subprocess.DEVNULL, "stderr": errors}
    return run_supervised(command, lock=lock, environment=environment, **streams)


def stat_command(plan, encodings, output, *, options=(), command=()):
    """Return the ``perf stat`` command that counts the events of a plan per interval.

    Parameters
    ----------
    plan : cmlib.collect.schedule.Plan
        The events of one run.
    encodings : dict of str to str
        Perf's encoding of each event.
    output : str
        File for the counts.
    options : sequence of str, optional
        Further options of perf. For example, the processes to count.
    command : list of str, optional
        Program that perf runs. Without it, perf counts until it is stopped.

    Returns
    -------
    list of str

    Raises
    ------
    ValueError
        If the plan has no events.
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
    """Encode an event for perf; a pinned event gets the modifier D and is never multiplexed."""
    encoding = encodings.get(event, f"{event}:{modifier}" if modifier else event)
    if not pinned:
        return encoding
    opened = "/" in encoding or ":" in encoding.removeprefix(event)
    return f"{encoding}D" if opened else f"{encoding}:D"


def _control(folder):
    """Make two FIFOs for turning counting on and off; return shell text that names them, and perf's options."""
    control, ack = folder / "control", folder / "ack"
    for fifo in (control, ack):
        os.mkfifo(fifo)
    variables = f"CMLIB_CONTROL={shlex.quote(str(control))} CMLIB_ACK={shlex.quote(str(ack))} "
    return variables, ["--delay=-1", "--control", f"fifo:{control},{ack}"]
