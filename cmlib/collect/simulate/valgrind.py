"""Run a command under Valgrind's Callgrind, with chosen caches, and explain why it failed.

:func:`simulate` takes a command and options, and returns a :class:`Simulation` with Callgrind's output.
:func:`cache_options` makes the options. Caches are I1, D1 (first level), L2, and LL (last level). A shape is text
``SIZE,WAYS,LINE`` such as ``32K,8,64`` (bytes), or a tuple of these numbers. Raises a CmlibError for a shape that
can't be simulated, a RecordError if Valgrind or the program fails, and a TooLongError after a limit of time.
"""

import errno
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from cmlib.collect.record import RecordError
from cmlib.collect.record.execute import TooLongError, ending, failure, find_program, run_supervised
from cmlib.collect.record.session import check_room
from cmlib.errors import CmlibError, InputError, last_lines, text_of
from cmlib.io.archive import errors_as

# Valgrind's names of caches, by their level and type in /sys; LL is the unified cache of the highest level.
_NAMES = {(1, "Instruction"): "I1", (1, "Data"): "D1", (2, "Unified"): "L2"}
_FIRST, _SECOND, _LAST = ("I1", "D1"), "L2", "LL"
# Files of a cache's folder in /sys.
_IN_SYS = ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
PREFETCHING = "--simulate-hwpref=yes"  # a prefetcher, which fetches the next lines of a stream
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}
_CALLGRIND = ["--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", "--combine-dumps=yes"]
# Valgrind without a tool, with blocks cut as Callgrind cuts them, so that its statistics contain their number.
_BARE = ["--tool=none", "--stats=yes", "--vex-guest-chase=no", "--vex-iropt-unroll-thresh=0"]
# Writes the counts of each thread apart, so that the reader can count threads.
EACH_THREAD = ["--separate-threads=yes"]
# Costs by address: Callgrind counts each repetition of `rep movsb`, and so the reader can count it once.
EACH_INSTRUCTION = ["--dump-instr=yes", "--collect-jumps=yes"]
# Makes glibc copy by vector instructions, equally on any machine, and not by `rep movsb`, which Valgrind's CPUID has.
# (`glibc.cpu.hwcaps` would, too, but glibc 2.36 reads beyond its end, so that instructions differ from run to run.)
_FROM_BYTES = 1 << 40
FIXED_LIBC = {
    "GLIBC_TUNABLES": f"glibc.cpu.x86_rep_movsb_threshold={_FROM_BYTES}:glibc.cpu.x86_rep_stosb_threshold={_FROM_BYTES}"
}
_FOR_ALL = ["--trace-children=yes", "--vgdb=no"]
_REFUSED = re.compile(
    r"valgrind:|unhandled|[Uu]nrecognised|the 'impossible' happened|not supported|SIGILL|Can't execute setuid"
)
_HEAD = re.compile(r"^(?:==|--)[0-9]+(?:==|--) ?", re.MULTILINE)
_PREFETCHED = re.compile(r"^Prefetch (?:Up|Down): +([0-9]+)$", re.MULTILINE)
_TIMERANGE = re.compile(rb"^desc: Timerange: Basic block [0-9]+ - ([0-9]+)$", re.MULTILINE)
_POLL_S = 0.2
_PYTHON_LOOP = "_PyEval_EvalFrameDefault"  # the interpreter's function that executes Python's code
# Python's sets and dicts of text are in the same order in each run, so that runs execute the same.
_SAME_HASHES = {"PYTHONHASHSEED": "0"}
_NAMES_FOR_PERF = Path("/tmp")  # where Python writes its functions' names for perf, whatever TMPDIR is


def cache_options(caches, *, prefetch=False, root="/"):
    """Make Valgrind's options (list of str) for the caches of the first level and the last level.

    `caches` maps Valgrind's names (I1, D1, LL) to text ``SIZE,WAYS,LINE``. Caches that are not named are this
    machine's (from /sys below `root`), as far as Valgrind can simulate them. With `prefetch` a prefetcher of
    streams is simulated, too. Raises a CmlibError for a shape that can't be simulated.
    """
    return _write_options(_choose_caches(caches, root), _LAST, prefetch)


def second_level_options(caches, *, prefetch=False, root="/"):
    """Make Valgrind's options (list of str) for a simulation of the second-level cache in place of the last one.

    `caches` maps I1, D1, L2 and LL to text ``SIZE,WAYS,LINE``. Caches that are not named are this machine's (from
    /sys below `root`). With `prefetch` a prefetcher of streams is simulated, too. The list is empty if there is no
    second-level cache smaller than LL. Raises a CmlibError for a shape that can't be simulated.
    """
    chosen = _choose_caches(caches, root)
    # Without an option Valgrind rounds the machine's last level to one that it can simulate: its true size is compared.
    sizes = {name: shape[0] for name, shape in (machine_caches(root) | chosen).items()}
    between = _SECOND in chosen and chosen[_SECOND][0] < sizes.get(_LAST, 0)
    return _write_options(chosen, _SECOND, prefetch) if between else []


