"""Clean counts of multiplexed runs by interpolation, by CounterMiner's method, or by shrinkage to neighbors.

Multiplexed events take turns on the counters (MLPX), so that perf extrapolates each count from its running share,
the share of the interval in which the event was counted; events that are counted all the time (OCOE: one counter,
one event) need no cleaning. `clean_series` cleans an array of counts by interval, `clean_run` a DataFrame of all
events of a run; both return the cleaned counts and a mask of what changed. Raises a ValueError if shapes differ, a
share is outside 0 to 1, or an event has one or two samples only.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
