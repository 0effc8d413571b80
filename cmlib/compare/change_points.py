"""Find change points in the history of a program's metrics: commits at which the level of one or more metrics steps.

:func:`find_groups` takes a DataFrame, a row per commit, a column per metric, and gives a list of :class:`Group`.
Nothing is refused: NaN are left out, and a metric with fewer than twelve values has no steps.

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
# Number of tests that p-values are corrected for, per sample. Overlapping splits are not independent: in shuffled
# series of 30 to 600 samples they are as many as 1 to 2.4 independent two-sided tests a sample.
_TESTS_PER_SAMPLE = 3
_LOCATION_DROP = 3.0  # a step may be at splits whose log-likelihood is less than this below the best one's


@dataclass(frozen=True)
class Group:
    """Metrics that step at one commit, where their level changes.

    `row` is the number of the first commit with the new level, `first` and `last` are the first and the last row that
    it may be; `steps` is a DataFrame of the metrics, the largest step first: metric, ratio, p_value, first, last, as
    :func:`find_groups` describes them.
    """

    row: int
    first: int
    last: int
    steps: pd.DataFrame


def find_groups(history, *, alpha=0.05, smallest=0.01):
    """Find the commits at which metrics of a history step, and all metrics that step there.

    Parameters
    ----------
    history : DataFrame, shape (n_commits, n_metrics)
        A row per commit, oldest first, a column per metric; NaN where it was not measured.
    alpha : float, default 0.05
        False-alarm probability: that any group is returned of a history in which nothing changes, with whatever noise
        that is exchangeable; divided among the metrics (Bonferroni).
    smallest : float, default 0.01
        Smallest relevant step: the ratio of medians is at least 1 + `smallest`, or at most its inverse.

    Returns
    -------
    list of Group
        In the order of commits.  Columns of `steps`: metric, ratio (medians, after over before), p_value (over
        all commits and metrics), first and last (row).
    """
    steps, supports = [], []
    for metric, values in history.items():
        rows = np.flatnonzero(np.isfinite(values))
        values = values.to_numpy(float)[rows]
        for point, support in _change_points(values, alpha / history.shape[1], smallest):
            by_row = np.zeros(len(history))
            by_row[rows[0] + 1 : rows[-1] + 1] = np.repeat(support[1:], np.diff(rows))
            first, last = (int(row) for row in np.flatnonzero(by_row)[[0, -1]])
            supports.append(by_row[first : last + 1])
            p_value = min(1.0, point["p_value"] * history.shape[1])
            steps.append((metric, point["ratio"], p_value, first, last))
    steps = pd.DataFrame(steps, columns=["metric", "ratio", "p_value", "first", "last"])
    return sorted(_groups(steps, supports, len(history)), key=lambda group: group.row)


def compute_evidence(values):
    """Minus the logarithm of an upper bound on the one-sided p-value of each split, array (n_samples - 1,).

    `values` is an array of shape (n_samples,); split k is between values[k] and values[k + 1]. The rank sum's
    logarithmic moment generating function K(t) is that of Mann and Whitney's U without ties (a product of ratios of
    sinh), which ties only lower; Chernoff's bound is the supremum of t·|U − E U| − K(t).
    """
    n = len(values)
    before = np.arange(1, n)
    centred = np.cumsum(stats.rankdata(values))[:-1] - before * (n + 1) / 2
    table = _log_sinh_sums(1 << n.bit_length())
    log_mgf = table[:, [n]] - table[:, before] - table[:, n - before]
    return (_TILTS * np.abs(centred) - log_mgf).max(axis=0, initial=0)


@functools.lru_cache(maxsize=4)
def _log_sinh_sums(n):
    """Sums of log(sinh(x) / x) over x = t/2, 2t/2, … nt/2: a row for each t of _TILTS, a column for each n from 0."""
    x = _TILTS * np.arange(1, n + 1) / 2
    logs = x + np.log(-np.expm1(-2 * x)) - np.log(2 * x)
    return np.hstack([np.zeros_like(_TILTS), np.cumsum(logs, axis=1)])


@functools.lru_cache(maxsize=64)
def _seeded_intervals(n):
    """Intervals (start, end) of lengths n, n/√2, n/2, …, each overlapping the next by half; sorted by length.

    The set is symmetric: a reversed series has the same intervals.
    """
    intervals = set()
    length = float(n)
    while length >= _SHORTEST:
        count = 2 * int(np.ceil(n / length)) - 1
        starts = np.linspace(0, n - length, count)
        for start, other in zip(starts, starts[::-1], strict=True):
            intervals.add((int(start + 1e-6), n - int(other + 1e-6)))
        length /= np.sqrt(2)
    return sorted(intervals, key=lambda interval: interval[1] - interval[0])


def _change_points(values, alpha, smallest):
    """Yield each change point of a series, a dict of position, ratio and p_value, with the support of each position.

    The support, an array (n_samples,), is above 0 where the step may be.
    """
    intervals = _seeded_intervals(len(values))
    points = _narrowest(values, intervals, np.log(_TESTS_PER_SAMPLE * max(1, len(values)) / alpha))
    for _ in range(2 * len(points) + 2):
        splits = (_best_split(values, start, end) for start, _, end in _segments(points, values))
        refined = {point: strength for point, strength, _ in splits}
        moved, points = points, _without_weakest(sorted(refined), refined, values, alpha)
        if points == moved:
            break
    while points and smallest > 0:
        sizes = {part[1]: abs(np.log(_ratio(values, *part))) for part in _segments(points, values)}
        least = min(sizes, key=lambda point: np.nan_to_num(sizes[point], nan=np.inf))
        if not sizes[least] < np.log1p(smallest):
            break
        points.remove(least)
    for start, point, end in _segments(points, values):
        _, strength, inside = _best_split(values, start, end)
        support = np.zeros(len(values))
        support[start + 1 : end] = inside
        support[point] = max(support[point], 1e-3)
        p_value = float(min(1, _TESTS_PER_SAMPLE * len(values) * np.exp(-strength)))
        yield {"position": point, "ratio": _ratio(values, start, point, end), "p_value": p_value}, support


def _segments(points, values):
    """Tuples (start, point, end) of each point, with its neighbours or the ends of the series."""
    bounds = [0, *points, len(values)]
    return zip(bounds, points, bounds[2:], strict=False)


def _narrowest(values, intervals, needed):
    """Sorted best splits of the intervals whose evidence is at least `needed`, shortest interval first.

    Intervals that hold an earlier split are left out.
    """
    candidates = (
        (end - start, -compute_evidence(values[start:end]).max(), start, end) for start, end in intervals
    )
    points = []
    for _, _, start, end in sorted(split for split in candidates if split[1] <= -needed):
        if not any(start < point < end for point in points):
            points.append(_best_split(values, start, end)[0])
    return sorted(points)


def _best_split(values, start, end):
    """Best split of values[start:end] into two levels: (its position, largest evidence, support of each split).

    Evidence by ranks shows that there is a step, but may have its maximum elsewhere if a smaller step is near. The
    position is the split with the largest likelihood of two levels with normal noise, among splits with half of the
    largest evidence or more. Values outside both levels by more than a quarter of the step are clipped.
    """
    inside = values[start:end]
    curve = compute_evidence(inside)
    split = 1 + int(np.argmax(curve))
    low, high = sorted([np.median(inside[:split]), np.median(inside[split:])])
    margin = (high - low) / 4 or np.inf
    clipped = np.clip(inside, low - margin, high + margin)
    n, before = len(clipped), np.arange(1, end - start)
    centred = clipped - clipped.mean()
    total = (centred**2).sum()
    explained = np.cumsum(centred)[:-1] ** 2 * n / (before * (n - before))
    explained[curve < curve.max() / 2] = -np.inf
    best = int(np.argmax(explained))
    unexplained = np.maximum(total - explained, 1e-9 * total) if total else np.ones(n - 1)
    support = np.maximum(0, _LOCATION_DROP - n / 2 * np.log(unexplained / unexplained[best]))
    return start + 1 + best, float(curve.max()), support


def _without_weakest(points, strengths, values, alpha):
    """Points without the weakest of those that are not significant between their neighbouring points; if any is.

    Each was significant among all splits of the series; here it has to be among the splits of its segment.
    """
    needed = {point: np.log(2 * (end - start) / alpha) for start, point, end in _segments(points, values)}
    weak = [point for point in points if strengths[point] < needed[point]]
    weakest = min(weak, key=strengths.get, default=None)
    return [point for point in points if point != weakest]


def _ratio(values, start, point, end):
    """Ratio of the medians after and before a point; NaN if the latter is 0."""
    before, after = np.median(values[start:point]), np.median(values[point:end])
    return float(after / before) if before else np.nan


def _groups(steps, supports, n_rows):
    """Yield a Group for the commit with the largest sum of the steps' supports, repeatedly, until no step is left."""
    total = np.zeros(n_rows)
    for first, support in zip(steps["first"], supports, strict=True):
        total[first : first + len(support)] += support
    while len(steps):
        row = int(np.flatnonzero(total >= total.max() - 1e-9)[-1])
        member = (steps["first"] <= row) & (row <= steps["last"])
        for index, first in steps.loc[member, "first"].items():
            total[first : first + len(supports[index])] -= supports[index]
        group, steps = steps[member], steps[~member]
        group = group.sort_values("ratio", key=lambda ratio: -np.abs(np.log(ratio)), ignore_index=True)
        yield Group(row, int(group["first"].max()), int(group["last"].min()), group)
