"""How much longer a program takes while its regions are counted (AutoPerf, §5.9, Fig. 12)."""

import tempfile
from pathlib import Path

from cmlib.anomaly.recordings import SCHEMA
from cmlib.archive import as_text, now, write_whole
from cmlib.workloads.kernels.recipe import execute

FILE = "overhead.json"


def overhead(program, binaries, events, *, threads=2, scale=8, pairs=10):
    """Time a program with and without its regions counted.

    Counted and uncounted executions take turns, so that what else happens on the machine hits both.

    Parameters
    ----------
    program : Kernel
    binaries : path-like
    events : sequence of (str, str)
        At once.
    threads, scale, pairs : int

    Returns
    -------
    list of float
        Counted time / uncounted time, of each pair.
    """
    argv = program.argv(binaries, "good", threads=threads, scale=scale)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(pairs):
            _, plain = execute(argv)
            _, counted = execute(argv, regions=Path(folder) / "regions.csv", events=events)
            ratios.append(counted / plain)
    return ratios


def record_overhead(program, binaries, events, folder, machine, **settings):
    """Write the overhead of a program beside its recordings, unless it is there already.

    Parameters
    ----------
    program : Kernel
    binaries, folder : path-like
    events : sequence of (str, str)
    machine : dict
        Where it was measured.
    **settings
        Of `overhead`.

    Returns
    -------
    Path or None
        ``<folder>/<program>/overhead.json``; None if it was there.
    """
    target = Path(folder) / program.name / FILE
    if target.exists():
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    about = {
        "schema": SCHEMA,
        "program": program.name,
        "events": dict(events),
        "ratios": overhead(program, binaries, events, **settings),
        "machine": machine,
        "date": now(),
    }
    write_whole(target, as_text(about, target))
    return target
