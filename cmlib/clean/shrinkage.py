"""Estimate the counts of multiplexed events, with standard errors, by shrinking them towards their neighbors in time.

:func:`estimate_counts` takes counts and running shares (the share of each interval in which an event was counted),
DataFrames with a row per interval and a column per event. It returns two such frames, the estimates and their
standard errors. Events with the same running shares were counted together; they form a slot. Inputs are checked by
`clean_run`, not here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cmlib.clean.delayed import redistribute_delayed_counts
from cmlib.clean.missing import interpolate
from cmlib.clean.sums import reconcile_sums
from cmlib.intervals import MOST_PER_CYCLE

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["clean_by_shrinkage"]

# Counts above MOST_PER_CYCLE cycles' and above so many times the event's median are taken for misreadings.
_TIMES_MEDIAN = 1000.0
# Events with fewer samples are only interpolated. From this share of intervals without a count on, a rotation of the
# groups is taken to be longer than an interval.
_FEWEST, _FEW_GAPS = 8, 0.1
# Share of the variance without trend that is taken for sampling error, and standard errors that it is reduced by:
# usually; and where running shares have at most _FEW_SHARES different values, so that turns are in step with the
# intervals and may be in step with the program, too.
_FREE, _IN_STEP, _FEW_SHARES = (1.0, 0.0), (0.4, 4.0), 3
# Counts stay where running shares vary by less than this (standard deviation over mean): intervals are whole rotations.
_EVEN = 0.01
# Largest lag of the variogram [intervals]; neighbors on either side whose mean is the level, and those whose mean
# scales a prediction by other events.
_LAGS, _NEAR, _AROUND = 8, 1, 4
# Residuals are clipped at so many times their mean absolute value before events are correlated.
_MOST_RESIDUAL = 3.0
# Share of the way by which counts are moved to the interpolated ones, where some intervals have no count.
_TO_LINES = 0.4
_PENALTIES = 10.0 ** np.arange(-4, 2, 0.5)  # of the ridge regression, times the number of intervals
# For the variance of the errors: lag and reach on either side [intervals] of the changes that it is estimated from;
# factor of that estimate where all intervals have counts, where some have none, and in those without; and relative
# standard error of events with too few samples.
_LAG, _REACH, _SEEN, _CUT, _GAP, _FEW_SAMPLES = 6, 4, 0.45, 1.0, 2.2, 0.03
# Running share that is assumed for the variance if it is not known; such counts are not moved.
_UNKNOWN = 0.25


def clean_by_shrinkage(
    counts: pd.DataFrame, running: pd.DataFrame, *, sums: Iterable[tuple[str, Sequence[str]]] = ()
) -> pd.DataFrame:
    """Estimate the counts of all events of a run: the first result of :func:`estimate_counts`.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        As perf prints them, scaled by 1 / running [events per interval]; NaN where nothing was counted.
    running : DataFrame of float, same shape
        Running shares, 0 to 1; NaN where they are not known.
    sums : iterable of (whole, (part, ...)), optional
        Sums between events that are to hold.

    Returns
    -------
    DataFrame of float64, shape (n_intervals, n_events)
        The estimates [events per interval].
    """
    return estimate_counts(counts, running, sums=sums)[0]


def estimate_counts(
    counts: pd.DataFrame, running: pd.DataFrame, *, sums: Iterable[tuple[str, Sequence[str]]] = ()
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate the counts of all events of a run and their standard errors, by shrinkage towards neighbors in time.

    A count differs from the mean of its neighbors for two reasons: the program changed, or the counted part of the
    interval was not like the rest (sampling error). Each count is moved towards its neighbors by the share of
    sampling error in the variance of these differences.

    The sampling error is estimated as the nugget of a variogram: squared differences over one and over two
    intervals, extrapolated to a distance of 0. It is limited to the smallest squared difference over up to eight
    intervals, and reduced by the share that the differences have in common with those of events counted at other
    times. If turns are in step with the intervals (running shares have three values or fewer), 0.4 of the estimate
    is used, less four standard errors. If the running share is the same in all intervals, these are whole
    rotations, and the counts stay as perf prints them.

    The neighbors are those of the counts, of the ratios to an event that was counted all the time, such as cycles,
    or of the ratios to a prediction by the events of other slots. The nearest of these are used. The prediction is
    a ridge regression of logarithms, in which each interval is predicted without itself.

    If more than a tenth of the intervals have no count, these are interpolated linearly, and the other counts move
    by 0.4 of the way to :func:`cmlib.clean.missing.interpolate`. Before all this, late readings are divided among
    their intervals, and impossible counts (above 128 per cycle and 1000 times the median) are dropped.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        As perf prints them, scaled by 1 / running [events per interval]; NaN where nothing was counted. Never modified.
    running : DataFrame of float, same shape
        Share of the interval in which the event was counted, 0 to 1; NaN where it is not known.
    sums : iterable of (whole, (part, ...)), optional
        Events of which one is the sum of others, from :func:`cmlib.io.events.umask_sums`; restored at the end.

    Returns
    -------
    estimates : DataFrame of float64, shape (n_intervals, n_events)
        Finite, except for events never counted in this run, which stay NaN. A sample counted all the time stays.
    standard_errors : DataFrame of float64, same shape
        Standard error of each estimate [events per interval], from the running share and the changes of the counts
        around it; of events with fewer than eight samples, from 3 % of the count and the variance of the samples. 0
        where the event was counted all the time.

    Notes
    -----
    Constants were set on the tuning list of :mod:`cmlib.experiments.repair`. Errors are larger for an event whose
    bursts are in step with the rotation; that can't be seen in a single run.

    Examples
    --------
    >>> import pandas as pd
    >>> printed = pd.DataFrame({"a": [10.0, 14, 9, 13, 11, 8, 12, 10, 11, 12]})
    >>> running = pd.DataFrame({"a": [0.25, 0.21, 0.24, 0.23, 0.2] * 2})
    >>> estimates, errors = estimate_counts(printed, running)
    >>> estimates["a"].round(1).tolist()[:4]
    [10.6, 13.3, 9.7, 12.5]
    """
    estimates, share = _drop_impossible_counts(counts, running)
    filled = estimates.interpolate(limit_direction="both")
    logs = np.log1p(filled.loc[:, filled.notna().all() & (filled.max() > filled.min())].clip(lower=0))
    always = {event for event in share if share[event].ge(1).all()}
    carriers = [filled[event].to_numpy() for event in logs if event in always and (filled[event] > 0).all()]
    slots = {event: event if event in always else running[event].to_numpy().tobytes() for event in share}
    shared = _measure_shared(filled[logs.columns], slots, always)
    cleaned, variance = filled.copy(), filled * 0.0
    for slot in dict.fromkeys(slots[event] for event in share if event not in always):
        together = [event for event in share if slots[event] == slot]
        others = [event for event in logs if slots[event] != slot]
        predicted = {} if always.issuperset(others) else _predict(logs, together, others)
        for event in together:
            cleaned[event], variance[event] = _estimate_event(
                estimates[event].to_numpy(),
                share[event].to_numpy(),
                filled[event].to_numpy(),
                carriers,
                predicted.get(event),
                shared.get(event, 0.0),
            )
    known = set(filled.columns[filled.notna().all()])
    sums = [(whole, parts) for whole, parts in sums if {whole, *parts} <= known]
    return reconcile_sums(cleaned, variance, sums), np.sqrt(variance)


