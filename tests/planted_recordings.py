"""Made-up recordings of the micro-benchmarks, in the real format, by the real recording code over what the
fake perf says.

Its rows are taken without starting its process: hundreds of runs.

``python -m tests.planted_recordings FOLDER [--whole]`` makes a data folder to look at notebook 05 with.
"""

import contextlib
import functools
import itertools
import json
import os
import sys
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

from cmlib.collect import machine
from cmlib.collect.record import LaunchSpec, Program
from cmlib.collect.record.execute import PerfOutcome, find_program
from cmlib.experiments.micro.cache_levels import plateaus
from cmlib.experiments.micro.programs import micro_benchmarks
from cmlib.experiments.micro.recordings import FOLDER
from cmlib.io import events, perf
from cmlib_workloads.micro import case_runs as micro
from cmlib_workloads.micro.case_runs import recorded_events
from cmlib_workloads.micro.sizes import working_sets
from tests.fake import planted

COUNTERS = {"offered": 6, "good": 5}
ENDS = (48 << 10, 1 << 20, 16 << 20)  # what the made-up caches hold
SOME_EVENTS = (
    "ls_dmnd_fills_from_sys.local_l2",
    "ls_dmnd_fills_from_sys.local_ccx",
    "ls_dmnd_fills_from_sys.dram_io_near",
    "ls_hw_pf_dc_fills.local_l2",
    "ls_mab_alloc.load_store_allocations",
    "ls_dispatch.ld_dispatch",
    "ls_l1_d_tlb_miss.all",
    "l2_cache_req_stat.dc_hit_in_l2",
    "ex_ret_brn_misp",
    "ex_ret_brn",
    "ex_ret_ops",
    "ex_no_retire.all",
    "ex_div_busy",
    "fp_ret_sse_avx_ops.all",
    "ic_tag_hit_miss.instruction_cache_miss",
)

# Each run is read three times: when it is recorded, when key events are chosen, and by the tests.
parse_once = functools.cache(perf.parse_stat)


def make(data, *, n_sizes=2, names=SOME_EVENTS, key_events=10, passes=2, seconds=5.3, others=4):
    """Fill a data folder; returns the key events.

    Parameters
    ----------
    data : path
        As CMLIB_DATA names it.
    n_sizes : int
        Working sets a level.
    names : sequence of str
        Events that count.
    key_events, passes : int
    seconds : float
        What each run is said to have lasted.
    others : int
        CPU programs, and parallel programs.
    """
    binaries = data / "results/micro"
    folder = data / "recordings" / FOLDER
    for place in (binaries, folder):
        place.mkdir(parents=True)
    for program in micro_benchmarks():
        target = binaries / program.name
        target.write_text("#!/bin/sh\n")
        target.chmod(0o755)
    latencies = made_up_sweep()
    latencies.to_csv(folder / "micro-sweep.csv", index=False)
    applications = {
        f"{kind.lower()}-{letter * 3}": (kind, _application(kind, letter))
        for kind in ("CPU", "parallel")
        for letter in "abcdefghijklmnop"[:others]
    }
    about = {**machine.describe(), "microarchitecture": "made_up", "perf": "6.1.fake"}
    sizes, known = working_sets(plateaus(latencies), n_sizes), events.table().loc[list(names)]
    with (
        mock.patch("cmlib.collect.record.session.execute", partial(_executed, seconds, itertools.count())),
        mock.patch("cmlib.collect.record.execute.check_perf", lambda: None),
        mock.patch.object(perf, "parse_stat", parse_once),
        mock.patch.object(machine, "known_events", lambda about: known),
        mock.patch.object(machine, "supported", list),
        mock.patch.object(machine, "describe", lambda: about),
        mock.patch.multiple(micro, PASSES=passes, KEY_EVENTS=key_events, SECONDS=seconds),
        mock.patch.object(micro.micro, "build", lambda folder: binaries),
        mock.patch.object(micro, "stored_sizes", lambda folder: sizes),
        mock.patch.object(micro, "applications", lambda built: (applications, [])),
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stderr(nowhere),
    ):
        for _ in micro.record_cases(binaries, folder, COUNTERS):
            pass
        return recorded_events(folder, "key")


def _application(kind, letter):
    ready = LaunchSpec(["true", f"{kind}{letter}"])
    return Program(f"made up {letter}", partial(contextlib.nullcontext, ready))


def _executed(seconds, draws, plan, encodings, counted, folder, *, lock, on_demand):
    """In the place of perf and the program: what the fake perf would have written."""
    interval = plan.interval_ms / 1000
    ends = [interval * i for i in range(1, 1 + int(seconds / interval))] + [seconds]
    pinned = [f"{event}:u" for event in plan.pinned]
    text = "".join(planted.rows(find_program(counted.command), ends, pinned, plan.groups, next(draws)))
    return PerfOutcome(f"# started on Sat Nov 21 03:00:46 2026\n\n{text}".encode(), 0, 0, "", "")


def made_up_sweep():
    """A sweep of a machine with three caches."""
    sizes = np.array([2**octave * quarter // 4 for octave in range(13, 27) for quarter in (4, 5, 6, 7)])
    ns = np.array([1.1, 3.6, 14.0, 95.0])[np.searchsorted(ENDS, sizes)]
    return pd.DataFrame({"size": sizes, "ns": ns * np.random.default_rng(0).uniform(0.97, 1.1, len(sizes))})


def counting_here():
    """The events that the committed recordings saw counting."""
    found = Path(__file__).parents[1] / "data/recordings/gcc"
    metas = (json.loads(file.read_text()) for file in found.glob("sweep-*.json"))
    return sorted({event for meta in metas for group in meta["groups"] for event in group})


if __name__ == "__main__":
    whole = {"n_sizes": 3, "names": counting_here(), "key_events": 40, "passes": 3, "others": 12}
    options = (whole | {"seconds": 10.3}) if "--whole" in sys.argv else {}
    print(make(Path(sys.argv[1]), **options))
