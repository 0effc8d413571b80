"""Tables of hardware events by processor, and functions that recognise, name, encode and add up events.

:func:`table` gives a processor's events as a DataFrame; :func:`recognise` finds the processor by names of events,
:func:`kinds` says what they count, :func:`umask_sums` which are sums of others. EventError for an unknown event or
table.
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