def _drop_impossible_counts(counts, running):
    """Divide late readings among their intervals and drop impossible counts.

    Returns two DataFrames: the counts, NaN where they are impossible, and the running shares, 0 where nothing was
    counted.
    """
    always = counts.columns[running.ge(1).mean() > 0.5]
    by = counts["instructions"] if "instructions" in always else None
    estimates = redistribute_delayed_counts(counts.astype(float), running, by=by)
    if "cycles" in always:
        is_impossible = estimates.gt(MOST_PER_CYCLE * estimates["cycles"], axis=0)
        estimates = estimates.mask(is_impossible & estimates.gt(_TIMES_MEDIAN * estimates.median()))
    return estimates, running.where(estimates.notna(), 0.0).astype(float)


def _estimate_event(values, share, filled, carriers, by_others, shared):
    """Estimate the counts of one event, and the variance of their errors: two arrays of shape (n_intervals,).

    `values` are the counts, and `filled` are the same without NaN; `share` are the running shares. `carriers` are the
    counts of events that were counted all the time. `by_others` is the prediction by events of other slots, or None;
    `shared` is the share (0-1) of the differences that they have in common.
    """
    is_counted = np.isfinite(values)
    lacks_shares = np.isnan(share).any()
    share = np.nan_to_num(share, nan=_UNKNOWN)
    if is_counted.sum() < _FEWEST:
        spread = np.var(values[is_counted]) if is_counted.any() else 0.0
        return filled, (1 - share) * ((_FEW_SAMPLES * filled) ** 2 + spread)
    positive_shares = share[share > 0]
    has_gaps = not lacks_shares and (~is_counted).mean() > _FEW_GAPS
    if has_gaps:
        interpolated = interpolate(values, share)
        moved = values + _TO_LINES * (interpolated - values)
        estimate = np.where(is_counted & (share < 1), moved, filled)
    elif lacks_shares or positive_shares.std() < _EVEN * positive_shares.mean():
        estimate = filled
    else:
        weight, level = _weigh_level(filled, share, positive_shares, carriers, by_others, shared)
        moved = np.maximum(filled - weight * (filled - level), 0)
        estimate = np.where(is_counted, moved, filled)
    return estimate, _estimate_variance(values, share, has_gaps)


def _weigh_level(filled, share, positive_shares, carriers, by_others, shared):
    """Return by which share (array, 0-1) each count moves to the level of its neighbors, and this level (array)."""
    in_step = len(np.unique(positive_shares.round(4))) <= _FEW_SHARES
    noise_share, errors = _IN_STEP if in_step else _FREE
    distance, level = _find_level(filled, carriers, by_others)
    noise = noise_share * _estimate_noise(filled, errors) / max(distance, 1e-300)
    weight = np.minimum((1 - np.maximum(share, shared)) * noise, 1)
    return weight, level


