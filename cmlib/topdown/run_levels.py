"""Compute the totals of a recording's events, the levels of a run, and its phases.

A level is a quantity that describes how a run went: its speed, clock, processors used, and rates per second. A
phase is a stretch of the run in which the levels are constant.

:func:`totals` takes the counts and running shares of several runs, and returns a DataFrame by event. :func:`levels`
takes the counts of a run, a DataFrame with a row per interval (index: its end [s]) and a column per event, and
returns a dict. :func:`phases` takes the same and returns a DataFrame with a row per phase. :func:`miss_ratios`
returns the share of accesses that missed [%]. :func:`levels_of_runs` returns medians over several runs. What was
not counted is left out.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.fingerprint.segments import segment_starts
from cmlib.intervals import MOST_PER_CYCLE, lengths_by_ends
from cmlib.spelling import scope, spelling

__all__ = ["interval_lengths"]

# Relative error of a count of one or two intervals that was counted for half of the time.
_SHORT_RUN_ERROR = 0.1
_MOST_SHOWN = 8  # counts that nothing else contains
_POINTS = 240  # neighboring intervals are added up to at most so many points before they are cut into phases
DIFFERS = 1.05  # ratio between phases above which a level is reported
_FEWEST_A_SECOND = 10  # rates of switches, faults and the like are reported if a phase has at least so many
CUT_BY = ("GHz", "CPUs", "instructions a second", "instructions a cycle")  # levels whose changes make phases
EXTENSIVE = ("seconds", "CPU seconds", "instructions", "cycles")  # levels that grow with a run's length
_PRINTED = ("instructions a cycle", "CPUs", "GHz")  # levels that are taken from what the tool printed
_KERNEL_LEADS = 20  # percent of the cycles in the kernel from which on its share stands first
_GAIN = 0.1  # share of all variation that a cut must remove at least
_SHORTEST = 0.04  # shortest phase [share of the run]
# The best cut of n points that differ by noise alone removes about so many times the noise times the logarithm of n.
_BY_CHANCE = 3.0
_OF_SLOTS = re.compile(
    "slot|topdown|stall|ops?_(?:spec|retired|disp)|ret_c?ops|uop|retir|_bound$|bad_spec", re.IGNORECASE
)


def totals(runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]]) -> pd.DataFrame:
    """Total every event of some runs, per cycle, and estimate the error of multiplexing.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Of each run of one program its counts, NaN where nothing was counted, and its running shares (0–1), NaN where
        they are not known; a row per interval, a column per event. Runs that did not count ``cycles`` are left out.

    Returns
    -------
    DataFrame
        Index: event, without cycles. ``rate``: events per cycle over the intervals in which the event was counted, each
        weighted by its running share. ``error``: relative, twice the standard error, estimated from differences of
        neighboring intervals, or from those of the runs if larger; 0 if counted all the time in one run. ``dropped``:
        intervals left out, because no core can count so many per cycle.
    """
    totals_by_event = {}
    for counts, running in runs:
        if "cycles" not in counts:
            continue
        cycles = counts["cycles"].to_numpy(float)
        cycles_error = _estimate_error(cycles, running["cycles"].to_numpy(float))
        for event in counts.columns.drop("cycles"):
            values = counts[event].to_numpy(float)
            share = running[event].to_numpy(float)
            total = _total_event(values, cycles, share, cycles_error)
            totals_by_event.setdefault(event, []).append(total)
    pooled = {event: _pool_runs(run_totals) for event, run_totals in totals_by_event.items()}
    return pd.DataFrame(pooled, index=["rate", "error", "dropped"]).T.dropna(subset="rate")


def levels(counts: pd.DataFrame, *, timed: bool = True) -> dict[str, float]:
    """Compute seconds, instructions, speed and clock of a run, and system calls, switches and faults per second.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, n_events)
        Index: end of each interval [s].
    timed : bool, default True
        False if the index is no time: values per second are then left out.

    Returns
    -------
    dict of str to float
        ``seconds`` (or ``CPU seconds``, the task-clock, if these are not known), and of the following what was counted:
        ``instructions``, ``instructions a second``, ``cycles``, ``instructions a cycle``; ``GHz`` (cycles over
        task-clock) and ``CPUs`` (task-clock over seconds); per second
        ``system calls``, ``switches``, ``migrations``, ``faults`` and ``interrupts``. If kernel mode was counted apart:
        ``kernel cycles`` [%] and instructions a cycle of kernel and user mode, first if these are 20 % or more.
    """
    lengths = _measure_lengths(counts, timed)
    frame = _compute_levels(counts, lengths, np.zeros(len(counts), int))
    return frame.iloc[0].dropna().to_dict()


def _measure_lengths(counts, timed):
    """Return the lengths of the intervals [s]; NaN if the index is no time."""
    return interval_lengths(counts) if timed else np.full(len(counts), np.nan)


def levels_of_runs(runs, printed, names_in_file, *, whole_runs):
    """Compute the medians over several runs: three dicts, of levels, miss ratios and all counts.

    `runs` are the counts and running shares of each run (pairs of DataFrames). `printed` (dict) is what the
    recording tool printed; it is used for what can't be computed. `names_in_file` is that of :func:`miss_ratios`.
    With `whole_runs` a row is a run; its time is known if ``duration_time`` was counted.
    """
    timed = not whole_runs or all("duration_time" in counts for counts, _ in runs)
    frames = []
    for counts, _ in runs:
        frames += _split_rows(counts) if whole_runs else [counts]
    level = _compute_medians(levels(counts, timed=timed) for counts in frames)
    ratios = _compute_medians(miss_ratios(counts, names_in_file) for counts in frames)
    printed_levels = {name: printed[name] for name in _PRINTED if printed.get(name, 0) > 0}
    printed_ratios = {}
    for access, _ in _MISSES_OF.values():
        if f"misses of {access}" in printed:
            printed_ratios[access] = printed[f"misses of {access}"]
    totals_by_event = _compute_medians(_total_counts(counts, timed=timed) for counts in frames)
    # Counts come first, and are not replaced by what the tool printed.
    return level | printed_levels | level, ratios | printed_ratios | ratios, totals_by_event


def _split_rows(counts):
    """Yield counts of one row for every row, for tables of which a row is a run."""
    for k, length in enumerate(lengths_by_ends(counts.index)):
        yield counts.iloc[[k]].set_axis([length])


def _compute_medians(by_run):
    """Compute the medians over the runs (dicts) of each quantity (dict); leave out what is not finite."""
    medians = pd.DataFrame([*by_run]).median().astype(float)
    return medians[np.isfinite(medians)].to_dict()


def phases(counts):
    """Cut a run into phases by its clock, speed and processors used, and compute the levels of each.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, n_events)
        Counts; index: end of each interval [s].

    Returns
    -------
    DataFrame
        A row per phase: ``start`` and ``end`` [s], and those levels that differ between phases by more than 5 %; empty
        if there is only one phase, or no level differs.
    """
    lengths = interval_lengths(counts)
    first = _cut_by_levels(counts, lengths)
    if len(first) == 1:
        return pd.DataFrame()
    last = [*first[1:] - 1, len(counts) - 1]
    phase = np.searchsorted(first, np.arange(len(counts)), side="right") - 1
    frame = _compute_levels(counts, lengths, phase)
    differing = _list_differing(frame)
    if not differing:
        return pd.DataFrame()
    frame.insert(0, "start", counts.index[first] - lengths[first])
    frame.insert(1, "end", counts.index[last])
    return frame[["start", "end", *differing]]


def _cut_by_levels(counts, lengths):
    """Find the first row (number) of each phase by the logarithms of clock, speed and processors used."""
    bundle = _number_bundles(len(counts))
    series = _compute_levels(counts, lengths, bundle)
    X = series[[name for name in CUT_BY if name in series]].dropna(axis=1)
    X = X.loc[:, (X > 0).all()]
    X = np.log(X) - np.log(X).mean()
    return _find_first_rows(X.to_numpy(), bundle)


def _list_differing(frame):
    """List the levels that differ between phases (rows), without those that grow with the time or are rare."""
    lowest = frame.min()
    highest = frame.max()
    rare = [name for name in _A_SECOND if not highest.get(name, 0.0) >= _FEWEST_A_SECOND]
    differing = highest.index[highest > DIFFERS * lowest]
    return [name for name in differing if name not in (*EXTENSIVE, *rare)]


def series_phases(series: pd.Series) -> pd.DataFrame:
    """Cut a series into phases, each of one level, by the rule of :func:`phases`.

    Parameters
    ----------
    series : Series
        A rate by time [s] or number; NaN are left out.

    Returns
    -------
    DataFrame
        One row per phase. Columns: ``start`` and ``end`` (index of the first and of the last value), ``level`` (mean).
    """
    series = series.dropna()
    bundle = _number_bundles(len(series))
    values = series.groupby(bundle).mean().to_numpy()
    first = _find_first_rows(values[:, None] - values.mean(), bundle)
    last = np.append(first[1:], len(series)) - 1
    levels = [series.iloc[start : end + 1].mean() for start, end in zip(first, last, strict=True)]
    return pd.DataFrame({"start": series.index[first], "end": series.index[last], "level": levels})


def _number_bundles(n_rows):
    """Return for each row the number of its bundle; neighboring rows in a bundle are cut together."""
    return np.arange(n_rows) // max(1, -(-n_rows // _POINTS))


def _find_first_rows(X, bundle):
    """Find the rows at which a phase starts (numbers); X has a row per bundle, and columns whose mean is 0."""
    return np.searchsorted(bundle, _find_phase_starts(X) if X.any() else [0])


def _find_phase_starts(X):
    """Find the rows of X at which a phase starts (numbers), 0 first.

    Each cut removes more of the variation than noise would; rows within a phase may be correlated.
    """
    # The noise is first estimated from differences of neighbors, as if they were independent.
    gain, noise = _GAIN * (X**2).sum(), (np.diff(X, axis=0) ** 2).mean(axis=0).sum() / 2
    while True:
        penalty = max(gain, _BY_CHANCE * np.log(len(X)) * noise)
        starts = segment_starts(X, penalty=penalty, shortest=round(_SHORTEST * len(X)))
        correlated = _estimate_noise(X, starts)
        if len(starts) == 1 or correlated <= noise:
            return starts
        noise = correlated


def _estimate_noise(X, starts):
    """Sum over X's columns the variance within phases times (1 + r) / (1 - r).

    r is the correlation of neighbors. The sum is the noise of independent rows whose means vary as much (AR(1)).
    """
    parts = [part - part.mean(axis=0) for part in np.split(X, starts[1:])]
    freedom = len(X) - len(parts)
    variance = sum((part**2).sum(axis=0) for part in parts) / freedom
    products = sum((part[1:] * part[:-1]).sum(axis=0) for part in parts) / freedom
    bias = len(parts) / len(X)  # about the bias of r, as the phases' means are estimated
    r = np.clip(np.divide(products, variance, out=np.zeros(X.shape[1]), where=variance > 0) + bias, 0, 0.99)
    return float((variance * (1 + r) / (1 - r)).sum())


class _RunTotal(NamedTuple):
    """Totals of an event in one run, weighted by the running share.

    Attributes
    ----------
    counts, cycles : float
        Sum of the event's counts, NaN if it was never counted; sum of the cycles over the same intervals.
    error : float
        Relative error of the rate.
    dropped : int
        Number of impossible intervals, which are left out.
    """

    counts: float
    cycles: float
    error: float
    dropped: int


def _total_event(values, cycles, share, cycles_error):
    """Total an event over one run: a :class:`_RunTotal`."""
    is_possible = ~(values > MOST_PER_CYCLE * cycles)
    is_counted = np.isfinite(values) & np.isfinite(cycles) & is_possible & ~(share == 0)
    weight = np.where(np.isnan(share), 1.0, share)[is_counted]
    event_sum = (weight * values[is_counted]).sum()
    cycle_sum = (weight * cycles[is_counted]).sum()
    if not cycle_sum:
        return _RunTotal(np.nan, 0.0, 0.0, 0)
    residuals = values[is_counted] - event_sum / cycle_sum * cycles[is_counted]
    # An interval without a count is time that is missing as well, whatever share the others were counted for.
    counted_share = np.where(is_counted, share, 0.0)[np.isfinite(cycles)]
    error = _estimate_error(residuals, counted_share, whole=values[is_counted].sum())
    return _RunTotal(event_sum, cycle_sum, float(np.hypot(error, cycles_error)), int((~is_possible).sum()))


def _estimate_error(values, share, whole=None):
    """Estimate the error of the sum of intervals that were each counted for a share of the time.

    Returns twice the relative standard error, estimated from differences of neighbors. `values` are counts, or
    their residuals if `whole`, the sum of the counts, is given.
    """
    missing = 1 - np.nanmean(share) if np.isfinite(share).any() else 1.0
    whole = np.nansum(values) if whole is None else whole
    if missing <= 0 or not whole:
        return 0.0
    steps = np.diff(values)
    steps = steps[np.isfinite(steps)]
    if len(steps) < 2:
        return _SHORT_RUN_ERROR * min(1.0, float(np.sqrt(2 * missing))) if np.isfinite(share).any() else 0.0
    return float(2 * np.sqrt(missing * len(values) * np.mean(steps**2) / 2) / whole)


def _pool_runs(run_totals):
    """Combine the totals of one event over the runs, from :func:`_total_event`: a dict of rate, error and dropped."""
    counted = [total for total in run_totals if np.isfinite(total.counts)]
    event_sum = sum(total.counts for total in counted)
    cycle_sum = sum(total.cycles for total in counted)
    if not cycle_sum:
        return {"rate": np.nan, "error": 0.0, "dropped": 0}
    error_within_runs = error_between_runs = 0.0
    if event_sum:
        error_within_runs = np.sqrt(sum((total.counts * total.error) ** 2 for total in counted)) / event_sum
    if event_sum and len(counted) > 1:
        rates = [total.counts / total.cycles for total in counted]
        error_between_runs = 2 * np.std(rates, ddof=1) / np.sqrt(len(rates)) / np.mean(rates)
    return {
        "rate": event_sum / cycle_sum,
        "error": max(error_within_runs, error_between_runs),
        "dropped": sum(total.dropped for total in counted),
    }


def interval_lengths(counts: pd.DataFrame) -> np.ndarray:
    """Return the length of every interval.

    If the clock was not at 0 when the first interval began, the length of the first interval is not known. Then it is
    the median of the other lengths.

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


