"""Merge runs of one program that counted different events into one matrix of rates, with the IPC of each row."""

from cmlib.merge.align import align_passes, align_runs, stack_runs, step_runs

__all__ = ["align_runs", "stack_runs", "step_runs"]
