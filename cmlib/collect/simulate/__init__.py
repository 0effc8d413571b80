"""Count without counters: run programs under Valgrind's Callgrind, which simulates caches and a branch predictor.

`record_simulated` stores runs of a program as recordings. From Callgrind's text, `read_series` reads counts by
interval and `read_functions` counts by function (DataFrames), and `read_parts` reads totals, caches and version.
Raises a RecordError if Valgrind is missing or the program fails, and a CallgrindError for text that is not
Callgrind's.
"""

from cmlib.collect.simulate.recorder import record_simulated
from cmlib.io.callgrind import CallgrindError, Parts, read_functions, read_parts, read_series
