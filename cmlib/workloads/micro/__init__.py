"""Micro-benchmarks of hardware bottlenecks in C, each with a non-pathological form (Yoo et al. 2012, Table 1)."""

from cmlib.workloads.micro.build import build, run
from cmlib.workloads.micro.latency import plateaus, sweep, working_sets
from cmlib.workloads.micro.programs import Case, MicroBenchmark, cases, micro_benchmarks

__all__ = [
    "Case",
    "MicroBenchmark",
    "build",
    "cases",
    "plateaus",
    "micro_benchmarks",
    "run",
    "sweep",
    "working_sets",
]
