"""How far an extrapolated count is likely to be off, told from the multiplexed series alone."""

import numpy as np

# Intervals on either side from which a sample's own roughness is taken.
_REACH = 4
# Turns an interval where shares never change, so that nothing tells them.
_UNKNOWN_TURNS = 1.5


def error_variance(values, share, turns, *, reach=_REACH):
    """Variance of the error that extrapolation adds to each sample.

    A series' squared steps over one and over two intervals (its variogram) tell apart
    what is new in every interval from what drifts. What is new is taken to be new in
    every slot of the rotation as well, so that the unseen share of it is error; a drift
    errs only by where in the interval the slots lie, and the less the more turns there are.

    Parameters
    ----------
    values : ndarray of float64, shape (n,), n >= 3
        Counts as perf prints them [events per interval]; no NaN.
    share : ndarray of float64, shape (n,)
        Running shares, above 0 to 1.
    turns : float
        Turns that the event has in an interval (:func:`turns_per_interval`).
    reach : int, default 4
        Each sample's variance is taken from so many intervals on either side.

    Returns
    -------
    ndarray of float64, shape (n,)
        [squared counts]; 0 where the share is 1.

    Notes
    -----
    For a Brownian rate, whose steps over one and two intervals have variances 2B/3 and
    5B/3, an event that is seen once in each of m turns errs by (1 - s²) B / (6 m²).
    For independent slots of which the share s is seen, (1 - s) of an estimate's variance
    is error. Of a mixture, what exceeds the former is taken for the latter.
    """
    fresh, drift = _fresh_and_drift(values, reach)
    drifting = drift / 6 * (1 - share**2) / turns**2
    return np.maximum(fresh - drifting, 0) * (1 - share) + drifting


def gap_variance(values, seen, *, reach=_REACH):
    """Variance of the error of straight lines through intervals that were not seen.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Counts [events per interval]; what `seen` leaves out is not looked at.
    seen : ndarray of bool, shape (n,)
        At least 3 samples were seen.
    reach : int, default 4

    Returns
    -------
    ndarray of float64, shape (n - number seen,)
        [squared counts]: that of a Brownian bridge between the neighbours that were seen, and of what is
        new in every interval.
    """
    at, hidden = np.flatnonzero(seen), np.flatnonzero(~seen)
    fresh, drift = (np.interp(hidden, at, part) for part in _fresh_and_drift(values[seen], reach))
    after = np.searchsorted(at, hidden)
    inside = (after > 0) & (after < len(at))
    left, right = at[np.maximum(after - 1, 0)], at[np.minimum(after, len(at) - 1)]
    span = np.where(inside, right - left, 1)
    distance = np.where(inside, (hidden - left) * (right - hidden) / span, np.abs(hidden - left))
    return drift * distance / np.median(np.diff(at)) + 1.5 * fresh


def turns_per_interval(share, step):
    """Turns that an event has in an interval: its mean share, in steps by which shares change."""
    return float(share.mean() / step) if step > 0 else _UNKNOWN_TURNS


def share_step(running):
    """By how much shares change where they change: the share of one turn; 0 where they never do.

    Parameters
    ----------
    running : ndarray of float64, shape (n_intervals, n_events)
    """
    steps = np.abs(np.diff(running, axis=0))
    steps = steps[steps > 1e-3]
    return float(np.median(steps)) if len(steps) else 0.0


def local_mean(values, reach):
    """Mean over each sample and `reach` samples on either side, as far as there are any."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    first, end = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(values))
    return (sums[end] - sums[first]) / (end - first)


def _fresh_and_drift(values, reach):
    """Around each sample: the variance that is new in every interval, and what a drift adds in one."""
    one, two = np.diff(values) ** 2, (values[2:] - values[:-2]) ** 2
    one = local_mean((np.append(one[0], one) + np.append(one, one[-1])) / 2, reach)
    two = local_mean(np.concatenate([two[:1], two, two[-1:]]), reach)
    return np.clip((5 * one - 2 * two) / 6, 0, one / 2), np.clip(two - one, 0, 1.5 * one)
