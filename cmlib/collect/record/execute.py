"""Start programs, under perf or by themselves, and end all that they started."""

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

from cmlib.errors import CmlibError, last_lines
from cmlib.io.archive.programs import RecordError
from cmlib.io.archive.runs import is_text

_SUPERVISOR = Path(__file__).with_name("supervisor.py")


@dataclass(frozen=True)
class LaunchSpec:
    """What to put under ``perf stat``, ready to run."""

    command: list[str]
    pids: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A program to record."""

    command: str
    prepare: Callable[[], AbstractContextManager[LaunchSpec]]


@dataclass(frozen=True)
class PerfOutcome:
    """What one run left behind."""

    raw: bytes
    exit_code: int | None
    perf_code: int
    program_stderr: str
    perf_stderr: str
    ended: str = "time"  # why, of what ran already: or "stopped", "process", "perf"


def as_program(command):
    """What is to be recorded, checked as far as it can be before anything is made ready."""
    if isinstance(command, Program):
        check_perf()
        return command
    resolve(command)
    return Program(noted(command), lambda: contextlib.nullcontext(LaunchSpec(list(command))))


def noted(command):
    """A command line as text, as it is noted with its runs; a RecordError if it can't be."""
    if not all(map(is_text, command)):
        raise RecordError(
            f"the command {shlex.join(command)!r} holds bytes that are not UTF-8, and could not be "
            "noted with its runs: "
            "rename what it names, or put it into a script."
        )
    return shlex.join(command)


def resolve(command):
    """Find the program of a command, as the shell would."""
    resolved = find_program(command)
    check_perf()
    return resolved


def find_program(command):
    """As :func:`resolve`, whatever it is to run under."""
    if not command:
        raise RecordError("no command to record: give one after --, as in `cmlib record NAME -- ./program`.")
    program = shutil.which(command[0])
    if program is None:
        raise RecordError(f"{command[0]!r} does not exist, or is not executable.")
    return [os.path.abspath(program) if os.sep in program else program, *command[1:]]


def check_perf():
    """Raise RecordError if there is no perf to run anything under."""
    if shutil.which("perf") is None:
        raise RecordError("perf is not installed: on Debian, apt-get install linux-perf. See `cmlib doctor`.")


def execute(plan, encodings, counted, folder, *, lock=None, on_demand=False):
    """Run a command once under perf, or beside the processes that perf counts."""
    command = resolve(counted.command)
    output, errors, status = (folder / name for name in ("perf.csv", "program.stderr", "status"))
    variables, options = _control(folder) if on_demand else ("", [])
    # The program gets the caller's locale; only perf runs in C, so that its decimal points are points.
    locale = f"LC_ALL={shlex.quote(os.environ['LC_ALL'])}" if "LC_ALL" in os.environ else "unset LC_ALL"
    inner = f'{locale}; {variables}"$@" 2>{shlex.quote(str(errors))}; echo $? >{shlex.quote(str(status))}'
    shell = ["/bin/sh", "-c", inner, "cmlib", *command]
    if counted.pids:
        options += ["-p", ",".join(map(str, counted.pids))]
    watched = stat_command(plan, encodings, str(output), options=options, command=shell)
    with (folder / "perf.stderr").open("w+", encoding="utf-8", errors="replace") as perf_errors:
        with run_perf(watched, perf_errors, lock, counted.environment) as perf:
            perf_code = perf.wait()
        perf_errors.seek(0)
        perf_stderr = perf_errors.read().strip()
    return PerfOutcome(
        raw=output.read_bytes() if output.exists() else b"",
        exit_code=int(_text(status) or -1) if _text(status) else None,
        perf_code=perf_code,
        program_stderr=_text(errors),
        perf_stderr=perf_stderr,
    )


def check_outcome(outcome, plan, command):
    """Raise RecordError if perf refused, or `command` (as text) failed: nothing that gets better by repeating."""
    if outcome.exit_code is None:
        nothing = f"perf wrote nothing, and ended with exit code {outcome.perf_code}"
        reason = last_lines(outcome.perf_stderr) or nothing
        raise RecordError(
            f"perf could not count {', '.join([*plan.pinned, *plan.events])} under `{command}`:\n{reason}\n"
            "`cmlib doctor` tells what can be counted here."
        )
    if outcome.exit_code:
        raise RecordError(
            f"{failure(command, outcome.exit_code, outcome.program_stderr)}\nA run is recorded only if its program "
            "succeeds; if this code means success, say so: sh -c 'COMMAND || true'."
        )
    if outcome.perf_code:
        raise RecordError(
            f"perf failed with exit code {outcome.perf_code} after `{command}` had "
            f"ended:\n{last_lines(outcome.perf_stderr)}"
        )