# What the events that count misses are of, and the event that counts all of it.
_MISSES_OF = {
    "branchmisses": ("branches", "branches"),
    "l1dcacheloadmisses": ("L1D loads", "l1dcacheloads"),
    "llcloadmisses": ("LLC loads", "llcloads"),
    "cachemisses": ("cache references", "cachereferences"),
}


def _are_shares(counts):
    """Return True if counts are percent of the cycles, as some tools print them."""
    shares = counts.drop(columns="duration_time", errors="ignore")
    are_all = "cycles" in counts and (counts["cycles"] == 100).all() and not (shares > 100).any(axis=None)
    return are_all and "instructions" not in counts


def miss_ratios(counts, names_in_file):
    """Compute the misses in percent of the accesses that can miss: a dict by kind of access.

    `counts` is a DataFrame. `names_in_file` maps its columns to the names in the file, which include kinds of core and
    modes; only counts with the same kind and mode are divided. A ratio is left out if it was counted twice with
    different results.
    """
    series = {}
    for event, values in counts.items():
        name = names_in_file.get(event, event).partition("#")[0]
        key = spelling(name).removesuffix(":k"), scope(name)
        is_consistent = (
            key not in series or 1 / DIFFERS < values.sum() / (series[key].sum() or np.nan) < DIFFERS
        )
        series[key] = values if is_consistent else values * np.nan
    ratios = {}
    for (name, event_scope), misses in series.items():
        access, event = _MISSES_OF.get(name, ("", ""))
        accesses = series.get((event, event_scope), misses * np.nan)
        is_counted = (misses + accesses).notna()
        if accesses[is_counted].sum() > 0:
            ratios.setdefault(access, float(100 * misses[is_counted].sum() / accesses[is_counted].sum()))
    return ratios


