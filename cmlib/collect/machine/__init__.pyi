from .counter_census import Census, census, check_census, supported
from .doctor import Examination, Finding, examine, find
from .event_names import all_events, default_events, known_events, software_events
from .host import describe, load_1min, perf_list, perf_version, raw_config, tracepoint_id
from .lock import CountersBusy, counters_lock
