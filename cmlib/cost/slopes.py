"""Compute how many cycles one more cache miss costs in the time intervals of a program.

:func:`rates` computes cycles and misses per instruction. :func:`slope` fits a straight line to them and returns the
slope with a standard error.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cmlib.errors import InputError
from cmlib.places import yaml_beside

_FEWEST_PAIRS = 6  # fewest pairs of neighboring parts on a time scale
_ROUNDING = 1e-9  # relative variation up to which values are constant
_COLUMN_NAMES = yaml_beside(
    __file__
)  # possible column names of each quantity, as _simplify_name returns them


def rates(cycles_run: pd.DataFrame, misses_run: pd.DataFrame, *, misses: str | None = None) -> pd.DataFrame:
    """Compute cycles and misses per instruction in each time interval.

    Cycles and misses may come from two runs of the same program.

    Parameters
    ----------
    cycles_run : DataFrame
        One row per time interval. Columns: instructions, cycles and optionally misses of stores. The counts may be
        cumulative. Column names are names of perf (``LLC-store-misses``) or constants of its interface
        (``#PERF_COUNT_HW_CACHE_LL_MISS_W``). Rows with a NaN are ignored.
    misses_run : DataFrame
        One row per time interval. Columns: instructions and misses of loads. It can be `cycles_run`. Otherwise the
        misses are interpolated: the time intervals of `cycles_run` start and end at the same fractions of all
        instructions.
    misses : str, optional
        Column with the misses. Default: misses of loads in the last-level cache.

    Returns
    -------
    DataFrame
        Columns ``cycles``, ``misses`` and, if counted, ``stores``, per instruction. A time interval is left out if it
        has less than half of the median number of instructions.

    Raises
    ------
    ValueError
        If a column is missing, or if nothing was counted.
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
    """Estimate how many cycles one more miss costs.

    Parameters
    ----------
    cycles, misses : array-like of float, shape (n_intervals,)
        Cycles and misses per instruction, in the order of the time intervals.

    Returns
    -------
    slope : float
        Cycles per miss. It is 0 if cycles or misses are constant, or if there are fewer than two time scales.
    stderr : float
        Standard error of the slope. It is infinite if the slope is 0 for one of these reasons.

    Notes
    -----
    Neighboring parts of 1, 2, 4, … time intervals are compared (Haar wavelets). Each length is a time scale. The slope
    is a weighted least-squares fit to the differences of all time scales. The weight of a time scale is the squared
    correlation between the differences of the cycles and those of the misses. The standard error is estimated by
    leaving out one time scale at a time (jackknife).
    """
    sums_by_scale = []
    for cycle_differences, miss_differences in zip(
        _compute_differences(cycles), _compute_differences(misses), strict=True
    ):
        sums_by_scale.append(
            (
                miss_differences @ cycle_differences,
                miss_differences @ miss_differences,
                cycle_differences @ cycle_differences,
            )
        )
    products, miss_squares, cycle_squares = np.array(sums_by_scale).reshape(-1, 3).T
    if any(np.ptp(values) <= _ROUNDING * np.abs(values).max() for values in (cycles, misses)):
        return 0.0, np.inf
    squared_correlations = products**2 / np.maximum(miss_squares * cycle_squares, np.finfo(float).tiny)
    products = squared_correlations * products
    miss_squares = squared_correlations * miss_squares
    n_scales = len(products)
    if n_scales < 2 or not (miss_squares.sum() - miss_squares > 0).all():
        return 0.0, np.inf
    slope_of_all = products.sum() / miss_squares.sum()
    slopes_without_one = (products.sum() - products) / (miss_squares.sum() - miss_squares)
    squared_deviations = (slopes_without_one - slopes_without_one.mean()) ** 2
    stderr = np.sqrt((n_scales - 1) / n_scales * np.sum(squared_deviations))
    return float(slope_of_all), float(stderr)


def _compute_differences(values):
    """Return the differences of neighboring parts, one array per time scale.

    The differences of white noise have the same variance on all scales.
    """
    values = np.asarray(values, dtype=float)
    differences_by_scale = []
    while len(values) >= 2 * _FEWEST_PAIRS:
        left, right = values[: len(values) // 2 * 2].reshape(-1, 2).T
        differences_by_scale.append((right - left) / np.sqrt(2))
        values = (left + right) / np.sqrt(2)
    return differences_by_scale


def _select_counts(run, needed, optional=(), *, named=None):
    """Return the counts of each time interval in columns with the names `needed` and `optional`.

    `named` gives the column of `run` for some of these names. Raises InputError if a needed column is missing.
    """
    column_by_plain_name = {_simplify_name(column): column for column in run.columns}
    columns = dict(named or {})
    for quantity in (*needed, *optional):
        spellings = [name for name in _COLUMN_NAMES[quantity] if name in column_by_plain_name]
        if quantity not in columns and spellings:
            columns[quantity] = column_by_plain_name[spellings[0]]
    missing = [quantity for quantity in needed if columns.get(quantity) not in run.columns]
    if missing:
        raise InputError(
            f"no column of {', '.join(missing)} was found among {', '.join(map(str, run.columns))}. "
            f"Possible names for {missing[0]}: {', '.join(_COLUMN_NAMES[missing[0]])}."
        )
    counts = pd.DataFrame(
        {quantity: run[column].astype(float) for quantity, column in columns.items()}
    ).dropna()
    is_cumulative = len(counts) > 2 and (counts["instructions"].diff().iloc[1:] >= 0).all()
    if is_cumulative:
        counts = counts.diff().fillna(counts.iloc[:1])
    counts = counts[counts["instructions"] > 0]
    if counts.empty:
        raise InputError("no interval has instructions and " + " and ".join(needed[1:]) + ".")
    return counts.reset_index(drop=True)


def _simplify_name(column):
    """Return a column name in lower case with underscores, without prefix and modifier."""
    name = str(column).lstrip("#").strip().lower().removeprefix("perf_count_hw_")
    return name.partition(":")[0].replace("-", "_")
