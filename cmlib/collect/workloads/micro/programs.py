"""The programs: micro-benchmarks to train on, programs never trained on, and the cases recorded of each."""

import contextlib
import json
import math
import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd

from cmlib.collect.record import Counted, Program, existing_runs
from cmlib.collect.workloads import kernels, programs
from cmlib.errors import CmlibError

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
    blocks: tuple[
        str, str
    ]  # basic blocks of an operation, of both forms; empty where they depend on the size

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
    rows = pd.read_csv(Path(__file__).with_suffix(".csv"), dtype={"trained": bool}, keep_default_na=False)
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


CPU, PARALLEL = "CPU", "parallel"
_SUITE = "SPEC CPU2006"
_THREADS, _PROBE_REPEATS = 2, 20


@dataclass(frozen=True)
class Application:
    """A program to record with the key events."""

    name: str
    kind: str
    program: Program

    @property
    def label(self):
        """What its slices are labelled with in Table 2: its own name."""
        return self.name.partition("-")[2]

    @property
    def note(self):
        """Kept with every run."""
        return json.dumps({"label": self.label, "size": None, "kind": self.kind})


def applications(programs_folder, folder, *, seconds):
    """All programs of others that can run here."""
    ready, left_out = [], []
    for name, lacks in programs.lacking()[_SUITE].items():
        if lacks:
            left_out.append(f"cpu-{name}: lacks {', '.join(lacks)}")
        else:
            ready.append(Application(f"cpu-{name}", CPU, programs.to_record(name)))
    for kernel in kernels.kernels():
        try:
            built = kernels.build(programs_folder, [kernel.name])
            ready.append(_parallel(kernel, built, Path(folder), seconds))
        except CmlibError as error:
            left_out.append(f"parallel-{kernel.name}: {error}")
    return ready, left_out


def _parallel(kernel, built, folder, seconds):
    name = f"parallel-{kernel.name}"
    before = next(iter(existing_runs(folder / name).values()), None)
    argv = shlex.split(before["command"]) if before else _lasting(kernel, built, seconds)
    ready = Counted([str(built / argv[0]), *argv[1:]])
    return Application(name, PARALLEL, Program(shlex.join(argv), partial(contextlib.nullcontext, ready)))


def _lasting(kernel, built, seconds):
    """The command, repeating its work for about so many seconds, without the folder of its program."""
    argv = partial(kernel.argv, built, "good", threads=_THREADS)
    _, took = kernels.execute(argv(repeats=_PROBE_REPEATS))
    repeats = max(1, math.ceil(_PROBE_REPEATS * seconds / took))
    return [kernel.name, *argv(repeats=repeats)[1:]]
