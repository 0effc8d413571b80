"""Compare two tables of measurements by the ratios of their means.

:func:`compare_ratios` compares each column of two tables, and decides whether it changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    import pandas as pd

DIFFERS, NO_CHANGE, INCONCLUSIVE, NOT_COMPARABLE = "differs", "no change", "inconclusive", "not comparable"
_SMALL_VARIANCE = 1e-18  # added to variances, so that they are above 0


def compare_ratios(old: pd.DataFrame, new: pd.DataFrame, smallest: float) -> list[dict[str, Any]]:
    """Compare two tables by the ratio of the geometric means of each column.

    Columns that are in one table only are ignored, and so are columns with fewer than two positive values in a table.

    Parameters
    ----------
    old, new : DataFrame of float
        One row per run or per part of a run, one column per quantity.
    smallest : float
        Smallest relevant change. For example, with 0.25 a ratio of 1.25 or more, or of 0.8 or less, is relevant.

    Returns
    -------
    list of dict
        One dict per quantity, with these keys:

        - ``name``: name of the column.
        - ``old``, ``new``: geometric means.
        - ``ratio``: new mean divided by the old mean.
        - ``low``, ``high``: limits of the confidence interval of the ratio. The confidence is 95 % that all intervals
          of the result contain the true ratios.
        - ``verdict``: "differs", "no change" or "inconclusive".
        - ``differs``: True if the verdict is "differs".

    Notes
    -----
    The confidence intervals are computed by Welch's t-test on logarithms. The verdict is one of these:

    - "differs": the ratio is relevant, and its confidence interval excludes 1.
    - "no change": the confidence interval contains no relevant ratio.
    - "inconclusive": all other cases.
    """
    names = [name for name in old if name in new]
    rows = []
    for name in names:
        old_logs = np.log(old[name][old[name] > 0])
        new_logs = np.log(new[name][new[name] > 0])
        if min(len(old_logs), len(new_logs)) < 2:
            continue
        change = new_logs.mean() - old_logs.mean()
        # The confidence is divided among all columns (Bonferroni correction).
        half_width = _compute_half_width(old_logs, new_logs, confidence=1 - 0.05 / len(names))
        low = change - half_width
        high = change + half_width
        verdict = _judge(change, low, high, np.log1p(smallest))
        numbers = np.exp([old_logs.mean(), new_logs.mean(), change, low, high]).tolist()
        row = dict(zip(("old", "new", "ratio", "low", "high"), numbers, strict=True))
        rows.append({"name": name, **row, "differs": verdict == DIFFERS, "verdict": verdict})
    return rows


def _compute_half_width(old, new, confidence):
    """Return half the width of Welch's confidence interval.

    The interval is for the difference of two means.
    """
    sizes = np.array([len(old), len(new)])
    variances_of_means = np.array([old.var(), new.var()]) / sizes + _SMALL_VARIANCE
    degrees_of_freedom = variances_of_means.sum() ** 2 / (variances_of_means**2 / (sizes - 1)).sum()
    return stats.t.isf((1 - confidence) / 2, degrees_of_freedom) * np.sqrt(variances_of_means.sum())


def _judge(change, low, high, relevant):
    """Return the verdict on a change of a logarithm, with its confidence interval."""
    if abs(change) >= relevant and not low <= 0 <= high:
        return DIFFERS
    if -relevant < low and high < relevant:
        return NO_CHANGE
    return INCONCLUSIVE
