"""The machine that counts: what it is, how many of its counters tell the truth, who may use them."""

from cmlib.collect.machine.counter_census import (
    Census,
    census,
    check_census,
    supported,
)
from cmlib.collect.machine.doctor import Examination, Facts, Finding, examine, find
from cmlib.collect.machine.event_names import all_events, default_events, known_events, software_events
from cmlib.collect.machine.host import describe, load_1min, perf_list, perf_version, raw_config, tracepoint_id
from cmlib.collect.machine.lock import CountersBusy, counters_lock
