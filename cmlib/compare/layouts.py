"""Time two versions in random memory layouts: relinked with functions in another order, or with the stack moved.

Where code and data lie in memory changes run times by itself. :func:`time_layouts` takes two Versions (commands to
run), and gives a DataFrame for each: a row a layout, columns elapsed and processor time [s]. A CmlibError if a
command or the build fails; :func:`check_layouts` raises one if no linker can shuffle functions.
"""

import os
import random
import shlex
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pandas as pd

from cmlib.collect.toolchain import run_tool
from cmlib.compare.times import WHOLE
from cmlib.compare.versions import MEASURES, time_whole
from cmlib.errors import CmlibError
from cmlib.terminal import say

REPEATS = 3  # runs of each layout and version; the shortest counts
# Most bytes by which the stack is moved: caches and predictors index by the lower twelve bits of an address.
_LONGEST_PADDING = 4096
# By a linker's program: its name for -fuse-ld, and the value of its option --shuffle-sections.
_LINKERS = {"ld.lld": ("lld", "*={seed}"), "mold": ("mold", "{seed}")}
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
    for version in versions if build else ():
        with _restored(version) as program:
            links = set()
            for seed in range(_MOST_LINKS):
                _relink(program, build, seed + 1)
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
        programs = [stack.enter_context(_restored(version)) for version in versions] if build else []
        for _ in range(n_layouts):
            layout, padding = rng.randrange(1, 1 << 30), rng.randrange(0, _LONGEST_PADDING, 16)
            for program in programs:
                _relink(program, build, layout)
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


@contextmanager
def _restored(version):
    """Yield the path of a version's program; when the block ends, the file is as it was."""
    program = Path(shutil.which(version.argv(0)[0])).resolve()
    with tempfile.TemporaryDirectory(prefix="cmlib-") as folder:
        kept = shutil.copy2(program, folder)
        try:
            yield program
        finally:
            shutil.copy2(kept, program)


def _relink(program, build, seed):
    """Run `build` with a seed for the order of functions in the variables that linkers of C, Rust and Go read."""
    added = {"GOFLAGS": [f"-ldflags=-randlayout={seed}"]}
    if linker := _linker():
        name, shuffled = _LINKERS[linker]
        flags = [f"-fuse-ld={name}", f"-Wl,--shuffle-sections={shuffled.format(seed=seed)}"]
        added |= {"LDFLAGS": flags, "RUSTFLAGS": [f"-Clink-arg={flag}" for flag in flags]}
    flags = {name: " ".join([os.environ.get(name, ""), *added[name]]).strip() for name in added}
    command = f"cd {shlex.quote(str(program.parent))} && {build}"
    run_tool(["/bin/sh", "-c", command], env=os.environ | flags | {"CMLIB_LAYOUT": str(seed)})


def _linker():
    """Program of an installed linker that shuffles functions; None if there is none."""
    return next((linker for linker in _LINKERS if shutil.which(linker)), None)