def _find_level(values, carriers, by_others):
    """Find the level (mean of neighbors) nearest to the values; return its squared mean distance, and the level.

    The candidates are the neighbors of the counts, and those of the ratios to each carrier and to the prediction by
    other events.
    """
    levels = [_average_neighbors(values, _NEAR)]
    levels += [carrier * _average_neighbors(values / carrier, _NEAR) for carrier in carriers]
    levels += [] if by_others is None else [by_others * _average_neighbors(values / by_others, _AROUND)]
    distances = [np.abs(values - level).mean() ** 2 for level in levels]
    nearest = int(np.argmin(distances))
    return distances[nearest], levels[nearest]


def _average_neighbors(values, reach):
    """Average the `reach` samples on either side of each sample, without itself; mirror the series at its ends."""
    reach = min(reach, len(values) - 1)
    kernel = np.full(2 * reach + 1, 1 / (2 * reach))
    kernel[reach] = 0
    return np.convolve(np.pad(values, reach, mode="reflect"), kernel, mode="valid")


def _estimate_noise(values, errors):
    """Estimate the nugget of a variogram: half the squared difference of values at distance 0.

    Differences are absolute means, squared. The result is reduced by `errors` standard errors, and at least 0.
    """
    lags = range(1, min(_LAGS, len(values) // 2) + 1)
    half = [np.abs(values[lag:] - values[:-lag]).mean() ** 2 / 2 for lag in lags]
    return max(min(2 * half[0] - half[1], *half) - errors * half[0] / np.sqrt(len(values)), 0.0)


def _measure_shared(filled, slots, always):
    """Measure how much of each event's changes is shared with events of other slots: a dict by event.

    The measure is the largest correlation of the differences from the mean of the neighbors; squared for events
    that were counted all the time; 0 if there is no other slot.
    """
    residuals = filled.apply(lambda event: event - _average_neighbors(event.to_numpy(), _NEAR))
    limits = residuals.abs().mean() * _MOST_RESIDUAL
    correlations = residuals.clip(-limits, limits, axis=1).corr().abs().fillna(0.0)
    correlations[correlations.index.isin(always)] **= 2
    slot = np.array([slots[event] for event in correlations], dtype=object)
    largest = np.where(slot[:, None] != slot, correlations, 0.0).max(axis=0, initial=0.0)
    return dict(zip(correlations, largest, strict=True))


def _estimate_variance(values, share, cut):
    """Estimate the variance of the errors of each interval from changes of the counts around it.

    `cut` is True if many intervals have no count. Their variance grows with the distance to the next count.
    """
    at, hidden = np.flatnonzero(share > 0), np.flatnonzero(share == 0)
    around = np.maximum(np.searchsorted(at, hidden), 1)
    left, right = at[around - 1], at[np.minimum(around, len(at) - 1)]
    span = np.maximum(right - left, 1)
    inside = (left < hidden) & (hidden < right)
    between = np.where(inside, 4 * (hidden - left) * (right - hidden) / span**2, 1.0)
    variance = np.empty(len(values))
    variance[at] = (_CUT if cut else _SEEN) * (1 - share[at]) * _average_changes(values[at], _LAG)
    variance[hidden] = _GAP * (0.25 + 0.75 * between) * np.interp(hidden, at, _average_changes(values[at], 1))
    return variance


def _average_changes(values, lag):
    """Average half the squared change over a lag, to and from each sample, over the sample and its neighbors."""
    half = (values[lag:] - values[:-lag]) ** 2 / 2
    window = np.ones(2 * _REACH + 1)

    def added(part):
        return np.convolve(np.pad(part, (0, lag)) + np.pad(part, (lag, 0)), window)[_REACH:-_REACH]

    return added(half) / added(np.ones(len(half)))


def _predict(logs, events, others):
    """Predict the counts of events from other events: a dict by event.

    A ridge regression of `logs`, log1p of the counts, whose penalty has the least leave-one-out error. The dict is
    empty if there are too few intervals.
    """
    events = [event for event in events if event in logs]
    if not events or len(logs) < _FEWEST:
        return {}
    features = logs[others].to_numpy()
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    squares, axes = np.linalg.eigh(features.T @ features)
    axes, squares = axes[:, squares > 1e-9 * squares[-1]], squares[squares > 1e-9 * squares[-1], None]
    left = features @ axes / np.sqrt(squares.T)
    shrunk = squares / (squares + len(logs) * _PENALTIES)
    freedom = 1 - left**2 @ shrunk - 1 / len(logs)
    predicted = {}
    for event in events:
        target = logs[event].to_numpy()[:, None]
        fitted = target.mean() + left @ (shrunk * (left.T @ (target - target.mean())))
        errors = (target - fitted) / freedom
        best = np.abs(errors).sum(axis=0).argmin()
        counts = np.expm1(np.minimum(fitted[:, best], target.max() + 1))
        predicted[event] = np.maximum(counts, 1e-3 * np.expm1(target).mean())
    return predicted
