"""Run a command under Valgrind's Callgrind, with chosen caches.

:func:`simulate` takes a command and options, and returns a :class:`Simulation` with Callgrind's output.
:func:`cache_options` makes the options. Caches are I1 and D1 (first level), L2, and LL (last level). The shape of a
cache is its size, ways and line length, for example ``32K,8,64`` [bytes]. If a program fails under Valgrind, the
error explains what Valgrind cannot do.
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

# Valgrind's names of caches, keyed by level and type in /sys. LL is the unified cache of the highest level.
_NAMES = {(1, "Instruction"): "I1", (1, "Data"): "D1", (2, "Unified"): "L2"}
_FIRST, _SECOND, _LAST = ("I1", "D1"), "L2", "LL"
# Files of a cache's folder in /sys.
_IN_SYS = ("level", "type", "size", "ways_of_associativity", "coherency_line_size")
PREFETCHING = "--simulate-hwpref=yes"  # simulates a prefetcher, which fetches the next lines of a stream
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}
_CALLGRIND = ["--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", "--combine-dumps=yes"]
# Valgrind without a tool. It divides code into the same basic blocks as Callgrind and reports their number.
_BARE = ["--tool=none", "--stats=yes", "--vex-guest-chase=no", "--vex-iropt-unroll-thresh=0"]
# Writes separate counts for each thread. The reader counts the threads.
EACH_THREAD = ["--separate-threads=yes"]
# Writes costs by address. Callgrind counts each repetition of `rep movsb`; the reader counts the instruction once.
EACH_INSTRUCTION = ["--dump-instr=yes", "--collect-jumps=yes"]
# Makes glibc copy by vector instructions on any machine. With Valgrind's CPUID it would copy by `rep movsb`.
# `glibc.cpu.hwcaps` is not used: glibc 2.36 reads beyond its end, and instructions differ from run to run.
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
# Gives Python's sets of text the same order in each run. Otherwise runs would execute different instructions.
_SAME_HASHES = {"PYTHONHASHSEED": "0"}
_NAMES_FOR_PERF = Path("/tmp")  # where Python writes its functions' names for perf, whatever TMPDIR is


def cache_options(caches, *, prefetch=False, root="/"):
    """Return Valgrind's options for the first-level caches and the last-level cache.

    Parameters
    ----------
    caches : dict of str to str
        Shapes of the caches I1, D1 and LL. For example, ``{"D1": "32K,8,64"}``. Other caches are those of this
        machine, unless Valgrind cannot simulate them.
    prefetch : bool, default False
        Whether to simulate a prefetcher of streams.
    root : path-like, default "/"
        Folder that contains sys.

    Returns
    -------
    list of str

    Raises
    ------
    CmlibError
        If a shape cannot be simulated.
    """
    return _write_options(_choose_caches(caches, root), _LAST, prefetch)


def second_level_options(caches, *, prefetch=False, root="/"):
    """Return Valgrind's options for a simulation with L2 in place of the last-level cache.

    Parameters
    ----------
    caches : dict of str to str
        Shapes of the caches I1, D1, L2 and LL. Other caches are those of this machine.
    prefetch : bool, default False
        Whether to simulate a prefetcher of streams.
    root : path-like, default "/"
        Folder that contains sys.

    Returns
    -------
    list of str
        Empty if no second-level cache is smaller than LL.

    Raises
    ------
    CmlibError
        If a shape cannot be simulated.
    """
    chosen = _choose_caches(caches, root)
    # Valgrind rounds the machine's last level to a shape that it can simulate. Its true size is compared here.
    sizes = {name: shape[0] for name, shape in (machine_caches(root) | chosen).items()}
    has_smaller_l2 = _SECOND in chosen and chosen[_SECOND][0] < sizes.get(_LAST, 0)
    return _write_options(chosen, _SECOND, prefetch) if has_smaller_l2 else []


def machine_caches(root="/"):
    """Read the shapes of this machine's caches from /sys.

    Parameters
    ----------
    root : path-like, default "/"
        Folder that contains sys.

    Returns
    -------
    dict of str to tuple of int
        Size [bytes], ways and line length [bytes], keyed by I1, D1, L2 and LL. Caches that /sys does not describe
        are missing.
    """
    shapes, last = {}, 0
    for folder in sorted(Path(root, "sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size, ways, line = ((folder / name).read_text().strip() for name in _IN_SYS)
            shape = _to_bytes(size), int(ways), int(line)
        except (OSError, ValueError):
            continue
        if name := _NAMES.get((int(level), kind)):
            shapes[name] = shape
        if kind == "Unified" and int(level) > last:
            last, shapes[_LAST] = int(level), shape
    return shapes


def _choose_caches(caches, root):
    """Choose the shape of each cache: the user's shape, or the machine's if it can be simulated."""
    machine_shapes = {
        name: shape for name, shape in machine_caches(root).items() if _can_be_simulated(*shape)
    }
    return machine_shapes | {name: _parse(name, text) for name, text in caches.items() if text}


def _write_options(chosen, last, prefetch):
    """Write Valgrind's options for I1, D1, and for the cache `last` as the last level."""
    shapes = {name: chosen[name] for name in _FIRST if name in chosen}
    if last in chosen:
        size, ways, line = chosen[last]
        # A prefetcher always fetches two neighboring lines. They are simulated as one line of twice the length.
        shapes[_LAST] = size, ways, 2 * line if prefetch else line
    options = [f"--{name}={','.join(map(str, shape))}" for name, shape in shapes.items()]
    return [*options, PREFETCHING] if prefetch else options


