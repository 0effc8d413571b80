"""Find the commits at which the metrics of a program change.

:func:`find_groups` takes a DataFrame with one row per commit and one column per metric. It returns a list of
:class:`Group`: a commit, and the metrics that change there. NaN are ignored, and a metric with fewer than
twelve values has no changes.

A rank sum is tested at each split of a set of intervals (seeded intervals; Kovács et al. 2023, Biometrika
110, 249). The test assumes no distribution of the noise. The `ruptures` package gives no probability of a
false alarm, and `apache-otava` assumes normal noise.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

_TILTS = np.logspace(-6, 1.3, 80)[:, None]  # arguments of the moment generating function
_SHORTEST = 12  # shortest interval [commits]
# P-values are corrected for this number of tests per sample. Tests of overlapping splits are correlated. In shuffled
# series of 30 to 600 samples, they were equivalent to 1 to 2.4 independent two-sided tests per sample.
_TESTS_PER_SAMPLE = 3
_LOCATION_DROP = 3.0  # a step can be at splits with a log-likelihood of at least the maximum minus this value
_LEAST_SUPPORT = 1e-3  # smallest support of the best position


@dataclass(frozen=True)
class Group:
    """Metrics that change at the same commit.

    Attributes
    ----------
    row : int
        Row of the first commit with the new values.
    first, last : int
        First and last row at which the change can be.
    steps : DataFrame
        One row per metric, largest change first, with the following columns:

        - ``metric``: name
        - ``ratio``: median after the change divided by median before it
        - ``p_value``: corrected for the number of commits and metrics
        - ``first``, ``last``: first and last row at which the change can be
    """

    row: int
    first: int
    last: int
    steps: pd.DataFrame


def find_groups(history: pd.DataFrame, *, alpha: float = 0.05, smallest: float = 0.01) -> list[Group]:
    """Find the commits at which one or more metrics change.

    Parameters
    ----------
    history : DataFrame, shape (n_commits, n_metrics)
        Metrics, one row per commit, oldest first. NaN if a metric was not measured.
    alpha : float, default 0.05
        Probability of a false alarm in a history without changes.
    smallest : float, default 0.01
        Smallest relevant change, as a fraction.

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


def compute_evidence(values: np.ndarray) -> np.ndarray:
    """Compute the evidence for a change at each split of a series.

    The evidence is minus the logarithm of an upper bound on the p-value of the rank sum (Chernoff's bound).

    Parameters
    ----------
    values : ndarray of float, shape (n_samples,)
        Values in the order of commits.

    Returns
    -------
    ndarray of float, shape (n_samples - 1,)
        Element k is the evidence for a change between values k and k + 1.
    """
    # The bound is the supremum of t·|U - E U| - K(t), where K is the logarithm of the moment generating function of
    # Mann and Whitney's U without ties, a product of ratios of sinh. Ties only make K smaller. The bound is exact if
    # all values before a split are smaller than all values after it.
    n = len(values)
    before = np.arange(1, n)
    centered = np.cumsum(stats.rankdata(values))[:-1] - before * (n + 1) / 2
    table = _sum_log_sinh(1 << n.bit_length())
    log_mgf = table[:, [n]] - table[:, before] - table[:, n - before]
    return (_TILTS * np.abs(centered) - log_mgf).max(axis=0, initial=0)


@functools.lru_cache(maxsize=4)
def _sum_log_sinh(n: int) -> np.ndarray:
    """Compute the sums of log(sinh(x) / x) over x = t/2, 2t/2, …, nt/2.

    There is one row per t in _TILTS, and one column per number of terms from 0 to n.
    """
    x = _TILTS * np.arange(1, n + 1) / 2
    logs = x + np.log(-np.expm1(-2 * x)) - np.log(2 * x)
    return np.hstack([np.zeros_like(_TILTS), np.cumsum(logs, axis=1)])


@functools.lru_cache(maxsize=64)
def _list_seeded_intervals(n: int) -> list[tuple[int, int]]:
    """List overlapping intervals (start, end) with lengths n, n/√2, n/2, …, shortest first.

    A reversed series has the same intervals.
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


def _find_steps(values: np.ndarray, alpha: float, smallest: float) -> Iterator[tuple[dict, np.ndarray]]:
    """Yield the steps of a series, and the support of each position.

    A step is a dict of position, ratio and p_value. The support is an array of shape (n_samples,). A support
    above 0 means that the step can be at this position.
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


def _find_significant_points(values: np.ndarray, alpha: float) -> list[int]:
    """Find the sorted positions of the significant steps."""
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


def _drop_small_steps(points: list[int], values: np.ndarray, smallest: float) -> list[int]:
    """Remove the smallest step until all steps are relevant."""
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


def _list_segments(points: list[int], values: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Iterate over (start, point, end), from the previous to the next point of each point."""
    bounds = [0, *points, len(values)]
    return zip(bounds, points, bounds[2:], strict=False)


def _find_narrowest_splits(values: np.ndarray, intervals: list[tuple[int, int]], needed: float) -> list[int]:
    """Find the best splits of intervals with enough evidence, shortest interval first.

    Intervals that contain an earlier split are skipped. The splits are sorted by position.
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


def _find_best_split(values: np.ndarray, start: int, end: int) -> tuple[int, float, np.ndarray]:
    """Find the best split of ``values[start:end]`` into two levels.

    Return the position of the split, the largest evidence, and the support of each split.
    """
    # The evidence by ranks shows that there is a step, but a smaller step nearby can move its maximum. So the position
    # has the largest likelihood of two levels with normal noise, among splits with at least half of the evidence.
    # Outliers are clipped at a quarter of the step outside of both levels.
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


def _drop_weakest(strength_by_point: dict[int, float], values: np.ndarray, alpha: float) -> list[int]:
    """Remove the weakest point that is not significant between its neighbors.

    Return the remaining points, sorted.
    """
    # A point that is significant among the splits of the whole series must be so among the splits of its segment.
    points = sorted(strength_by_point)
    needed = {
        point: np.log(2 * (end - start) / alpha) for start, point, end in _list_segments(points, values)
    }
    weak = [point for point in points if strength_by_point[point] < needed[point]]
    weakest = min(weak, key=lambda point: strength_by_point[point], default=None)
    return [point for point in points if point != weakest]


def _compute_ratio(values: np.ndarray, start: int, point: int, end: int) -> float:
    """Compute the median after a point divided by the median before it. NaN if the divisor is 0."""
    before, after = np.median(values[start:point]), np.median(values[point:end])
    return float(after / before) if before else np.nan


def _group_steps(steps: pd.DataFrame, supports: list[np.ndarray], n_rows: int) -> Iterator[Group]:
    """Yield groups of steps that can be at the same commit.

    Each group is at the commit with the largest sum of supports of the remaining steps.
    """
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
