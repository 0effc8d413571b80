"""Micro-benchmarks of hardware bottlenecks in C, each with a non-pathological form (Yoo et al. 2012, Table 1).

A :class:`MicroCase` is one form of a program (P with the bottleneck, N without) at one size of its data;
:func:`cases` lists them, :func:`build` compiles the programs, :func:`sweep` measures latencies. Some programs are
for training, others (unseen) test what was learned. A CmlibError if the compiler or a program fails.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from cmlib.collect.toolchain import compile_to, find_compiler, run_tool
from cmlib.errors import InputError
from cmlib.experiments.micro.programs import MicroBenchmark, micro_benchmarks

SOURCES = Path(__file__).parent / "src"
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-ffp-contract=off")
_FORMS = ("P", "N")


@dataclass(frozen=True)
class MicroCase:
    """One form of a program at one working-set size.

    `program` is a MicroBenchmark, `form` "P" or "N"; `level` is the level of memory that its data fit ("L2", "L3",
    "M"; "" if it has no sizes), `number` that of the size in the level, `size` in bytes (None without sizes).
    """

    program: MicroBenchmark
    form: str
    level: str = ""
    number: int = 0
    size: int | None = None

    @property
    def name(self):
        """Name (str) of the recording, such as ``micro-array-P-L2-1``."""
        place = (self.level, str(self.number)) if self.level else ()
        return "-".join(["micro" if self.program.trained else "unseen", self.program.name, self.form, *place])

    @property
    def label(self):
        """Class (str) of its slices, such as ``P_Mem_L2`` or ``N_CPU``."""
        return "_".join(filter(None, [self.form, self.program.bound, self.level]))

    @property
    def note(self):
        """What is noted with every run: JSON text with label, size and kind ("micro" or "unseen")."""
        kind = "micro" if self.program.trained else "unseen"
        return json.dumps({"label": self.label, "size": self.size, "kind": kind})

    def argv(self, *, seconds=None, operations=None, seed=1):
        """Command line (list of str), to run where the program is on the path.

        It lasts for `seconds`, or so many `operations`; a ValueError unless one of the two is given. `seed` is that
        of its random numbers.
        """
        if (seconds is None) == (operations is None):
            raise InputError(f"{self.name}: give either seconds or operations.")
        size = ["--size", str(self.size)] if self.size else []
        length = ["--seconds", f"{seconds:g}"] if operations is None else ["--operations", str(operations)]
        return [self.program.name, "--form", self.form, *size, "--seed", str(seed), *length]


def cases(working_sets, *, trained):
    """List the MicroCases of the programs for training (`trained` True), or of the others.

    `working_sets` maps levels ("L2", "L3", "M") to sizes [bytes]; of programs that are not for training, one size a
    level is taken.
    """
    listed = []
    for program in micro_benchmarks():
        if program.trained != trained:
            continue
        for form in _FORMS:
            if not program.levels:
                listed.append(MicroCase(program, form))
            for level in program.levels:
                sizes = list(enumerate(working_sets[level], start=1))
                chosen = sizes if trained else sizes[len(sizes) // 2 :][:1]
                listed += [MicroCase(program, form, level, number, int(size)) for number, size in chosen]
    return listed


def build(folder, names=None):
    """Compile the programs that are not there yet, or are older than a source, into a folder; return it as a Path.

    `names` are those of programs, by default of all, and "sweep". A CmlibError if there is no compiler, or it
    fails.
    """
    folder = Path(folder)
    compiler = find_compiler("CC", "cc", "the micro-benchmarks", "gcc and libc6-dev")
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or ["sweep", *(program.name for program in micro_benchmarks())]:
        _compile(compiler, name, folder / name)
    return folder


def run(command, folder, environment=None):
    """Run a program and read what it prints: a dict of numbers, such as checksum (int) and times.

    `command` is of :meth:`MicroCase.argv`, `folder` that of :func:`build`; `environment` has further variables. A
    CmlibError if it fails.
    """
    printed = run_tool([Path(folder) / command[0], *command[1:]], env=os.environ | (environment or {}))
    pairs = dict(line.split("=") for line in printed.splitlines())
    return {key: int(value) if key == "checksum" else float(value) for key, value in pairs.items()}


def _compile(compiler, name, target):
    """Compile one program into a file."""
    program = next((program for program in micro_benchmarks() if program.name == name), None)
    stem, flags = (program.source or name, program.flags) if program else (name, ())
    source = next(
        path for path in (SOURCES / f"{stem}.c", SOURCES / "unseen" / f"{stem}.c") if path.is_file()
    )
    parts = [source] if name == "sweep" else [SOURCES / "program.c", source]
    compile_to(target, compiler, [*_FLAGS, *flags], parts, SOURCES.glob("*.h"))


def sweep(folder, *, smallest=8 << 10, largest=128 << 20, loads=400_000, repeats=3):
    """Measure the latency of a load that waits for the one before it, by working-set size: a DataFrame of size and ns.

    `folder` is that of :func:`build`. Columns: size [bytes], from `smallest` to `largest`, and ns (latency [ns],
    median of `repeats`); `loads` are made at each size.
    """
    command = [str(Path(folder) / "sweep"), *map(str, (smallest, largest, loads))]
    rows = [line.split() for _ in range(repeats) for line in run_tool(command).splitlines()]
    frame = pd.DataFrame({"size": [int(size) for size, _ in rows], "ns": [float(ns) for _, ns in rows]})
    return frame.groupby("size", as_index=False)["ns"].median()
