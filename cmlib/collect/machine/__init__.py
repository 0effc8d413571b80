"""The machine that counts: what it is, how many of its counters tell the truth, who may use them."""

from cmlib.collect.machine.counters import (
    Census,
    census,
    good_counters,
    judge_census,
    processor_times,
    supported,
    taken_by_others,
)
from cmlib.collect.machine.doctor import Examination, Facts, Finding, examine, find
from cmlib.collect.machine.event_names import all_events, default_events, known_events, software_events
from cmlib.collect.machine.host import describe, load_1min, perf_list, perf_version, raw_config, tracepoint_id
from cmlib.collect.machine.lock import CountersBusy, counters_lock

__all__ = [
    "Census",
    "CountersBusy",
    "Examination",
    "Facts",
    "Finding",
    "all_events",
    "census",
    "good_counters",
    "counters_lock",
    "default_events",
    "describe",
    "examine",
    "find",
    "judge_census",
    "known_events",
    "load_1min",
    "perf_list",
    "perf_version",
    "processor_times",
    "raw_config",
    "software_events",
    "supported",
    "taken_by_others",
    "tracepoint_id",
]
