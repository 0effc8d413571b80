"""Time two versions in many random layouts: relinked in another order of functions, or with another stack."""

import os
import random
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

# Of each layout and version; the least time is that of the layout.
_REPEATS = 3
# Caches and predictors know addresses by their lower twelve bits, and the stack is aligned to 16 bytes.
_LONGEST_PADDING = 4096
_LINKERS = {"ld.lld": ("lld", "*={seed}"), "mold": ("mold", "{seed}")}


def check_layouts(versions, build):
    """Raise CmlibError if there are not two commands to lay out, or no linker that shuffles."""
    if len(versions) != 2:
        raise CmlibError("--layouts is for two commands, which it runs: a recording has one layout")
    if build and not _linker() and not build.split()[0].endswith("go"):
        raise CmlibError(
            "--layouts relinks with lld or mold, and neither is installed: on Debian, apt-get install lld; on Fedora, "
            "dnf install lld. Without --build only the stack is moved."
        )


def time_layouts(versions, n_layouts, build=None, seed=0, notify=say):
    """Times of both versions in random layouts.

    With `build`, a shell command that is run in the folder of each version's program and makes it anew, layout k is
    that of one seed for both; without, the environment is longer by a random number of bytes, which moves the stack.

    Returns
    -------
    old, new : DataFrame, shape (n_layouts, 2)
        Elapsed and processor time [s] of the whole program, the least of three runs.
    """
    rng, times = random.Random(seed), ([], [])
    notify(f"{n_layouts} layouts, each {'linked and ' if build else ''}run {_REPEATS} times.")
    with ExitStack() as stack:
        programs = [stack.enter_context(_restored(version)) for version in versions] if build else []
        seen = [set(), set()]
        for _ in range(n_layouts):
            layout, padding = rng.randrange(1, 1 << 30), rng.randrange(0, _LONGEST_PADDING, 16)
            for program, contents in zip(programs, seen, strict=False):
                _relink(program, build, layout)
                _check_new(program, contents)
            runs = [], []
            for _ in range(_REPEATS):
                for form in rng.sample((0, 1), 2):
                    argv = ["env", f"CMLIB_PADDING={'x' * padding}", *versions[form].argv(0)]
                    runs[form].append(time_whole(argv, versions[form].timeout))
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
    environment = os.environ | {"CMLIB_LAYOUT": str(seed)}
    if linker := _linker():
        name, shuffled = _LINKERS[linker]
        flags = [f"-fuse-ld={name}", f"-Wl,--shuffle-sections={shuffled.format(seed=seed)}"]
        added = {"LDFLAGS": flags, "RUSTFLAGS": [f"-Clink-arg={flag}" for flag in flags]}
    else:
        added = {}
    added["GOFLAGS"] = [f"-ldflags=-randlayout={seed}"]
    environment |= {
        name: " ".join([os.environ.get(name, ""), *flags]).strip() for name, flags in added.items()
    }
    run_tool(["/bin/sh", "-c", build], cwd=program.parent, env=environment)


def _check_new(program, contents):
    """Raise CmlibError if a program has been linked in the same way before."""
    content = hash(program.read_bytes())
    if content in contents:
        raise CmlibError(
            f"--build left {program} as it was: does it link anew (`make -B`), and with $LDFLAGS, $RUSTFLAGS or "
            "$GOFLAGS from the environment? Functions are moved one by one with -ffunction-sections in CFLAGS."
        )
    contents.add(content)


def _linker():
    return next((linker for linker in _LINKERS if shutil.which(linker)), None)
