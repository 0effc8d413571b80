"""Merge runs of one program that counted different events into one matrix, with the IPC of each row.

IPC is instructions per cycle. `align_runs` and `stack_runs` take a list of DataFrames of counts, one per run (a row
per interval, a column per event). They return X (DataFrame) and ipc (Series). Raises a ValueError if a run lacks
instructions or cycles, has gaps, or (to be aligned) did not do the same work.
"""

from cmlib.merge.align import align_passes, align_runs, stack_runs, step_runs

__all__ = ["align_runs", "stack_runs", "step_runs"]
