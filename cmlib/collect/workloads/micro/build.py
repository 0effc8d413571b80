"""Building the programs with the system's compiler, and running them uncounted."""

import os
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.collect.workloads.micro.programs import micro_benchmarks
from cmlib.collect.workloads.recipe import find_compiler, run_tool
from cmlib.errors import CmlibError
from cmlib.io.archive import draft_of

SOURCES = Path(__file__).parent / "src"
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-ffp-contract=off")


def build(folder, names=None):
    """Compile the programs that are not there yet, or are older than a source."""
    folder = Path(folder)
    compiler = find_compiler("CC", "cc", "the micro-benchmarks", "gcc and libc6-dev")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or ["sweep", *(program.name for program in micro_benchmarks())]:
        _compile(compiler, name, folder / name)
    return folder


def run(command, folder, environment=None):
    """Run a program and read what it prints."""
    printed = run_tool([Path(folder) / command[0], *command[1:]], env=os.environ | (environment or {}))
    pairs = dict(line.split("=") for line in printed.splitlines())
    return {key: int(value) if key == "checksum" else float(value) for key, value in pairs.items()}


def _compile(compiler, name, target):
    program = next((program for program in micro_benchmarks() if program.name == name), None)
    stem, flags = (program.source or name, program.flags) if program else (name, ())
    source = next(
        path for path in (SOURCES / f"{stem}.c", SOURCES / "unseen" / f"{stem}.c") if path.is_file()
    )
    parts = [source] if name == "sweep" else [SOURCES / "program.c", source]
    newest = max(file.stat().st_mtime for file in (*parts, *SOURCES.glob("*.h")))
    if target.is_file() and target.stat().st_mtime >= newest:
        return
    with draft_of(target) as draft:
        run_tool([compiler, *_FLAGS, *flags, *parts, "-o", draft])


LEVELS = ("L1", "L2", "L3", "M")
_FEWEST = 3
_WITHIN = 1.5
_MEMORY = 64 << 20
_PAGE = 4096
_BY_HAND = (
    "Where caches are as they are said to be, or one is missing, give the sizes: "
    "--sizes 'L2=64,128;L3=1024;M=131072'."
)


def sweep(folder, *, smallest=8 << 10, largest=128 << 20, loads=400_000, repeats=3):
    """Measure the latency of a load that waits for the one before it, by working-set size."""
    command = [str(Path(folder) / "sweep"), *map(str, (smallest, largest, loads))]
    rows = [line.split() for _ in range(repeats) for line in run_tool(command).splitlines()]
    frame = pd.DataFrame({"size": [int(size) for size, _ in rows], "ns": [float(ns) for _, ns in rows]})
    return frame.groupby("size", as_index=False)["ns"].median()


def plateaus(latencies):
    """Find the levels of the memory in a sweep."""
    frame = latencies.sort_values("size", ignore_index=True)
    if len(frame) < _FEWEST * len(LEVELS):
        raise CmlibError(f"{len(frame)} sizes are too few to find {len(LEVELS)} levels; sweep a wider range.")
    ns = frame["ns"].to_numpy()
    rows = []
    for first, end in _pieces(np.log(ns), len(LEVELS)):
        median = float(np.median(ns[first:end]))
        inside = np.flatnonzero(np.abs(np.log(ns[first:end] / median)) <= np.log(_WITHIN)) + first
        rows.append((int(frame["size"][inside[0]]), int(frame["size"][inside[-1]]), median))
    measured = pd.DataFrame(rows, index=pd.Index(LEVELS, name="level"), columns=["smallest", "largest", "ns"])
    if not measured["ns"].is_monotonic_increasing:
        raise CmlibError(
            f"latencies don't rise from level to level, something else ran beside the sweep:\n{measured}\n{_BY_HAND}"
        )
    return measured


def working_sets(levels, n=3):
    """Choose working-set sizes well inside each level."""
    largest = levels["largest"]
    bounds = {
        "L2": (1.5 * largest["L1"], 0.75 * largest["L2"]),
        "L3": (1.5 * largest["L2"], 0.75 * largest["L3"]),
        "M": (max(8 * largest["L3"], _MEMORY), 2 * max(8 * largest["L3"], _MEMORY)),
    }
    for level, (low, high) in bounds.items():
        if low > high:
            raise CmlibError(
                f"no working set fits {level} without fitting the level before:\n{levels}\n{_BY_HAND}"
            )
    return {
        level: [int(size) // _PAGE * _PAGE for size in np.geomspace(low, high, n)]
        for level, (low, high) in bounds.items()
    }


def _pieces(values, n_pieces):
    """Cut values into pieces of least absolute deviation: a list of (first, end)."""
    n = len(values)
    cost = np.full((n + 1, n + 1), np.inf)
    for first in range(n):
        for end in range(first + _FEWEST, n + 1):
            piece = values[first:end]
            cost[first, end] = np.abs(piece - np.median(piece)).sum()
    best, cuts = cost[0], []
    for _ in range(n_pieces - 1):
        totals = best[:, None] + cost
        cuts.append(totals.argmin(axis=0))
        best = totals.min(axis=0)
    ends = [n]
    for cut in reversed(cuts):
        ends.append(int(cut[ends[-1]]))
    ends = [*reversed(ends)]
    return list(zip([0, *ends[:-1]], ends, strict=True))
