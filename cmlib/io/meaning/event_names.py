"""Parse the event names of files: the PMU of a kind of core, the name, the mode, and whether it is a latency.

In ``cpu_core/cycles/u``, ``cpu_core`` is the PMU (the unit with the counters), ``cycles`` the name, and ``u`` a
modifier: count in user mode only.
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

# perf also writes a modifier within the slashes, behind a colon: `cpu_core/cycles:u/`.
_MODIFIER_WITHIN = re.compile(r"([^/]+/[^/:]+):([ukhIGHpPSDWeb]+)/")
# The modifier R, as in `event:R` and `cpu/event/R`, makes an event a retirement latency [cycles].
_LATENCY = re.compile(r"[:/][ukhIGHpPSDWeb]*R[ukhIGHpPSDWeb]*/?")
_EVENT_IN_MODE = re.compile(
    r"(?P<event>\w[^:/]*|[^:]+/[^:/]*)"  # `cycles`, or with the PMU: `cpu_core/cycles`
    r"[:/][IGHpPSDWeb]*(?P<mode>[uk])[IGHpPSDWeb]*/?"  # `:u`, `/u`, `:u/`, or with further modifiers: `:upp`
)


class EventInMode(NamedTuple):
    """Name and mode of an event that was counted in one mode of the processor only.

    Attributes
    ----------
    name : str
        Without modifiers, such as ``cycles`` or ``cpu_core/cycles/``.
    mode : {"u", "k"}
        ``u`` is user mode, ``k`` kernel mode.
    """

    name: str
    mode: str


@functools.cache
def normalize_event(event: str) -> str:
    """Move modifiers behind the second slash: ``pmu/event:u/`` becomes ``pmu/event/u``. Keep other names."""
    match = _MODIFIER_WITHIN.fullmatch(event)
    if match is None:
        return event
    return f"{match[1]}/{match[2]}"


@functools.cache
def is_latency(event: str) -> bool:
    """Return whether an event has the modifier ``R``: its value is a retirement latency, not a count."""
    separator = max(event.rfind(":"), event.rstrip("/").rfind("/"))
    return separator > 0 and _LATENCY.fullmatch(event, separator) is not None


@functools.cache
def find_core_pmu(event: str) -> str:
    """Return the PMU of a kind of core in an event's name, such as ``cpu_atom``; "" if there is none."""
    match = CORE_EVENT.match(event)
    return match[1] if match else ""


@functools.cache
def belongs_to_cores(event: str) -> bool:
    """Return True if cores count an event whose name does not say which kind of core, such as ``cycles``.

    False for software events, perf's own events (``duration_time``), tracepoints, and events of other units
    (``power/energy-pkg/``); also for events with such a PMU (``cpu_atom/cycles/``), which :func:`find_core_pmu` finds.
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
    """Return name and mode of an event counted in user mode or kernel mode only; None for events of both modes."""
    match = _EVENT_IN_MODE.fullmatch(event)
    if match is None:
        return None
    name = match["event"]
    if "/" in name:  # the pattern leaves the second slash of `cpu_core/cycles/u` to the modifier
        name += "/"
    return EventInMode(name, match["mode"])


def normalize_events(counts: pd.DataFrame) -> pd.DataFrame:
    """Apply :func:`normalize_event` to the column ``event`` of `Program.counts`; `counts` is unchanged."""
    original_names = counts["event"].array.categories.tolist()
    normalized_names = [normalize_event(event) for event in original_names]
    if normalized_names == original_names:
        return counts
    if len(set(normalized_names)) == len(normalized_names):
        return counts.assign(event=counts["event"].cat.rename_categories(normalized_names))
    return counts.assign(event=pd.Categorical(map_events(counts["event"], normalize_event)))


def map_events(events: pd.Series, function: Callable[[str], object]) -> np.ndarray:
    """Apply a function to each event of a categorical column, calling it once per category.

    Raises InputError if an event is missing.
    """
    values = events.array
    if (values.codes < 0).any():
        raise InputError(
            f"an event is missing in row {int(np.argmin(values.codes))} of the column {events.name!r}."
        )
    results = np.array([function(event) for event in values.categories.tolist()])
    return results[values.codes] if len(results) else np.array([])
