"""Predict how a program's cycles change if its cache misses change.

:func:`predict_change` takes the counts of a run by interval (DataFrame) and a change of misses per instruction, and
gives a :class:`Prediction`: change of cycles per instruction with an interval, and cost of a miss [cycles]. A
ValueError if a column is missing, or nothing was counted; a prediction that is not reliable says why in its
`reason`.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.cost.pooled import default_cost_model
from cmlib.cost.slopes import rates, slope

SURE = 2.0  # a slope is reliable if it is above 0 by so many of its standard errors
OTHERS = 2.0  # with more misses of stores for each of loads, the cost of loads' misses is not reliable


class Prediction(NamedTuple):
    """Predicted effect of a change of misses.

    Attributes
    ----------
    change, low, high : float
        Change of cycles per instruction, and the ends of its prediction interval.
    cost : float
        Cost of a miss [cycles].
    known : bool
        True if the program's own intervals are enough for it. If not, the numbers are mostly those of other programs.
    reason : str
        Why they are not enough; else empty.
    """

    change: float
    low: float
    high: float
    cost: float
    known: bool
    reason: str


def predict_change(cycles_run, misses_run, change, *, stores_change=None, misses=None, model=None):
    """Predict the change of cycles per instruction, if misses per instruction change.

    Parameters
    ----------
    cycles_run, misses_run : DataFrame
        Intervals of a run with cycles and of one with misses (of loads), which may be the same; as
        :func:`cmlib.cost.rates` takes them.
    change : float
        Change of misses per instruction; negative if there will be fewer.
    stores_change : float, optional
        Change of the misses of stores per instruction; in proportion to `change` by default.
    misses : str, optional
        Column of the misses, if they are not the last-level cache's.
    model : fitted PooledCost, optional
        By default learned from 29 programs of SPEC CPU2006 and CPU2017 on a Xeon Gold 5120
        (:func:`cmlib.cost.default_cost_model`); ``default_cost_model(other_processor=True)`` for another processor or
        other misses than of loads in the last level.

    Returns
    -------
    Prediction
        `change`, `low` and `high` [cycles per instruction], `cost` of a miss [cycles], and whether the program's own
        intervals tell it (`known`; if not, the `reason`).

    Raises
    ------
    ValueError
        If a column is missing, or nothing was counted.

    Notes
    -----
    On these programs, each suite left out while the other is learned from, with 2, 4, 8 and 11 times the cache: half of
    the errors are below 1.1, 1.0, 1.7 and 2.0 % of all cycles, and 98 % of the 90 % intervals hold.
    """
    row = rates_row(rates(cycles_run, misses_run, misses=misses)).assign(change=float(change))
    if stores_change is not None:
        row["stores_change"] = float(stores_change)
    model = model or default_cost_model()
    (low,), (high,) = model.predict_interval(row)
    reason = reason_unreliable(row.iloc[0])
    cost = float(model.posterior(row)["cost"].iloc[0])
    return Prediction(float(model.predict(row)[0]), float(low), float(high), cost, not reason, reason)


def rates_row(intervals):
    """Summarize a program's intervals in a row, as :class:`cmlib.cost.PooledCost` takes it: a DataFrame.

    `intervals` is a DataFrame of :func:`cmlib.cost.rates`: cycles, misses and maybe stores per instruction, a row
    an interval. Columns: cycles, misses and stores (0 if not counted), means per instruction; slope [cycles a miss]
    and its stderr; intervals (number). The change of misses is to be added.
    """
    steepness, stderr = slope(intervals["cycles"], intervals["misses"])
    means = intervals.mean().reindex(["cycles", "misses", "stores"], fill_value=0.0)
    return pd.DataFrame([means]).assign(slope=steepness, stderr=stderr, intervals=len(intervals))


def reason_unreliable(row):
    """Say why the cost of a program's misses can't be estimated from its intervals.

    Parameters
    ----------
    row : Series or dict
        A row of :func:`cmlib.cost.changes`: cycles, misses and stores per instruction, slope, stderr, number of
        intervals.

    Returns
    -------
    str
        The reason; empty if it can.
    """
    if row["misses"] <= 0:
        return "no miss was counted"
    if not np.isfinite(row["stderr"]):
        return f"misses don't vary, or there are too few intervals ({row['intervals']:.0f})"
    if "stores_change" not in row and row["stores"] > OTHERS * row["misses"]:
        return f"stores miss {row['stores'] / row['misses']:.0f} times as often as loads, and their change isn't told"
    if row["slope"] < SURE * row["stderr"]:
        cost = f"{row['slope']:.0f} cycles a miss, standard error {row['stderr']:.0f}"
        return f"cycles don't follow misses alike on all time scales: {cost}"
    return ""
