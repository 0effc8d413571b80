"""Derive the metadata of a recording from its counts.

:func:`describe_recording` returns most metadata, for example the groups of events. :func:`measure_cpus` returns the
number of CPUs that a program used.
"""

import itertools
import re
from collections.abc import Mapping
from datetime import datetime

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends
from cmlib.io.archive.runs import UNKNOWN
from cmlib.io.events import base_name, second_readings
from cmlib.io.meaning.event_names import find_mode, map_events
from cmlib.spelling import PINNED, spelling

_STARTED = re.compile(r"(?:# started on )?(.+)")
_STARTED_FORMAT = "%a %b %d %H:%M:%S %Y"


def describe_recording(
    rows: pd.DataFrame, counts: pd.DataFrame, running: pd.DataFrame, names: Mapping[str, str]
) -> dict:
    """Derive the metadata of a recording.

    Parameters
    ----------
    rows : DataFrame
        One row per count, with the columns ``event`` and ``running``.
    counts, running : DataFrame, shape (n_intervals, n_events)
        Counts and running shares. Index: end of each interval [s]. Columns: names in the event tables.
    names : mapping of str to str
        Column of `counts`, keyed by the event name in the file.

    Returns
    -------
    dict
        Values for the metadata. Keys: mode, pinned, groups, modifier, interval_ms, encodings, duration_s and
        running_shares.
    """
    bases = {event: base_name(event) for event in rows["event"].unique()}
    written = {names.get(base, base): event for event, base in bases.items()}
    modifiers = {}
    for name, event in written.items():
        bare, _, modifier = event.rpartition(":")
        if bare == bases[event]:
            modifiers[name] = modifier
    pinned = [name for name, modifier in modifiers.items() if "D" in modifier and name in counts]
    if not pinned:
        pinned = [name for name in PINNED if name in counts]
    others = [name for name in counts if name not in pinned]
    has_all_cycles = any(base == event and spelling(event) == "cycles" for event, base in bases.items())
    modifier = next((modifier.replace("D", "") for modifier in modifiers.values()), None)
    event_by_reading = second_readings(counts)
    times = counts.index.to_numpy()
    whole_lengths = lengths_by_ends(times)[: max(len(times) - 1, 1)]
    return {
        "mode": find_mode_of_counting(counts, running),
        "pinned": pinned,
        "groups": find_groups(running[others]),
        "modifier": None if has_all_cycles else modifier,
        "interval_ms": max(1, round(1000 * whole_lengths.min())),
        "encodings": {name: written.get(event_by_reading.get(name, name), name) for name in others},
        "duration_s": float(times[-1]),
        "running_shares": not rows["running"].isna().any(),
    }


def find_mode_of_counting(counts: pd.DataFrame, running: pd.DataFrame) -> str:
    """Return how the events were counted.

    - ``ocoe``: all events were counted all the time.
    - ``mlpx``: the events shared counters (multiplexing).
    - ``unknown``: a running share is unknown.
    """
    if (running.isna() & counts.notna()).any(axis=None):
        return UNKNOWN
    is_always = running.where(counts.notna()).min(axis=None) >= 1
    return "ocoe" if is_always else "mlpx"


def find_groups(running: pd.DataFrame) -> list[list[str]]:
    """Group consecutive events that have equal running shares in all intervals."""
    shares = {event: running[event].to_numpy().tobytes() for event in running}
    return [list(group) for _, group in itertools.groupby(shares, key=shares.get)]


def parse_start(text: str) -> str | None:
    """Convert the start of a run, as written by perf, to ISO 8601. None for another format."""
    match = _STARTED.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return datetime.strptime(match[1].strip(), _STARTED_FORMAT).isoformat()
    except ValueError:
        return None


def measure_cpus(counts: pd.DataFrame) -> float | None:
    """Return the average number of CPUs that a run used.

    perf counts cycles and instructions only while the program runs. The number of CPUs is the time in which one of them
    was counted, divided by the length of the intervals.

    Parameters
    ----------
    counts : DataFrame
        Rows of one run with intervals, with the columns of `Program.counts`.

    Returns
    -------
    float or None
        None if the rows have no times, or if neither event was counted all the time.
    """
    is_pinned = map_events(counts["event"], _is_cycles_or_instructions).astype(bool)
    times, on_counter_s = counts["time_s"].to_numpy(), counts["on_counter_s"].to_numpy()
    is_of_all = map_events(counts["place"], lambda place: place == "").astype(bool)
    is_always = (counts["running"].to_numpy() == 1) & is_of_all
    is_chosen = is_pinned & is_always & ~np.isnan(times) & ~np.isnan(on_counter_s)
    if not is_chosen.any():
        return None
    on_ns = pd.Series(np.round(1e9 * on_counter_s[is_chosen]))
    on = 1e-9 * on_ns.groupby(times[is_chosen]).max()
    lengths = lengths_by_ends(on.index)
    near = lengths <= 2 * np.median(lengths)  # nothing lies between it and the one before
    return float(on[near].sum() / lengths[near].sum())


def _is_cycles_or_instructions(event: str) -> bool:
    """Return True for the events cycles and instructions, with or without a mode."""
    mode = find_mode(event)
    name = mode.name if mode else event
    return spelling(name).partition(":")[0] in PINNED


def add_modes(counts: pd.DataFrame, running: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Add up the user-mode and kernel-mode counts of an event.

    For example, ``cycles`` is the sum of ``cycles:u`` and ``cycles:k``.

    Parameters
    ----------
    counts, running : DataFrame, shape (n_intervals, n_events)
        Counts and running shares (0 to 1), one column per event.

    Returns
    -------
    counts, running : DataFrame
        Input with a column for each sum, before the two addends. A sum is NaN if an addend is NaN. Its running share
        is the smaller share of the addends. The input is returned unchanged if nothing is added up.
    """
    parts = {}
    for event in counts:
        mode = find_mode(event)
        if mode is not None:
            parts.setdefault(mode.name, {}).setdefault(mode.mode, event)
    sums = {name: by_mode for name, by_mode in parts.items() if len(by_mode) == 2 and name not in counts}
    if not sums:
        return counts, running
    counts, running = counts.copy(), running.copy()
    for name, by_mode in sums.items():
        columns = list(by_mode.values())
        position = min(counts.columns.get_loc(column) for column in columns)
        counts.insert(position, name, counts[columns].sum(axis=1, skipna=False))
        running.insert(position, name, running[columns].min(axis=1, skipna=False))
    return counts, running
