"""Events of a processor: their codes, short names and sums, and how perf is told to count them."""

from cmlib.events.headings import is_event
from cmlib.events.kinds import kinds
from cmlib.events.naming import abbreviate, base_name, copy_name, encode, second_readings
from cmlib.events.perf_list import from_perf_list
from cmlib.events.recognition import Recognised, recognise, say_recognised
from cmlib.events.same import SameEvent, same_events
from cmlib.events.simulated import (
    MODELLED,
    cycle_estimate,
    is_simulated,
    second_level_events,
    simulated_events,
)
from cmlib.events.sums import umask_sums
from cmlib.events.tables import (
    EventError,
    core_events,
    general_events,
    known_tables,
    read_table,
    table,
    table_for,
    table_of,
)
from cmlib.events.translation import translate

__all__ = [
    "EventError",
    "MODELLED",
    "Recognised",
    "SameEvent",
    "abbreviate",
    "base_name",
    "copy_name",
    "core_events",
    "cycle_estimate",
    "encode",
    "from_perf_list",
    "general_events",
    "is_event",
    "is_simulated",
    "kinds",
    "known_tables",
    "read_table",
    "recognise",
    "say_recognised",
    "same_events",
    "second_level_events",
    "second_readings",
    "simulated_events",
    "table",
    "table_for",
    "table_of",
    "translate",
    "umask_sums",
]
