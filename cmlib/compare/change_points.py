"""Find change points in the history of a program's metrics: commits at which the level of one or more metrics steps.

:func:`find_groups` takes a DataFrame with one row per commit and one column per metric, and returns a list of
:class:`Group`. No input is an error: NaN are left out, and a metric with fewer than twelve values has no steps.

A rank sum is tested at every split of seeded intervals (Kovács et al. 2023, Biometrika 110, 249), narrowest first.
Its p-value is bounded by its moment generating function: no distribution of the noise is assumed, ties may occur,
and the bound is exact where all values before a split are smaller than all after it. The correction for the number
of splits was found by simulation. `ruptures` has no false-alarm probability; `apache-otava` assumes normal noise.
"""

import functools
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

_TILTS = np.logspace(-6, 1.3, 80)[:, None]  # arguments at which the moment generating function is computed
_SHORTEST = 12  # shortest interval [commits]
# P-values are corrected for this number of tests per sample. Overlapping splits are not independent: in shuffled series
# of 30 to 600 samples they are equivalent to 1 to 2.4 independent two-sided tests per sample.
_TESTS_PER_SAMPLE = 3
_LOCATION_DROP = 3.0  # a step may be at any split with a log-likelihood less than this below the maximum
_LEAST_SUPPORT = 1e-3  # of the position of a step


@dataclass(frozen=True)
class Group:
    """Metrics that step at one commit, where their level changes.

    Attributes
    ----------
    row : int
        Number of the first commit with the new level.
    first, last : int
        Range of rows in which this commit may be.
    steps : DataFrame
        One row per metric, the largest step first: ``metric``; ``ratio`` (medians, after over before); ``p_value``
        (over all commits and metrics); ``first`` and ``last`` (row).
    """

    row: int
    first: int
    last: int
    steps: pd.DataFrame


def find_groups(history, *, alpha=0.05, smallest=0.01):
    """Find the commits at which the level of one or more metrics changes, and list these metrics.

    Parameters
    ----------
    history : DataFrame, shape (n_commits, n_metrics)
        One row per commit, oldest first, one column per metric; NaN where it was not measured.
    alpha : float, default 0.05
        Probability that any group is returned for a history without a change (false alarm), if its noise is
        exchangeable; divided among the metrics (Bonferroni).
    smallest : float, default 0.01
        Smallest relevant step: the ratio of medians is at least 1 + `smallest`, or at most its inverse.

    Returns
    -------
    list of Group
        In the order of commits.
    """
    n_commits, n_metrics = history.shape
    steps = []
    supports = []
    for metric, values in history.items():
        rows = np.flatnonzero(np.isfinite(values))
        values = values.to_numpy(float)[rows]
        for step, support in _find_steps(values, alpha / n_metrics, smallest):
            support_by_row = np.zeros(n_commits)
            support_by_row[rows[0] + 1 : rows[-1] + 1] = np.repeat(support[1:], np.diff(rows))
            first, last = (int(row) for row in np.flatnonzero(support_by_row)[[0, -1]])
            supports.append(support_by_row[first : last + 1])
            p_value = min(1.0, step["p_value"] * n_metrics)
            steps.append((metric, step["ratio"], p_value, first, last))
    steps = pd.DataFrame(steps, columns=["metric", "ratio", "p_value", "first", "last"])
    return sorted(_group_steps(steps, supports, n_commits), key=lambda group: group.row)


def compute_evidence(values):
    """Compute the evidence for a step at each split of a series.

    The evidence is minus the logarithm of an upper bound on the one-sided p-value of the rank sum (Chernoff's bound):
    the supremum of t·|U − E U| − K(t). K(t), the logarithm of the moment generating function, is that of Mann and
    Whitney's U without ties (a product of ratios of sinh); ties only make it smaller.

    Parameters
    ----------
    values : ndarray of float, shape (n_samples,)
        Values in the order of commits.

    Returns
    -------
    ndarray of float, shape (n_samples - 1,)
        Evidence of the split between values[k] and values[k + 1], for each k.
    """
    n = len(values)
    before = np.arange(1, n)
    centered = np.cumsum(stats.rankdata(values))[:-1] - before * (n + 1) / 2
    table = _sum_log_sinh(1 << n.bit_length())
    log_mgf = table[:, [n]] - table[:, before] - table[:, n - before]
    return (_TILTS * np.abs(centered) - log_mgf).max(axis=0, initial=0)


@functools.lru_cache(maxsize=4)
def _sum_log_sinh(n):
    """Sum log(sinh(x) / x) over x = t/2, 2t/2, … nt/2: one row for each t of _TILTS, one column for each n from 0."""
    x = _TILTS * np.arange(1, n + 1) / 2
    logs = x + np.log(-np.expm1(-2 * x)) - np.log(2 * x)
    return np.hstack([np.zeros_like(_TILTS), np.cumsum(logs, axis=1)])


@functools.lru_cache(maxsize=64)
def _list_seeded_intervals(n):
    """List intervals (start, end) of lengths n, n/√2, n/2, …, each overlapping the next by half; sorted by length.

    The set is symmetric: a reversed series has the same intervals.
    """
    intervals = set()
    length = float(n)
    while length >= _SHORTEST:
        count = 2 * int(np.ceil(n / length)) - 1
        starts = np.linspace(0, n - length, count)
        for start, mirrored in zip(starts, starts[::-1], strict=True):
            intervals.add((int(start + 1e-6), n - int(mirrored + 1e-6)))
        length /= np.sqrt(2)
    return sorted(intervals, key=lambda interval: interval[1] - interval[0])


