"""Spark programs under other settings than usual: ``python -m cmlib.workloads.tuning`` lists them, ``--record`` records."""

from cmlib.workloads.tuning.design import Run, at_levels, at_random, settings_of
from cmlib.workloads.tuning.recording import FOLDER, KERNEL_EVENTS, record_all

__all__ = ["FOLDER", "KERNEL_EVENTS", "Run", "at_levels", "at_random", "record_all", "settings_of"]
