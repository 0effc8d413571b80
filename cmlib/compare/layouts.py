"""Time two programs in random memory layouts.

The position of code and data in memory changes run times. :func:`time_layouts` takes two commands and returns
a DataFrame of times for each, with one row per layout. A new layout is made by moving the stack, or by
linking the program again with its functions in another order. :func:`put_back` restores a program if a
comparison was killed. The lock of the folder next to the program shows whether a comparison is using it.
"""

import fcntl
import os
import random
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pandas as pd

from cmlib.collect.toolchain import run_tool
from cmlib.compare.times import WHOLE
from cmlib.compare.versions import MEASURES, VersionCommand, time_whole
from cmlib.errors import CmlibError, text_of
from cmlib.io.archive import atomic_output, digest, locked
from cmlib.terminal import say

REPEATS = 3  # runs of each layout and version, of which the shortest counts
# Largest distance by which the stack is moved [bytes]. Caches and predictors use the lower twelve bits of an address.
_LONGEST_PADDING = 4096
# Name for -fuse-ld and value of --shuffle-sections, keyed by the program of the linker
_LINKERS = {"ld.lld": ("lld", "*={seed}"), "mold": ("mold", "{seed}")}
_LINKED = "linked"  # name of the file with the SHA-256 of each layout
_MOST_LINKS = 6  # number of tried seeds: a small program has few orders of functions


def check_layouts(versions: Sequence[VersionCommand], build: str | None) -> None:
    """Check that the memory layout of two programs can be changed.

    `build` is run up to six times for each program, and the program is restored afterwards.

    Parameters
    ----------
    versions : sequence of VersionCommand
        The two commands.
    build : str or None
        Shell command that links a program again. It is run in the folder of the program. None if only the
        stack is moved.

    Raises
    ------
    CmlibError
        If there are not two commands, no suitable linker is installed, or `build` always makes the same
        program.
    """
    if len(versions) != 2:
        raise CmlibError("--layouts needs two commands: a recording has only one layout")
    if build and not _find_linker() and "go build" not in build:
        raise CmlibError(
            "--build needs lld or mold to link in another order, and neither is installed. On Debian: apt-get install "
            "lld; on Fedora: dnf install lld. Without --build, only the stack is moved."
        )
    if not build:
        return
    for program in dict.fromkeys(map(_find_program, versions)):
        with _restored(program) as lock:
            if not _changes_by_seed(program, lock, build):
                raise CmlibError(
                    f"--build makes the same {program} for every layout. It must link each time (`make -B`) and use "
                    "$LDFLAGS, $RUSTFLAGS or $GOFLAGS of the environment. For CMake: "
                    'cmake -DCMAKE_EXE_LINKER_FLAGS="$LDFLAGS" . && cmake --build .'
                )


def _changes_by_seed(program: Path, lock: int, build: str) -> bool:
    """Return True if linking with different seeds makes different programs."""
    first_content = None
    for seed in range(1, _MOST_LINKS + 1):
        _relink(program, lock, build, seed)
        content = program.read_bytes()
        if first_content is None:
            first_content = content
        elif content != first_content:
            return True
    return False


