"""Estimate the counts of the time that an event was not counted, by its neighbours in time, and their errors."""

import numpy as np

from cmlib.clean.delayed import redistribute_delayed_counts
from cmlib.clean.missing import MOST_PER_CYCLE, interpolate
from cmlib.clean.sums import reconcile_sums

# Counts that no core can count, and that are so many times the median, were misread.
_TIMES_MEDIAN = 1000.0
# Fewer samples tell no noise; more than a few intervals without any, and rotations are slower than intervals.
_FEWEST, _FEW_GAPS = 8, 0.1
# Of what differs from interval to interval without trend, the share that is taken for an error of sampling, and by how
# many standard errors less; then both where turns are in step with the intervals and may keep time with the program:
# running shares have so few different values.
_FREE, _IN_STEP, _FEW_SHARES = (1.0, 0.0), (0.4, 4.0), 3
# Where running shares vary by less (standard deviation over mean), intervals hold whole rotations, and counts stay.
_EVEN = 0.01
# Over how many intervals differences are taken; neighbours that tell the level, and those that scale a prediction.
_LAGS, _NEAR, _AROUND = 8, 1, 4
# Residuals count for so many times their mean size at most where two events are compared.
_MOST_RESIDUAL = 3.0
# How far counts are moved to straight lines where some intervals have no turn.
_TO_LINES = 0.4
_PENALTIES = 10.0 ** np.arange(-4, 2, 0.5)
# Of the variance of errors: over how many steps changes are taken, and from how many samples on either side; how
# much of them is error where all have turns, where some have none, and in those; relative errors of too few samples.
_LAG, _REACH, _SEEN, _CUT, _GAP, _FEW_SAMPLES = 6, 4, 0.45, 1.0, 2.2, 0.03
# Running share where it is not known; counts stay as they are there.
_UNKNOWN = 0.25


def clean_by_shrinkage(counts, running, *, sums=()):
    """Estimate the counts of all events of a run, as :func:`estimate_counts` does, without standard errors.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        As of :func:`estimate_counts`.
    running : DataFrame of float, same shape
        As of :func:`estimate_counts`.
    sums : iterable of (whole, (part, ...)), optional
        As of :func:`estimate_counts`.

    Returns
    -------
    DataFrame of float64, shape (n_intervals, n_events)
        The estimates [events per interval].
    """
    return estimate_counts(counts, running, sums=sums)[0]


def estimate_counts(counts, running, *, sums=()):
    """Estimate the counts of all events of a run, and how far the estimates are likely to be off.

    An interval's count differs from the mean of its neighbours, because the program changed or because the counted
    part of the interval was not like the rest. Each count is moved towards its neighbours by the share of the second:
    what the differences over one interval and over two leave at a distance of none (the nugget of a variogram), at most
    the smallest difference over up to eight intervals, and nothing of what goes along with the differences of events
    counted at other times. Where turns are in step with the intervals (running shares have three values or fewer), it
    is 0.4 of that, less four standard errors. Where the running share is the same in all intervals, these hold whole
    rotations: counts stay as perf prints them.

    The neighbours are those of the counts, or of the counts per event that was counted all the time, such as cycles,
    or per count that the events of other slots predict (ridge regression of logarithms, each interval without itself),
    whichever come nearest. Where more than a tenth of the intervals have no turn, straight lines between the others
    fill them, and those move by 0.4 towards lines through the stretches that were counted. Late readings are divided
    among their intervals first; impossible ones (above 128 a cycle, and 1000 times the median) count as not counted.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        As perf prints them, scaled by 1 / running [events per interval]; NaN where nothing was counted. Never modified.
    running : DataFrame of float, same shape
        Share of the interval in which the event was counted, 0 to 1; NaN where it is not known.
    sums : iterable of (whole, (part, ...)), optional
        Events of which one is the sum of others, as :func:`cmlib.io.events.umask_sums` tells them; restored at the end.

    Returns
    -------
    estimates : DataFrame of float64, shape (n_intervals, n_events)
        Finite, except for events never counted in this run, which stay NaN. A sample counted all the time stays.
    standard_errors : DataFrame of float64, same shape
        Of each estimate [events per interval]: from the running share and the roughness of the rates around it; of
        fewer than eight samples, 3 % of the count. 0 where it was counted all the time.

    Notes
    -----
    Constants were set on the tuning list of :mod:`cmlib.experiments.repair`. An event whose bursts keep time with the
    rotation is off by more, and no single run can tell.

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
    filled = estimates.apply(_fill)
    logs = np.log1p(filled.loc[:, filled.notna().all() & (filled.max() > filled.min())].clip(lower=0))
    always = {event for event in share if share[event].ge(1).all()}
    carriers = [filled[event].to_numpy() for event in logs if event in always and (filled[event] > 0).all()]
    slots = {event: event if event in always else running[event].to_numpy().tobytes() for event in share}
    shared = _shared_with_other_slots(filled[logs.columns], slots, always)
    cleaned, variance = filled.copy(), filled * 0.0
    for slot in dict.fromkeys(slots[event] for event in share if event not in always):
        together = [event for event in share if slots[event] == slot]
        others = [event for event in logs if slots[event] != slot]
        predicted = {} if always.issuperset(others) else _predict(logs, together, others)
        for event in together:
            series = (part[event].to_numpy() for part in (estimates, share, filled))
            about = carriers, predicted.get(event), shared.get(event, 0.0)
            cleaned[event], variance[event] = _complete(*series, *about)
    known = set(filled.columns[filled.notna().all()])
    sums = [(whole, parts) for whole, parts in sums if {whole, *parts} <= known]
    return reconcile_sums(cleaned, variance, sums), np.sqrt(variance)


def _drop_impossible_counts(counts, running):
    """Counts without late and impossible readings, and running shares: 0 where nothing was counted."""
    always = counts.columns[running.ge(1).mean() > 0.5]
    by = counts["instructions"] if "instructions" in always else None
    estimates = redistribute_delayed_counts(counts.astype(float), running, by=by)
    if "cycles" in always:
        beyond = estimates.gt(MOST_PER_CYCLE * estimates["cycles"], axis=0)
        estimates = estimates.mask(beyond & estimates.gt(_TIMES_MEDIAN * estimates.median()))
    return estimates, running.where(estimates.notna(), 0.0).astype(float)


def _fill(values):
    """Straight lines where nothing was counted."""
    seen = np.flatnonzero(values.notna())
    return np.interp(np.arange(len(values)), seen, values.iloc[seen]) if len(seen) else values


def _complete(values, share, filled, carriers, by_others, shared):
    """One event's estimates, and the variance of their errors."""
    unknown, seen = np.isnan(share).any(), np.isfinite(values)
    share = np.nan_to_num(share, nan=_UNKNOWN)
    if seen.sum() < _FEWEST:
        return filled, (1 - share) * (
            (_FEW_SAMPLES * filled) ** 2 + (np.var(values[seen]) if seen.any() else 0.0)
        )
    turns, estimate, cut = share[share > 0], filled, not unknown and (~seen).mean() > _FEW_GAPS
    if cut:
        drawn = interpolate(values, share)
        estimate = np.where(seen & (share < 1), values + _TO_LINES * (drawn - values), filled)
    elif not (unknown or turns.std() < _EVEN * turns.mean()):
        in_step = len(np.unique(turns.round(4))) <= _FEW_SHARES
        noise_share, errors = _IN_STEP if in_step else _FREE
        apart, level = _level(filled, carriers, by_others)
        noise = noise_share * _noise(filled, errors) / max(apart, 1e-300)
        weight = np.minimum((1 - np.maximum(share, shared)) * noise, 1)
        estimate = np.where(seen, np.maximum(filled - weight * (filled - level), 0), filled)
    return estimate, _variance(values, share, cut)


