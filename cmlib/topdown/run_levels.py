"""Compute the totals of a recording's events, its levels, and phases by these.

A level is a quantity that describes how a run went: its speed, clock, processors used, and rates per second. A
phase is a stretch of the run in which they are constant. :func:`levels` and :func:`phases` take the counts of a run, a
DataFrame with a row per interval (index: its end [s]) and a column per event, and give a dict, and a DataFrame with a
row per phase; what was not counted is left out. :func:`miss_ratios` gives how much of what can miss did, in percent,
and :func:`levels_of_runs` all of these. :func:`totals` takes counts and running shares of several runs, and
gives a DataFrame by event; a KeyError if cycles are missing.
"""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from cmlib.fingerprint.segments import segment_starts
from cmlib.intervals import MOST_PER_CYCLE, lengths_by_ends
from cmlib.spelling import scope, spelling

__all__ = ["interval_lengths"]

_UNTOLD = 0.1  # relative error of a count of one or two intervals that was counted for half of the time
_MOST_SHOWN = 8  # counts that nothing else tells
_POINTS = 240  # neighbouring intervals are added up to at most so many points before they are cut into phases
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
        neighbouring intervals, or from those of the runs if larger; 0 if counted all the time in one run. ``dropped``:
        intervals left out, because no core can count so many per cycle.
    """
    parts = {}
    for counts, running in (run for run in runs if "cycles" in run[0]):
        cycles, share = counts["cycles"].to_numpy(float), running.to_numpy(float)
        cycles_error = _noise(cycles, share[:, counts.columns.get_loc("cycles")])
        for column, event in enumerate(counts):
            if event != "cycles":
                values = counts[event].to_numpy(float)
                parts.setdefault(event, []).append(_total(values, cycles, share[:, column], cycles_error))
    pooled = {event: _pooled(several) for event, several in parts.items()}
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
    lengths = _known_lengths(counts, timed)
    frame = _levels(counts, lengths, np.zeros(len(counts), int))
    return frame.iloc[0].dropna().to_dict()


def _known_lengths(counts, timed):
    """Return the lengths of the intervals [s]; NaN if the index is no time."""
    return interval_lengths(counts) if timed else np.full(len(counts), np.nan)


def levels_of_runs(runs, printed, written, *, whole_runs):
    """Compute the medians over several runs: three dicts, of levels, miss ratios and all counts.

    `runs` are the counts and running shares of each run (pairs of DataFrames). `printed` (dict) is what the
    recording tool printed; it replaces or completes what the counts give. `written` is that of :func:`miss_ratios`.
    With `whole_runs` a row is a run; its time is known if ``duration_time`` was counted.
    """
    timed = not whole_runs or all("duration_time" in counts for counts, _ in runs)
    each = [row for counts, _ in runs for row in (_rows(counts) if whole_runs else [counts])]
    level = _medians(levels(counts, timed=timed) for counts in each)
    ratios = _medians(miss_ratios(counts, written) for counts in each)
    taken = {name: printed[name] for name in _PRINTED if printed.get(name, 0) > 0}
    misses = {of: printed[f"misses of {of}"] for of, _ in _MISSES_OF.values() if f"misses of {of}" in printed}
    totals_by_event = _medians(_all_counts(counts, timed=timed) for counts in each)
    return level | taken | level, ratios | misses | ratios, totals_by_event


def _rows(counts):
    """Yield counts of one row for every row, for tables of which a row is a run."""
    for k, length in enumerate(lengths_by_ends(counts.index)):
        yield counts.iloc[[k]].set_axis([length])


def _medians(by_run):
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
    bundle = _bundles(len(counts))
    series = _levels(counts, lengths, bundle)
    X = series[[name for name in CUT_BY if name in series]].dropna(axis=1)
    X = X.loc[:, (X > 0).all()]
    X = np.log(X) - np.log(X).mean()
    first = _first_rows(X.to_numpy(), bundle)
    if len(first) == 1:
        return pd.DataFrame()
    last = [*first[1:] - 1, len(counts) - 1]
    frame = _levels(counts, lengths, np.searchsorted(first, np.arange(len(counts)), side="right") - 1)
    frame.insert(0, "start", counts.index[first] - lengths[first])
    frame.insert(1, "end", counts.index[last])
    least, most = frame.min(), frame.max()
    rare = [name for name in _A_SECOND if not most.get(name, 0.0) >= _FEWEST_A_SECOND]
    differing = most.index[most > DIFFERS * least].difference(["start", "end", *EXTENSIVE, *rare], sort=False)
    return frame[["start", "end", *differing]] if len(differing) else pd.DataFrame()


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
    bundle = _bundles(len(series))
    values = series.groupby(bundle).mean().to_numpy()
    first = _first_rows(values[:, None] - values.mean(), bundle)
    last = np.append(first[1:], len(series)) - 1
    levels = [series.iloc[start : end + 1].mean() for start, end in zip(first, last, strict=True)]
    return pd.DataFrame({"start": series.index[first], "end": series.index[last], "level": levels})


def _bundles(n_rows):
    """Return for each row the number of its bundle; neighboring rows in a bundle are cut together."""
    return np.arange(n_rows) // max(1, -(-n_rows // _POINTS))


def _first_rows(X, bundle):
    """Find the rows at which a phase starts (numbers); X has a row per bundle, and columns whose mean is 0."""
    return np.searchsorted(bundle, _phase_starts(X) if X.any() else [0])


def _phase_starts(X):
    """Find the rows of X at which a phase starts (numbers), 0 first.

    Each cut removes more of the variation than noise would; rows within a phase may be correlated.
    """
    # The noise is first estimated from differences of neighbours, as if they were independent.
    gain, noise = _GAIN * (X**2).sum(), (np.diff(X, axis=0) ** 2).mean(axis=0).sum() / 2
    while True:
        penalty = max(gain, _BY_CHANCE * np.log(len(X)) * noise)
        starts = segment_starts(X, penalty=penalty, shortest=round(_SHORTEST * len(X)))
        correlated = _long_run_variance(X, starts)
        if len(starts) == 1 or correlated <= noise:
            return starts
        noise = correlated


def _long_run_variance(X, starts):
    """Sum over X's columns the variance within phases times (1 + r) / (1 - r).

    r is the correlation of neighbors. The sum is the noise of independent rows whose means vary as much (AR(1)).
    """
    parts = [part - part.mean(axis=0) for part in np.split(X, starts[1:])]
    freedom = len(X) - len(parts)
    variance = sum((part**2).sum(axis=0) for part in parts) / freedom
    products = sum((part[1:] * part[:-1]).sum(axis=0) for part in parts) / freedom
    taken = len(parts) / len(X)  # about the bias of r, as the phases' means are estimated
    r = np.clip(np.divide(products, variance, out=np.zeros(X.shape[1]), where=variance > 0) + taken, 0, 0.99)
    return float((variance * (1 + r) / (1 - r)).sum())


def _total(values, cycles, share, cycles_error):
    """Total an event over one run, weighted by the running share.

    Returns a tuple: sum of the counts, sum of the cycles, relative error, and number of impossible intervals, which
    are dropped; (NaN, 0, 0, 0) if the event was never counted.
    """
    possible = ~(values > MOST_PER_CYCLE * cycles)
    seen = np.isfinite(values) & np.isfinite(cycles) & possible & ~(share == 0)
    weight = np.where(np.isnan(share), 1.0, share)[seen]
    above, below = (weight * values[seen]).sum(), (weight * cycles[seen]).sum()
    if not below:
        return np.nan, 0.0, 0.0, 0
    rate = above / below
    # An interval without a count is time that is missing as well, whatever share the others were counted for.
    counted_share = np.where(seen, share, 0.0)[np.isfinite(cycles)]
    error = _noise(values[seen] - rate * cycles[seen], counted_share, whole=values[seen].sum())
    return above, below, float(np.hypot(error, cycles_error)), int((~possible).sum())


def _noise(values, share, whole=None):
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
        return _UNTOLD * min(1.0, float(np.sqrt(2 * missing))) if np.isfinite(share).any() else 0.0
    return float(2 * np.sqrt(missing * len(values) * np.mean(steps**2) / 2) / whole)


def _pooled(parts):
    """Combine the totals of one event over the runs, from :func:`_total`: a dict of rate, error and dropped."""
    parts = [part for part in parts if np.isfinite(part[0])]
    above, below = sum(part[0] for part in parts), sum(part[1] for part in parts)
    if not below:
        return {"rate": np.nan, "error": 0.0, "dropped": 0}
    rates = [part[0] / part[1] for part in parts]
    within = np.sqrt(sum((part[0] * part[2]) ** 2 for part in parts)) / above if above else 0.0
    n = len(rates)
    between = 2 * np.std(rates, ddof=1) / np.sqrt(n) / np.mean(rates) if n > 1 and above else 0.0
    return {"rate": above / below, "error": max(within, between), "dropped": sum(part[3] for part in parts)}


def interval_lengths(counts: pd.DataFrame) -> np.ndarray:
    """Return the length of every interval; if the clock began before the first one, that takes the median.

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
    usual = np.median(lengths[1:]) if len(ends) > 1 else lengths[0]
    if len(ends) > 1 and not 0 < lengths[0] <= 1.5 * usual:
        lengths[0] = usual
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


