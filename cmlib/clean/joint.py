"""Joint cleaning: each event's estimate beside what the rest of the run says about it."""

import numpy as np
import pandas as pd

from cmlib.clean.interpolation import interpolate
from cmlib.clean.late import spread_late_readings
from cmlib.clean.left_out import predict_left_out
from cmlib.clean.noise import error_variance, gap_variance, local_mean, share_step, turns_per_interval
from cmlib.clean.sums import hold_sums

_IMPOSSIBLE = 1000.0
# Share of the residuals that must be error before anything is moved, and from which on all that is error is;
# the fewer intervals there are, the more of it is needed (times 1 + _FEW / n); but no more than by
# a factor where they are known to hold few turns, so that there are errors.
_NOT_SURE, _SURE, _FEW, _FEW_TURNS, _AT_MOST = 0.15, 0.25, 90, 10, 1.6
# How far counts are moved to the straight lines between stretches that were seen: where an event has no turn in some
# intervals, and where it has less than two in an interval.
_TO_LINES, _TO_LINES_IF_SEEN = 0.5, 0.4
# Predictions fill gaps where they miss by less than this share of what straight lines miss by.
_MUCH_NEARER = 0.2
_REACH = 5
_FEWEST = 3


def clean_jointly(counts, running, *, sums=(), groups=None):
    """Clean all events of a run together; what can't be bettered stays: see :func:`joint_estimates`.

    Returns
    -------
    DataFrame
        The estimates, without their standard errors.
    """
    return joint_estimates(counts, running, sums=sums, groups=groups)[0]


def joint_estimates(counts, running, *, sums=(), groups=None):
    """Estimate the counts of all events of a run, and how far the estimates are likely to be off.

    1. A reading that came late is divided among its intervals
       (:func:`cmlib.clean.spread_late_readings`); an impossible one, above 1000 a cycle
       and above 1000 times the event's median, counts as not counted.
    2. Each group of events is predicted from the events of other slots, every interval
       without itself (:func:`cmlib.clean.left_out.predict_left_out`, of logarithms).
    3. How much of an estimate is error is told from its own steps in time and its
       running share (:func:`cmlib.clean.noise.error_variance`). Estimates are moved
       towards their predictions by the share of the distance that is error; less where
       the distance is within what predictions usually miss, and where the interval is
       unlike all others (leverage), so that its prediction is an extrapolation. Where
       error explains less than 15 % of the distance, the event stays as perf printed
       it, and below 25 % it is moved less. Few intervals tell little: of n, 1 + 90 / n
       times as much is needed, at most 1.6 where shares change and tell less than
       ten turns an interval.
    4. Intervals in which an event was not counted are filled by a straight line in
       time (:func:`cmlib.clean.interpolate`), moved towards the prediction as far as
       that has the smaller variance. Where an event has less than two turns in an interval,
       counts are moved towards that line as well: by a half if some intervals
       have no turn, else by 40 %.
    5. `sums` are restored.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        As perf prints them, scaled by 1 / running [events per interval]; NaN where
        nothing was counted. Never modified.
    running : DataFrame of float, same shape
        Share of the interval in which the event was counted, 0 to 1.
    sums : iterable of (whole, (part, ...)), optional
        Events of which one is the sum of others, as :func:`cmlib.events.umask_sums`
        tells them.
    groups : iterable of collections of str, optional
        Events counted in the same slices of time; default: those whose running
        shares agree in every interval.

    Returns
    -------
    estimates : DataFrame of float64, shape (n_intervals, n_events)
        Finite, except for events never counted in this run, which stay NaN. A sample
        counted all the time comes back as it is.
    standard_errors : DataFrame of float64, same shape
        Standard deviation of each estimate's error [events per interval]; 0 where the
        sample was counted all the time.

    Notes
    -----
    A distance between estimate and prediction is partly error of extrapolation, partly
    the event's own doing. A single run can't tell them apart; that its steps look
    alike within an interval and between intervals is an assumption, judged on replayed
    rotations (:func:`cmlib.clean.replay`), on pairs of runs and on runs without multiplexing.
    """
    estimates, share = _estimates(counts, running)
    uncertain = [event for event in share if share[event].gt(0).any() and not share[event].ge(1).all()]
    step = share_step(running[uncertain].to_numpy(dtype=float))
    filled = estimates.apply(lambda event: _drawn(event.to_numpy(), share[event.name].to_numpy(), step))
    cleaned, variance = filled.copy(), filled * 0.0
    predicted, freedom = _predictions(filled, share, uncertain, running, groups)
    for event in uncertain:
        prediction = (predicted[event].to_numpy(), freedom[event].to_numpy()) if event in predicted else None
        cleaned[event], variance[event] = _weigh(
            estimates[event].to_numpy(), filled[event].to_numpy(), prediction, share[event].to_numpy(), step
        )
    known = set(filled.columns[filled.notna().all()])
    sums = [(whole, parts) for whole, parts in sums if {whole, *parts} <= known]
    return hold_sums(cleaned, variance, sums), np.sqrt(variance)


