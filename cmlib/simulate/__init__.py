"""Counts without counters: programs run under Valgrind's Callgrind, which simulates caches and a branch predictor."""

from cmlib.simulate.callgrind import CallgrindError, Parts, read_functions, read_parts
from cmlib.simulate.recording import record_simulated
from cmlib.simulate.series import read_series

__all__ = ["CallgrindError", "Parts", "read_functions", "read_parts", "read_series", "record_simulated"]
