"""Samples to lines: how fast, how small, how true, and what recording them costs the program.

By hand: python benchmarks/compress.py speed | overhead
"""

import argparse
import math
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from interleave import ratio

from cmlib.collect import machine
from cmlib.collect.sampling import record_lines
from cmlib.compress import OnlineRegression
from cmlib.compress.bounded import BoundedRegression
from cmlib.io.samples import read_lines
from cmlib_workloads.catalog import cases

EVENTS = ["task-clock", "page-faults", "context-switches"]
PERIOD = 500_000  # ns: 2,000 samples a second, the paper's rate
PROGRAMS = ["bzip2-4", "gnugo-1", "perl-4", "x264-1", "glpk-3", "hmmer-3", "octave-1"]


def plain_python(x, y, alpha=0.01, n_sigma=3.0):
    """Compute the lines of one event in plain Python, by the published procedure. Return the number of lines."""
    n, lines = 0, 1
    x_start = y_start = x_last = y_last = x_mean = y_mean = scatter = joint = slope = sse = 0.0
    for a, b in zip(x, y, strict=True):
        if n == 0:
            n, x_start, y_start, x_last, y_last = 1, a, b, a, b
            continue
        run = a - x_start - x_mean
        rise = b - y_start - y_mean
        off = rise - slope * run
        if n > 1:
            beyond = abs(off) - 1e-13 * abs(b - y_start) - 1e-15 * abs(b)
            limit = alpha * abs(b - off) if n == 2 else n_sigma * math.sqrt(sse / (n - 2))
            if beyond > limit:
                lines += 1
                n, x_start, y_start = 1, x_last, y_last
                x_mean = y_mean = scatter = joint = slope = sse = 0.0
                run, rise = a - x_start, b - y_start
                off = rise
        n += 1
        weight = (n - 1) / n
        grown = scatter + weight * run * run
        sse += off * off * weight * scatter / grown
        scatter = grown
        joint += weight * run * rise
        slope = joint / scatter
        x_mean += run / n
        y_mean += rise / n
        x_last, y_last = a, b
    return lines


def speed(rounds):
    """Compare the compiled functions with plain Python, in turns."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    x = np.cumsum(rng.integers(990_000, 1_010_000, n)).astype(float)
    y = np.cumsum(rng.poisson(rng.integers(50, 500, 200).repeat(n // 200))).astype(float)
    three = np.column_stack([y, 2 * y, y + x])
    x_list, y_list = x.tolist(), y.tolist()
    if plain_python(x_list, y_list) != len(OnlineRegression().extend(x, y)) + 1:
        raise SystemExit("plain Python finds other lines")
    contenders = {
        "as printed": lambda: OnlineRegression().extend(x, y),
        "with drift test": lambda: OnlineRegression(drift=20.0).extend(x, y),
        "with a bound": lambda: BoundedRegression(1000.0).extend(x, y),
        "three events": lambda: OnlineRegression("abc").extend(x, three),
    }
    for name, run in contenders.items():
        measured = ratio(run, lambda: plain_python(x_list, y_list), rounds)
        print(f"{name}: {1e-6 * n / measured.fast_s:.0f} million samples/s, {measured}")


def overhead(rounds):
    """Measure the overhead of recording lines at 2,000 samples per second, with and without recording in turns."""
    chosen = [case for case in cases() if case.name in PROGRAMS]
    with machine.counters_lock("benchmarks/compress.py overhead", wait=True):
        told = _children(machine.describe)
        costs = {case.name: [_cost(case, told) for _ in range(rounds)] for case in chosen}
    costs["all"] = [cost for several in costs.values() for cost in several]
    for name, several in costs.items():
        print(name)
        for what in several[0]:
            values = [cost[what] for cost in several]
            print(f"  {what}: {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})")


def _cost(case, describing):
    """Measure the cost of recording lines, keyed by description.

    `describing` is the processor time for describing the machine [s]. It is subtracted.
    """
    with tempfile.TemporaryDirectory() as folder, case.to_record().prepare() as counted:
        settings = [f"{key}={value}" for key, value in counted.environment.items()]
        command = ["env", *settings, *counted.command]
        quiet = {name: subprocess.DEVNULL for name in ("stdin", "stdout", "stderr")}
        alone = _children(lambda: subprocess.run(command, check=True, **quiet))
        told = {}
        both = _children(
            lambda: told.update(record_lines(command, EVENTS, PERIOD, Path(folder, "lines"), drift=20.0))
        )
        program = 1e-9 * read_lines(Path(folder, "lines"))[0]["x_end"].iloc[-1]
    return {
        "program alone [s]": alone,
        "reading, regression and storing [% of the program]": 100 * told["own_s"] / program,
        "of that, a sample [µs]": 1e6 * told["own_s"] / told["n_samples"],
        "perf record beside it [s]": both - describing - program,
        "perf record beside it [% of the program]": 100 * (both - describing - program) / program,
        "the program itself is slower [%]": 100 * (program / alone - 1),
        "samples a second of it": told["n_samples"] / program,
    }


def _children(run):
    """Return the processor time of the child processes of a function [s]."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    """Run one of the two benchmarks."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("what", choices=["speed", "overhead"])
    options.add_argument("--rounds", type=int, default=5)
    given = options.parse_args()
    {"speed": speed, "overhead": overhead}[given.what](given.rounds)


if __name__ == "__main__":
    main()