def machine_caches(root="/"):
    """Read this machine's caches from /sys: a dict from I1, D1, L2 and LL to (size [bytes], ways, line [bytes]).

    Caches that /sys (below `root`) does not describe are absent.
    """
    shapes, last = {}, 0
    for place in sorted(Path(root, "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size, ways, line = ((place / name).read_text().strip() for name in _IN_SYS)
            shape = _to_bytes(size), int(ways), int(line)
        except (OSError, ValueError):
            continue
        if name := _NAMES.get((int(level), kind)):
            shapes[name] = shape
        if kind == "Unified" and int(level) > last:
            last, shapes[_LAST] = int(level), shape
    return shapes


def _choose_caches(caches, root):
    """Choose the shape (size, ways, line) of each cache (dict).

    A cache has the shape that the user wrote, or else that of this machine's cache if it can be simulated.
    """
    machine_shapes = {
        name: shape for name, shape in machine_caches(root).items() if _can_be_simulated(*shape)
    }
    return machine_shapes | {name: _parse(name, text) for name, text in caches.items() if text}


def _write_options(chosen, last, prefetch):
    """Write Valgrind's options for I1, D1, and for the cache `last` in place of its last level."""
    shapes = {name: chosen[name] for name in _FIRST if name in chosen}
    if last in chosen:
        size, ways, line = chosen[last]
        # With prefetching two neighboring lines are always fetched together: simulated as lines of twice the length.
        shapes[_LAST] = size, ways, 2 * line if prefetch else line
    options = [f"--{name}={','.join(map(str, shape))}" for name, shape in shapes.items()]
    return [*options, PREFETCHING] if prefetch else options


def _can_be_simulated(size, ways, line):
    """Return True if the number of sets is whole, and a power of two."""
    sets = size // (ways * line) if ways > 0 and line > 0 else 0
    return sets > 0 and sets * ways * line == size and sets & (sets - 1) == 0


def _parse(name, text):
    """Parse ``SIZE,WAYS,LINE`` into three int; raise a CmlibError if they can't be simulated."""
    parts = text.split(",")
    try:
        size = _to_bytes(parts[0])
        ways, line = map(int, parts[1:])
    except ValueError:
        size = ways = line = 0
    if not _can_be_simulated(size, ways, line):
        raise CmlibError(
            f"{name} cache {text!r} can't be simulated: give size, ways and length of a line in bytes, as 32K,8,64. "
            "The number of sets, size / (ways x line), must be a power of two."
        )
    return size, ways, line


def _to_bytes(text):
    """Convert a size such as ``32K`` to bytes (int); raise a ValueError if it is not a size."""
    match = re.fullmatch(r"([0-9]+)([KM]?)", text.strip())
    if match is None:
        raise InputError(text)
    return int(match[1]) * _UNITS[match[2]]


@dataclass(frozen=True)
class Simulation:
    """Callgrind's output for one run.

    Attributes
    ----------
    raw : bytes
        The files of all processes, one after another.
    seconds : float
        Elapsed time [s].
    in_order : int
        With prefetching, the number of lines of the last level that continued a stream; else 0.
    """

    raw: bytes
    seconds: float
    in_order: int = 0  # lines of the last level that continued a stream, with prefetching


def check_valgrind():
    """Return Valgrind's version (str), such as ``3.19.0``; raise a RecordError if it is not installed."""
    if shutil.which("valgrind") is None:
        raise RecordError(
            "Valgrind is not installed, and a simulation needs it. On Debian: apt-get install valgrind; on Fedora: dnf "
            "install valgrind."
        )
    version = subprocess.run(["valgrind", "--version"], capture_output=True, text=True).stdout
    return version.strip().removeprefix("valgrind-")


def simulate(
    command, folder, *, every_blocks=None, options=(), progress=None, python=False, limit_s=None, env=()
):
    """Run a command (list of str) once under Callgrind; a Simulation.

    Files go into `folder` (Path); an interval ends after `every_blocks` basic blocks (None: one interval).
    `options` are further ones of Valgrind, `env` has variables for the program; PYTHONHASHSEED is 0 if it is not set.
    `progress` is called with the
    number of blocks so far. With `python` the interpreter's instructions are split by Python functions.
    TooLongError after `limit_s` [s], RecordError if Valgrind is missing, the program fails, Valgrind can't run it,
    or the disk is full.
    """
    intervals = [] if every_blocks is None else [f"--dump-every-bb={every_blocks}"]
    verbose = ["-v"] if PREFETCHING in options else []  # its log then contains the number of lines prefetched
    options = [*_CALLGRIND, *verbose, *intervals, *options, f"--callgrind-out-file={_escape(folder)}/%p.out"]
    meanwhile = (lambda: progress(blocks_so_far(folder))) if progress else None
    options += [f"--separate-callers2={_PYTHON_LOOP}"] if python else []
    env = dict(env) | ({"PYTHONPERFSUPPORT": "1"} if python else {})
    log, seconds = _run(command, folder, options, meanwhile=meanwhile, env=env, limit_s=limit_s)
    files = sorted(folder.glob("*.out"), key=lambda file: int(file.stem))
    raw = b"".join(_name_python_functions(file) if python else file.read_bytes() for file in files)
    if not raw:
        raise RecordError(f"Valgrind wrote no counts of `{shlex.join(command)}`. It said:\n{last_lines(log)}")
    return Simulation(raw, seconds, sum(map(int, _PREFETCHED.findall(log))))


def count_blocks(command, folder, *, limit_s):
    """Run a command under Valgrind without a simulation; return its basic blocks (int) and its elapsed time [s].

    The number is from Valgrind's statistics; files go into `folder` (Path). Raises a TooLongError after `limit_s`
    [s], and a RecordError if the command fails.
    """
    log, seconds = _run(command, folder, _BARE, limit_s=limit_s)
    checks = re.findall(r"scheduler: ([0-9,]+) event checks", log)
    return sum(int(n.replace(",", "")) for n in checks), seconds


def _name_python_functions(file):
    """Return Callgrind's file of a process (bytes), with Python's functions in place of the interpreter's.

    This takes Python 3.12 or later.
    """
    raw, names = file.read_bytes(), _NAMES_FOR_PERF / f"perf-{file.stem}.map"
    pattern = rb"%s'(?:2')?(?:0x0*([0-9a-f]+)')?\S*" % _PYTHON_LOOP.encode()
    functions = {}
    if names.is_file():
        functions = {line.split()[0]: line.split(maxsplit=2)[2] for line in names.read_bytes().splitlines()}
        names.unlink()
    return re.sub(pattern, lambda match: functions.get(match[1], _PYTHON_LOOP.encode()), raw)


def _run(command, folder, options, *, meanwhile=None, env=(), limit_s=None):
    """Run a command under Valgrind with these options; its log (str) and the elapsed time [s]."""
    check_valgrind()
    resolved = find_program(command)
    environment = {name: os.environ.get(name, value) for name, value in _SAME_HASHES.items()} | dict(env)
    watched = ["valgrind", *options, *_FOR_ALL, f"--log-file={_escape(folder)}/%p.log", "--", *resolved]
    errors = folder / "stderr"
    started = time.monotonic()
    with (
        errors.open("wb") as stderr,
        run_supervised(watched, environment=environment, stdout=subprocess.DEVNULL, stderr=stderr) as process,
    ):
        code = _wait(process, command, meanwhile, limit_s)
    seconds = time.monotonic() - started
    with errors_as(RecordError, folder):  # Valgrind does not say that it could not write
        if code == 128 + signal.SIGXFSZ:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(folder))
        check_room(folder)
    log = "\n".join(_HEAD.sub("", text_of(file)) for file in sorted(folder.glob("*.log")))
    if code:
        raise RecordError(_explain_failure(shlex.join(command), code, log, text_of(errors)))
    return log, seconds


def _wait(process, command, meanwhile, limit_s):
    """Wait for a process, calling `meanwhile` again and again; return its exit code, or raise TooLongError."""
    end = time.monotonic() + (limit_s or math.inf)
    while True:
        try:
            return process.wait(_POLL_S)
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                raise TooLongError(command, limit_s) from None
            if meanwhile:
                meanwhile()


def _explain_failure(command, code, log, program_stderr):
    """Explain why a command failed under Valgrind: what Valgrind can't do, or the command's own error."""
    reasons = [line for line in [*program_stderr.splitlines(), *log.splitlines()] if _REFUSED.search(line)]
    if reasons:
        shown = last_lines("\n".join(reasons))
        return (
            f"Valgrind can't run `{command}`, which ended with {ending(code)}:\n{shown}\n"
            "Instructions that Valgrind does not know: build for an older processor, as with -march=x86-64-v2, or take "
            "a newer Valgrind. A just-in-time compiler: turn it off. A set-user-ID program: run it as its owner."
        )
    return (
        f"{failure(command, code, program_stderr, ' under Valgrind')}\n"
        "Only a program that succeeds is simulated. A command that can't be run twice in the same place must clean up: "
        "sh -c 'rm -f OUTPUT; exec COMMAND'."
    )


def _escape(path):
    """Write a path as Valgrind's options take it, where % has a meaning."""
    return str(path).replace("%", "%%")


def blocks_so_far(folder):
    """Count the basic blocks that Callgrind has executed so far, from all processes' files in `folder` (Path)."""
    return sum(map(_find_last_block, folder.glob("*.out")))


def _find_last_block(file):
    """Return the number of the last basic block in a Callgrind file; only its end is read, as it may be long."""
    size, looked = file.stat().st_size, 1 << 16
    while True:
        with file.open("rb") as opened:
            opened.seek(max(0, size - looked))
            ends = _TIMERANGE.findall(opened.read())
        if ends or looked >= size:
            return int(ends[-1]) if ends else 0
        looked *= 4