def _total_counts(counts, *, timed):
    """Total a run's counts (DataFrame), without time and second readings: a dict by event.

    If an event was counted in some intervals only, its total is its rate times the seconds.
    """
    if _are_shares(counts):
        return {}
    sums = _PartSums(np.zeros(len(counts), int), _measure_lengths(counts, timed))
    columns = counts.filter(regex="^(?!duration_time$|[^#]*#)")
    return {event: sums.whole(values.to_numpy(float))[0] for event, values in columns.items()}


def counts_besides(counts, level, ratios, *, is_bounded):
    """Select the counts that neither levels nor miss ratios contain, the largest first: a dict by event.

    All arguments are dicts by name. With `is_bounded`, events of slots and stalls are left out, because the shares
    of the slots contain them. The dict is empty if there are more counts than can be shown and anything else is
    known.
    """
    contained = {*level, "task-clock", "cpu-clock", "user_time", "system_time"}
    contained |= {event for name, events in _A_SECOND.items() if name in level for event in events}
    contained |= {
        name for miss, (access, base) in _MISSES_OF.items() if access in ratios for name in (miss, base)
    }
    besides = {
        event: value
        for event, value in counts.items()
        if not {event, spelling(event).partition(":")[0]} & contained
        and not (is_bounded and _OF_SLOTS.search(event))
    }
    is_shown = len(besides) <= _MOST_SHOWN or not (is_bounded or ratios or {*level} - {"seconds", "CPUs"})
    return dict(sorted(besides.items(), key=lambda item: -item[1])[:_MOST_SHOWN]) if is_shown else {}


