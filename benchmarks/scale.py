"""Cleaning and ranking from a million to a hundred million values. By hand: python benchmarks/scale.py

The data are real recordings, resampled: the multiplexed runs of a program that the store holds, drawn in
blocks of neighbouring intervals until a run is as long as asked for, all its events together. Each run is
read from the store, drawn, cleaned and written to a file of its own in a worker; then the files are laid
over each other by progress, and the events ranked. Every size is done in a fresh process, and the memory
is that of all its processes together.
"""

import argparse
import functools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib import clean, merge, rank
from cmlib.io import store
from cmlib.parallel import Workers, parallel_map
from cmlib.rank.boosting import Boosting
from cmlib.synthetic import product_pair_data

BLOCK = 50
WARMING = 16  # runs cleaned beforehand, in which workers start and compile what is compiled on first use


def resampled(counts, running, n_intervals, rng):
    """Draw a run of `n_intervals` from a recorded run, in blocks of neighboring intervals."""
    starts = rng.integers(0, max(1, len(counts) - BLOCK), size=math.ceil(n_intervals / BLOCK))
    rows = (starts[:, None] + np.arange(BLOCK)).ravel()[:n_intervals] % len(counts)
    index = pd.Index(0.1 * np.arange(1, n_intervals + 1), name="time_s")
    return counts.iloc[rows].set_axis(index), running.iloc[rows].set_axis(index)


def clean_one(number, *, url, run_ids, n_intervals, method, folder):
    run = store.load(url, run_ids[number % len(run_ids)])
    counts, running = resampled(run.counts, run.running, n_intervals, np.random.default_rng(number))
    cleaned, _ = clean.clean_run(counts, running, method=method)
    file = Path(folder) / f"{number:06d}.parquet"
    cleaned.to_parquet(file)
    return file, cleaned.size


def cleaned(n_values, options, folder, workers):
    """Clean runs until they have `n_values` values. Return the files, the number of values and the time [s]."""
    url = store.refresh()
    runs = store.runs(url, program=options.program, mode="mlpx")
    job = functools.partial(
        clean_one,
        url=url,
        run_ids=list(runs["run_id"]),
        n_intervals=options.intervals,
        method=options.method,
        folder=str(folder),
    )
    n_runs = math.ceil(n_values / (options.intervals * runs["n_events"].mean()))
    list(parallel_map(job, range(WARMING), workers))
    began = time.perf_counter()
    files, sizes = zip(*parallel_map(job, range(n_runs), workers), strict=True)
    return files, sum(sizes), time.perf_counter() - began


def merge_files(files, workers):
    """Align cleaned runs by progress, one file at a time, because not all runs fit into memory."""
    sums, times, ipcs = {}, {}, []
    for X, ipc in parallel_map(aligned, files, workers):
        for event in X:
            sums[event] = sums.get(event, 0.0) + X[event]
            times[event] = times.get(event, 0) + 1
        ipcs.append(ipc)
    return pd.DataFrame({event: sums[event] / times[event] for event in sums}), sum(ipcs) / len(ipcs)


def aligned(file):
    return merge.align_runs([pd.read_parquet(file)], 200)


def ranked_rows(n_values):
    """Fit a model to a matrix of `n_values` values. A random fifth of the rows is held out."""
    part = product_pair_data(10_000, 50)
    times = math.ceil(n_values / part.X.size)
    X, ipc = pd.concat([part.X] * times, ignore_index=True), pd.concat([part.ipc] * times, ignore_index=True)
    began = time.perf_counter()
    rank.refine(X, ipc, step=50, n_folds=2, boosting=Boosting(trees=20))
    return X.size, time.perf_counter() - began


def one_size(options):
    """Print the number of values, the time [s] and the peak memory of each step, as JSON."""
    workers, memory, found = Workers(options.jobs), PeakMemory(), {}
    if options.rows:
        found["rows"] = (*ranked_rows(options.one), memory.peak())
    else:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            files, n_values, seconds = cleaned(options.one, options, folder, workers)
            found["cleaned"] = (n_values, seconds, memory.peak())
            began = time.perf_counter()
            X, ipc = merge_files(files, workers)
            found["merged"] = (n_values, time.perf_counter() - began, memory.peak())
            began = time.perf_counter()
            rank.refine(X, ipc, step=10)
            found["ranked"] = (n_values, time.perf_counter() - began, memory.peak())
    print(json.dumps(found))


