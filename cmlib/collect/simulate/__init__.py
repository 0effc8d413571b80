"""Counts without counters: run programs under Valgrind's Callgrind, which simulates caches and a branch predictor.

`record_simulated` stores runs of a program as recordings; `read_series`, `read_functions` and `read_parts` read
what Callgrind wrote, as DataFrames of counts by interval, by function, and by cache. RecordError if Valgrind is
missing or the program fails; CallgrindError for text that is not Callgrind's.
"""

from cmlib.collect.simulate.recorder import record_simulated
from cmlib.io.callgrind import CallgrindError, Parts, read_functions, read_parts, read_series
