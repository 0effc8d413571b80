"""Estimate the counts of the time that an event was not counted, by a Kalman smoother, and their errors."""

import numba
import numpy as np

from cmlib.clean.missing import MOST_PER_CYCLE, interpolate

# Counts that no core can count, and that are so many times the median, were misread.
_TIMES_MEDIAN = 1000.0
# Fewer samples tell no level; more than a few intervals without any, and rotations are slower than intervals.
_FEWEST, _FEW_GAPS = 8, 0.1
# How much of what is new in an interval is taken to be of the counted slots alone; where shares vary by less than the
# second (standard deviation over mean), intervals hold whole rotations, and none is.
_INNOVATION_SHARE, _EVEN = 0.6, 0.01
# How far counts are moved to straight lines where some intervals have no turn.
_TO_LINES = 0.5
# Variance of a level's step over that of what is new in an interval. Less than the first would smooth over changes of
# phase, less than the second where other events tell these.
_DRIFTS = 10.0 ** np.arange(0, 4.6, 0.5)
_LEAST_DRIFT, _LEAST_BY_OTHERS = 5.0, 0.1
_PENALTIES = 10.0 ** np.arange(-4, 2, 0.5)
# Of the variance of errors: over how many steps changes are taken, and from how many samples on either side; how
# much of them is error where all have turns, where some have none, and in those; relative errors of too few samples.
_LAG, _REACH, _SEEN, _CUT, _GAP, _FEW_SAMPLES = 6, 4, 0.45, 1.0, 2.2, 0.03
# Running share where it is not known; counts stay as they are there.
_UNKNOWN = 0.25


def clean_kalman(counts, running, *, sums=()):
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

    An event's rate in an interval is a level, which drifts, and what is new in it. The level is smoothed over all
    intervals (Kalman filter and smoother of a random walk, observed the worse the smaller the running share; the ratio
    of both variances by maximum likelihood). The counted share of an interval stays as it was counted. Of the
    rest, 60 % of what is new is taken to be of the counted slots alone, and is replaced by the level. Where an event's
    running share is the same in all intervals, these hold whole rotations: its counts stay as perf prints them.

    The rate is per interval, or per count of an event that was counted all the time, such as cycles, or per count that
    the events of other slots predict (ridge regression of logarithms, each interval without itself), whichever leaves
    least that is not foreseen. Where more than a tenth of the intervals have no turn, straight lines between the others
    fill them, and those move halfway to these lines. Late readings are divided among their intervals first; impossible
    ones (above 128 a cycle, and 1000 times the median) count as not counted.

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
    >>> running = pd.DataFrame({"a": [0.25, 0.2] * 5})
    >>> estimates, errors = estimate_counts(printed, running)
    >>> estimates["a"].round(1).tolist()[:4]
    [10.4, 12.9, 9.7, 12.3]
    """
    estimates, share = _drop_impossible_counts(counts, running)
    filled = estimates.apply(lambda event: _filled(event.to_numpy(), share[event.name].to_numpy()))
    logs = np.log1p(filled.loc[:, filled.notna().all() & (filled.max() > filled.min())].clip(lower=0))
    always = {event for event in share if share[event].ge(1).all()}
    carriers = [filled[event].to_numpy() for event in logs if event in always and (filled[event] > 0).all()]
    slots = {event: event if event in always else running[event].to_numpy().tobytes() for event in share}
    cleaned, variance = filled.copy(), filled * 0.0
    for slot in dict.fromkeys(slots[event] for event in share if event not in always):
        own = [event for event in share if slots[event] == slot]
        others = [event for event in logs if slots[event] != slot]
        predicted = {} if always.issuperset(others) else _predict(logs, own, others)
        for event in own:
            series = (part[event].to_numpy() for part in (estimates, share, filled))
            cleaned[event], variance[event] = _complete(*series, carriers, predicted.get(event))
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


def _filled(values, share):
    """Straight lines where there was no turn."""
    known = np.nan_to_num(share, nan=_UNKNOWN)
    return np.where(known > 0, values, interpolate(values, known)) if known.any() else values


def _complete(values, share, lines, carriers, by_others):
    """One event's estimates, and the variance of their errors."""
    unknown, seen = np.isnan(share).any(), np.isfinite(values)
    share = np.nan_to_num(share, nan=_UNKNOWN)
    if seen.sum() < _FEWEST:
        return lines, (1 - share) * (
            (_FEW_SAMPLES * lines) ** 2 + (np.var(values[seen]) if seen.any() else 0.0)
        )
    if unknown:
        return lines, _variance(values, share, cut=False)
    if cut := (~seen).mean() > _FEW_GAPS:
        drawn = interpolate(values, share)
        estimate = np.where(seen & (share < 1), values + _TO_LINES * (drawn - values), drawn)
    else:
        level = values if _whole_rotations(share) else _level(values, share, carriers, by_others)
        away = _INNOVATION_SHARE * (1 - share) * (values - level)
        estimate = np.where(seen, np.maximum(values - away, 0), lines)
    return estimate, _variance(values, share, cut)


def _whole_rotations(share):
    """Return True if the running share is the same in all intervals with a turn."""
    turns = share[share > 0]
    return turns.std() < _EVEN * turns.mean()


def _level(values, share, carriers, by_others):
    """The smoothed rate by the carrier that makes it most likely, in counts."""
    known = [(carrier, _LEAST_DRIFT) for carrier in (np.ones(len(values)), *carriers)]
    known += [] if by_others is None else [(by_others, _LEAST_BY_OTHERS)]
    found = []
    for carrier, least in known:
        carrier = carrier / carrier.mean()
        rates = np.where(share > 0, values / carrier, np.nan)
        for drift in least * _DRIFTS:
            unforeseen, level = _smooth(rates, share, drift)
            found.append((unforeseen, carrier * level))
    return min(found, key=lambda one: one[0])[1]


