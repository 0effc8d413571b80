"""Recognize the columns of a table that contain counts of events."""

from cmlib.io import events
from cmlib.io.events.known_names import is_known


def is_event(name: str) -> bool:
    """Return True if a name is a known event, or is spelled like events of perf or of vendors."""
    return events.is_event(name)


def is_known_event(name: str) -> bool:
    """Return True if a name is an event of perf or of an event table of a processor."""
    return is_known(events.base_name(name))
