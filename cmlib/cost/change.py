"""Predict how the cycles of a program change if the number of cache misses changes.

:func:`predict_change` takes the counts of a run and the change of misses. It returns a :class:`Prediction`.
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
        Predicted change of cycles per instruction.
    low, high : float
        Ends of the prediction interval of `change`. They are NaN if misses increase. Prediction intervals were tested
        only for fewer misses.
    cost : float
        Cost of a miss [cycles].
    known : bool
        True if the counts of the program determine the cost. False if the cost is estimated mainly from other programs.
    reason : str
        Why the counts of the program do not determine the cost. Empty if they do.
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
    """Predict how the cycles change if the number of cache misses changes.

    Parameters
    ----------
    cycles_run : DataFrame
        Counts of a run, one row per time interval, with instructions and cycles. See :func:`cmlib.cost.rates`.
    misses_run : DataFrame
        Counts of a run with instructions and misses of loads. It can be the same run.
    change : float
        Change of misses per instruction. Negative for fewer misses.
    stores_change : float, optional
        Change of the misses of stores per instruction. Default: in proportion to `change`.
    misses : str, optional
        Column with the misses. Default: misses of loads in the last-level cache.
    model : PooledCost, optional
        Default: ``default_cost_model()``, which was fitted to 29 programs on a Xeon Gold 5120. For another processor or
        for misses of another cache, use ``default_cost_model(other_processor=True)``.

    Returns
    -------
    Prediction
        Change of cycles per instruction with a prediction interval, and the cost of a miss.

    Raises
    ------
    ValueError
        If a column is missing, or if nothing was counted.

    Notes
    -----
    `docs/cost.md` and `data/cost/coverage.csv` show how often the measured change was inside the prediction interval.
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
    """Summarize the time intervals of a program in one row.

    Parameters
    ----------
    intervals : DataFrame
        One row per time interval, from :func:`cmlib.cost.rates`.

    Returns
    -------
    DataFrame
        One row for :class:`cmlib.cost.PooledCost`. Columns:

        - ``cycles``, ``misses`` and ``stores``: means per instruction. ``stores`` is 0 if not counted.
        - ``slope``: additional cycles per additional miss, from :func:`cmlib.cost.slope`
        - ``stderr``: standard error of the slope
        - ``intervals``: number of time intervals
    """
    cycles_per_miss, stderr = slope(intervals["cycles"], intervals["misses"])
    means = intervals.mean().reindex(["cycles", "misses", "stores"], fill_value=0.0)
    return pd.DataFrame([means]).assign(slope=cycles_per_miss, stderr=stderr, intervals=len(intervals))


def reason_unreliable(row: pd.Series | dict) -> str:
    """Return why the counts of a program do not determine the cost of a miss.

    Parameters
    ----------
    row : Series or dict
        Summary of the program, from :func:`rates_row`.

    Returns
    -------
    str
        For example, "no miss was counted". Empty if the counts determine the cost.
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
