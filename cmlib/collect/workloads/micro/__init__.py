"""Micro-benchmarks of hardware bottlenecks in C, each with a non-pathological form (Yoo et al. 2012, Table 1)."""

from cmlib.collect.workloads.micro.build import build, plateaus, run, sweep, working_sets
from cmlib.collect.workloads.micro.programs import Case, MicroBenchmark, cases, micro_benchmarks
