"""Parse the event names in files.

For example, the name ``cpu_core/cycles/u`` has three parts. ``cpu_core`` is the unit with the counters (PMU).
``cycles`` is the event. The modifier ``u`` means user mode.
"""

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.errors import InputError
from cmlib.io.events.naming import (
    CORE_EVENT,
    HARDWARE_NAMES,
    HARDWARE_PATTERN,
    SOFTWARE_NAMES,
    TOOL_EVENTS,
    base_name,
)

# perf also writes a modifier within the slashes, after a colon: `cpu_core/cycles:u/`.
_MODIFIER_WITHIN = re.compile(r"([^/]+/[^/:]+):([ukhIGHpPSDWeb]+)/")
# The modifier R, as in `event:R` and `cpu/event/R`, makes an event a retirement latency [cycles].
_LATENCY = re.compile(r"[:/][ukhIGHpPSDWeb]*R[ukhIGHpPSDWeb]*/?")
_EVENT_IN_MODE = re.compile(
    r"(?P<event>\w[^:/]*|[^:]+/[^:/]*)"  # `cycles`, or with the PMU: `cpu_core/cycles`
    r"[:/][IGHpPSDWeb]*(?P<mode>[uk])[IGHpPSDWeb]*/?"  # `:u`, `/u`, `:u/`, or with further modifiers: `:upp`
)


class EventInMode(NamedTuple):
    """Name and mode of an event that was counted in one mode only.

    Attributes
    ----------
    name : str
        Name without modifiers. For example, ``cycles`` or ``cpu_core/cycles/``.
    mode : {"u", "k"}
        User mode or kernel mode.
    """

    name: str
    mode: str


@functools.cache
def normalize_event(event: str) -> str:
    """Move modifiers to the end of a name.

    For example, ``pmu/event:u/`` becomes ``pmu/event/u``. Other names are returned unchanged.
    """
    match = _MODIFIER_WITHIN.fullmatch(event)
    if match is None:
        return event
    return f"{match[1]}/{match[2]}"


@functools.cache
def is_latency(event: str) -> bool:
    """Return True if an event has the modifier ``R``. Its value is a latency instead of a count."""
    separator = max(event.rfind(":"), event.rstrip("/").rfind("/"))
    return separator > 0 and _LATENCY.fullmatch(event, separator) is not None


@functools.cache
def find_core_pmu(event: str) -> str:
    """Return the kind of core in the name of an event. For example, ``cpu_atom``. "" if not found."""
    match = CORE_EVENT.match(event)
    return match[1] if match else ""


@functools.cache
def belongs_to_cores(event: str) -> bool:
    """Return True for an event of cores without a kind of core. For example, ``cycles``.

    False for software events, events of perf (``duration_time``), tracepoints, events of other units
    (``power/energy-pkg/``) and events with a kind of core (``cpu_atom/cycles/``).
    """
    name = base_name(event)
    if name in SOFTWARE_NAMES or name in TOOL_EVENTS:
        return False
    if name in HARDWARE_NAMES or HARDWARE_PATTERN.fullmatch(name):
        return True
    if "/" in name:
        return name.startswith("cpu/")
    return ":" not in name


@functools.cache
def find_mode(event: str) -> EventInMode | None:
    """Return the name and the mode of an event. None if it was counted in both modes."""
    match = _EVENT_IN_MODE.fullmatch(event)
    if match is None:
        return None
    name = match["event"]
    if "/" in name:  # in `cpu_core/cycles/u`, the pattern matches the second slash as a part of the modifier
        name += "/"
    return EventInMode(name, match["mode"])


def normalize_events(counts: pd.DataFrame) -> pd.DataFrame:
    """Return counts with normalized event names (:func:`normalize_event`)."""
    original_names = counts["event"].array.categories.tolist()
    normalized_names = [normalize_event(event) for event in original_names]
    if normalized_names == original_names:
        return counts
    if len(set(normalized_names)) == len(normalized_names):
        return counts.assign(event=counts["event"].cat.rename_categories(normalized_names))
    return counts.assign(event=pd.Categorical(map_events(counts["event"], normalize_event)))


def map_events(events: pd.Series, function: Callable[[str], object]) -> np.ndarray:
    """Apply a function to each event of a categorical column.

    The function is called once per category. InputError if an event is missing.
    """
    values = events.array
    if (values.codes < 0).any():
        raise InputError(
            f"an event is missing in row {int(np.argmin(values.codes))} of the column {events.name!r}."
        )
    results = np.array([function(event) for event in values.categories.tolist()])
    return results[values.codes] if len(results) else np.array([])
