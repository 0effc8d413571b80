"""Recordings of the fifteen programs with made-up counts, written by the code that records real ones.

Only the program itself is stood in for: `execute` writes the file that the regions of a program would write on a machine
with counters, from `cmlib.anomaly.planted`. Nothing was measured; the machine is called synthetic in every file.
"""

import dataclasses
import functools
import zlib
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

from cmlib import events
from cmlib.anomaly.planted import CONTENTION, planted_run
from cmlib.workloads.kernels import overhead, programs, recording

MACHINE = {"synthetic": True, "model_name": "none: made-up counts", "processors": 2, "numa_nodes": 1}
BINARIES = "binaries"
# Planted counter that an event of the real list takes after.
_LIKE = {
    "not_halted": "cycles",
    "near_cache": CONTENTION,
    "local_l2": "fills.local_l2",
    "local_ccx": "fills.local_ccx",
    "dram": "fills.dram",
    "far_all": "fills.dram",
    "tlb": "tlb.misses",
    "mab_alloc.hardware": "fills.local_ccx",
    "mab": "l1.misses",
    "rd_blk_x": "l2.exclusive_requests",
    "l2_": "l2.requests",
    "store_queue": "stalls.store_queue",
    "no_retire": "no_retire.load",
    "stli": "branches.mispredicted",
    "locks": "branches.mispredicted",
    "misp": "branches.mispredicted",
    "ld_dispatch": "loads",
    "store_dispatch": "stores",
    "ret_ops": "micro_ops",
    "cond": "branches",
}
# Lines an instruction that the bad form takes from the other processor; others 0.003.
_SEVERITY = {"spinlock_pool": 0.0005, "row_counters": 0.0008, "ticket_dispenser": 0.001}


def make(folder, names=None, *, runs=None, diluted_runs=10, n_samples=20):
    """Record what `python -m cmlib.workloads.kernels --record` would, with made-up counts.

    Parameters
    ----------
    folder : path-like
    names : collection of str, optional
        Programs; default all that run on one NUMA node.
    runs : (int, int, int), optional
        Training, good and bad runs instead of those of Table 2.
    diluted_runs : int
    n_samples : int
        Of each run.

    Returns
    -------
    Path
        `folder`.
    """
    chosen = [p for p in programs() if names is None or p.name in names]
    if runs:
        chosen = [dataclasses.replace(program, runs=runs) for program in chosen]
    listed = recording.raw_events(events.table("amd_zen5"))
    todo = recording.plan(chosen, listed, good_counters=5, diluted_runs=diluted_runs)
    stand_in = functools.partial(_execute, n_samples=n_samples)
    with mock.patch.object(recording, "execute", stand_in), mock.patch.object(overhead, "execute", stand_in):
        for item in todo:
            recording.record(item, BINARIES, folder, MACHINE)
            if item.form == "good":
                overhead.record_overhead(item.program, BINARIES, item.parts[0], folder, MACHINE)
    return Path(folder)


def _execute(argv, *, regions=None, events=(), n_samples):
    """Stand in for a program: (checksum, seconds); with `regions`, also the file."""
    program, form, threads, sharing = Path(argv[0]).name, argv[1], int(argv[2]), float(argv[5])
    seconds = 0.2 * int(argv[3]) / 1e6
    if regions is None:
        return 7, seconds
    severity = sharing * _SEVERITY.get(program, 0.003) if form == "bad" else 0.0
    rates = _rates(tuple(argv), program, severity, n_samples)
    rng = np.random.default_rng(zlib.crc32(repr((argv, events)).encode()))
    instructions = np.round(1e6 * rng.uniform(0.99, 1.01, n_samples))
    frame = pd.DataFrame(
        {
            "function": program,
            "location": f"{program}.cpp:10",
            "thread": 1,
            "threads": threads,
            "seconds": seconds / n_samples,
            "running": 1.0,
            "instructions": instructions.astype(int),
        }
    )
    for name, _ in events:
        like = next(planted for part, planted in _LIKE.items() if part in name)
        noise = rng.lognormal(0, 0.02, n_samples)
        frame[name] = rng.poisson(rates[like] * instructions * threads * noise)
    frame.to_csv(regions, index=False)
    return 7, seconds * rng.lognormal(0.02, 0.02)


@functools.lru_cache(maxsize=64)
def _rates(argv, program, severity, n_samples):
    """Planted rates of one run: the same, whichever of its parts is counted."""
    rng = np.random.default_rng(zlib.crc32(repr(argv).encode()))
    frame = planted_run(rng, severity=severity, functions=(program,), n_samples=n_samples, spread=0.7)
    counters = list(frame.columns[2:])
    own = np.random.default_rng(zlib.crc32(program.encode())).normal(0, 0.3, len(counters))
    frame[counters] *= np.exp(own)
    return frame
