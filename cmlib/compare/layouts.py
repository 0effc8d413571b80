"""Time two versions in random memory layouts: relinked with functions in another order, or with the stack moved.

The position of code and data in memory changes run times by itself. :func:`time_layouts` takes two Versions (commands
to run), and returns a DataFrame for each: one row per layout, columns elapsed and processor time [s]. CmlibError if a
command or the build fails; :func:`check_layouts` raises it if no linker can shuffle functions. :func:`put_back`
restores a command's program if a comparison was killed that had linked it in another layout.
"""

import fcntl
import os
import random
import shlex
import shutil
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pandas as pd

from cmlib.collect.toolchain import run_tool
from cmlib.compare.times import WHOLE
from cmlib.compare.versions import MEASURES, time_whole
from cmlib.errors import CmlibError, text_of
from cmlib.io.archive import atomic_output, digest, locked
from cmlib.terminal import say

REPEATS = 3  # runs of each layout and version; the shortest counts
# Bytes by which the stack is moved, at most: caches and predictors index by the lower twelve bits of an address.
_LONGEST_PADDING = 4096
# For each linker's program, its name for -fuse-ld, and the value of its option --shuffle-sections.
_LINKERS = {"ld.lld": ("lld", "*={seed}"), "mold": ("mold", "{seed}")}
_LINKED = "linked"  # file with the SHA-256 of each layout
_MOST_LINKS = 6  # seeds that are tried until two programs differ: a small program has few orders


def check_layouts(versions, build):
    """Check that the memory layout of two programs can be changed.

    Parameters
    ----------
    versions : sequence of VersionCommand
        The two commands.
    build : str or None
        Shell command that links a program again. It is run in the folder of each program with up to six seeds, and must
        link differently; the programs are restored afterwards. None if only the stack is moved, which needs no check.

    Raises
    ------
    CmlibError
        If there are not two commands, no linker can change the order of functions, or `build` fails or links the same
        program with each seed.
    """
    if len(versions) != 2:
        raise CmlibError("--layouts is for two commands, which it runs: a recording has one layout")
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
                    f"--build leaves {program} the same in every layout. It must link anew (`make -B`), with $LDFLAGS, "
                    "$RUSTFLAGS or $GOFLAGS of the environment. For CMake: "
                    'cmake -DCMAKE_EXE_LINKER_FLAGS="$LDFLAGS" . && cmake --build .'
                )


def _changes_by_seed(program, lock, build):
    """Link a program with several seeds; return True as soon as two results differ."""
    first_content = None
    for seed in range(1, _MOST_LINKS + 1):
        _relink(program, lock, build, seed)
        content = program.read_bytes()
        if first_content is None:
            first_content = content
        elif content != first_content:
            return True
    return False


def time_layouts(versions, n_layouts, build=None, seed=0, notify=say, progress=lambda: None):
    """Time two versions in random layouts.

    With `build`, both are linked again with the same seed in each layout. An environment variable of random length
    moves the stack.

    Parameters
    ----------
    versions : sequence of two Versions
        The old and the new one.
    n_layouts : int
        Number of layouts.
    build : str, optional
        Shell command that links a program again; it is run in the folder of each version's program.
    seed : int, default 0
        Seed of the layouts and of the order of runs.
    notify, progress : callable
        Called with a sentence (str) on the progress; called without arguments after each run.

    Returns
    -------
    old, new : DataFrame, shape (n_layouts, 2)
        Elapsed and processor time [s] of the whole program, each the shortest of three runs; columns are pairs
        (function, measure).

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
            for program, lock in locks.items():
                _relink(program, lock, build, layout)
            old_shortest, new_shortest = _time_layout(versions, padding, rng, progress)
            old_times.append(old_shortest)
            new_times.append(new_shortest)
    columns = pd.MultiIndex.from_product([[WHOLE], MEASURES])
    return pd.DataFrame(old_times, columns=columns), pd.DataFrame(new_times, columns=columns)


def _time_layout(versions, padding, rng, progress):
    """Run two versions in turns in one layout; return the shortest [elapsed, processor time] of each [s]."""
    runs = [], []
    for _ in range(REPEATS):
        for position in rng.sample((0, 1), 2):
            version = versions[position]
            argv = ["env", f"CMLIB_PADDING={'x' * padding}", *version.argv(0)]
            runs[position].append(time_whole(argv, version.timeout))
            progress()
    return [[min(times) for times in zip(*of_version, strict=True)] for of_version in runs]


def put_back(version, notify=say):
    """Restore a program if a comparison was killed while it timed layouts.

    Parameters
    ----------
    version : VersionCommand
        Command that executes the program.
    notify : callable
        Called with a sentence (str) on the progress.

    Raises
    ------
    CmlibError
        If the program is neither the one from before the comparison nor one that the comparison linked, for example
        after a build by the user.
    """
    try:
        program = _find_program(version)
    except (ValueError, IndexError):
        return  # not a command; running it raises a clear error
    folder = _kept_folder(program)
    if not folder.is_dir():
        return
    with locked(folder, fcntl.LOCK_NB) as is_free:
        if not is_free:
            notify(f"Another comparison links {program} anew: waiting for its end.")
    # A comparison holds the lock, and so does a build that was running when the comparison was killed.
    with locked(folder):
        original = folder / program.name
        linked = text_of(folder / _LINKED).split()
        if original.is_file() and program.is_file() and digest(program) not in {digest(original), *linked}:
            raise CmlibError(
                f"{program} has changed since a comparison was killed that linked it in other layouts. The program "
                f"from before is {original}: move it to {program} if you want that one. Then remove {folder}."
            )
        if original.is_file():
            os.replace(original, program)
            notify(f"{program} is again what it was before a comparison that was killed.")
        shutil.rmtree(folder)


def _find_program(version):
    """Return the path of the file that a version's command executes; the file may be missing."""
    word = version.argv(0)[0]
    return Path(shutil.which(word) or word).resolve()


def _kept_folder(program):
    """Return the folder beside a program that keeps the original while the program is linked again."""
    return program.with_name(f"{program.name}.before-layouts")


@contextmanager
def _restored(program):
    """Keep a copy of a program (path) in a folder beside it during a ``with`` block, and restore it at the end.

    Yield an open descriptor (int) that holds the lock of the folder.
    """
    folder = _kept_folder(program)
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


def _relink(program, lock, build, seed):
    """Run `build` with a seed for the order of functions in the variables that linkers of C, Rust and Go read.

    The shell writes the SHA-256 of the linked program to a file, even if this process is killed meanwhile; until then
    it has the descriptor `lock`. If this process is interrupted, the build is ended.
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
    folder = _kept_folder(program)
    note = f"sha256sum < {shlex.quote(str(program))} >> {shlex.quote(str(folder / _LINKED))} 2>/dev/null"
    # The braces allow the build's last line to be a comment.
    script = f"cd {shlex.quote(str(program.parent))} && {{\n{build}\n}}; code=$?; {note}; exit $code"
    environment = os.environ | flags | {"CMLIB_LAYOUT": str(seed)}
    run_tool(["/bin/sh", "-c", script], shown=build, env=environment, pass_fds=[lock])


def _find_linker():
    """Return the program of an installed linker that shuffles functions; None if there is none."""
    return next((linker for linker in _LINKERS if shutil.which(linker)), None)
