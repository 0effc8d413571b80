"""Read tables of hardware events, and look up events in them.

:func:`table` returns the events of a processor as a DataFrame. :func:`find_processor` finds the processor of a
recording, :func:`kinds` classifies events, and :func:`umask_sums` finds events that are sums of other events.
EventError is raised for an unknown event or table.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "CONTENTION",
    "CYCLES",
    "abbreviate",
    "counters_with_role",
    "describe_recognised",
    "find_processor",
    "kinds",
    "recognise",
    "second_readings",
    "table",
    "table_of",
    "umask_sums",
]
