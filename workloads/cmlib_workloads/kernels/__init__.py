"""The fifteen programs of AutoPerf's Table 2 in C++, each in a good and a bad form: how they are built and run.

The programs are those of :mod:`cmlib.experiments.kernels.programs`.
:func:`build` compiles them into a folder, :func:`argv_of` gives the command line of one (list of str),
:func:`execute` runs it, and gives a checksum and a time [s]. A CmlibError if the compiler or a program fails.
"""

import os
from pathlib import Path

from cmlib.collect import machine
from cmlib.collect.toolchain import compile_to, find_compiler, run_tool
from cmlib.compare.instrument import include_dir
from cmlib.experiments.kernels.programs import kernels

SOURCES = Path(__file__).parent / "src"


def build(folder, names=None):
    """Compile the programs that are not there yet, or older than a source, into a folder, and return it (Path).

    `folder` is a path; `names` are those of kernels, by default of all. A CmlibError if there is no compiler, or it
    fails.
    """
    folder = Path(folder)
    compiler = find_compiler("CXX", "c++", "the kernels", "g++ and libboost-dev")
    folder.mkdir(parents=True, exist_ok=True)
    shared = [*SOURCES.glob("*.hpp"), *include_dir().glob("*.h")]
    options = ["-std=c++17", "-O2", "-Wall", "-pthread", f"-I{include_dir()}"]
    for name in names or [program.name for program in kernels()]:
        compile_to(folder / name, compiler, options, [SOURCES / f"{name}.cpp"], shared)
    return folder


def argv_of(program, folder, form, *, threads, scale=1, repeats=20, sharing=1.0):
    """Command line (list of str) of one execution of a kernel.

    `program` is a Kernel (of AutoPerf's Table 2), `folder` that of :func:`build`, `form` "good" or "bad"; `threads`
    is the number of threads, `scale` the factor of the work, `repeats` how often it is done, `sharing` the share
    (0-1) of updates that have the fault.
    """
    size = round(program.size * scale ** (1 / program.exponent))
    return [str(Path(folder) / program.name), form, str(threads), str(size), str(repeats), f"{sharing:g}"]


def execute(argv, *, regions=None, events=()):
    """Run one program once: a tuple of the checksum of its result (int) and its time [s], as it prints them.

    `argv` is a list of str; `regions` is the file (path) to which it writes the counts of its regions (None: it
    counts nothing), `events` are pairs of name and code. A CmlibError if it fails.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CMLIB_")}
    if regions is not None:
        environment["CMLIB_REGIONS"] = str(regions)
        environment["CMLIB_EVENTS"] = ",".join(f"{name}={code}" for name, code in events)
    printed = dict(line.split() for line in run_tool(argv, env=environment).splitlines())
    return int(printed["checksum"]), float(printed["seconds"])


def numa_nodes():
    """Number (int, 1 or more) of the NUMA nodes of this machine."""
    return max(1, len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))))


def describe_host():
    """The machine as recordings of the kernels note it: a dict.

    It has the entries of :func:`cmlib.collect.machine.describe`, numa_nodes, and real_time (True if this process
    runs at real-time priority).
    """
    real_time = os.sched_getscheduler(0) in (os.SCHED_FIFO, os.SCHED_RR)
    return {**machine.describe(), "numa_nodes": numa_nodes(), "real_time": real_time}