def printed_errors(counts, running):
    """How far counts as perf prints them are likely to be off: what extrapolation adds.

    Parameters
    ----------
    counts, running
        As for :func:`joint_estimates`.

    Returns
    -------
    DataFrame
        Standard deviation of each count's error [events per interval]; 0 where it was counted all the time, NaN where
        it was not counted.
    """
    estimates, share = _estimates(counts, running)
    step = share_step(running.loc[:, running.lt(1).any()].to_numpy(dtype=float))
    errors = estimates * np.nan
    for event in counts:
        seen = share[event].to_numpy() > 0
        if seen.sum() >= _FEWEST:
            shares = share[event].to_numpy()[seen]
            turns = turns_per_interval(shares, step)
            errors.loc[seen, event] = error_variance(estimates[event].to_numpy()[seen], shares, turns) ** 0.5
    return errors


def _estimates(counts, running):
    always = counts.columns[running.ge(1).mean() > 0.5]
    by = counts["instructions"] if "instructions" in always else None
    estimates = spread_late_readings(counts, running, by=by)
    if "cycles" in always:
        beyond = estimates.gt(_IMPOSSIBLE * estimates["cycles"], axis=0)
        estimates = estimates.mask(beyond & estimates.gt(_IMPOSSIBLE * estimates.median()))
    return estimates, running.where(estimates.notna(), 0.0).astype(float)


def _drawn(values, share, step):
    """Straight lines through gaps; and towards them, where an interval holds few turns and cuts the rotation."""
    seen = share > 0
    if not seen.any() or (seen.all() and not _cut(share, step)):
        return values
    lines = interpolate(values, share)
    weight = _TO_LINES_IF_SEEN if seen.all() else _TO_LINES
    return np.where(seen, values + weight * (lines - values), lines)


def _cut(share, step):
    return step > 0 and turns_per_interval(share, step) < 2


def _predictions(filled, share, uncertain, running, groups):
    usable = filled.loc[:, filled.notna().all() & (filled.max() > filled.min())]
    if usable.shape[1] < 2:
        return usable.iloc[:, :0], usable.iloc[:, :0]
    logs = np.log1p(usable.to_numpy())
    together = {}
    for column, event in enumerate(usable):
        together.setdefault(_slot(event, uncertain, running, groups), []).append(column)
    predicted, freedom = predict_left_out(logs, list(together.values()), share[usable.columns].to_numpy() > 0)
    counts = np.expm1(np.clip(predicted, 0, logs.max(axis=0) + 3))
    return tuple(pd.DataFrame(part, filled.index, usable.columns) for part in (counts, freedom))


def _slot(event, uncertain, running, groups):
    """What tells events apart that were counted at different times."""
    if event not in uncertain:
        return event
    if groups is None:
        return running[event].to_numpy().tobytes()
    return next((number for number, group in enumerate(groups) if event in group), event)


def _weigh(printed, estimate, predicted, share, step):
    """One event's cleaned counts and the variance of their error, by its prediction and that one's freedom, if any."""
    seen, cleaned, variance = share > 0, estimate.copy(), np.zeros(len(estimate))
    turns = turns_per_interval(share[seen], step)
    error = error_variance(printed[seen], share[seen], turns)
    if predicted is None:
        variance[seen] = error
        variance[~seen] = gap_variance(estimate, seen)
        return cleaned, variance
    prediction, freedom = predicted
    residual = estimate - prediction
    distance = local_mean(residual[seen] ** 2, _REACH)
    needed = 1 + _FEW / seen.sum()
    if step > 0 and turns < _FEW_TURNS:
        needed = min(needed, _AT_MOST)
    weight = _share_of_error(error, residual[seen], share[seen], distance, needed)
    weight = weight * _beyond_usual(residual[seen])
    weight = np.where(error > 0, weight * freedom[seen], 0.0)
    cleaned[seen] -= np.where(share[seen] < 1, weight * residual[seen], 0.0)
    variance[seen] = error * (1 - weight.mean())
    cleaned[~seen], variance[~seen] = _fill(estimate, prediction, seen, distance)
    return np.maximum(cleaned, 0), variance


def _share_of_error(error, residual, share, distance, needed):
    """How much of the residuals is error of extrapolation, for all one can tell; 0 where that is too little."""
    size = np.sqrt(distance).mean()
    if size == 0:
        return 0.0
    fresh = error_variance(residual, share, np.inf, reach=_REACH)
    part = min((np.sqrt(error).mean() / size) ** 2, (np.sqrt(fresh).mean() / size) ** 2, 1.0)
    return part * np.clip((part / needed - _NOT_SURE) / (_SURE - _NOT_SURE), 0, 1)


def _beyond_usual(residual):
    """Towards 1 for residuals that predictions alone seldom miss by, towards 0 for those they usually do."""
    usual = (1.4826 * np.median(np.abs(residual))) ** 2
    squares = residual**2
    return np.divide(squares, squares + usual / 2, out=np.zeros_like(squares), where=squares > 0)


def _fill(estimate, prediction, seen, distance):
    """Counts of intervals that were not seen, between straight line and prediction, and their variance."""
    hidden, at = np.flatnonzero(~seen), np.flatnonzero(seen)
    by_line = gap_variance(estimate, seen)
    by_others = np.interp(hidden, at, distance)
    weight = np.zeros(len(hidden))
    if np.sqrt(by_others).sum() < _MUCH_NEARER * np.sqrt(by_line).sum():
        both = by_line + by_others
        weight = np.divide(by_line - by_others, both, out=weight, where=by_line > by_others)
    filled = estimate[hidden] + weight * (prediction - estimate)[hidden]
    return filled, (1 - weight) ** 2 * by_line + weight**2 * by_others
