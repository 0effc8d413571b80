"""Compute figures of a run, for example seconds, clock and instructions per second.

The figures are called levels. :func:`levels` takes the counts of one run. :func:`levels_of_runs` takes several runs and
returns medians of the levels, the miss ratios and the counts. A figure is left out if its events were not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.intervals import lengths_by_ends
from cmlib.spelling import scope, spelling

__all__ = ["interval_lengths"]

# Levels that grow with the length of a run.
EXTENSIVE_LEVELS = (
    "seconds",
    "CPU seconds",
    "instructions",
    "cycles",
)
# Events of the levels per second. The first event that was counted is used.
LEVELS_PER_SECOND = {
    "system calls": ("raw_syscalls:sys_enter",),
    "switches": ("context-switches", "cs"),
    "migrations": ("cpu-migrations", "migrations"),
    "faults": ("page-faults", "faults"),
    "interrupts": ("HW_INTERRUPTS.RECEIVED", "hw_interrupts.received"),
}
_PRINTED_LEVELS = ("instructions a cycle", "CPUs", "GHz")  # levels that recording tools print
_KERNEL_LEADS = 20  # share of the cycles in the kernel [%] from which on the levels of the kernel come first
_MOST_COUNTS_SHOWN = 8
_SAME_COUNT = 1.05  # ratio up to which two counts of the same event agree
_SLOT_EVENT = re.compile(
    "slot|topdown|stall|ops?_(?:spec|retired|disp)|ret_c?ops|uop|retir|_bound$|bad_spec", re.IGNORECASE
)


class _Miss(NamedTuple):
    """What an event of misses refers to.

    Attributes
    ----------
    access : str
        What can miss, as it is shown.
    event : str
        Event that counts all accesses, in the spelling of :func:`cmlib.spelling.spelling`.
    """

    access: str
    event: str


_MISSES = {
    "branchmisses": _Miss("branches", "branches"),
    "l1dcacheloadmisses": _Miss("L1D loads", "l1dcacheloads"),
    "llcloadmisses": _Miss("LLC loads", "llcloads"),
    "cachemisses": _Miss("cache references", "cachereferences"),
}


class RunMedians(NamedTuple):
    """Figures of a program, each the median over its runs.

    Attributes
    ----------
    levels : dict of str to float
        Figures such as seconds and clock, keyed by name, as :func:`levels` returns them.
    miss_ratios : dict of str to float
        Misses in percent of the accesses. A key names the accesses, for example ``branches``.
    counts : dict of str to float
        Total counts, keyed by event name.
    """

    levels: dict
    miss_ratios: dict
    counts: dict


def levels(counts: pd.DataFrame, *, timed: bool = True) -> dict[str, float]:
    """Compute figures of a run, for example seconds, clock and instructions per second.

    A figure is left out if its events were not counted.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, n_events)
        Counts. Index: end of each interval [s].
    timed : bool, default True
        False if the index is not a time. Figures per second are then left out.

    Returns
    -------
    dict of str to float
        Figures, keyed by name:

        - ``seconds``: elapsed time
        - ``CPU seconds``: CPU time (event ``task-clock``), only if the elapsed time is not known
        - ``instructions``, ``cycles`` and ``instructions a cycle``
        - ``instructions a second``
        - ``GHz``: cycles divided by the CPU time
        - ``CPUs``: CPU time divided by the elapsed time
        - ``system calls``, ``switches``, ``migrations``, ``faults`` and ``interrupts``, all per second
        - ``kernel cycles``: share of the cycles in the kernel [%]
        - ``kernel instructions a cycle`` and ``user instructions a cycle``
    """
    lengths = _measure_lengths(counts, timed)
    frame = compute_levels(counts, lengths, np.zeros(len(counts), int))
    return frame.iloc[0].dropna().to_dict()


def interval_lengths(counts: pd.DataFrame) -> np.ndarray:
    """Return the length of every interval.

    `counts` has only the ends of the intervals. The first interval is assumed to begin at 0. If its length is then more
    than 1.5 times the median of the other lengths, it is replaced by this median.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, n_events)
        Index: end of each interval [s].

    Returns
    -------
    ndarray of float, shape (n_intervals,)
        Lengths [s].
    """
    ends = counts.index.to_numpy(float)
    lengths = lengths_by_ends(ends)
    median_length = np.median(lengths[1:]) if len(ends) > 1 else lengths[0]
    if len(ends) > 1 and not 0 < lengths[0] <= 1.5 * median_length:
        lengths[0] = median_length
    return lengths


def levels_of_runs(
    runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]],
    printed: Mapping[str, float],
    names_in_file: Mapping[str, str],
    *,
    whole_runs: bool,
) -> RunMedians:
    """Compute figures, miss ratios and counts of a program as medians over its runs.

    Parameters
    ----------
    runs : list of (DataFrame, DataFrame)
        Counts and running shares of each run. A running share is the fraction of the time in which the event was
        counted.
    printed : dict of str to float
        Figures that the recording tool printed. A printed figure is used only if its events were not counted.
    names_in_file : dict of str to str
        Name of an event in the file, keyed by column. It can contain a kind of core or a mode that the column name does
        not contain.
    whole_runs : bool
        True if each row has the totals of one run. The elapsed time is known if ``duration_time`` was counted.

    Returns
    -------
    RunMedians
    """
    timed = not whole_runs or all("duration_time" in counts for counts, _ in runs)
    frames = []
    for counts, _ in runs:
        frames += _split_rows(counts) if whole_runs else [counts]
    counted_levels = _compute_medians(levels(counts, timed=timed) for counts in frames)
    counted_ratios = _compute_medians(miss_ratios(counts, names_in_file) for counts in frames)
    printed_levels = {name: printed[name] for name in _PRINTED_LEVELS if printed.get(name, 0) > 0}
    printed_ratios = {}
    for miss in _MISSES.values():
        if f"misses of {miss.access}" in printed:
            printed_ratios[miss.access] = printed[f"misses of {miss.access}"]
    # Counted figures come first in the order, and they replace printed figures.
    return RunMedians(
        levels=counted_levels | printed_levels | counted_levels,
        miss_ratios=counted_ratios | printed_ratios | counted_ratios,
        counts=_compute_medians(_total_counts(counts, timed=timed) for counts in frames),
    )


def miss_ratios(counts: pd.DataFrame, names_in_file: Mapping[str, str]) -> dict[str, float]:
    """Compute the misses in percent of the accesses.

    Misses are divided only by accesses of the same kind of core and mode. If an event was counted twice with different
    results, its ratio is left out.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, n_events)
    names_in_file : dict of str to str
        As for :func:`levels_of_runs`.

    Returns
    -------
    dict of str to float
        Ratio [%] by the name of the access, for example ``branches``.
    """
    values_by_key = {}
    for column, values in counts.items():
        name = names_in_file.get(column, column).partition("#")[0]
        key = spelling(name).removesuffix(":k"), scope(name)
        if key in values_by_key:
            ratio = values.sum() / (values_by_key[key].sum() or np.nan)
            if not 1 / _SAME_COUNT < ratio < _SAME_COUNT:
                values = values * np.nan
        values_by_key[key] = values
    ratios = {}
    for (name, event_scope), misses in values_by_key.items():
        if name not in _MISSES:
            continue
        miss = _MISSES[name]
        accesses = values_by_key.get((miss.event, event_scope), misses * np.nan)
        is_counted = (misses + accesses).notna()
        if accesses[is_counted].sum() > 0:
            ratio = 100 * misses[is_counted].sum() / accesses[is_counted].sum()
            ratios.setdefault(miss.access, float(ratio))
    return ratios


def select_other_counts(medians: RunMedians, *, has_slot_shares: bool) -> dict[str, float]:
    """Select the counts that are not shown as figures or as miss ratios.

    At most eight counts are selected. If there are more, the result is empty, unless no other figure is known.

    Parameters
    ----------
    medians : RunMedians
        Figures, miss ratios and counts.
    has_slot_shares : bool
        True if the summary shows shares of the slots. Events of slots and stalls are then left out.

    Returns
    -------
    dict of str to float
        Counts, keyed by event name, the largest first.
    """
    contained = {*medians.levels, "task-clock", "cpu-clock", "user_time", "system_time"}
    for level, events in LEVELS_PER_SECOND.items():
        if level in medians.levels:
            contained |= set(events)
    for event_of_misses, miss in _MISSES.items():
        if miss.access in medians.miss_ratios:
            contained |= {event_of_misses, miss.event}
    other_counts = {}
    for event, count in medians.counts.items():
        is_contained = event in contained or spelling(event).partition(":")[0] in contained
        if not is_contained and not (has_slot_shares and _SLOT_EVENT.search(event)):
            other_counts[event] = count
    has_other_figures = has_slot_shares or medians.miss_ratios or {*medians.levels} - {"seconds", "CPUs"}
    if len(other_counts) > _MOST_COUNTS_SHOWN and has_other_figures:
        return {}
    largest_first = sorted(other_counts.items(), key=lambda item: -item[1])
    return dict(largest_first[:_MOST_COUNTS_SHOWN])


def compute_levels(counts: pd.DataFrame, lengths: np.ndarray, part: np.ndarray) -> pd.DataFrame:
    """Compute figures of each part of a run.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, n_events)
        Counts. Missing counts are NaN.
    lengths : ndarray of float, shape (n_intervals,)
        Lengths of the intervals [s]. NaN if not known.
    part : ndarray of int, shape (n_intervals,)
        Index of the part that contains each interval, from 0.

    Returns
    -------
    DataFrame
        One row per part, one column per figure, as in :func:`levels`. NaN if a figure is not known.

    Notes
    -----
    A ratio of two events is computed from the intervals in which both were counted. If an event was not counted in some
    intervals, its total is extrapolated with its mean rate.
    """
    sums = _PartSums(part, lengths)
    values_by_event = {
        event: values.to_numpy(float) for event, values in counts.items() if values.notna().any()
    }
    instructions = values_by_event.get("instructions")
    cycles = values_by_event.get("cycles")
    task_clock = values_by_event.get("task-clock")  # [ms]
    columns = {"seconds": sums.total(lengths)}
    if task_clock is not None and np.isnan(lengths).all():
        columns["CPU seconds"] = sums.total(task_clock / 1e3)
    if instructions is not None:
        columns["instructions"] = sums.extrapolate(instructions)
        columns["instructions a second"] = sums.divide(instructions, lengths)
    if cycles is not None and not _are_shares(counts):
        columns["cycles"] = sums.extrapolate(cycles)
        if instructions is not None:
            columns["instructions a cycle"] = sums.divide(instructions, cycles)
    if task_clock is not None:
        if cycles is not None:
            columns["GHz"] = sums.divide(cycles / 1e6, task_clock)
        columns["CPUs"] = sums.divide(task_clock / 1e3, lengths)
    for name, events in LEVELS_PER_SECOND.items():
        counted_events = [event for event in events if event in values_by_event]
        if counted_events:
            columns[name] = sums.divide(values_by_event[counted_events[0]], lengths)
    kernel_columns = _compute_kernel_levels(values_by_event, sums)
    kernel_leads = max(kernel_columns.get("kernel cycles", [0.0])) >= _KERNEL_LEADS
    return pd.DataFrame(kernel_columns | columns if kernel_leads else columns | kernel_columns)


class _PartSums:
    """Sums of the counts of each part of a run.

    Parameters
    ----------
    part : ndarray of int, shape (n_intervals,)
        Number of the part that contains the interval.
    lengths : ndarray of float, shape (n_intervals,)
        Lengths of the intervals [s]. NaN if not known.
    """

    def __init__(self, part: np.ndarray, lengths: np.ndarray) -> None:
        self._part = part
        self._lengths = lengths
        self._n_parts = np.max(part, initial=0) + 1

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sum the values of each part. The sum is NaN if nothing was counted."""
        is_counted = ~np.isnan(values)
        n_counted = np.bincount(self._part[is_counted], minlength=self._n_parts)
        sums = np.bincount(self._part[is_counted], values[is_counted], self._n_parts)
        return np.where(n_counted > 0, sums, np.nan)

    def divide(self, dividend: np.ndarray, divisor: np.ndarray) -> np.ndarray:
        """Divide the sums of two events over the intervals in which both were counted."""
        is_missing = np.isnan(dividend + divisor)
        dividend_sum = self.total(np.where(is_missing, np.nan, dividend))
        divisor_sum = self.total(np.where(is_missing, np.nan, divisor))
        return dividend_sum / np.where(divisor_sum, divisor_sum, np.nan)

    def extrapolate(self, values: np.ndarray) -> np.ndarray:
        """Sum the values of each part, with the mean rate in place of missing values."""
        estimate = self.divide(values, self._lengths) * self.total(self._lengths)
        has_missing = np.bincount(self._part[np.isnan(values)], minlength=self._n_parts) > 0
        return np.where(has_missing & np.isfinite(estimate), estimate, self.total(values))


