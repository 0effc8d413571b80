"""Cut a run into phases with about constant clock, speed and CPUs used.

:func:`phases` takes the counts of a run and returns one row per phase. :func:`series_phases` cuts a single series.

A level is a figure of a run or of a phase, for example instructions per second. Before the cut, neighboring intervals
are joined to at most 240 points, because the time of a cut grows with the square of their number.
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

# Levels by which a run is cut. A change of one of them starts a phase.
CUT_LEVELS = (
    "GHz",
    "CPUs",
    "instructions a second",
    "instructions a cycle",
)
# A level is reported if its largest value is more than this factor times its smallest value.
LEAST_RATIO = 1.05
# A level that is a rate per second, for example of page faults, is reported only if it reaches this value in a phase.
_LEAST_RATE = 10
_MOST_POINTS = 240
_LEAST_GAIN_SHARE = 0.1  # a cut must reduce the sum of squares of all points by at least this share
_SHORTEST = 0.04  # shortest phase [share of the run]
# A cut also reduces the sum of squares of pure noise. The best cut of n points with the variance `noise` reduces it by
# about this factor times noise * log(n).
_GAIN_BY_CHANCE = 3.0
_MOST_CORRELATED = 0.99  # limit of the estimated correlation of neighboring points


def phases(counts: pd.DataFrame) -> pd.DataFrame:
    """Cut a run into phases, and compute the levels of each phase.

    The clock, the speed and the number of CPUs used are about constant within a phase.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, n_events)
        Counts. Index: end of each interval [s].

    Returns
    -------
    DataFrame
        One row per phase. Columns: ``start`` and ``end`` [s], and the levels that differ by more than 5 % between
        phases. For example, ``instructions a second``. Empty if the run has only one phase, or if no level differs.
    """
    lengths = interval_lengths(counts)
    first_rows = _cut_by_levels(counts, lengths)
    if len(first_rows) == 1:
        return pd.DataFrame()
    last_rows = [*first_rows[1:] - 1, len(counts) - 1]
    phase_of_rows = np.searchsorted(first_rows, np.arange(len(counts)), side="right") - 1
    levels = compute_levels(counts, lengths, phase_of_rows)
    differing = _list_differing_levels(levels)
    if not differing:
        return pd.DataFrame()
    levels.insert(0, "start", counts.index[first_rows] - lengths[first_rows])
    levels.insert(1, "end", counts.index[last_rows])
    return levels[["start", "end", *differing]]


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
    point_of_rows = _group_rows(len(series))
    means = series.groupby(point_of_rows).mean().to_numpy()
    first_rows = _find_first_rows(means[:, None] - means.mean(), point_of_rows)
    last_rows = np.append(first_rows[1:], len(series)) - 1
    levels = [series.iloc[first : last + 1].mean() for first, last in zip(first_rows, last_rows, strict=True)]
    return pd.DataFrame({"start": series.index[first_rows], "end": series.index[last_rows], "level": levels})


def _cut_by_levels(counts: pd.DataFrame, lengths: np.ndarray) -> np.ndarray:
    """Return the position of the first row of each phase.

    `lengths` contains the length of each interval [s]. The run is cut by the logarithms of its levels, so that a change
    by the same factor has the same weight in each level.
    """
    point_of_rows = _group_rows(len(counts))
    levels = compute_levels(counts, lengths, point_of_rows)
    levels = levels[[name for name in CUT_LEVELS if name in levels]].dropna(axis=1)
    levels = levels.loc[:, (levels > 0).all()]
    points = np.log(levels) - np.log(levels).mean()
    return _find_first_rows(points.to_numpy(), point_of_rows)


def _list_differing_levels(levels: pd.DataFrame) -> list[str]:
    """List the levels that differ between phases.

    `levels` has one row per phase. Levels that grow with the length of a phase are left out. Rates that are low in all
    phases are left out, too.
    """
    lowest = levels.min()
    highest = levels.max()
    rare = [name for name in LEVELS_PER_SECOND if name in levels and highest[name] < _LEAST_RATE]
    # The comparison is False for levels that are NaN in all phases.
    differing = levels.columns[highest > LEAST_RATIO * lowest]
    return [name for name in differing if name not in (*EXTENSIVE_LEVELS, *rare)]


def _group_rows(n_rows: int) -> np.ndarray:
    """Return for each row the index of the point to which it belongs.

    A point is a group of neighboring rows. All points have the same number of rows, except the last point.
    """
    rows_per_point = max(1, -(-n_rows // _MOST_POINTS))
    return np.arange(n_rows) // rows_per_point


def _find_first_rows(points: np.ndarray, point_of_rows: np.ndarray) -> np.ndarray:
    """Return the position of the first row of each phase.

    `points` has one row per point and one column per level. The mean of each column is 0. `point_of_rows` contains the
    index of the point of each row.
    """
    first_points = _find_first_points(points) if points.any() else [0]
    return np.searchsorted(point_of_rows, first_points)


def _find_first_points(points: np.ndarray) -> np.ndarray:
    """Return the index of the first point of each phase.

    A cut is made if it reduces the sum of squared deviations from the phase means by more than a cut in pure noise.
    Such a cut reduces the sum by more if neighboring points are correlated. The noise is therefore estimated again from
    the phases, and the cut is repeated with the higher estimate.
    """
    least_gain = _LEAST_GAIN_SHARE * (points**2).sum()
    # The first estimate assumes that neighbors are independent. It is too low if they are correlated.
    noise = (np.diff(points, axis=0) ** 2).mean(axis=0).sum() / 2
    # The noise is only raised. A lower estimate after a cut is not used, because cuts follow the noise and reduce it.
    # The loop ends, because each way to cut gives one estimate, and the number of ways to cut is finite.
    while True:
        penalty = max(least_gain, _GAIN_BY_CHANCE * np.log(len(points)) * noise)
        starts = segment_starts(points, penalty=penalty, shortest=round(_SHORTEST * len(points)))
        correlated_noise = _estimate_noise(points, starts)
        if len(starts) == 1 or correlated_noise <= noise:
            return starts
        noise = correlated_noise


def _estimate_noise(points: np.ndarray, starts: np.ndarray) -> float:
    """Estimate the noise within phases, including the correlation r of neighboring points.

    The mean of correlated points is less certain than the mean of independent points. The result is the variance of
    independent points whose mean is as uncertain. If each point depends on the point before (an AR(1) process), it is
    the variance times (1 + r) / (1 - r). The result is the sum over all levels.
    """
    residuals = [phase - phase.mean(axis=0) for phase in np.split(points, starts[1:])]
    degrees_of_freedom = len(points) - len(residuals)
    variance = sum((part**2).sum(axis=0) for part in residuals) / degrees_of_freedom
    covariance = sum((part[1:] * part[:-1]).sum(axis=0) for part in residuals) / degrees_of_freedom
    r = np.divide(covariance, variance, out=np.zeros(points.shape[1]), where=variance > 0)
    # Residuals are deviations from the estimated mean of each phase. This lowers r by about 1 / (points per phase).
    bias = len(residuals) / len(points)
    r = np.clip(r + bias, 0, _MOST_CORRELATED)
    return float((variance * (1 + r) / (1 - r)).sum())
