"""Count events of programs by simulation, on machines without counters.

Valgrind's Callgrind simulates caches and a branch predictor. `record_simulated` runs a program under Callgrind and
stores its counts as recordings. `read_series`, `read_functions` and `read_parts` read Callgrind's output: counts per
interval, counts per function, and totals.
"""

from cmlib.collect.simulate.recorder import record_simulated
from cmlib.io.callgrind import CallgrindError, Parts, read_functions, read_parts, read_series
