"""Take apart the names of events as files write them: unit of counters, name, modes, and whether it is a latency."""

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.io.events.naming import (
    CORE_EVENT,
    HARDWARE_NAMES,
    HARDWARE_PATTERN,
    SOFTWARE_NAMES,
    TOOL_EVENTS,
    base_name,
)

# `cpu_core/cycles:u/`: a modifier behind a colon within the slashes, as perf also writes it.
_MODIFIER_WITHIN = re.compile(r"([^/]+/[^/:]+):([ukhIGHpPSDWeb]+)/")
# `event:R` and `cpu/event/R` are latencies of retirement in cycles.
_LATENCY = re.compile(r"[:/][ukhIGHpPSDWeb]*R[ukhIGHpPSDWeb]*/?")
_MODES = re.compile(r"(\w[^:/]*|[^:]+/[^:/]*)[:/]([IGHpPSDWeb]*)([uk])([IGHpPSDWeb]*/?)")


class Modes(NamedTuple):
    """Name and mode of an event that was counted in one mode of the processor only.

    Attributes
    ----------
    name : str
        Without modifiers, such as ``cycles`` or ``cpu_core/cycles/``.
    mode : {"u", "k"}
        User mode or kernel.
    """

    name: str
    mode: str


@functools.cache
def normalize_event(event: str) -> str:
    """Write modifiers behind the slash: ``pmu/event:u/`` becomes ``pmu/event/u``; other names are unchanged."""
    match = _MODIFIER_WITHIN.fullmatch(event)
    if match is None:
        return event
    return f"{match[1]}/{match[2]}"


@functools.cache
def is_latency(event: str) -> bool:
    """Return whether the modifier ``R`` makes an event a latency of retirement, which is no count."""
    separator = max(event.rfind(":"), event.rstrip("/").rfind("/"))
    return separator > 0 and _LATENCY.fullmatch(event, separator) is not None


@functools.cache
def find_kind(event: str) -> str:
    """Return the PMU of the kind of core that an event names, such as ``cpu_atom``; "" if it names none."""
    match = CORE_EVENT.match(event)
    return match[1] if match else ""


@functools.cache
def belongs_to_cores(event: str) -> bool:
    """Return whether an event that names no kind of core is counted by cores, and so is of one of their kinds.

    Events of software, of perf itself, of other units (``power/energy-pkg/``) and tracepoints are of all kinds.
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
def find_mode(event: str) -> Modes | None:
    """Return name and mode of an event that was counted in user mode or in the kernel only; None for others."""
    match = _MODES.fullmatch(event)
    if match is None:
        return None
    name = f"{match[1]}/" if "/" in match[1] else match[1]
    return Modes(name, match[3])


def normalize_events(counts: pd.DataFrame) -> pd.DataFrame:
    """Return rows (`Program.counts`) with events written as :func:`normalize_event` does; `counts` is unchanged."""
    written = counts["event"].array.categories.tolist()
    names = [normalize_event(event) for event in written]
    if names == written:
        return counts
    if len(set(names)) == len(names):
        return counts.assign(event=counts["event"].cat.rename_categories(names))
    return counts.assign(event=pd.Categorical(map_events(counts["event"], normalize_event)))


def map_events(events: pd.Series, function: Callable[[str], object]) -> np.ndarray:
    """Apply a function to each event of a categorical column; call it once for each category."""
    values = events.array
    results = np.array([function(event) for event in values.categories.tolist()])
    return results[values.codes] if len(results) else np.array([])
