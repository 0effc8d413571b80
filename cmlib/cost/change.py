"""Predict how a program's cycles change if its cache misses change.

:func:`predict_change` takes the counts of a run by interval and a change of misses per instruction, and returns a
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

SURE = 2.0  # a slope is reliable if it exceeds 0 by this number of its standard errors
MOST_STORES = 2.0  # with more misses of stores per miss of loads, the cost of loads' misses is not reliable


class Prediction(NamedTuple):
    """Predicted effect of a change of misses.

    Attributes
    ----------
    change, low, high : float
        Change of cycles per instruction, and the ends of its prediction interval. The ends are NaN if misses increase:
        the coverage of such intervals was not measured.
    cost : float
        Cost of a miss [cycles].
    known : bool
        True if the program's own intervals determine the cost. If False, the numbers are mostly those of other
        programs.
    reason : str
        Why the intervals do not determine the cost; empty if they do.
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
    """Predict the change of cycles per instruction for a change of misses per instruction.

    Parameters
    ----------
    cycles_run, misses_run : DataFrame
        Intervals of a run with cycles and of one with misses of loads, as :func:`cmlib.cost.rates` takes them. Both
        may be the same run.
    change : float
        Change of misses per instruction; negative for fewer misses.
    stores_change : float, optional
        Change of the misses of stores per instruction. Default: in proportion to `change`.
    misses : str, optional
        Column of the misses. Default: loads that miss the last-level cache.
    model : PooledCost, optional
        Default: learned from 29 programs of SPEC CPU2006 and CPU2017 on a Xeon Gold 5120
        (:func:`cmlib.cost.default_cost_model`). Use ``default_cost_model(other_processor=True)`` for another processor,
        or for other misses than those of loads in the last level.

    Returns
    -------
    Prediction
        Change of cycles per instruction with its interval, cost of a miss, and whether the intervals determine it.

    Raises
    ------
    ValueError
        If a column is missing, or nothing was counted.

    Notes
    -----
    The intervals are made to hold for 90 % of the programs of a suite that the model did not learn from, at all sizes
    of the cache at once. How many held was measured for four suites, each left out in turn: `docs/cost.md` has the
    numbers, `data/cost/coverage.csv` the details.
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
    """Summarize a program's intervals in one row, as :class:`cmlib.cost.PooledCost` takes it.

    Parameters
    ----------
    intervals : DataFrame
        From :func:`cmlib.cost.rates`, one row per interval: cycles, misses and possibly stores per instruction.

    Returns
    -------
    DataFrame
        One row: ``cycles``, ``misses`` and ``stores`` (0 if not counted), means per instruction; ``slope`` [cycles per
        miss] and its ``stderr``; and ``intervals``, their number. The change of misses is to be added.
    """
    steepness, stderr = slope(intervals["cycles"], intervals["misses"])
    means = intervals.mean().reindex(["cycles", "misses", "stores"], fill_value=0.0)
    return pd.DataFrame([means]).assign(slope=steepness, stderr=stderr, intervals=len(intervals))


def reason_unreliable(row: pd.Series | dict) -> str:
    """Return the reason why a program's intervals do not determine the cost of its misses; "" if they do.

    Parameters
    ----------
    row : Series or dict
        A row of :func:`cmlib.cost.changes`: cycles, misses and stores per instruction, slope, stderr, number of
        intervals.

    Returns
    -------
    str
        A clause, such as "no miss was counted".
    """
    if row["misses"] <= 0:
        return "no miss was counted"
    if not np.isfinite(row["stderr"]):
        return f"misses don't vary, or there are too few intervals ({row['intervals']:.0f})"
    if "stores_change" not in row and row["stores"] > MOST_STORES * row["misses"]:
        times = row["stores"] / row["misses"]
        return f"stores miss {times:.0f} times as often as loads, and their change is not given"
    if row["slope"] < SURE * row["stderr"]:
        cost = f"{row['slope']:.0f} cycles a miss, standard error {row['stderr']:.0f}"
        return f"cycles do not follow misses in the same way on all time scales: {cost}"
    return ""