def _find_steps(values, alpha, smallest):
    """Yield each step of a series, a dict of position, ratio and p_value, with the support of each position.

    The support, an array (n_samples,), is above 0 where the step may be.
    """
    points = _find_significant_points(values, alpha)
    if smallest > 0:
        points = _drop_small_steps(points, values, smallest)
    for start, point, end in _list_segments(points, values):
        _, strength, support_inside = _find_best_split(values, start, end)
        support = np.zeros(len(values))
        support[start + 1 : end] = support_inside
        support[point] = max(support[point], _LEAST_SUPPORT)
        p_value = float(min(1, _TESTS_PER_SAMPLE * len(values) * np.exp(-strength)))
        yield (
            {
                "position": point,
                "ratio": _compute_ratio(values, start, point, end),
                "p_value": p_value,
            },
            support,
        )


def _find_significant_points(values, alpha):
    """Find the sorted positions of steps that are significant between their neighboring steps."""
    intervals = _list_seeded_intervals(len(values))
    needed = np.log(_TESTS_PER_SAMPLE * max(1, len(values)) / alpha)
    points = _find_narrowest_splits(values, intervals, needed)
    for _ in range(2 * len(points) + 2):
        previous_points = points
        strength_by_point = {}
        for start, _, end in _list_segments(previous_points, values):
            point, strength, _ = _find_best_split(values, start, end)
            strength_by_point[point] = strength
        points = _drop_weakest(strength_by_point, values, alpha)
        if points == previous_points:
            break
    return points


def _drop_small_steps(points, values, smallest):
    """Drop the smallest step repeatedly, until all steps have at least the smallest relevant size."""
    points = list(points)
    while points:
        size_by_point = {
            point: abs(np.log(_compute_ratio(values, start, point, end)))
            for start, point, end in _list_segments(points, values)
        }
        smallest_point = min(points, key=lambda point: np.nan_to_num(size_by_point[point], nan=np.inf))
        if not size_by_point[smallest_point] < np.log1p(smallest):
            break
        points.remove(smallest_point)
    return points


def _list_segments(points, values):
    """List (start, point, end) of each point, with its neighbors or the ends of the series."""
    bounds = [0, *points, len(values)]
    return zip(bounds, points, bounds[2:], strict=False)


def _find_narrowest_splits(values, intervals, needed):
    """Find the best splits of the intervals with at least the `needed` evidence, shortest interval first.

    Intervals that contain an earlier split are left out. The splits are sorted by position.
    """
    candidates = (
        (end - start, -compute_evidence(values[start:end]).max(), start, end) for start, end in intervals
    )
    points = []
    for _, _, start, end in sorted(candidate for candidate in candidates if candidate[1] <= -needed):
        if not any(start < point < end for point in points):
            point, _, _ = _find_best_split(values, start, end)
            points.append(point)
    return sorted(points)


def _find_best_split(values, start, end):
    """Find the best split of values[start:end] into two levels.

    Return its position, the largest evidence, and the support of each split. Evidence by ranks shows that there is a
    step, but may have its maximum elsewhere if a smaller step is near. The position is the split with the largest
    likelihood of two levels with normal noise, among splits with at least half of the largest evidence. Values outside
    both levels by more than a quarter of the step are clipped.
    """
    inside = values[start:end]
    evidence = compute_evidence(inside)
    split = 1 + int(np.argmax(evidence))
    low, high = sorted([np.median(inside[:split]), np.median(inside[split:])])
    margin = (high - low) / 4 or np.inf
    clipped = np.clip(inside, low - margin, high + margin)
    n = len(clipped)
    before = np.arange(1, n)
    centered = clipped - clipped.mean()
    total = (centered**2).sum()
    explained = np.cumsum(centered)[:-1] ** 2 * n / (before * (n - before))
    explained[evidence < evidence.max() / 2] = -np.inf
    best = int(np.argmax(explained))
    unexplained = np.maximum(total - explained, 1e-9 * total) if total else np.ones(n - 1)
    support = np.maximum(0, _LOCATION_DROP - n / 2 * np.log(unexplained / unexplained[best]))
    return start + 1 + best, float(evidence.max()), support


def _drop_weakest(strength_by_point, values, alpha):
    """Return the sorted points without the weakest one that is not significant between its neighbors, if there is one.

    Each point was significant among all splits of the series; here it must be so among the splits of its segment.
    """
    points = sorted(strength_by_point)
    needed = {
        point: np.log(2 * (end - start) / alpha) for start, point, end in _list_segments(points, values)
    }
    weak = [point for point in points if strength_by_point[point] < needed[point]]
    weakest = min(weak, key=strength_by_point.get, default=None)
    return [point for point in points if point != weakest]


def _compute_ratio(values, start, point, end):
    """Compute the ratio of the medians after and before a point; NaN if the latter is 0."""
    before, after = np.median(values[start:point]), np.median(values[point:end])
    return float(after / before) if before else np.nan


def _group_steps(steps, supports, n_rows):
    """Yield a Group for the commit with the largest sum of the steps' supports, repeatedly, until no step is left."""
    total = np.zeros(n_rows)
    for first, support in zip(steps["first"], supports, strict=True):
        total[first : first + len(support)] += support
    while len(steps):
        row = int(np.flatnonzero(total >= total.max() - 1e-9)[-1])
        is_member = (steps["first"] <= row) & (row <= steps["last"])
        for index, first in steps.loc[is_member, "first"].items():
            total[first : first + len(supports[index])] -= supports[index]
        group, steps = steps[is_member], steps[~is_member]
        group = group.sort_values("ratio", key=lambda ratio: -np.abs(np.log(ratio)), ignore_index=True)
        yield Group(row, int(group["first"].max()), int(group["last"].min()), group)
