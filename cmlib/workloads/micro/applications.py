"""Programs of others, recorded with the key events beside the micro-benchmarks: for Table 2 and for profiling."""

import contextlib
import json
import math
import shlex
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cmlib.errors import CmlibError
from cmlib.record import Counted, Program, existing_runs
from cmlib.workloads import kernels, programs
from cmlib.workloads.kernels import recipe as kernel_recipe

CPU, PARALLEL = "CPU", "parallel"
_SUITE = "SPEC CPU2006"
_THREADS, _PROBE_REPEATS = 2, 20


@dataclass(frozen=True)
class Application:
    """A program to record with the key events.

    Attributes
    ----------
    name : str
        Of the recording, such as ``cpu-bzip2`` or ``parallel-histogram``.
    kind : {"CPU", "parallel"}
    program : cmlib.record.Program
    """

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
    """All programs of others that can run here.

    Parameters
    ----------
    programs_folder : path-like
        Where the parallel programs are built.
    folder : path-like
        Of the recordings: what was recorded before runs for as long as it did then.
    seconds : float
        How long a parallel program should run.

    Returns
    -------
    ready : list of Application
        CPU programs (those of SPEC CPU2006 that Debian ships), then parallel ones.
    left_out : list of str
        Why others are not among them.
    """
    ready, left_out = [], []
    for name, lacks in programs.lacking()[_SUITE].items():
        if lacks:
            left_out.append(f"cpu-{name}: lacks {', '.join(lacks)}")
        else:
            ready.append(Application(f"cpu-{name}", CPU, programs.to_record(name)))
    for kernel in kernel_recipe.kernels():
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
    _, took = kernel_recipe.execute(argv(repeats=_PROBE_REPEATS))
    repeats = max(1, math.ceil(_PROBE_REPEATS * seconds / took))
    return [kernel.name, *argv(repeats=repeats)[1:]]
