"""Readings that perf missed and delivered with the next interval."""

import numpy as np


def spread_late_readings(counts, running, *, by=None):
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