def _can_be_simulated(size, ways, line):
    """Return True if the number of sets is an integer and a power of two."""
    sets = size // (ways * line) if ways > 0 and line > 0 else 0
    return sets > 0 and sets * ways * line == size and sets & (sets - 1) == 0


def _parse(name, text):
    """Parse ``SIZE,WAYS,LINE`` into three int; raise a CmlibError if the cache cannot be simulated."""
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
    """Convert a size, for example ``32K``, to bytes (int); raise a ValueError if it is not a size."""
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
        Number of last-level cache lines that continued a stream. 0 without a prefetcher.
    """

    raw: bytes
    seconds: float
    in_order: int = 0


def check_valgrind():
    """Return Valgrind's version, for example ``3.19.0``; raise a RecordError if it is not installed."""
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
    """Run a command once under Callgrind.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    folder : Path
        Empty folder for temporary files.
    every_blocks : int, optional
        Length of an interval [basic blocks]. By default the whole run is one interval.
    options : sequence of str, optional
        Further options of Valgrind. For example, from :func:`cache_options`.
    progress : callable, optional
        Called from time to time with the number of basic blocks executed so far.
    python : bool, default False
        Whether to attribute the interpreter's instructions to Python functions. Needs Python 3.12 or later.
    limit_s : float, optional
        Longest time [s].
    env : mapping of str to str, optional
        Environment variables for the program. PYTHONHASHSEED is 0 if it is not set.

    Returns
    -------
    Simulation

    Raises
    ------
    RecordError
        If Valgrind is missing or cannot run the program, if the program fails, or if the disk is full.
    TooLongError
        If the run takes more than `limit_s`.
    """
    options = [*_CALLGRIND, *options, f"--callgrind-out-file={_escape(folder)}/%p.out"]
    env = dict(env)
    if PREFETCHING in options:
        options.append("-v")  # the log then contains the number of prefetched lines
    if every_blocks is not None:
        options.append(f"--dump-every-bb={every_blocks}")
    if python:
        options.append(f"--separate-callers2={_PYTHON_LOOP}")
        env["PYTHONPERFSUPPORT"] = "1"
    meanwhile = (lambda: progress(blocks_so_far(folder))) if progress else None
    log, seconds = _run(command, folder, options, meanwhile=meanwhile, env=env, limit_s=limit_s)
    files = sorted(folder.glob("*.out"), key=lambda file: int(file.stem))
    raw = b"".join(_name_python_functions(file) if python else file.read_bytes() for file in files)
    if not raw:
        raise RecordError(f"Valgrind wrote no counts of `{shlex.join(command)}`. It said:\n{last_lines(log)}")
    return Simulation(raw, seconds, sum(map(int, _PREFETCHED.findall(log))))


