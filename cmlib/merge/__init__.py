"""Merge runs that counted different events into one matrix and its IPC."""

from cmlib.merge.align import align_passes, align_runs, stack_runs, step_runs

__all__ = ["align_runs", "stack_runs", "step_runs"]
