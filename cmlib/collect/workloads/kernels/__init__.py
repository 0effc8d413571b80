"""The fifteen programs of AutoPerf's Table 2 in C++, each in a good and a bad form, and how to record them."""

from cmlib.collect.workloads.kernels.recipe import Kernel, build, execute, kernels

__all__ = ["Kernel", "build", "execute", "kernels"]