def miss_ratios(counts, written):
    """Compute the misses in percent of the accesses that can miss: a dict by kind of access.

    `counts` is a DataFrame. `written` maps its columns to the names in the file, which include kinds of core and
    modes; only counts with the same kind and mode are divided. A ratio is left out if it was counted twice with
    different results.
    """
    series = {}
    for event, values in counts.items():
        name = written.get(event, event).partition("#")[0]
        key = spelling(name).removesuffix(":k"), scope(name)
        alike = key not in series or 1 / DIFFERS < values.sum() / (series[key].sum() or np.nan) < DIFFERS
        series[key] = values if alike else values * np.nan
    ratios = {}
    for (name, where), misses in series.items():
        of, event = _MISSES_OF.get(name, ("", ""))
        accesses = series.get((event, where), misses * np.nan)
        both = (misses + accesses).notna()
        if accesses[both].sum() > 0:
            ratios.setdefault(of, float(100 * misses[both].sum() / accesses[both].sum()))
    return ratios


def _all_counts(counts, *, timed):
    """Total a run's counts (DataFrame), without time and second readings: a dict by event.

    If an event was counted in some intervals only, its total is its rate times the seconds.
    """
    if _are_shares(counts):
        return {}
    sums = _PartSums(np.zeros(len(counts), int), _known_lengths(counts, timed))
    columns = counts.filter(regex="^(?!duration_time$|[^#]*#)")
    return {event: sums.whole(values.to_numpy(float))[0] for event, values in columns.items()}


