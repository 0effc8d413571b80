"""Counts without counters: run programs under Valgrind's Callgrind, which simulates caches and a branch predictor."""

from cmlib.collect.simulate.recorder import record_simulated
from cmlib.io.callgrind import CallgrindError, Parts, read_functions, read_parts, read_series
