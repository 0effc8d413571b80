"""Running a command once under Valgrind, and what both of them said."""

import re
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass

from cmlib.record import RecordError
from cmlib.record.execute import ending, find_program, kept

_CALLGRIND = ["--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", "--combine-dumps=yes"]
# Counts the basic blocks that Callgrind would count, and nothing else.
_BARE = ["--tool=none", "--stats=yes", "--vex-guest-chase=no", "--vex-iropt-unroll-thresh=0"]
_FOR_ALL = ["--trace-children=yes", "--vgdb=no"]
_REFUSED = re.compile(
    r"valgrind:|unhandled|[Uu]nrecognised|the 'impossible' happened|not supported|SIGILL|Can't execute setuid"
)
_HEAD = re.compile(r"^(?:==|--)[0-9]+(?:==|--) ?", re.MULTILINE)
_TIMERANGE = re.compile(rb"^desc: Timerange: Basic block [0-9]+ - ([0-9]+)$", re.MULTILINE)
_POLL_S = 0.2
_LINES_SHOWN = 10


@dataclass(frozen=True)
class Outcome:
    """What one run left behind.

    Attributes
    ----------
    raw : bytes
        Callgrind's output, of all processes in the order of their numbers.
    said : str
        By Valgrind, without its line heads.
    seconds : float
        Elapsed time.
    """

    raw: bytes
    said: str
    seconds: float


def check_valgrind():
    """Version of Valgrind, such as ``3.19.0``; a RecordError if there is none."""
    if shutil.which("valgrind") is None:
        raise RecordError(
            "Valgrind is not installed, and a simulation needs it: on Debian, apt-get install valgrind; on Fedora, "
            "dnf install valgrind."
        )
    said = subprocess.run(["valgrind", "--version"], capture_output=True, text=True).stdout
    return said.strip().removeprefix("valgrind-")


def simulate(command, folder, *, every_blocks=None, options=(), progress=None):
    """Run a command once under Callgrind.

    The program's input is empty and its output discarded; when it ends, or this process is killed, so does every
    process that it started.

    Parameters
    ----------
    command : sequence of str
    folder : path
        For this run's files; exists, and is empty.
    every_blocks : int, optional
        Basic blocks of an interval. Callgrind looks every 100,000 blocks, and after system calls, whether it is over.
    options : sequence of str
        From :func:`cmlib.simulate.caches.cache_options`, and ``--toggle-collect=NAME`` to count one function and those
        that it calls only.
    progress : callable, optional
        Called a few times a second, with the number of basic blocks simulated by then.

    Returns
    -------
    Outcome

    Raises
    ------
    RecordError
        If there is no such command or no Valgrind, Valgrind can't run it, or it fails.
    """
    intervals = [] if every_blocks is None else [f"--dump-every-bb={every_blocks}"]
    options = [*_CALLGRIND, *intervals, *options, f"--callgrind-out-file={_escaped(folder)}/%p.out"]
    told = (lambda: progress(blocks_so_far(folder))) if progress else None
    said, seconds = _run(command, folder, options, told)
    files = sorted(folder.glob("*.out"), key=lambda file: int(file.stem))
    raw = b"".join(file.read_bytes() for file in files)
    if not raw:
        raise RecordError(f"Valgrind wrote no counts of `{shlex.join(command)}`. It said:\n{_last(said)}")
    return Outcome(raw, said, seconds)


def count_blocks(command, folder, *, limit_s):
    """Run a command once under Valgrind without simulating anything, some ten times as fast.

    Parameters
    ----------
    command, folder
        As of :func:`simulate`.
    limit_s : float
        Seconds after which it is ended.

    Returns
    -------
    blocks : int or None
        Basic blocks executed; None if it was ended.
    seconds : float

    Raises
    ------
    RecordError
        As of :func:`simulate`.
    """
    started = time.monotonic()

    def check():
        if time.monotonic() - started > limit_s:
            raise _TooLongError

    try:
        said, seconds = _run(command, folder, _BARE, check)
    except _TooLongError:
        return None, limit_s
    return sum(
        int(n.replace(",", "")) for n in re.findall(r"scheduler: ([0-9,]+) event checks", said)
    ), seconds


class _TooLongError(Exception):
    pass


def _run(command, folder, options, meanwhile):
    """What Valgrind said, and the elapsed time [s]."""
    check_valgrind()
    found = find_program(command)
    watched = ["valgrind", *options, *_FOR_ALL, f"--log-file={_escaped(folder)}/%p.log", "--", *found]
    errors = folder / "stderr"
    started = time.monotonic()
    with errors.open("wb") as stderr:
        keeper = subprocess.Popen(
            kept(watched),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            code = _wait(keeper, meanwhile)
        finally:
            keeper.stdin.close()
            keeper.wait()
    seconds = time.monotonic() - started
    said = "".join(_text(file) for file in sorted(folder.glob("*.log")))
    if code:
        raise RecordError(_failure(shlex.join(command), code, said, _text(errors)))
    return said, seconds


def _wait(process, meanwhile):
    while True:
        try:
            return process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            if meanwhile:
                meanwhile()


def _failure(command, code, said, program_said):
    reasons = [line for line in [*program_said.splitlines(), *said.splitlines()] if _REFUSED.search(line)]
    if reasons:
        return (
            f"Valgrind can't run `{command}`, which ended with {ending(code)}:\n{_last(chr(10).join(reasons))}\n"
            "Instructions that Valgrind does not know: build for an older processor, as with -march=x86-64-v2, or take "
            "a newer Valgrind. A just-in-time compiler: turn it off. A set-user-ID program: run it as its owner."
        )
    return (
        f"`{command}` failed with {ending(code)} under Valgrind. The end of its standard error:\n"
        f"{_last(program_said) or '(nothing)'}\nIt is simulated only if it succeeds; a command that can't be run twice "
        "in the same place must clean up: sh -c 'rm -f OUTPUT; exec COMMAND'."
    )


def _escaped(path):
    return str(path).replace("%", "%%")


def blocks_so_far(folder):
    """Basic blocks in the parts that Callgrind has written into a folder by now, of all processes."""
    return sum(map(_last_block, folder.glob("*.out")))


def _last_block(file):
    """Basic blocks at the end of the last part in a file, which may be long."""
    size, looked = file.stat().st_size, 1 << 16
    while True:
        with file.open("rb") as opened:
            opened.seek(max(0, size - looked))
            ends = _TIMERANGE.findall(opened.read())
        if ends or looked >= size:
            return int(ends[-1]) if ends else 0
        looked *= 4


def _text(file):
    text = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
    return _HEAD.sub("", text)


def _last(text):
    return "\n".join(text.strip().splitlines()[-_LINES_SHOWN:])