class PeakMemory:
    """Measure the peak of the resident memory of this process and its children, 20 times per second."""

    def __init__(self):
        self._most = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def peak(self):
        """Return the peak since the last call [bytes]."""
        most, self._most = self._most, 0
        return most

    def _watch(self):
        while True:
            self._most = max(self._most, resident(os.getpid()))
            time.sleep(0.05)


def resident(pid):
    """Return the resident memory of a process and its descendants [bytes]. Shared pages are counted repeatedly."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        threads = Path(f"/proc/{pid}/task").iterdir()
        children = [child for task in threads for child in (task / "children").read_text().split()]
    except OSError:  # it has just ended
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(map(resident, children))


def in_fresh_process(n_values, *also):
    given = [sys.executable, __file__, *sys.argv[1:], "--one", str(n_values), *also]
    env = os.environ | {"OMP_NUM_THREADS": "1"}  # one worker is to be one thread
    return json.loads(subprocess.run(given, check=True, stdout=subprocess.PIPE, text=True, env=env).stdout)


def show(title, rows):
    print(
        f"\n{title}\n{'values':>12} {'seconds':>9} {'ns/value':>9} {'peak MB':>8} {'bytes/value':>12}",
        flush=True,
    )
    for n_values, seconds, peak in rows:
        per_value = f"{1e9 * seconds / n_values:9.0f} {peak / 1e6:8.0f} {peak / n_values:12.1f}"
        print(f"{n_values:12,} {seconds:9.1f} {per_value}", flush=True)


def two_against_one(options):
    """Print how many times as fast two workers are as one worker."""
    speedups = []
    for _ in range(options.rounds):
        seconds = {}
        for jobs in (1, 2):
            found = in_fresh_process(options.pair_values, "--jobs", str(jobs))
            seconds[jobs] = found["cleaned"][1]
        speedups.append(seconds[1] / seconds[2])
        print(f"one worker {seconds[1]:.1f} s, two {seconds[2]:.1f} s: {speedups[-1]:.2f} times", flush=True)
    print(f"median of {len(speedups)}: {statistics.median(speedups):.2f} times", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="gcc", help="recorded program")
    parser.add_argument("--method", default="counterminer", choices=clean.METHODS)
    parser.add_argument(
        "--largest", type=float, default=1e8, help="values [default 1e8]; each size is 10 times the last"
    )
    parser.add_argument("--largest-rows", type=float, default=1e8, help="values of one matrix that is ranked")
    parser.add_argument("--intervals", type=int, default=2000, help="of a run")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument(
        "--folder", help="for the files, 8 bytes a value at most; default: the system's for such"
    )
    parser.add_argument("--rounds", type=int, default=5, help="of one worker against two; 0: leave that out")
    parser.add_argument("--pair-values", type=float, default=2e7, help="that one and two workers clean")
    parser.add_argument("--one", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--rows", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one_size(options)
        return
    sizes = [10**k for k in range(6, 9) if 10**k <= options.largest]
    print(
        f"real recordings of {options.program}, resampled; {options.method}; runs of {options.intervals} intervals"
    )
    found = [in_fresh_process(size) for size in sizes]
    show("cleaned, each run into a file", [size["cleaned"] for size in found])
    show("these files merged by progress", [size["merged"] for size in found])
    show("events ranked by the merged matrix, whose size stays", [size["ranked"] for size in found])
    rows = [10**k for k in range(6, 9) if 10**k <= options.largest_rows]
    show(
        "ranked as one matrix of stacked rows (synthetic), one model of 50 events",
        [in_fresh_process(size, "--rows")["rows"] for size in rows],
    )
    if options.rounds:
        two_against_one(options)


if __name__ == "__main__":
    main()
