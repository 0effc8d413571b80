"""Compute cycles and misses per instruction of each interval of a run, and the slope of cycles over misses.

:func:`rates` takes the counts of a run, and returns a DataFrame; :func:`slope` returns the slope and its standard
error.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cmlib.errors import InputError
from cmlib.places import yaml_beside

FEWEST_PAIRS = 6  # pairs of neighboring stretches that a time scale needs
ROUNDING = 1e-9  # relative variation up to which values count as constant
NAMES = yaml_beside(__file__)  # names of columns, as _simplify_name writes them


def rates(cycles_run: pd.DataFrame, misses_run: pd.DataFrame, *, misses: str | None = None) -> pd.DataFrame:
    """Compute cycles and misses per instruction in each interval, from one run or from two.

    Parameters
    ----------
    cycles_run : DataFrame
        One row per interval, in order: instructions, cycles and, if counted, misses of stores. Counts are those of the
        interval, or those since the start. Columns have the names of perf (``LLC-store-misses``) or of its constants
        (``#PERF_COUNT_HW_CACHE_LL_MISS_W``). Rows with a NaN are left out.
    misses_run : DataFrame
        Instructions and misses of loads; may be `cycles_run`. Its counts are interpolated to the intervals of
        `cycles_run`, at equal shares of all instructions.
    misses : str, optional
        Column of the misses. Default: loads that miss the last-level cache.

    Returns
    -------
    DataFrame
        Columns ``cycles``, ``misses`` and, if counted, ``stores``, per instruction. Intervals of less than half the
        median length (such as the last) are left out.

    Raises
    ------
    ValueError
        If a column is missing, or nothing was counted.
    """
    with_cycles = _select_counts(cycles_run, ["instructions", "cycles"], ["stores"])
    columns = {"misses": misses} if misses else {}
    with_misses = _select_counts(misses_run, ["instructions", "misses"], named=columns)
    instructions = with_cycles.pop("instructions")
    executed = instructions.cumsum()
    executed_with_misses = with_misses.pop("instructions").cumsum()
    progress = np.r_[0.0, executed * (executed_with_misses.iloc[-1] / executed.iloc[-1])]
    missed = np.interp(progress, np.r_[0.0, executed_with_misses], np.r_[0.0, with_misses["misses"].cumsum()])
    per_instruction = with_cycles.div(instructions, axis=0)
    per_instruction.insert(1, "misses", np.diff(missed) / np.diff(progress))
    return per_instruction[instructions >= instructions.median() / 2].reset_index(drop=True)


def slope(cycles: ArrayLike, misses: ArrayLike) -> tuple[float, float]:
    """Estimate the cycles that come with one more miss, from one stretch of a run to the next.

    Stretches of 1, 2, 4, … intervals are compared with their neighbors (Haar wavelets). Each length is a time scale. A
    scale is weighted by the squared correlation of its differences. Where cycles do not follow misses, either misses
    are not their cause, or the two were counted in runs that are out of step by as much as a stretch, which would
    make the slope too low.

    Parameters
    ----------
    cycles, misses : array-like of float, shape (n_intervals,)
        Per instruction, in the order of the intervals.

    Returns
    -------
    slope : float
        Slope by weighted least squares over the differences of all scales [cycles/miss]; 0 if cycles or misses do not
        vary or there are fewer than two scales.
    stderr : float
        Its standard error by leaving out one scale at a time (jackknife); infinite if the slope is 0 for one of these
        reasons.
    """
    pairs = zip(_compare_stretches(cycles), _compare_stretches(misses), strict=True)
    products, squares, cycle_squares = np.array([(x @ y, x @ x, y @ y) for y, x in pairs]).reshape(-1, 3).T
    if any(np.ptp(values) <= ROUNDING * np.abs(values).max() for values in (cycles, misses)):
        return 0.0, np.inf
    weights = products**2 / np.maximum(squares * cycle_squares, np.finfo(float).tiny)
    products, squares = weights * products, weights * squares
    if len(weights) < 2 or not (squares.sum() - squares > 0).all():
        return 0.0, np.inf
    total = products.sum() / squares.sum()
    without = (products.sum() - products) / (squares.sum() - squares)
    n = len(weights)
    return float(total), float(np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))


def _compare_stretches(values):
    """Return the differences of neighboring stretches, one array per scale.

    They are scaled so that those of white noise have the same variance on all scales.
    """
    values = np.asarray(values, dtype=float)
    scales = []
    while len(values) >= 2 * FEWEST_PAIRS:
        left, right = values[: len(values) // 2 * 2].reshape(-1, 2).T
        scales.append((right - left) / np.sqrt(2))
        values = (left + right) / np.sqrt(2)
    return scales


def _select_counts(run, needed, optional=(), *, named=None):
    """Return counts by interval in columns called as in `needed` and `optional`.

    `named` maps such names to columns of `run`. Raises a ValueError if a needed column is missing.
    """
    column_by_plain_name = {_simplify_name(column): column for column in run.columns}
    columns = dict(named or {})
    for quantity in (*needed, *optional):
        spellings = [name for name in NAMES[quantity] if name in column_by_plain_name]
        if quantity not in columns and spellings:
            columns[quantity] = column_by_plain_name[spellings[0]]
    missing = [quantity for quantity in needed if columns.get(quantity) not in run.columns]
    if missing:
        raise InputError(
            f"no column of {', '.join(missing)} among {', '.join(map(str, run.columns))}: "
            f"{missing[0]} are called {' or '.join(NAMES[missing[0]])}."
        )
    counts = pd.DataFrame(
        {quantity: run[column].astype(float) for quantity, column in columns.items()}
    ).dropna()
    if len(counts) > 2 and (counts["instructions"].diff().iloc[1:] >= 0).all():
        counts = counts.diff().fillna(counts.iloc[:1])
    counts = counts[counts["instructions"] > 0]
    if counts.empty:
        raise InputError("no interval has instructions and " + " and ".join(needed[1:]) + ".")
    return counts.reset_index(drop=True)


def _simplify_name(column):
    """Return a column's name in lower case with underscores, without modifier and prefix."""
    name = str(column).lstrip("#").strip().lower().removeprefix("perf_count_hw_")
    return name.partition(":")[0].replace("-", "_")
