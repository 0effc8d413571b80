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
    base_by_event = {event: base_name(event) for event in rows["event"].unique()}
    event_by_name = {names.get(base, base): event for event, base in base_by_event.items()}
    modifiers = {}
    for name, event in event_by_name.items():
        bare_name, _, modifier = event.rpartition(":")
        if bare_name == base_by_event[event]:
            modifiers[name] = modifier
    # The modifier D pins an event: perf counts it all the time.
    pinned = [name for name, modifier in modifiers.items() if "D" in modifier and name in counts]
    if not pinned:
        pinned = [name for name in PINNED if name in counts]
    unpinned = [name for name in counts if name not in pinned]
    # Cycles without a modifier were counted in user mode and in the kernel. Then the recording has no single mode.
    has_all_cycles = any(
        base == event and spelling(event) == "cycles" for event, base in base_by_event.items()
    )
    modifier = next((modifier.replace("D", "") for modifier in modifiers.values()), None)
    event_by_reading = second_readings(counts)
    times = counts.index.to_numpy()
    # The end of the program can cut the last interval short.
    complete_lengths = lengths_by_ends(times)[: max(len(times) - 1, 1)]
    return {
        "mode": find_mode_of_counting(counts, running),
        "pinned": pinned,
        "groups": find_groups(running[unpinned]),
        "modifier": None if has_all_cycles else modifier,
        "interval_ms": max(1, round(1000 * complete_lengths.min())),
        "encodings": {name: event_by_name.get(event_by_reading.get(name, name), name) for name in unpinned},
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

    perf counts cycles and instructions only while the program runs. So the number of CPUs is the time in which cycles
    or instructions were counted, divided by the length of the intervals.

    Parameters
    ----------
    counts : DataFrame
        Rows of one run with intervals, with the columns of `Program.counts`.

    Returns
    -------
    float or None
        None if the rows have no times, or if neither cycles nor instructions were counted all the time.
    """
    is_pinned = map_events(counts["event"], _is_cycles_or_instructions).astype(bool)
    times, on_counter_s = counts["time_s"].to_numpy(), counts["on_counter_s"].to_numpy()
    is_without_place = map_events(counts["place"], lambda place: place == "").astype(bool)
    is_always = (counts["running"].to_numpy() == 1) & is_without_place
    is_chosen = is_pinned & is_always & ~np.isnan(times) & ~np.isnan(on_counter_s)
    if not is_chosen.any():
        return None
    on_counter_ns = pd.Series(np.round(1e9 * on_counter_s[is_chosen]))
    longest_s = 1e-9 * on_counter_ns.groupby(times[is_chosen]).max()
    # The chosen rows can omit intervals. The length after an omitted interval is too long, so it is not used.
    lengths = lengths_by_ends(longest_s.index)
    follows_directly = lengths <= 2 * np.median(lengths)
    return float(longest_s[follows_directly].sum() / lengths[follows_directly].sum())


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
    events_by_name: dict[str, dict[str, str]] = {}  # the inner dict is keyed by mode
    for event in counts:
        mode = find_mode(event)
        if mode is not None:
            events_by_name.setdefault(mode.name, {}).setdefault(mode.mode, event)
    # A sum needs both modes. A column that the file contains is never replaced.
    addends_by_sum = {
        name: list(event_by_mode.values())
        for name, event_by_mode in events_by_name.items()
        if len(event_by_mode) == 2 and name not in counts
    }
    if not addends_by_sum:
        return counts, running
    counts, running = counts.copy(), running.copy()
    for name, columns in addends_by_sum.items():
        position = min(counts.columns.get_loc(column) for column in columns)
        counts.insert(position, name, counts[columns].sum(axis=1, skipna=False))
        running.insert(position, name, running[columns].min(axis=1, skipna=False))
    return counts, running