# Levels per second, by names of the event in perf or other tools; the first that was counted is taken.
_A_SECOND = {
    "system calls": ("raw_syscalls:sys_enter",),
    "switches": ("context-switches", "cs"),
    "migrations": ("cpu-migrations", "migrations"),
    "faults": ("page-faults", "faults"),
    "interrupts": ("HW_INTERRUPTS.RECEIVED", "hw_interrupts.received"),
}


class _PartSums:
    """Sums over the intervals of each part of a run.

    Parameters
    ----------
    part : ndarray of int, shape (n_intervals,)
        Number of the part each interval is in.
    lengths : ndarray of float, shape (n_intervals,)
        Lengths of the intervals [s]; NaN if not known.
    """

    def __init__(self, part, lengths):
        self._part, self._lengths = part, lengths
        self._n_parts = np.max(part, initial=0) + 1

    def total(self, values):
        """Sum the counts of each part; NaN where nothing was counted."""
        is_counted = ~np.isnan(values)
        n_seen = np.bincount(self._part[is_counted], minlength=self._n_parts)
        sums = np.bincount(self._part[is_counted], values[is_counted], self._n_parts)
        return np.where(n_seen > 0, sums, np.nan)

    def quotient(self, dividend, divisor):
        """Divide the sums of two events over the intervals in which both were counted."""
        is_missing = np.isnan(dividend + divisor)
        dividend, divisor = (
            self.total(np.where(is_missing, np.nan, values)) for values in (dividend, divisor)
        )
        return dividend / np.where(divisor, divisor, np.nan)

    def whole(self, values):
        """Total an event; intervals in which it was not counted are taken to have its mean rate."""
        estimate = self.quotient(values, self._lengths) * self.total(self._lengths)
        is_partial = np.bincount(self._part[np.isnan(values)], minlength=self._n_parts) > 0
        return np.where(is_partial & np.isfinite(estimate), estimate, self.total(values))


