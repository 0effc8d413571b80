from .counter_census import (
    Census as Census,
    census as census,
    check_census as check_census,
    supported as supported,
)
from .doctor import Examination as Examination, Finding as Finding, examine as examine, find as find
from .event_names import (
    all_events as all_events,
    default_events as default_events,
    known_events as known_events,
    software_events as software_events,
)
from .host import (
    describe as describe,
    load_1min as load_1min,
    perf_list as perf_list,
    perf_version as perf_version,
    raw_config as raw_config,
    tracepoint_id as tracepoint_id,
)
from .lock import CountersBusy as CountersBusy, counters_lock as counters_lock
