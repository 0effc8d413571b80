"""Compute cycles and misses per instruction of each interval of a run, and the slope of the former on the latter.

:func:`rates` takes counts by interval, a DataFrame with instructions, cycles and misses, and gives one with cycles
and misses per instruction; :func:`slope` takes two such columns, and gives the cycles that come with one miss more,
and their standard error (floats). A ValueError if a column is missing, or nothing was counted.
"""

import numpy as np
import pandas as pd

from cmlib.places import yaml_beside

FEWEST_PAIRS = 6  # pairs of neighbouring stretches that a time scale needs to be used
ROUNDING = 1e-9  # relative variation up to which values are taken as constant
NAMES = yaml_beside(__file__)  # of columns, as _plain writes them


def rates(cycles_run, misses_run, *, misses=None):
    """Compute cycles and misses per instruction in each interval, from one run or from two that counted one each.

    Parameters
    ----------
    cycles_run : DataFrame
        A row an interval, in order: instructions, cycles and, if counted, misses of stores. Counts of the interval,
        or counts since the start. Columns are named as by perf (``LLC-store-misses``) or as its constants
        (``#PERF_COUNT_HW_CACHE_LL_MISS_W``). Rows with a NaN are left out.
    misses_run : DataFrame
        Instructions and misses (of loads); may be `cycles_run`. Its counts are interpolated to the intervals of
        `cycles_run`, at equal shares of all instructions.
    misses : str, optional
        Column of the misses; by default the last-level cache's, of loads.

    Returns
    -------
    DataFrame
        Columns ``cycles``, ``misses`` and, if counted, ``stores``, per instruction. An interval of less than half the
        usual length (the last) is left out.

    Raises
    ------
    ValueError
        If a column is missing, or nothing was counted.
    """
    first = _steps(cycles_run, ["instructions", "cycles"], ["stores"])
    second = _steps(misses_run, ["instructions", "misses"], named={"misses": misses} if misses else {})
    instructions = first.pop("instructions")
    there, here = second.pop("instructions").cumsum(), instructions.cumsum()
    progress = np.r_[0.0, here * (there.iloc[-1] / here.iloc[-1])]
    total = np.interp(progress, np.r_[0.0, there], np.r_[0.0, second["misses"].cumsum()])
    per_instruction = first.div(instructions, axis=0)
    per_instruction.insert(1, "misses", np.diff(total) / np.diff(progress))
    return per_instruction[instructions >= instructions.median() / 2].reset_index(drop=True)


def slope(cycles, misses):
    """Estimate the cycles that come with one miss more, from one stretch of a run to the next.

    Stretches of 1, 2, 4, … intervals are compared with their neighbours (Haar wavelets), each length a scale. A scale
    is weighted by the squared correlation of its differences: where cycles don't follow misses, these are not their
    cause; or they were counted in another run that is out of step with this one by as much as a stretch, which would
    make the slope too low.

    Parameters
    ----------
    cycles, misses : array-like of float, shape (n_intervals,)
        Per instruction, in the order of the intervals.

    Returns
    -------
    slope : float
        Slope by least squares over the differences of all scales, weighted [cycles/miss]; 0 if cycles or misses don't
        vary or there are fewer than two scales.
    stderr : float
        Its standard error by leaving out one scale at a time (jackknife); infinite where the slope is 0 for these
        reasons.
    """
    pairs = zip(_differences(cycles), _differences(misses), strict=True)
    products, squares, of_cycles = np.array([(x @ y, x @ x, y @ y) for y, x in pairs]).reshape(-1, 3).T
    if any(np.ptp(values) <= ROUNDING * np.abs(values).max() for values in (cycles, misses)):
        return 0.0, np.inf
    weights = products**2 / np.maximum(squares * of_cycles, np.finfo(float).tiny)
    products, squares = weights * products, weights * squares
    if len(weights) < 2 or not (squares.sum() - squares > 0).all():
        return 0.0, np.inf
    total = products.sum() / squares.sum()
    without = (products.sum() - products) / (squares.sum() - squares)
    n = len(weights)
    return float(total), float(np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))


def _differences(values):
    """Differences of neighbouring stretches, a list of an array for each scale; of white noise all have one
    variance."""
    values, scales = np.asarray(values, dtype=float), []
    while len(values) >= 2 * FEWEST_PAIRS:
        left, right = values[: len(values) // 2 * 2].reshape(-1, 2).T
        scales.append((right - left) / np.sqrt(2))
        values = (left + right) / np.sqrt(2)
    return scales


def _steps(run, needed, wanted=(), *, named=None):
    """Counts by interval in columns called as in `needed` and `wanted`; a ValueError if a needed one is missing."""
    plain = {_plain(column): column for column in run.columns}
    columns = dict(named or {})
    for what in (*needed, *wanted):
        match = next((plain[name] for name in NAMES[what] if name in plain), None)
        if what not in columns and match is not None:
            columns[what] = match
    if lacking := [what for what in needed if columns.get(what) not in run.columns]:
        raise ValueError(
            f"no column of {', '.join(lacking)} among {', '.join(map(str, run.columns))}: "
            f"{lacking[0]} are called {' or '.join(NAMES[lacking[0]])}."
        )
    counts = pd.DataFrame({what: run[column].astype(float) for what, column in columns.items()}).dropna()
    if len(counts) > 2 and (counts["instructions"].diff().iloc[1:] >= 0).all():
        counts = counts.diff().fillna(counts.iloc[:1])
    counts = counts[counts["instructions"] > 0]
    if counts.empty:
        raise ValueError("no interval has instructions and " + " and ".join(needed[1:]) + ".")
    return counts.reset_index(drop=True)


def _plain(column):
    """A column's name in lower case with underscores, without modifier and prefix."""
    name = str(column).lstrip("#").strip().lower().removeprefix("perf_count_hw_")
    return name.partition(":")[0].replace("-", "_")