@numba.njit(cache=True)
def _smooth(rates, share, drift):
    """Variance of what a filter does not foresee (geometric mean), and the smoothed level: NaN is not seen."""
    n = len(rates)
    ahead, ahead_variance, level, variance = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    squares, logs, seen = 0.0, 0.0, 0
    for i in range(n):
        ahead[i] = level[i - 1] if i else 0.0
        ahead_variance[i] = variance[i - 1] + drift if i else 1e12
        level[i], variance[i] = ahead[i], ahead_variance[i]
        if np.isfinite(rates[i]):
            total = ahead_variance[i] + 1 / share[i]
            if ahead_variance[i] < 1e11:
                squares += (rates[i] - ahead[i]) ** 2 / total
                logs += np.log(total)
                seen += 1
            level[i] += ahead_variance[i] / total * (rates[i] - ahead[i])
            variance[i] *= 1 - ahead_variance[i] / total
    for i in range(n - 2, -1, -1):
        level[i] += variance[i] / ahead_variance[i + 1] * (level[i + 1] - ahead[i + 1])
    return squares / seen * np.exp(logs / seen), level


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


def _predict(logs, own, others):
    """Counts of some events by those of others: a ridge regression that errs least on intervals left out."""
    own = [event for event in own if event in logs]
    if not own or len(logs) < _FEWEST:
        return {}
    features = logs[others].to_numpy()
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    squares, axes = np.linalg.eigh(features.T @ features)
    axes, squares = axes[:, squares > 1e-9 * squares[-1]], squares[squares > 1e-9 * squares[-1], None]
    left = features @ axes / np.sqrt(squares.T)
    shrunk = squares / (squares + len(logs) * _PENALTIES)
    freedom = 1 - left**2 @ shrunk - 1 / len(logs)
    predicted = {}
    for event in own:
        target = logs[event].to_numpy()[:, None]
        fitted = target.mean() + left @ (shrunk * (left.T @ (target - target.mean())))
        off = (target - fitted) / freedom
        best = np.abs(off).sum(axis=0).argmin()
        counts = np.expm1(np.minimum(fitted[:, best], target.max() + 1))
        predicted[event] = np.maximum(counts, 1e-3 * np.expm1(target).mean())
    return predicted


# Intervals taken together: each takes as much memory as there are sums times events.
_AT_ONCE = 1024


def reconcile_sums(counts, variance, sums):
    """Move estimates as little as their certainty allows until known sums hold."""
    present = [(whole, parts) for whole, parts in sums if {whole, *parts} <= set(counts.columns)]
    if not present:
        return counts.copy()
    signs = np.zeros((len(present), counts.shape[1]))
    for row, (whole, parts) in zip(signs, present, strict=True):
        row[counts.columns.get_loc(whole)] = 1
        row[[counts.columns.get_loc(part) for part in parts]] = -1
    members = signs.any(axis=0)
    held = counts.copy()
    estimates, variances = counts.loc[:, members].to_numpy(), variance.loc[:, members].to_numpy()
    pieces = range(_AT_ONCE, len(counts), _AT_ONCE)
    parts = zip(np.split(estimates, pieces), np.split(variances, pieces), strict=True)
    held.loc[:, members] = np.vstack([_project(*part, signs[:, members]) for part in parts])
    return held


def _project(estimates, variance, signs):
    """Close the sums' gaps; what would fall below zero is held there, and the rest moves instead."""
    variance = variance.copy()
    for _ in range(estimates.shape[1]):
        estimates = estimates - _corrections(estimates, variance, signs)
        below = estimates < 0
        if not below.any():
            break
        estimates[below] = variance[below] = 0
    return estimates


def _corrections(estimates, variance, signs):
    """Least corrections, in units of standard deviations, that close every gap: intervals apart."""
    spread = np.sqrt(np.einsum("se,te->ts", signs**2, variance))
    scaled = signs / np.where(spread > 0, spread, np.inf)[:, :, None]
    gaps = np.einsum("tse,te->ts", scaled, estimates)
    overlap = np.einsum("tse,te,tue->tsu", scaled, variance, scaled)
    shares = np.einsum("tsu,tu->ts", np.linalg.pinv(overlap, rcond=1e-9, hermitian=True), gaps)
    return variance * np.einsum("tse,ts->te", scaled, shares)


def redistribute_delayed_counts(counts, running, *, by=None):
    """Divide a late reading among the intervals it covers."""
    spread = counts.to_numpy(dtype=np.float64, copy=True)
    late = np.isnan(spread) & (running.to_numpy() > 0)
    weights = np.ones(len(spread)) if by is None else np.asarray(by, dtype=np.float64)
    for event in np.flatnonzero(late.any(axis=0)):
        for first, arrival in _stretches(late[:, event]):
            if arrival < len(spread) and np.isfinite(spread[arrival, event]):
                share = _shares(weights[first : arrival + 1])
                spread[first : arrival + 1, event] = spread[arrival, event] * share
    return counts.__class__(spread, index=counts.index, columns=counts.columns)


def _stretches(late):
    """First interval of each stretch of late ones, and the interval after it."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], late, [False]])))
    return edges.reshape(-1, 2)


def _shares(weights):
    if not (np.isfinite(weights).all() and weights.sum() > 0):
        weights = np.ones(len(weights))
    return weights / weights.sum()
