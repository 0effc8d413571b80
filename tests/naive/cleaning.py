"""Cleaning in plain loops, as the CounterMiner paper's §III-B says it."""

import math

import numpy as np
from scipy import integrate, stats


def threshold(values, n_std):
    kept = [v for v in values if not math.isnan(v)]
    mean = sum(kept) / len(kept)
    std = math.sqrt(sum((v - mean) ** 2 for v in kept) / len(kept))
    return mean + n_std * std


def interval_of(i, n):
    """Which of ceil(sqrt(n)) intervals of equal length sample i starts in."""
    n_intervals = math.ceil(math.sqrt(n))
    return math.floor(i * n_intervals / n + 1e-9)


def replace_outliers(values, n_std):
    limit = threshold(values, n_std)
    cleaned = list(values)
    kept = [i for i, v in enumerate(values) if v <= limit]
    for i, v in enumerate(values):
        if v > limit:
            own = [values[j] for j in kept if interval_of(j, len(values)) == interval_of(i, len(values))]
            cleaned[i] = float(np.median(own or [values[j] for j in kept]))
    return np.array(cleaned)


def fill_missing(values, missing, k):
    cleaned = list(values)
    known = [i for i in range(len(values)) if not missing[i]]
    for i in range(len(values)):
        if missing[i]:
            nearest = sorted(known, key=lambda j: (abs(j - i), j))[:k]
            cleaned[i] = sum(values[j] for j in nearest) / len(nearest)
    return np.array(cleaned)


def is_missing(value, values, true_zero_max):
    if math.isnan(value):
        return True
    return value == 0 and max(v for v in values if not math.isnan(v)) >= true_zero_max


def counterminer(values, k=5, true_zero_max=0.01):
    """The whole of §III-B for a series without running shares."""
    missing = [is_missing(v, values, true_zero_max) for v in values]
    counted = [math.nan if lost else v for v, lost in zip(values, missing, strict=True)]
    n_std = 3 if gaussian_statistic([v for v in counted if not math.isnan(v)]) < 0.752 else 5
    return fill_missing(replace_outliers(counted, n_std), missing, k)


def gaussian_statistic(values):
    """Anderson and Darling's, with Stephens' correction."""
    ordered = sorted(values)
    n = len(ordered)
    if ordered[0] == ordered[-1]:
        return 0.0
    bell = stats.norm(np.mean(ordered), np.std(ordered, ddof=1))
    total = 0.0
    for i in range(1, n + 1):
        total += (2 * i - 1) * (bell.logcdf(ordered[i - 1]) + bell.logsf(ordered[n - i]))
    return (-n - total / n) * (1 + 0.75 / n + 2.25 / n**2)


def interpolate(values, running):
    """Area, interval by interval, below the line through the stretches that were seen."""
    seen = [i for i in range(len(values)) if running[i] > 0]

    def rate(t):
        for i in seen:
            if abs(t - i - 0.5) <= running[i] / 2:
                return values[i]
        before = [i for i in seen if i + 0.5 < t]
        after = [i for i in seen if i + 0.5 > t]
        if not before or not after:
            return values[(before or after)[-1 if before else 0]]
        left, right = before[-1] + 0.5 + running[before[-1]] / 2, after[0] + 0.5 - running[after[0]] / 2
        return values[before[-1]] + (t - left) / (right - left) * (values[after[0]] - values[before[-1]])

    def count(i):
        edges = sorted({i, i + 1} | {i + 0.5 + side * running[i] / 2 for side in (-1, 1)})
        pieces = zip(edges, edges[1:], strict=False)
        return sum(integrate.quad(rate, a + 1e-9, b - 1e-9)[0] for a, b in pieces if b - a > 1e-8)

    return np.array([count(i) for i in range(len(values))])
