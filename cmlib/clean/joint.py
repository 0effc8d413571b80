"""Joint cleaning: each event's estimate beside what the rest of the run says about it."""

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesRegressor

from cmlib.clean.late import spread_late_readings
from cmlib.clean.sums import hold_sums

# Noise of a slice of rotation beside its neighbours, as a share of what independent slices would give.
_SLICE_NOISE = 1 / 3
_IMPOSSIBLE = 1000.0
_TREES = 50
# A forest's memory grows with its samples; a longer run takes several, one after the other.
_MOST_SAMPLES = 10_000


def clean_jointly(counts, running, *, sums=(), groups=None, seed=0):
    """Clean all events of a run together, each as far as its running share leaves it uncertain.

    1. A reading that came late is divided among its intervals
       (:func:`cmlib.clean.spread_late_readings`); an impossible one, above 1000 a cycle
       and above 1000 times the event's median, counts as not counted.
    2. Each group of events is regressed, out of bag, on the always-counted events
       with their neighbours in time, the other groups' events, and its own
       neighbours in time (extremely randomized trees). Events of its own group are
       left out: they were seen in the same slices of time and err with it.
    3. Estimate and prediction are blended by the running share: see Notes.
    4. Each event is scaled to the total it was estimated to have, and `sums` are restored.

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
    seed : int, default 0

    Returns
    -------
    DataFrame
        Finite, except for events never counted in this run, which stay NaN. A sample
        counted all the time comes back as it is.

    Notes
    -----
    A residual between estimate and prediction is partly true (variance u) and partly
    noise of extrapolation (variance e). Were a program's slices of time independent,
    e would be u (1 - s) / s at running share s; they resemble their neighbours, and a
    third of that makes the cleaned series as restless as an unmultiplexed one (four
    programs on Zen 5). What of the residual carries over from one interval to the
    next is taken as true. The estimate's weight is sqrt(u / (u + e)): 1 at s = 1, 0 at
    s = 0, and such that the cleaned series varies as much as the true one; u / (u + e)
    itself would be closer point by point and too smooth (constrained Bayes
    estimates: Louis 1984, Ghosh 1992). How e follows from s can't be read off a single run:
    shares vary too little, and the slope changes its sign from one pass to the other.
    """
    estimates, share = _estimates(counts, running)
    counted = share.columns[share.gt(0).any()]
    uncertain = [event for event in counted if not share[event].ge(1).all()]
    cleaned, variance = estimates.copy(), pd.DataFrame(0.0, counts.index, counts.columns)
    filled = estimates[counted].interpolate(limit_direction="both")
    for group in _together(running[uncertain], groups):
        predicted = _predict(_features(filled, share, group), estimates[group].to_numpy(), seed)
        for event, prediction in zip(group, predicted.T, strict=True):
            cleaned[event], variance[event] = _blend(
                estimates[event].to_numpy(), prediction, share[event].to_numpy()
            )
    return hold_sums(cleaned, variance, sums)


def _estimates(counts, running):
    always = counts.columns[running.ge(1).mean() > 0.5]
    by = counts["instructions"] if "instructions" in always else None
    estimates = spread_late_readings(counts, running, by=by)
    if "cycles" in always:
        beyond = estimates.gt(_IMPOSSIBLE * estimates["cycles"], axis=0)
        estimates = estimates.mask(beyond & estimates.gt(_IMPOSSIBLE * estimates.median()))
    return estimates, running.where(estimates.notna(), 0.0).astype(float)


def _together(running, groups):
    """Events that were counted in the same slices of time."""
    if groups is None:
        key = {event: running[event].to_numpy().tobytes() for event in running}
    else:
        key = {event: number for number, group in enumerate(groups) for event in group}
    together = {}
    for event in running:
        together.setdefault(key.get(event, event), []).append(event)
    return together.values()


def _features(filled, share, group):
    others = filled.drop(columns=group)
    always = others[others.columns[share[others.columns].ge(1).mean() > 0.5]]
    lagged = [always.shift(step) for step in (1, -1)] + [filled[group].shift(step) for step in (1, -1)]
    return np.hstack([others.to_numpy(), *(frame.bfill().ffill().to_numpy() for frame in lagged)])


def _predict(features, estimates, seed):
    """Each interval's counts, from a forest for each stretch of the run."""
    seen = np.flatnonzero(np.isfinite(estimates).all(axis=1))
    n_stretches = max(1, -(-len(seen) // _MOST_SAMPLES))
    borders = [part[0] for part in np.array_split(seen, n_stretches)[1:]]
    stretches = zip(np.split(features, borders), np.split(estimates, borders), strict=True)
    return np.vstack([_predict_stretch(*stretch, seed) for stretch in stretches])


def _predict_stretch(features, estimates, seed):
    """Each interval's counts, from trees that have not seen that interval."""
    seen = np.isfinite(estimates).all(axis=1)
    scale = estimates[seen].std(axis=0)
    scale[scale == 0] = 1
    forest = ExtraTreesRegressor(
        _TREES,
        min_samples_leaf=2,
        max_features=0.5,
        bootstrap=True,
        oob_score=True,
        random_state=seed,
        n_jobs=1,
    )
    targets = estimates[seen] / scale
    forest.fit(features[seen], targets[:, 0] if targets.shape[1] == 1 else targets)
    predicted = np.empty_like(estimates)
    predicted[seen] = forest.oob_prediction_.reshape(targets.shape) * scale
    if not seen.all():
        predicted[~seen] = forest.predict(features[~seen]).reshape(-1, estimates.shape[1]) * scale
    return predicted


def _blend(estimate, predicted, share):
    """One event's cleaned counts and the variance of their error."""
    seen = share > 0
    residual = np.where(seen, estimate - predicted, 0.0)
    odds = _SLICE_NOISE * (1 - share[seen]) / share[seen]
    lasting, fresh = _true_variances(residual, seen, odds)
    weight = np.zeros(len(estimate))
    weight[seen] = 1.0
    if fresh > 0:
        weight[seen] = (lasting + fresh) / (lasting + fresh + fresh * odds)
    cleaned = np.maximum(predicted + np.sqrt(weight) * residual, 0)
    exact = share >= 1
    cleaned[exact] = estimate[exact]
    return _keep_total(cleaned, estimate, seen & ~exact), (lasting + fresh) * (1 - weight)


def _true_variances(residual, seen, odds):
    """Variance of the residual's true part: what lasts from one interval to the next, and what is new in each."""
    variance = (residual[seen] ** 2).mean()
    pairs = seen[1:] & seen[:-1]
    lasting = (residual[1:] * residual[:-1])[pairs].mean() if pairs.any() else 0.0
    lasting = min(max(lasting, 0.0), variance)
    return lasting, (variance - lasting) / (1 + odds.mean())


def _keep_total(cleaned, estimate, where):
    total = cleaned[where].sum()
    if total > 0:
        cleaned[where] *= estimate[where].sum() / total
    return cleaned