def counts_besides(counts, level, ratios, *, is_bounded):
    """Select the counts that neither levels nor miss ratios contain, the largest first: a dict by event.

    All arguments are dicts by name. With `is_bounded`, events of slots and stalls are left out, because the shares
    of the slots contain them. The dict is empty if there are more counts than can be shown and anything else is
    known.
    """
    known = {*level, "task-clock", "cpu-clock", "user_time", "system_time"}
    known |= {event for name, events in _A_SECOND.items() if name in level for event in events}
    known |= {name for miss, (of, base) in _MISSES_OF.items() if of in ratios for name in (miss, base)}
    besides = {
        event: value
        for event, value in counts.items()
        if not {event, spelling(event).partition(":")[0]} & known
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
        seen = ~np.isnan(values)
        n_seen = np.bincount(self._part[seen], minlength=self._n_parts)
        sums = np.bincount(self._part[seen], values[seen], self._n_parts)
        return np.where(n_seen > 0, sums, np.nan)

    def quotient(self, above, below):
        """Divide the sums of two events over the intervals in which both were counted."""
        unseen = np.isnan(above + below)
        above, below = (self.total(np.where(unseen, np.nan, values)) for values in (above, below))
        return above / np.where(below, below, np.nan)

    def whole(self, values):
        """Total an event; intervals in which it was not counted are taken to have its mean rate."""
        estimate = self.quotient(values, self._lengths) * self.total(self._lengths)
        is_partial = np.bincount(self._part[np.isnan(values)], minlength=self._n_parts) > 0
        return np.where(is_partial & np.isfinite(estimate), estimate, self.total(values))


def _levels(counts, lengths, part):
    """Compute the levels that :func:`levels` names, for parts of a run: a DataFrame with a row per part.

    `lengths` are the lengths of the intervals [s], NaN if not known; `part` has the number of each interval's part,
    in order. A ratio takes the intervals in which both its events were counted. A total of an event that was
    counted in some intervals only is its rate times the seconds, so that total and rate agree. Levels that are not
    known are NaN.
    """
    sums = _PartSums(part, lengths)
    total, quotient, whole = sums.total, sums.quotient, sums.whole
    counted = {event: values.to_numpy(float) for event, values in counts.items() if values.notna().any()}
    instructions, cycles, clock = map(counted.get, ("instructions", "cycles", "task-clock"))  # clock: [ms]
    level = {"seconds": total(lengths)}
    if clock is not None and np.isnan(lengths).all():
        level["CPU seconds"] = total(clock / 1e3)
    if instructions is not None:
        level["instructions"] = whole(instructions)
        level["instructions a second"] = quotient(instructions, lengths)
    if cycles is not None and not _are_shares(counts):
        level["cycles"] = whole(cycles)
        if instructions is not None:
            level["instructions a cycle"] = quotient(instructions, cycles)
    if clock is not None:
        if cycles is not None:
            level["GHz"] = quotient(cycles / 1e6, clock)
        level["CPUs"] = quotient(clock / 1e3, lengths)
    for name, events in _A_SECOND.items():
        event = next(filter(counted.__contains__, events), None)
        if event is not None:
            level[name] = quotient(counted[event], lengths)
    apart = _by_mode(counted, quotient)
    leads = max(apart.get("kernel cycles", [0.0])) >= _KERNEL_LEADS
    return pd.DataFrame(apart | level if leads else level | apart)


def _by_mode(counted, quotient):
    """Compute the kernel's share of the cycles [%], and instructions a cycle of kernel and user mode (dict).

    The dict is empty unless cycles were counted both in all modes and with a modifier. `counted` has the counts by
    event, `quotient` divides them.
    """
    kernel = {}
    for event, values in counted.items():
        name, _, mode = spelling(event).partition(":")
        if mode and name in ("cycles", "instructions") and name in counted:
            kernel[name] = values
    if "cycles" not in kernel:
        return {}
    cycles, all_cycles = kernel["cycles"], counted["cycles"]
    if np.nansum(cycles) > np.nansum(all_cycles):  # what is called cycles excludes the kernel
        return {}
    shares = {"kernel cycles": 100 * quotient(cycles, all_cycles)}
    if "instructions" in kernel:
        inside = (shares["kernel cycles"] > 0) & (shares["kernel cycles"] < 100)
        by_mode = {"kernel": (kernel["instructions"], cycles)}
        by_mode["user"] = counted["instructions"] - kernel["instructions"], all_cycles - cycles
        for mode, counts in by_mode.items():
            shares[f"{mode} instructions a cycle"] = np.where(inside, quotient(*counts), np.nan)
    return shares