def _compute_kernel_levels(
    values_by_event: Mapping[str, np.ndarray], sums: _PartSums
) -> dict[str, np.ndarray]:
    """Compute the kernel's share of the cycles, and instructions per cycle of kernel and user mode.

    The dict is empty unless cycles were counted twice: in all modes, and in the kernel only.
    """
    kernel_values = {}
    for event, values in values_by_event.items():
        name, _, mode = spelling(event).partition(":")
        if mode and name in ("cycles", "instructions") and name in values_by_event:
            kernel_values[name] = values
    if "cycles" not in kernel_values:
        return {}
    kernel_cycles = kernel_values["cycles"]
    all_cycles = values_by_event["cycles"]
    if np.nansum(kernel_cycles) > np.nansum(all_cycles):  # the event cycles did not include the kernel
        return {}
    kernel_levels = {"kernel cycles": 100 * sums.divide(kernel_cycles, all_cycles)}
    if "instructions" in kernel_values:
        kernel_instructions = kernel_values["instructions"]
        user_instructions = values_by_event["instructions"] - kernel_instructions
        user_cycles = all_cycles - kernel_cycles
        has_both_modes = (kernel_levels["kernel cycles"] > 0) & (kernel_levels["kernel cycles"] < 100)
        kernel_ipc = sums.divide(kernel_instructions, kernel_cycles)
        user_ipc = sums.divide(user_instructions, user_cycles)
        kernel_levels["kernel instructions a cycle"] = np.where(has_both_modes, kernel_ipc, np.nan)
        kernel_levels["user instructions a cycle"] = np.where(has_both_modes, user_ipc, np.nan)
    return kernel_levels


