"""The fifteen programs of AutoPerf's Table 2 in C++, each in a good and a bad form, and how to record them."""

from cmlib.workloads.kernels.recipe import Program, build, execute, programs

__all__ = ["Program", "build", "execute", "programs"]