def _level(values, carriers, by_others):
    """Squared distance from the level that comes nearest, and this level, in counts."""
    levels = [_neighbours(values, _NEAR)]
    levels += [carrier * _neighbours(values / carrier, _NEAR) for carrier in carriers]
    levels += [] if by_others is None else [by_others * _neighbours(values / by_others, _AROUND)]
    apart = [np.abs(values - level).mean() ** 2 for level in levels]
    nearest = int(np.argmin(apart))
    return apart[nearest], levels[nearest]


def _neighbours(values, reach):
    """Mean of the samples at up to so many intervals on both sides; mirrored at the ends."""
    reach = min(reach, len(values) - 1)
    kernel = np.full(2 * reach + 1, 1 / (2 * reach))
    kernel[reach] = 0
    return np.convolve(np.pad(values, reach, mode="reflect"), kernel, mode="valid")


def _noise(values, errors):
    """Squared size of what differs between intervals without trend, less so many standard errors, and 0 at least."""
    lags = range(1, min(_LAGS, len(values) // 2) + 1)
    half = [np.abs(values[lag:] - values[:-lag]).mean() ** 2 / 2 for lag in lags]
    return max(min(2 * half[0] - half[1], *half) - errors * half[0] / np.sqrt(len(values)), 0.0)


def _shared_with_other_slots(filled, slots, always):
    """By event, the share of the differences from neighbours that events counted at other times have in common."""
    apart = filled.apply(lambda event: event - _neighbours(event.to_numpy(), _NEAR))
    size = apart.abs().mean() * _MOST_RESIDUAL
    common = apart.clip(-size, size, axis=1).corr().abs().fillna(0.0)
    common[common.index.isin(always)] **= 2
    elsewhere = {event: [name for name in common if slots[name] != slots[event]] for event in common}
    return {event: common.loc[names, event].max() if names else 0.0 for event, names in elsewhere.items()}


def _variance(values, share, cut):
    """Of errors, from what changes over some steps around, and how far the next interval with a turn is."""
    at, hidden = np.flatnonzero(share > 0), np.flatnonzero(share == 0)
    around = np.maximum(np.searchsorted(at, hidden), 1)
    left, right = at[around - 1], at[np.minimum(around, len(at) - 1)]
    span = np.maximum(right - left, 1)
    between = np.where(
        (left < hidden) & (hidden < right), 4 * (hidden - left) * (right - hidden) / span**2, 1.0
    )
    variance = np.empty(len(values))
    variance[at] = (_CUT if cut else _SEEN) * (1 - share[at]) * _changes(values[at], _LAG)
    variance[hidden] = _GAP * (0.25 + 0.75 * between) * np.interp(hidden, at, _changes(values[at], 1))
    return variance


def _changes(values, lag):
    """Half the squared changes over a lag, from and to each sample, mean over its neighbours."""
    half = (values[lag:] - values[:-lag]) ** 2 / 2
    window = np.ones(2 * _REACH + 1)
    sums, n = (
        np.convolve(np.pad(part, (0, lag)) + np.pad(part, (lag, 0)), window)[_REACH:-_REACH]
        for part in (half, np.ones(len(half)))
    )
    return sums / n


def _predict(logs, events, others):
    """Counts of some events by those of others: a ridge regression that errs least on intervals left out."""
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
        off = (target - fitted) / freedom
        best = np.abs(off).sum(axis=0).argmin()
        counts = np.expm1(np.minimum(fitted[:, best], target.max() + 1))
        predicted[event] = np.maximum(counts, 1e-3 * np.expm1(target).mean())
    return predicted
