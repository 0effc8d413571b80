"""Runs that counted different events become one matrix and its IPC."""

from cmlib.merge.align import align_passes, align_runs, stack_runs, step_runs