def _compute_levels(counts, lengths, part):
    """Compute the levels that :func:`levels` names, for parts of a run: a DataFrame with a row per part.

    `lengths` are the lengths of the intervals [s], NaN if not known; `part` has the number of each interval's part,
    in order. A ratio takes the intervals in which both its events were counted. A total of an event that was
    counted in some intervals only is its rate times the seconds, so that total and rate agree. Levels that are not
    known are NaN.
    """
    sums = _PartSums(part, lengths)
    total, quotient, whole = sums.total, sums.quotient, sums.whole
    values_by_event = {
        event: values.to_numpy(float) for event, values in counts.items() if values.notna().any()
    }
    instructions = values_by_event.get("instructions")
    cycles = values_by_event.get("cycles")
    task_clock = values_by_event.get("task-clock")  # [ms]
    level = {"seconds": total(lengths)}
    if task_clock is not None and np.isnan(lengths).all():
        level["CPU seconds"] = total(task_clock / 1e3)
    if instructions is not None:
        level["instructions"] = whole(instructions)
        level["instructions a second"] = quotient(instructions, lengths)
    if cycles is not None and not _are_shares(counts):
        level["cycles"] = whole(cycles)
        if instructions is not None:
            level["instructions a cycle"] = quotient(instructions, cycles)
    if task_clock is not None:
        if cycles is not None:
            level["GHz"] = quotient(cycles / 1e6, task_clock)
        level["CPUs"] = quotient(task_clock / 1e3, lengths)
    for name, events in _A_SECOND.items():
        event = next(filter(values_by_event.__contains__, events), None)
        if event is not None:
            level[name] = quotient(values_by_event[event], lengths)
    levels_by_mode = _compare_modes(values_by_event, quotient)
    leads = max(levels_by_mode.get("kernel cycles", [0.0])) >= _KERNEL_LEADS
    return pd.DataFrame(levels_by_mode | level if leads else level | levels_by_mode)