def count_blocks(command, folder, *, limit_s):
    """Count the basic blocks of a command under Valgrind, without a simulation.

    Parameters
    ----------
    command : list of str
        The program and its arguments.
    folder : Path
        Empty folder for temporary files.
    limit_s : float
        Longest time [s].

    Returns
    -------
    n_blocks : int
        Number of executed basic blocks, from Valgrind's statistics.
    seconds : float
        Elapsed time [s].

    Raises
    ------
    RecordError
        If the command fails.
    TooLongError
        If the run takes more than `limit_s`.
    """
    log, seconds = _run(command, folder, _BARE, limit_s=limit_s)
    checks = re.findall(r"scheduler: ([0-9,]+) event checks", log)
    return sum(int(n.replace(",", "")) for n in checks), seconds


def _name_python_functions(file):
    """Read Callgrind's file of a process (bytes), and replace the interpreter's loop by names of Python functions."""
    raw, names = file.read_bytes(), _NAMES_FOR_PERF / f"perf-{file.stem}.map"
    pattern = rb"%s'(?:2')?(?:0x0*([0-9a-f]+)')?\S*" % _PYTHON_LOOP.encode()
    functions = {}
    if names.is_file():
        functions = {line.split()[0]: line.split(maxsplit=2)[2] for line in names.read_bytes().splitlines()}
        names.unlink()
    return re.sub(pattern, lambda match: functions.get(match[1], _PYTHON_LOOP.encode()), raw)


def _run(command, folder, options, *, meanwhile=None, env=(), limit_s=None):
    """Run a command under Valgrind; return the text of its log and the elapsed time [s]."""
    check_valgrind()
    log_file = f"--log-file={_escape(folder)}/%p.log"
    watched = ["valgrind", *options, *_FOR_ALL, log_file, "--", *find_program(command)]
    environment = {name: os.environ.get(name, value) for name, value in _SAME_HASHES.items()} | dict(env)
    errors = folder / "stderr"
    started = time.monotonic()
    with (
        errors.open("wb") as stderr,
        run_supervised(watched, environment=environment, stdout=subprocess.DEVNULL, stderr=stderr) as process,
    ):
        code = _wait(process, command, meanwhile, limit_s)
    seconds = time.monotonic() - started
    _check_written(folder, code)
    log = "\n".join(_HEAD.sub("", text_of(file)) for file in sorted(folder.glob("*.log")))
    if code:
        raise RecordError(_explain_failure(shlex.join(command), code, log, text_of(errors)))
    return log, seconds


def _check_written(folder, code):
    """Raise a RecordError if Valgrind could not write its files, which it does not report."""
    with errors_as(RecordError, folder):
        if code == 128 + signal.SIGXFSZ:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(folder))
        check_room(folder)


def _wait(process, command, meanwhile, limit_s):
    """Wait for a process and call `meanwhile` regularly; return the exit code, or raise a TooLongError."""
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
    """Explain why a command failed under Valgrind: a limit of Valgrind, or the command's own error."""
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
    """Escape the % signs of a path for an option of Valgrind."""
    return str(path).replace("%", "%%")


def blocks_so_far(folder):
    """Return the number of basic blocks executed so far, from Callgrind's files in a folder."""
    return sum(map(_find_last_block, folder.glob("*.out")))


def _find_last_block(file):
    """Return the number of the last basic block in a Callgrind file; read only the end, as files may be long."""
    size, looked = file.stat().st_size, 1 << 16
    while True:
        with file.open("rb") as opened:
            opened.seek(max(0, size - looked))
            ends = _TIMERANGE.findall(opened.read())
        if ends or looked >= size:
            return int(ends[-1]) if ends else 0
        looked *= 4
