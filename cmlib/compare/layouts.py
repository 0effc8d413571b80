"""Time two versions in random memory layouts: relinked with functions in another order, or with the stack moved.

Where code and data lie in memory changes run times by itself. :func:`time_layouts` takes two Versions (commands to
run), and gives a DataFrame for each: a row per layout, columns elapsed and processor time [s]. A CmlibError if a
command or the build fails; :func:`check_layouts` raises one if no linker can shuffle functions. :func:`put_back` gives
a command its program again if a comparison was killed that had linked it in another layout.
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
# Most bytes by which the stack is moved: caches and predictors index by the lower twelve bits of an address.
_LONGEST_PADDING = 4096
# By a linker's program: its name for -fuse-ld, and the value of its option --shuffle-sections.
_LINKERS = {"ld.lld": ("lld", "*={seed}"), "mold": ("mold", "{seed}")}
_LINKED = "linked"  # file of the SHA-256 of each layout
_MOST_LINKS = 6  # seeds that are tried until two programs differ: a small one has few orders


def check_layouts(versions, build):
    """Raise CmlibError unless `versions` are two Versions, and the shell command `build` links differently by seed.

    `build` (str) is run in the folder of each program with another seed, up to six times; None: only the stack is
    moved, which needs no check. Programs are put back as they were.
    """
    if len(versions) != 2:
        raise CmlibError("--layouts is for two commands, which it runs: a recording has one layout")
    if build and not _linker() and "go build" not in build:
        raise CmlibError(
            "--build needs lld or mold to link in another order, and neither is installed. On Debian: apt-get install "
            "lld; on Fedora: dnf install lld. Without --build, only the stack is moved."
        )
    for program in dict.fromkeys(map(_find_program, versions)) if build else ():
        with _restored(program) as lock:
            links = set()
            for seed in range(_MOST_LINKS):
                _relink(program, lock, build, seed + 1)
                links.add(program.read_bytes())
                if len(links) == 2:
                    break
            else:
                raise CmlibError(
                    f"--build leaves {program} the same in every layout. It must link anew (`make -B`), with $LDFLAGS, "
                    "$RUSTFLAGS or $GOFLAGS of the environment. For CMake: "
                    'cmake -DCMAKE_EXE_LINKER_FLAGS="$LDFLAGS" . && cmake --build .'
                )


def time_layouts(versions, n_layouts, build=None, seed=0, notify=say, progress=lambda: None):
    """Times of two versions in random layouts.

    With `build`, a shell command that is run in the folder of each version's program and links it anew, both are
    linked with the same seed in each layout; without, an environment variable of random length moves the stack.

    Parameters
    ----------
    versions : sequence of two Versions
        The old and the new one.
    n_layouts : int
        How many layouts.
    build : str, optional
        The shell command.
    seed : int, default 0
        Of layouts and of the order of runs.
    notify, progress : callable
        Called with a sentence (str) on what happens; called without arguments after each run.

    Returns
    -------
    old, new : DataFrame, shape (n_layouts, 2)
        Elapsed and processor time [s] of the whole program, the shortest of three runs; columns are pairs (function,
        measure).

    Raises
    ------
    CmlibError
        If a command or the build fails.
    """
    rng, times = random.Random(seed), ([], [])
    notify(f"{n_layouts} layouts, each {'linked and ' if build else ''}run {REPEATS} times.")
    with ExitStack() as stack:
        found = dict.fromkeys(map(_find_program, versions)) if build else ()
        locks = {program: stack.enter_context(_restored(program)) for program in found}
        for _ in range(n_layouts):
            layout, padding = rng.randrange(1, 1 << 30), rng.randrange(0, _LONGEST_PADDING, 16)
            for program, lock in locks.items():
                _relink(program, lock, build, layout)
            runs = [], []
            for _ in range(REPEATS):
                for form in rng.sample((0, 1), 2):
                    argv = ["env", f"CMLIB_PADDING={'x' * padding}", *versions[form].argv(0)]
                    runs[form].append(time_whole(argv, versions[form].timeout))
                    progress()
            for form in (0, 1):
                times[form].append([min(column) for column in zip(*runs[form], strict=True)])
    columns = pd.MultiIndex.from_product([[WHOLE], MEASURES])
    return tuple(pd.DataFrame(rows, columns=columns) for rows in times)


def put_back(version, notify=say):
    """Give a Version's command the program that it had before a comparison that was killed while layouts were timed.

    Nothing is done if there was none. `notify` is called with a sentence (str). CmlibError if the program is neither
    that one nor one that the comparison linked, as after a build of the user's own.
    """
    try:
        program = _find_program(version)
    except (ValueError, IndexError):
        return  # no command: whoever runs it says so
    folder = _kept_folder(program)
    if not folder.is_dir():
        return
    with locked(folder, fcntl.LOCK_NB) as is_free:
        if not is_free:
            notify(f"Another comparison links {program} anew: waiting for its end.")
    # A comparison holds the lock, and so does a build that it had begun when it was killed.
    with locked(folder):
        kept = folder / program.name
        linked = text_of(folder / _LINKED).split()
        if kept.is_file() and program.is_file() and digest(program) not in {digest(kept), *linked}:
            raise CmlibError(
                f"{program} has changed since a comparison was killed that linked it in other layouts. The program "
                f"from before is {kept}: move it to {program} if you want that one. Then remove {folder}."
            )
        if kept.is_file():
            os.replace(kept, program)
            notify(f"{program} is again what it was before a comparison that was killed.")
        shutil.rmtree(folder)


def _find_program(version):
    """Path of the file that a version's command executes, which may be missing."""
    word = version.argv(0)[0]
    return Path(shutil.which(word) or word).resolve()


def _kept_folder(program):
    """The folder beside a program that holds it while it is linked anew."""
    return program.with_name(f"{program.name}.before-layouts")


@contextmanager
def _restored(program):
    """During a ``with`` block, keep a program (path) in a folder beside it; at its end, put it back.

    Yields an open descriptor (int) that holds the folder's lock.
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

    The shell notes the SHA-256 of what was linked, even if this process is killed meanwhile; until then it has the
    descriptor `lock`. If this process is interrupted, the build is ended.
    """
    added = {"GOFLAGS": [f"-ldflags=-randlayout={seed}"]}
    if linker := _linker():
        name, shuffled = _LINKERS[linker]
        flags = [f"-fuse-ld={name}", f"-Wl,--shuffle-sections={shuffled.format(seed=seed)}"]
        added |= {"LDFLAGS": flags, "RUSTFLAGS": [f"-Clink-arg={flag}" for flag in flags]}
    flags = {name: " ".join([os.environ.get(name, ""), *added[name]]).strip() for name in added}
    folder = _kept_folder(program)
    note = f"sha256sum < {shlex.quote(str(program))} >> {shlex.quote(str(folder / _LINKED))} 2>/dev/null"
    # In a group of shell code of its own, so that the build's last line may be a comment.
    script = f"cd {shlex.quote(str(program.parent))} && {{\n{build}\n}}; code=$?; {note}; exit $code"
    environment = os.environ | flags | {"CMLIB_LAYOUT": str(seed)}
    run_tool(["/bin/sh", "-c", script], shown=build, env=environment, pass_fds=[lock])


def _linker():
    """Program of an installed linker that shuffles functions; None if there is none."""
    return next((linker for linker in _LINKERS if shutil.which(linker)), None)
