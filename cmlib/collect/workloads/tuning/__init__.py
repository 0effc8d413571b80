"""Spark programs under other settings than usual, as ``cmlib record-tuning`` records them."""

from cmlib.collect.workloads.tuning.cluster_runs import EMITTERS, FOLDER, HIGHEST, KERNEL_EVENTS, record_runs
from cmlib.collect.workloads.tuning.design import Run, at_levels, at_random, at_rates, emitted_of, settings_of