def time_layouts(
    versions: Sequence[VersionCommand],
    n_layouts: int,
    build: str | None = None,
    seed: int = 0,
    notify: Callable[[str], None] = say,
    progress: Callable[[], None] = lambda: None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Time two programs in random memory layouts.

    An environment variable of random length moves the stack. If `build` is given, both programs are also
    linked again.

    Parameters
    ----------
    versions : sequence of VersionCommand
        The old and the new version.
    n_layouts : int
        Number of layouts.
    build : str, optional
        Shell command that links a program again. It is run in the folder of each program.
    seed : int, default 0
        Seed of the layouts and of the order of runs.
    notify : callable, optional
        Function that is called with each progress message (str).
    progress : callable, optional
        Function that is called without arguments after each run.

    Returns
    -------
    old, new : DataFrame, shape (n_layouts, 2)
        Elapsed and processor time [s] of the whole program. Each is the shortest of three runs.

    Raises
    ------
    CmlibError
        If a command or the build fails.
    """
    rng = random.Random(seed)
    old_times, new_times = [], []
    notify(f"{n_layouts} layouts, each {'linked and ' if build else ''}run {REPEATS} times.")
    with ExitStack() as stack:
        programs = dict.fromkeys(map(_find_program, versions)) if build else ()
        locks = {program: stack.enter_context(_restored(program)) for program in programs}
        for _ in range(n_layouts):
            layout = rng.randrange(1, 1 << 30)
            padding = rng.randrange(0, _LONGEST_PADDING, 16)
            if build:
                for program, lock in locks.items():
                    _relink(program, lock, build, layout)
            old_shortest, new_shortest = _time_layout(versions, padding, rng, progress)
            old_times.append(old_shortest)
            new_times.append(new_shortest)
    columns = pd.MultiIndex.from_product([[WHOLE], MEASURES])
    return pd.DataFrame(old_times, columns=columns), pd.DataFrame(new_times, columns=columns)


def _time_layout(
    versions: Sequence[VersionCommand], padding: int, rng: random.Random, progress: Callable[[], None]
) -> list[list[float]]:
    """Run both versions in turns in one layout.

    Return the shortest elapsed and processor time [s] of each version.
    """
    runs = [], []
    for _ in range(REPEATS):
        for position in rng.sample((0, 1), 2):
            version = versions[position]
            argv = ["env", f"CMLIB_PADDING={'x' * padding}", *version.argv(0)]
            runs[position].append(time_whole(argv, version.timeout))
            progress()
    return [[min(times) for times in zip(*version_runs, strict=True)] for version_runs in runs]


def put_back(version: VersionCommand, notify: Callable[[str], None] = say) -> None:
    """Restore a program after a comparison of layouts was killed.

    Nothing is done if no comparison was killed.

    Parameters
    ----------
    version : VersionCommand
        Command that runs the program.
    notify : callable, optional
        Function that is called with each progress message (str).

    Raises
    ------
    CmlibError
        If the program was changed after the comparison. For example, the user built it again.
    """
    try:
        program = _find_program(version)
    except (ValueError, IndexError):
        return  # not a command: a clear error is raised when it is run
    folder = _original_folder(program)
    if not folder.is_dir():
        return
    with locked(folder, fcntl.LOCK_NB) as is_free:
        if not is_free:
            notify(f"Another comparison is linking {program}. Waiting until it ends.")
    # The lock is held by a running comparison, and by a build that was running when its comparison was killed.
    with locked(folder):
        original = folder / program.name
        linked = text_of(folder / _LINKED).split()
        if original.is_file() and program.is_file() and digest(program) not in {digest(original), *linked}:
            raise CmlibError(
                f"{program} was changed after a comparison of its layouts was killed. The program from before the "
                f"comparison is {original}. To use it, move it to {program}. Then remove {folder}."
            )
        if original.is_file():
            os.replace(original, program)
            notify(f"Restored {program}, which a killed comparison had changed.")
        shutil.rmtree(folder)


def _find_program(version: VersionCommand) -> Path:
    """Return the path of the program in a command. The file may be missing."""
    word = version.argv(0)[0]
    return Path(shutil.which(word) or word).resolve()


def _original_folder(program: Path) -> Path:
    """Return the folder next to a program that contains its original during a comparison."""
    return program.with_name(f"{program.name}.before-layouts")


@contextmanager
def _restored(program: Path) -> Iterator[int]:
    """Copy a program, and restore it from the copy at the end of a ``with`` block.

    Yield an open file descriptor that locks the folder of the copy.
    """
    folder = _original_folder(program)
    with atomic_output(folder) as draft:
        draft.mkdir()
        shutil.copy2(program, draft)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.replace(folder / program.name, program)
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _relink(program: Path, lock: int, build: str, seed: int) -> None:
    """Run `build` so that it links a program with its functions in a random order.

    The seed is passed in the environment variables that linkers of C, Rust and Go read.
    """
    added_flags = {"GOFLAGS": [f"-ldflags=-randlayout={seed}"]}
    linker = _find_linker()
    if linker:
        linker_name, shuffle_format = _LINKERS[linker]
        shuffle = shuffle_format.format(seed=seed)
        linker_flags = [f"-fuse-ld={linker_name}", f"-Wl,--shuffle-sections={shuffle}"]
        added_flags["LDFLAGS"] = linker_flags
        added_flags["RUSTFLAGS"] = [f"-Clink-arg={flag}" for flag in linker_flags]
    flags = {
        name: " ".join([os.environ.get(name, ""), *added]).strip() for name, added in added_flags.items()
    }
    # The shell writes the digest of the linked program to a file, even if this process is killed meanwhile. It inherits
    # the descriptor `lock`, so that the folder stays locked until the build ends.
    folder = _original_folder(program)
    write_digest = (
        f"sha256sum < {shlex.quote(str(program))} >> {shlex.quote(str(folder / _LINKED))} 2>/dev/null"
    )
    # The braces allow the build's last line to be a comment.
    script = f"cd {shlex.quote(str(program.parent))} && {{\n{build}\n}}; code=$?; {write_digest}; exit $code"
    environment = os.environ | flags | {"CMLIB_LAYOUT": str(seed)}
    run_tool(["/bin/sh", "-c", script], shown=build, env=environment, pass_fds=[lock])


def _find_linker() -> str | None:
    """Return the name of an installed linker that can shuffle functions, or None."""
    return next((linker for linker in _LINKERS if shutil.which(linker)), None)
