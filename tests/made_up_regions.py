"""Recordings of the fifteen programs with made-up counts, written by the code that records real ones.

Only the program itself is stood in for: `execute` writes the file that the regions of a program would write
on a machine with counters, from `tests.planted_regions`. Nothing was measured; the machine is called
synthetic in every file.
"""

import dataclasses
import zlib
from pathlib import Path
from unittest import mock

import numpy as np

from cmlib.compare.usual_events import list_events
from cmlib.experiments.kernels.programs import kernels
from cmlib_workloads.kernels import executions
from cmlib_workloads.kernels import executions as overhead
from cmlib_workloads.kernels import executions as pace
from tests.planted_regions import CONTENTION, planted_run

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
# Lines an instruction that the bad form takes from the other processor; others 0.001.
_SEVERITY = {"spinlock_pool": 0.0001, "row_counters": 0.0002, "ticket_dispenser": 0.0005}


def make(
    folder,
    names=None,
    *,
    runs=None,
    diluted_runs=10,
    runs_again=0,
    n_samples=20,
    good_counters=5,
    n_events=32,
):
    """Record what `cmlib record-kernels` would, with made-up counts.

    Parameters
    ----------
    folder : path-like
    names : collection of str, optional
        Programs; default all that run on one NUMA node.
    runs : (int, int, int), optional
        Training, good and bad runs instead of those of Table 2.
    diluted_runs, runs_again : int
    n_samples : int
        Of each run.
    good_counters : int
        The fewer, the more executions a run takes.
    n_events : int
        The first so many of the processor's list; with few there are fewer topologies to search.

    Returns
    -------
    Path
        `folder`.
    """
    chosen = [p for p in kernels() if names is None or p.name in names]
    if runs:
        chosen = [dataclasses.replace(program, runs=runs) for program in chosen]
    listed = list_events("amd_zen5")[:n_events]
    numbers = {"diluted_runs": diluted_runs, "runs_again": runs_again}
    todo = executions.plan(chosen, listed, good_counters=good_counters, **numbers)
    stand_in = _StandIn(n_samples)
    with (
        mock.patch.multiple(executions, execute=stand_in, taken_by_others=lambda *times: 0.0),
        mock.patch.object(pace, "execute", stand_in),
        mock.patch.object(overhead, "execute", stand_in),
    ):
        for item in todo:
            executions.record(item, BINARIES, folder, MACHINE)
            if item.form == "good":
                overhead.record_overhead(item.program, BINARIES, item.parts[0], folder, MACHINE)
    return Path(folder)


class _StandIn:
    """Stands in for programs; a run begins with the first of its parts, and they share their rates."""

    def __init__(self, n_samples):
        self.n_samples, self.run, self.first = n_samples, 0, None

    def __call__(self, argv, *, regions=None, events=()):
        seconds = 0.2 * int(argv[3]) / 1e6
        if regions is None:
            return 7, seconds
        self.first = self.first or events
        if events == self.first:
            self.run, self.rates = self.run + 1, {}
        rng = np.random.default_rng([self.run, zlib.crc32(repr((argv, events)).encode())])
        program, threads, shape = Path(argv[0]).name, int(argv[2]), (self.n_samples, len(events))
        instructions = np.round(1e6 * rng.uniform(0.99, 1.01, self.n_samples)).astype(int)
        like = [next(planted for part, planted in _LIKE.items() if part in name) for name, _ in events]
        expected = self._rates(argv)[like].to_numpy() * threads * instructions[:, None]
        counts = rng.poisson(expected * rng.lognormal(0, 0.02, shape))
        head = ",".join(["function,location,thread,threads,work,seconds,running,instructions", *dict(events)])
        about = f"{program},{program}.cpp:10,1,{threads},1,0.010000000,1.0000"
        rows = [f"{about},{n},{','.join(map(str, row))}" for n, row in zip(instructions, counts, strict=True)]
        regions.write_text("\n".join([head, *rows, ""]))
        return 7, seconds * rng.lognormal(0.02, 0.02)

    def _rates(self, argv):
        """Planted rates of a run: the same, whichever of its parts is counted."""
        key = tuple(argv)
        if key not in self.rates:
            program, bad, sharing = Path(argv[0]).name, argv[1] == "bad", float(argv[5])
            own = np.random.default_rng(zlib.crc32(program.encode()))
            frame = planted_run(
                np.random.default_rng([self.run, zlib.crc32(program.encode())]),
                severity=bad * sharing * _SEVERITY.get(program, 0.001),
                n_samples=self.n_samples,
                spread=0.7,
            ).iloc[:, 2:]
            self.rates[key] = frame * np.exp(own.normal(0, 0.3, frame.shape[1]))
        return self.rates[key]