def _measure_lengths(counts: pd.DataFrame, timed: bool) -> np.ndarray:
    """Return the lengths of the intervals [s]. They are NaN if the index is not a time."""
    return interval_lengths(counts) if timed else np.full(len(counts), np.nan)


def _split_rows(counts: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Yield one DataFrame per row. Its index is the length of the row's run [s]."""
    for row, length in enumerate(lengths_by_ends(counts.index)):
        yield counts.iloc[[row]].set_axis([length])


def _compute_medians(dicts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Compute the median of each key over several dicts. Medians that are not finite are left out."""
    medians = pd.DataFrame([*dicts]).median().astype(float)
    return medians[np.isfinite(medians)].to_dict()


def _total_counts(counts: pd.DataFrame, *, timed: bool) -> dict[str, float]:
    """Sum the counts of each event. If some intervals are missing, the sum is extrapolated to all intervals.

    The time and second readings of the same event are left out.
    """
    if _are_shares(counts):
        return {}
    sums = _PartSums(np.zeros(len(counts), int), _measure_lengths(counts, timed))
    columns = counts.filter(regex="^(?!duration_time$|[^#]*#)")
    return {event: sums.extrapolate(values.to_numpy(float))[0] for event, values in columns.items()}


def _are_shares(counts: pd.DataFrame) -> bool:
    """Return True if the values are percent of the cycles. Some tools print them in place of counts."""
    shares = counts.drop(columns="duration_time", errors="ignore")
    is_percent = "cycles" in counts and (counts["cycles"] == 100).all() and not (shares > 100).any(axis=None)
    return is_percent and "instructions" not in counts
