from .codes import same_events as same_events
from .classification import kinds as kinds
from .known_names import is_event as is_event
from .naming import (
    CORE_EVENT as CORE_EVENT,
    abbreviate as abbreviate,
    base_name as base_name,
    copy_name as copy_name,
    encode as encode,
    needs_counter as needs_counter,
    second_readings as second_readings,
)
from .perf_list import parse_perf_list as parse_perf_list
from .recognition import (
    core_pmu as core_pmu,
    describe_recognised as describe_recognised,
    find_processor as find_processor,
    processor_by_names as processor_by_names,
    recognise as recognise,
)
from .roles import (
    CONTENTION as CONTENTION,
    CYCLES as CYCLES,
    counters_with_role as counters_with_role,
    usual_event_table as usual_event_table,
)
from .simulated import (
    MODELLED as MODELLED,
    cycle_estimate as cycle_estimate,
    is_simulated as is_simulated,
    second_level_events as second_level_events,
    simulated_events as simulated_events,
)
from .sums import umask_sums as umask_sums
from .tables import (
    EventError as EventError,
    core_events as core_events,
    general_events as general_events,
    is_handwritten as is_handwritten,
    known_tables as known_tables,
    find_microarchitecture as find_microarchitecture,
    read_table as read_table,
    table as table,
    find_table_name as find_table_name,
    table_of as table_of,
)
from .translation import translate as translate