def ending(code):
    """How a program ended, from its exit code as a shell tells it."""
    return f"exit code {code}" + (f" (signal {code - 128})" if code > 128 else "")


def failure(command, code, stderr, where=""):
    """That a command (as text) failed, and the end of what it wrote to its standard error."""
    lines = last_lines(stderr) or "(nothing)"
    return f"`{command}` failed with {ending(code)}{where}. The end of its standard error:\n{lines}"


@contextlib.contextmanager
def run_supervised(command, *, lock=None, environment=(), inherited=os.environ, **options):
    """Run a command, which ends with all that it has started when the block does, or this process."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_SUPERVISOR), *map(str, command)],
        stdin=subprocess.PIPE,
        env=dict(inherited) | dict(environment),
        start_new_session=True,
        pass_fds=() if lock is None else (lock,),
        **options,
    )
    try:
        yield process
    finally:
        process.stdin.close()
        process.wait()
        if process.stdout:
            process.stdout.close()


@contextlib.contextmanager
def signals_handled(numbers, handler):
    """Call a function for these signals, and for the length of a ``with`` do nothing else."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class TooLongError(CmlibError):
    """A command was ended because it took too long."""

    def __init__(self, command, limit_s):
        super().__init__(f"`{shlex.join(command)}` took longer than {limit_s:g} s and was ended")


def run_timed(argv, *, environment, timeout=None):
    """Run a command to its end and end what it left running; return its elapsed and processor time [s]. Of cmlib's
    variables it gets those in `environment` alone."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        began, before = time.monotonic(), _processor_s()
        bare = {key: value for key, value in os.environ.items() if not key.startswith("CMLIB_")}
        streams = {"stdout": subprocess.DEVNULL, "stderr": errors}
        with run_supervised(argv, inherited=bare, environment=environment, **streams) as process:
            try:
                process.wait(timeout)
            except subprocess.TimeoutExpired as error:
                raise TooLongError(argv, timeout) from error
        times = time.monotonic() - began, _processor_s() - before
        errors.seek(0)
        if process.returncode:
            raise CmlibError(failure(shlex.join(argv), process.returncode, errors.read()))
    return times


def _processor_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_perf(command, errors, lock=None, environment=()):
    """As :func:`run_supervised`, of perf, which writes numbers as in C."""
    environment = dict(environment) | {"LC_ALL": "C"}
    streams = {"stdout": subprocess.DEVNULL, "stderr": errors}
    return run_supervised(command, lock=lock, environment=environment, **streams)


def stat_command(plan, encodings, output, *, options=(), command=()):
    """Build the command that runs a program under `perf stat`, or counts what the options name until it is stopped."""
    pinned = [_encoded(event, plan.modifier, encodings, pinned=True) for event in plan.pinned]
    groups = [
        "{" + ",".join(_encoded(event, plan.modifier, encodings) for event in group) + "}"
        for group in plan.groups
    ]
    if not pinned and not groups:
        raise ValueError(f"plan {plan.set!r}, part {plan.part}: no event to count.")
    selected = [argument for event in [*pinned, *groups] for argument in ("-e", event)]
    counting = ["perf", "stat", "-I", str(plan.interval_ms), "-x", ",", "-o", output, *selected, *options]
    return [*counting, "--", *command] if command else counting


def _encoded(event, modifier, encodings, *, pinned=False):
    plain = f"{event}:{modifier}" if modifier else event
    encoding = encodings.get(event, plain)
    if not pinned:
        return encoding
    opened = "/" in encoding or ":" in encoding.removeprefix(event)
    return f"{encoding}D" if opened else f"{encoding}:D"


def _control(folder):
    """Make the FIFOs; return how the program is told of them, and perf."""
    control, ack = folder / "control", folder / "ack"
    for fifo in (control, ack):
        os.mkfifo(fifo)
    variables = f"CMLIB_CONTROL={shlex.quote(str(control))} CMLIB_ACK={shlex.quote(str(ack))} "
    return variables, ["--delay=-1", "--control", f"fifo:{control},{ack}"]


def _text(file):
    return file.read_text(encoding="utf-8", errors="replace").strip() if file.exists() else ""
