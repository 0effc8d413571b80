"""Micro-benchmarks of hardware bottlenecks in C, each with a non-pathological form (Yoo et al. 2012, Table 1)."""

import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib.collect.workloads.recipe import compile_to, find_compiler, run_tool
from cmlib.errors import CmlibError

SOURCES = Path(__file__).parent / "src"
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-ffp-contract=off")
LEVELS = ("L1", "L2", "L3", "M")
_FEWEST = 3
_WITHIN = 1.5
_MEMORY = 64 << 20
_PAGE = 4096
_BY_HAND = (
    "Where caches are as they are said to be, or one is missing, give the sizes: "
    "--sizes 'L2=64,128;L3=1024;M=131072'."
)
_FORMS = ("P", "N")


@dataclass(frozen=True)
class MicroBenchmark:
    """A C program with a pathological and a healthy form."""

    name: str
    pathology: str
    bound: str
    levels: tuple[str, ...]
    trained: bool
    table_1: str
    source: str
    flags: tuple[str, ...]
    # Basic blocks of an operation, of both forms; empty where they depend on the size.
    blocks: tuple[str, str]

    def label(self, form, level=""):
        """Class of a form at a level, such as ``P_Mem_L2`` or ``N_CPU``."""
        return "_".join(part for part in (form, self.bound, level) if part)


@dataclass(frozen=True)
class Case:
    """One form of a program at one working-set size."""

    program: MicroBenchmark
    form: str
    level: str = ""
    number: int = 0
    size: int | None = None

    @property
    def name(self):
        """Name of the recording, such as ``micro-array-P-L2-1``."""
        place = (self.level, str(self.number)) if self.level else ()
        return "-".join(["micro" if self.program.trained else "unseen", self.program.name, self.form, *place])

    @property
    def label(self):
        """Class of its slices."""
        return self.program.label(self.form, self.level)

    @property
    def note(self):
        """Kept with every run."""
        kind = "micro" if self.program.trained else "unseen"
        return json.dumps({"label": self.label, "size": self.size, "kind": kind})

    def argv(self, *, seconds=None, operations=None, seed=1):
        """Command line, to run where the program is on the path."""
        if (seconds is None) == (operations is None):
            raise ValueError(f"{self.name}: give either seconds or operations.")
        size = ["--size", str(self.size)] if self.size else []
        length = ["--seconds", f"{seconds:g}"] if operations is None else ["--operations", str(operations)]
        return [self.program.name, "--form", self.form, *size, "--seed", str(seed), *length]


def micro_benchmarks():
    """All programs: those of Table 1 first, then those never trained on."""
    rows = pd.read_csv(
        Path(__file__).with_name("programs.csv"), dtype={"trained": bool}, keep_default_na=False
    )
    split = {"levels": rows["levels"].str.split().map(tuple), "flags": rows["flags"].str.split().map(tuple)}
    blocks = list(zip(rows.pop("blocks_P"), rows.pop("blocks_N"), strict=True))
    return [MicroBenchmark(**row) for row in rows.assign(**split, blocks=blocks).to_dict("records")]


def cases(working_sets, *, trained):
    """List the cases of the programs trained on, or of the others."""
    listed = []
    for program in micro_benchmarks():
        if program.trained != trained:
            continue
        for form in _FORMS:
            if not program.levels:
                listed.append(Case(program, form))
            for level in program.levels:
                sizes = list(enumerate(working_sets[level], start=1))
                chosen = sizes if trained else sizes[len(sizes) // 2 :][:1]
                listed += [Case(program, form, level, number, int(size)) for number, size in chosen]
    return listed


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
    compile_to(target, compiler, [*_FLAGS, *flags], parts, SOURCES.glob("*.h"))


def sweep(folder, *, smallest=8 << 10, largest=128 << 20, loads=400_000, repeats=3):
    """Measure the latency of a load that waits for the one before it, by working-set size."""
    command = [str(Path(folder) / "sweep"), *map(str, (smallest, largest, loads))]
    rows = [line.split() for _ in range(repeats) for line in run_tool(command).splitlines()]
    frame = pd.DataFrame({"size": [int(size) for size, _ in rows], "ns": [float(ns) for _, ns in rows]})
    return frame.groupby("size", as_index=False)["ns"].median()


def plateaus(latencies):
    """Find the levels of the memory in a sweep: pieces of least absolute deviation from their medians."""
    import ruptures  # 0.4 s, for who sweeps only

    frame = latencies.sort_values("size", ignore_index=True)
    if len(frame) < _FEWEST * len(LEVELS):
        raise CmlibError(f"{len(frame)} sizes are too few to find {len(LEVELS)} levels; sweep a wider range.")
    ns = frame["ns"].to_numpy()
    rows = []
    ends = ruptures.Dynp("l1", min_size=_FEWEST, jump=1).fit_predict(np.log(ns), n_bkps=len(LEVELS) - 1)
    for first, end in itertools.pairwise([0, *ends]):
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
