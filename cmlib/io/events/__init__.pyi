from .naming import CORE_EVENT, abbreviate, base_name, copy_name, encode, is_event, kinds, second_readings
from .recognition import (
    core_pmu,
    describe_recognised,
    find_processor,
    processor_by_names,
    recognise,
    same_events,
    translate,
    umask_sums,
)
from .roles import CONTENTION, CYCLES, counters_with_role, usual_event_table
from .tables import (
    MODELLED,
    EventError,
    core_events,
    cycle_estimate,
    from_perf_list,
    general_events,
    is_simulated,
    is_written,
    known_tables,
    processor_of,
    read_table,
    second_level_events,
    simulated_events,
    simulated_kind,
    table,
    table_for,
    table_of,
)
