"""Names of events, as far as readers of tables need them: to find the columns that are counts."""

from cmlib.io import events
from cmlib.io.events.known_names import is_known


def is_event(name: str) -> bool:
    """Return True if a column's name is a known event, or written as vendors and perf write events."""
    return events.is_event(name)


def is_known_event(name: str) -> bool:
    """Return True if a column's name is a known event: one of perf's or of a processor's table."""
    return is_known(events.base_name(name))
