"""Predict how the cycles of a program change if its cache misses change.

:func:`predict_change` takes the counts of a run and a change of misses per instruction. It returns a
:class:`Prediction`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from cmlib.cost.pooled import default_cost_model
from cmlib.cost.slopes import rates, slope

if TYPE_CHECKING:
    from cmlib.cost.pooled import PooledCost

__all__ = ["reason_unreliable"]

LEAST_STANDARD_ERRORS = 2.0  # a slope is reliable if it exceeds this number of its standard errors
_MOST_STORES = 2.0  # with more misses of stores per miss of a load, the cost of a miss is not reliable


class Prediction(NamedTuple):
    """Predicted effect of a change of misses.

    Attributes
    ----------
    change : float
        Change of cycles per instruction.
    low, high : float
        Ends of the prediction interval. They are NaN if misses increase, because such intervals were not tested.
    cost : float
        Cost of a miss [cycles].
    known : bool
        True if the program's own intervals determine the cost. Otherwise the cost is mostly based on other programs.
    reason : str
        Reason why the intervals do not determine the cost. Empty if they do.
    """

    change: float
    low: float
    high: float
    cost: float
    known: bool
    reason: str


def predict_change(
    cycles_run: pd.DataFrame,
    misses_run: pd.DataFrame,
    change: float,
    *,
    stores_change: float | None = None,
    misses: str | None = None,
    model: PooledCost | None = None,
) -> Prediction:
    """Predict the change of cycles for a change of misses, both per instruction.

    Parameters
    ----------
    cycles_run : DataFrame
        Intervals of a run with cycles, as for :func:`cmlib.cost.rates`.
    misses_run : DataFrame
        Intervals of a run with misses of loads. It may be the same run.
    change : float
        Change of misses per instruction. Negative for fewer misses.
    stores_change : float, optional
        Change of the misses of stores per instruction. Default: in proportion to `change`.
    misses : str, optional
        Column with the misses. Default: misses of loads in the last-level cache.
    model : PooledCost, optional
        Default: :func:`cmlib.cost.default_cost_model`. It was fitted to 29 programs of SPEC on a Xeon Gold 5120. For
        another processor or for other misses, use ``default_cost_model(other_processor=True)``.

    Returns
    -------
    Prediction
        Change of cycles per instruction with its interval, and the cost of a miss.

    Raises
    ------
    ValueError
        If a column is missing, or if nothing was counted.

    Notes
    -----
    The intervals are calibrated for 90 % of the programs of a new suite, for all cache sizes at once. Their coverage
    was measured on four suites. The model for each suite was fitted to the other suites. `docs/cost.md` summarizes the
    results, and `data/cost/coverage.csv` contains them.
    """
    row = rates_row(rates(cycles_run, misses_run, misses=misses)).assign(change=float(change))
    if stores_change is not None:
        row["stores_change"] = float(stores_change)
    model = model or default_cost_model()
    predicted = float(model.predict(row)[0])
    low = high = np.nan
    if change <= 0:
        low, high = (float(end[0]) for end in model.predict_interval(row))
    reason = reason_unreliable(row.iloc[0])
    cost = float(model.posterior(row)["cost"].iloc[0])
    return Prediction(predicted, low, high, cost, not reason, reason)


def rates_row(intervals):
    """Summarize the intervals of a program in one row.

    Parameters
    ----------
    intervals : DataFrame
        One row per interval, from :func:`cmlib.cost.rates`.

    Returns
    -------
    DataFrame
        One row for :class:`cmlib.cost.PooledCost`. Columns:

        - ``cycles``, ``misses`` and ``stores``: means per instruction. ``stores`` is 0 if not counted.
        - ``slope``: slope of cycles over misses [cycles per miss]
        - ``stderr``: standard error of the slope
        - ``intervals``: number of intervals
    """
    cycles_per_miss, stderr = slope(intervals["cycles"], intervals["misses"])
    means = intervals.mean().reindex(["cycles", "misses", "stores"], fill_value=0.0)
    return pd.DataFrame([means]).assign(slope=cycles_per_miss, stderr=stderr, intervals=len(intervals))


def reason_unreliable(row: pd.Series | dict) -> str:
    """Return why a program's intervals do not determine the cost of a miss.

    Parameters
    ----------
    row : Series or dict
        Cycles, misses and stores per instruction, slope, stderr and number of intervals, from :func:`rates_row`.

    Returns
    -------
    str
        A clause. For example, "no miss was counted". Empty if the intervals determine the cost.
    """
    if row["misses"] <= 0:
        return "no miss was counted"
    if not np.isfinite(row["stderr"]):
        return f"misses are constant, or there are too few intervals ({row['intervals']:.0f})"
    if "stores_change" not in row and row["stores"] > _MOST_STORES * row["misses"]:
        times = row["stores"] / row["misses"]
        return f"stores miss {times:.0f} times as often as loads, and their change is not given"
    if row["slope"] < LEAST_STANDARD_ERRORS * row["stderr"]:
        cost = f"{row['slope']:.0f} cycles a miss, standard error {row['stderr']:.0f}"
        return f"cycles do not follow misses in the same way on all time scales: {cost}"
    return ""
