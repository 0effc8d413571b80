"""Time two versions in many random layouts: relinked in another order of functions, or with another stack."""

import os
import random
import shlex
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pandas as pd

from cmlib.anomaly.speed import WHOLE
from cmlib.collect.compare.versions import MEASURES, time_whole
from cmlib.collect.toolchain import run_tool
from cmlib.errors import CmlibError
from cmlib.terminal import say

REPEATS = 3  # of each layout and version; the least time is that of the layout
# Caches and predictors know addresses by their lower twelve bits, and the stack is aligned to 16 bytes.
_LONGEST_PADDING = 4096
_LINKERS = {"ld.lld": ("lld", "*={seed}"), "mold": ("mold", "{seed}")}
_MOST_LINKS = 6  # with other seeds, until two differ: a small program has few orders


def check_layouts(versions, build):
    """Raise CmlibError unless there are two commands, and `build` makes another program for another seed."""
    if len(versions) != 2:
        raise CmlibError("--layouts is for two commands, which it runs: a recording has one layout")
    if build and not _linker() and "go build" not in build:
        raise CmlibError(
            "--layouts relinks with lld or mold, and neither is installed: on Debian, apt-get install lld; on Fedora, "
            "dnf install lld. Without --build only the stack is moved."
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
                    f"--build leaves {program} the same for any layout: does it link anew (`make -B`), and with "
                    "$LDFLAGS, $RUSTFLAGS or $GOFLAGS of the environment? CMake needs to be told: "
                    'cmake -DCMAKE_EXE_LINKER_FLAGS="$LDFLAGS" . && cmake --build .'
                )


def time_layouts(versions, n_layouts, build=None, seed=0, notify=say, progress=lambda: None):
    """Times of both versions in random layouts.

    With `build`, a shell command that is run in the folder of each version's program and makes it anew, layout k is
    that of one seed for both; without, the environment is longer by a random number of bytes, which moves the stack.

    Returns
    -------
    old, new : DataFrame, shape (n_layouts, 2)
        Elapsed and processor time [s] of the whole program, the least of three runs.
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
    """A version's program, which afterwards is as it was."""
    program = Path(shutil.which(version.argv(0)[0])).resolve()
    with tempfile.TemporaryDirectory(prefix="cmlib-") as folder:
        kept = shutil.copy2(program, folder)
        try:
            yield program
        finally:
            shutil.copy2(kept, program)


def _relink(program, build, seed):
    added = {"GOFLAGS": [f"-ldflags=-randlayout={seed}"]}
    if linker := _linker():
        name, shuffled = _LINKERS[linker]
        flags = [f"-fuse-ld={name}", f"-Wl,--shuffle-sections={shuffled.format(seed=seed)}"]
        added |= {"LDFLAGS": flags, "RUSTFLAGS": [f"-Clink-arg={flag}" for flag in flags]}
    flags = {name: " ".join([os.environ.get(name, ""), *added[name]]).strip() for name in added}
    command = f"cd {shlex.quote(str(program.parent))} && {build}"
    run_tool(["/bin/sh", "-c", command], env=os.environ | flags | {"CMLIB_LAYOUT": str(seed)})


def _linker():
    return next((linker for linker in _LINKERS if shutil.which(linker)), None)
