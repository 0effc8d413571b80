"""Compare quantities of two recordings by the ratios of their geometric means, with confidence intervals.

:func:`compare_ratios` takes two tables, one row per part of a recording, and returns one dict per quantity.
"""

import numpy as np
from scipy import stats

DIFFERS, NO_CHANGE, INCONCLUSIVE, NOT_COMPARABLE = "differs", "no change", "inconclusive", "not comparable"
_ROUNDING = 1e-18  # added to variances, which may be 0


def compare_ratios(old, new, smallest):
    """Compare two tables column by column, by the ratio of the means.

    Columns that only one table has are left out. Intervals are Welch's, computed on the logarithms of the values.

    Parameters
    ----------
    old, new : DataFrame of float
        One row per part or run, one column per quantity. Values that are not above 0 are left out.
    smallest : float
        Smallest relevant change: a ratio of 1 + `smallest`, or its inverse.

    Returns
    -------
    list of dict
        One for each quantity with at least two values in both tables: ``name``; ``old`` and ``new`` (geometric
        means); ``ratio`` (new over old); ``low`` and ``high`` (confidence interval, 95 % for all quantities
        together); ``verdict``; and ``differs`` (True if the verdict is "differs"). The verdict is ``differs`` if the
        ratio is relevant and 1 is outside of the interval; ``no change`` if the interval contains no relevant ratio;
        else ``inconclusive``.
    """
    names = [name for name in old if name in new]
    rows = []
    for name in names:
        old_logs = np.log(old[name][old[name] > 0])
        new_logs = np.log(new[name][new[name] > 0])
        if min(len(old_logs), len(new_logs)) < 2:
            continue
        change = new_logs.mean() - old_logs.mean()
        half = _half_width(old_logs, new_logs, confidence=1 - 0.05 / len(names))
        low, high = change - half, change + half
        verdict = _judge(change, low, high, np.log1p(smallest))
        numbers = np.exp([old_logs.mean(), new_logs.mean(), change, low, high]).tolist()
        row = dict(zip(("old", "new", "ratio", "low", "high"), numbers, strict=True))
        rows.append({"name": name, **row, "differs": verdict == DIFFERS, "verdict": verdict})
    return rows


def _half_width(old, new, confidence):
    """Return half the width of Welch's confidence interval of the difference of two means."""
    sizes = np.array([len(old), len(new)])
    variances = np.array([old.var(), new.var()]) / sizes + _ROUNDING  # of both means
    degrees = variances.sum() ** 2 / (variances**2 / (sizes - 1)).sum()
    return stats.t.isf((1 - confidence) / 2, degrees) * np.sqrt(variances.sum())


def _judge(change, low, high, relevant):
    """Return the verdict on a change of a logarithm with the interval from `low` to `high`."""
    if abs(change) >= relevant and not low <= 0 <= high:
        return DIFFERS
    if -relevant < low and high < relevant:
        return NO_CHANGE
    return INCONCLUSIVE
