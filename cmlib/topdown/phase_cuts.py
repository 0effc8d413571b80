"""Cut a run into phases with about constant clock, speed and CPUs used.

:func:`phases` takes the counts of a run and returns one row per phase. :func:`series_phases` cuts a single series.
"""

import numpy as np
import pandas as pd

from cmlib.fingerprint.segments import segment_starts
from cmlib.topdown.run_levels import (
    EXTENSIVE_LEVELS,
    LEVELS_PER_SECOND,
    compute_levels,
    interval_lengths,
)

CUT_BY = (
    "GHz",
    "CPUs",
    "instructions a second",
    "instructions a cycle",
)  # a change of these levels starts a phase
DIFFERS = 1.05  # ratio between phases above which a level is reported
_FEWEST_PER_SECOND = (
    10  # levels per second, for example page faults, are reported if a phase has at least this rate
)
_MOST_POINTS = (
    240  # neighboring intervals are added up to at most this number of points before the run is cut
)
_LEAST_GAIN = 0.1  # a cut must remove at least this share of all variation
_SHORTEST = 0.04  # shortest phase [share of the run]
# If n points differ by noise alone, the best cut removes about this factor times the noise times the logarithm of n.
_GAIN_BY_CHANCE = 3.0
_MOST_CORRELATED = 0.99  # limit of the estimated correlation of neighbors


def phases(counts):
    """Cut a run into phases, and compute figures of each phase.

    The clock, the speed and the number of CPUs used are about constant within a phase.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, n_events)
        Counts. Index: end of each interval [s].

    Returns
    -------
    DataFrame
        One row per phase. Columns: ``start`` and ``end`` [s], and the figures that differ by more than 5 % between
        phases. For example, ``instructions a second``. Empty if the run has only one phase, or if no figure differs.
    """
    lengths = interval_lengths(counts)
    first_rows = _cut_by_levels(counts, lengths)
    if len(first_rows) == 1:
        return pd.DataFrame()
    last_rows = [*first_rows[1:] - 1, len(counts) - 1]
    phase = np.searchsorted(first_rows, np.arange(len(counts)), side="right") - 1
    frame = compute_levels(counts, lengths, phase)
    differing = _list_differing_levels(frame)
    if not differing:
        return pd.DataFrame()
    frame.insert(0, "start", counts.index[first_rows] - lengths[first_rows])
    frame.insert(1, "end", counts.index[last_rows])
    return frame[["start", "end", *differing]]


def series_phases(series: pd.Series) -> pd.DataFrame:
    """Cut a series into phases with about constant values.

    Parameters
    ----------
    series : Series
        A rate. The index is the time [s] or a number. Values of NaN are ignored.

    Returns
    -------
    DataFrame
        One row per phase. Columns: ``start`` and ``end`` (index of the first and of the last value) and ``level`` (mean
        value).
    """
    series = series.dropna()
    point = _number_points(len(series))
    values = series.groupby(point).mean().to_numpy()
    first_rows = _find_first_rows(values[:, None] - values.mean(), point)
    last_rows = np.append(first_rows[1:], len(series)) - 1
    levels = [series.iloc[first : last + 1].mean() for first, last in zip(first_rows, last_rows, strict=True)]
    return pd.DataFrame({"start": series.index[first_rows], "end": series.index[last_rows], "level": levels})


def _cut_by_levels(counts, lengths):
    """Return the number of the first row of each phase.

    `lengths` are the lengths of the intervals [s]. The run is cut by the logarithms of its levels.
    """
    point = _number_points(len(counts))
    levels = compute_levels(counts, lengths, point)
    X = levels[[name for name in CUT_BY if name in levels]].dropna(axis=1)
    X = X.loc[:, (X > 0).all()]
    X = np.log(X) - np.log(X).mean()
    return _find_first_rows(X.to_numpy(), point)


def _list_differing_levels(frame):
    """List the levels that differ between phases (the rows of `frame`).

    Levels that grow with the length of a phase are left out, and so are rates that are low in all phases.
    """
    lowest = frame.min()
    highest = frame.max()
    rare = [name for name in LEVELS_PER_SECOND if not highest.get(name, 0.0) >= _FEWEST_PER_SECOND]
    differing = highest.index[highest > DIFFERS * lowest]
    return [name for name in differing if name not in (*EXTENSIVE_LEVELS, *rare)]


def _number_points(n_rows):
    """Return for each row the number of the point that it is added to."""
    rows_per_point = max(1, -(-n_rows // _MOST_POINTS))
    return np.arange(n_rows) // rows_per_point


def _find_first_rows(X, point):
    """Return the number of the first row of each phase.

    X has one row per point and one column per level. The mean of each column is 0. `point` has the number of each row's
    point.
    """
    first_points = _find_first_points(X) if X.any() else [0]
    return np.searchsorted(point, first_points)


def _find_first_points(X):
    """Return the number of the first point of each phase.

    A cut is made if it removes more variation than noise would. Neighboring points may be correlated, which increases
    the noise.
    """
    least_gain = _LEAST_GAIN * (X**2).sum()
    # The first estimate of the noise assumes that neighbors are independent.
    noise = (np.diff(X, axis=0) ** 2).mean(axis=0).sum() / 2
    while True:
        penalty = max(least_gain, _GAIN_BY_CHANCE * np.log(len(X)) * noise)
        starts = segment_starts(X, penalty=penalty, shortest=round(_SHORTEST * len(X)))
        correlated_noise = _estimate_noise(X, starts)
        if len(starts) == 1 or correlated_noise <= noise:
            return starts
        noise = correlated_noise


def _estimate_noise(X, starts):
    """Estimate the noise of X within phases, given the correlation r of neighboring rows.

    The result is the variance of independent rows with the same uncertainty of the mean. For an AR(1) process, this is
    the variance times (1 + r) / (1 - r). It is added up over the columns.
    """
    residuals = [part - part.mean(axis=0) for part in np.split(X, starts[1:])]
    degrees_of_freedom = len(X) - len(residuals)
    variance = sum((part**2).sum(axis=0) for part in residuals) / degrees_of_freedom
    covariance = sum((part[1:] * part[:-1]).sum(axis=0) for part in residuals) / degrees_of_freedom
    r = np.divide(covariance, variance, out=np.zeros(X.shape[1]), where=variance > 0)
    # The means of the phases are estimated, which makes r too low by about this bias.
    bias = len(residuals) / len(X)
    r = np.clip(r + bias, 0, _MOST_CORRELATED)
    return float((variance * (1 + r) / (1 - r)).sum())