def _compare_modes(values_by_event, quotient):
    """Compute the kernel's share of the cycles [%], and instructions a cycle of kernel and user mode (dict).

    The dict is empty unless cycles were counted both in all modes and with a modifier. `counted` has the counts by
    event, `quotient` divides them.
    """
    kernel = {}
    for event, values in values_by_event.items():
        name, _, mode = spelling(event).partition(":")
        if mode and name in ("cycles", "instructions") and name in values_by_event:
            kernel[name] = values
    if "cycles" not in kernel:
        return {}
    cycles, all_cycles = kernel["cycles"], values_by_event["cycles"]
    if np.nansum(cycles) > np.nansum(all_cycles):  # what is called cycles excludes the kernel
        return {}
    shares = {"kernel cycles": 100 * quotient(cycles, all_cycles)}
    if "instructions" in kernel:
        is_partly_kernel = (shares["kernel cycles"] > 0) & (shares["kernel cycles"] < 100)
        instructions_by_mode = {"kernel": (kernel["instructions"], cycles)}
        instructions_by_mode["user"] = (
            values_by_event["instructions"] - kernel["instructions"],
            all_cycles - cycles,
        )
        for mode, counts in instructions_by_mode.items():
            shares[f"{mode} instructions a cycle"] = np.where(is_partly_kernel, quotient(*counts), np.nan)
    return shares
