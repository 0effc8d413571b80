"""Fit the model of the cost of misses, and measure how good its predictions are.

The measurements are from programs with changed misses. The misses changed because the cache had another size or because
prefetchers were switched off.

- :func:`changes` reads the measurements.
- :func:`learn` fits a model.
- :func:`held_out` predicts each suite of programs with a model that was fitted to the other suites.
- :func:`coverage` summarizes these predictions.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cmlib import places
from cmlib.cost.pooled import PooledCost

# Settings of the measurements: sizes of the last-level cache, and the only prefetcher that was left on.
LARGER_CACHE = ("3.5 MiB", "7 MiB", "14 MiB", "19.25 MiB")
PREFETCHERS = ("none", "DCUI", "DCUP", "L2A", "L2P")
COVERAGE = 0.9  # share of the programs for which prediction intervals are calibrated
_PENALTY = 2 / (
    1 - COVERAGE
)  # weight of the distance of a measurement outside its interval in the interval score


def changes(settings: Sequence[str] = LARGER_CACHE) -> tuple[pd.DataFrame, pd.Series]:
    """Read the measured effect of changed misses on 29 programs of SPEC CPU2006 (20) and CPU2017 (9).

    Before each change, the last-level cache had 1.75 MiB and all prefetchers were on.

    Parameters
    ----------
    settings : sequence of str
        Settings after the change. A setting is a cache size, for example ``7 MiB``, or the only prefetcher that was
        left on: ``DCUI``, ``DCUP``, ``L2A``, ``L2P`` or ``none``.

    Returns
    -------
    X : DataFrame
        One row per change. It has the columns for :meth:`PooledCost.fit` and these:

        - ``suite``: for example ``CINT2006``, the integer programs of SPEC CPU2006
        - ``release``: ``CPU2006`` or ``CPU2017``
        - ``setting``: setting after the change
        - ``stores_change``: change of the misses of stores per instruction
    y : Series
        Measured change of cycles per instruction. Index: row of X.
    """
    folder = places.shipped("cost")
    all_changes = pd.read_csv(folder / "changes.csv").merge(
        pd.read_csv(folder / "programs.csv"), on="program"
    )
    selected = all_changes[all_changes["setting"].isin(list(settings))].reset_index(drop=True)
    return selected.drop(columns="cycles_change"), selected["cycles_change"]


def learn(X: pd.DataFrame, y: pd.Series, *, other_processor: bool = False) -> PooledCost:
    """Fit a model of the cost of misses, with prediction intervals.

    Parameters
    ----------
    X : DataFrame
        One row per change, from :func:`changes`, of at least two suites. Only changes of the cache size are used.
    y : Series
        Measured change of cycles per instruction.
    other_processor : bool, default False
        If True, the model is for another processor, as in :func:`cmlib.cost.default_cost_model`.

    Returns
    -------
    PooledCost
        Fitted model. :meth:`PooledCost.predict_interval` can be called.

    Notes
    -----
    The width of the prediction intervals is calibrated by cross-conformal prediction:

    1. The changes of each suite are predicted with a model that was fitted to the other suites.
    2. Each error is divided by the standard deviation of the prediction. The largest ratio of each program is kept.
    3. The 90 % quantile over the programs of each suite is computed.
    4. The half-width is the largest of these quantiles.
    """
    model = _fit(X, y, other_processor)
    _set_widths(model, X, _predict_each_suite(X, y, other_processor))
    return model


def held_out(
    X: pd.DataFrame, y: pd.Series, *, by: str = "suite", other_processor: bool = False
) -> pd.DataFrame:
    """Predict the changes of each suite with a model that was fitted to the other suites.

    Parameters
    ----------
    X : DataFrame
        One row per change, from :func:`changes`. If the column ``stores_change`` is missing, misses of stores are
        assumed to change in proportion to misses of loads.
    y : Series
        Measured change of cycles per instruction.
    by : {"suite", "release", "program"}, default "suite"
        Column that groups the changes. Each group is predicted from the other groups.
    other_processor : bool, default False
        If True, the models are for another processor, as in :func:`cmlib.cost.default_cost_model`.

    Returns
    -------
    DataFrame
        One row per row of X. Changes are in percent of the cycles before the change. They are positive if cycles are
        saved. Columns:

        - ``program``, ``suite``, ``release`` and ``setting``: as in X
        - ``measured``: measured change
        - ``predicted``: predicted change
        - ``low`` and ``high``: ends of the prediction interval
        - ``constant``: half-width of a simpler prediction interval, which is equal for all programs at the same setting
        - ``cost``: predicted cost of a miss [cycles]
    """
    parts = []
    for _, rows in X.groupby(by, sort=False):
        other_rows = X.index.difference(rows.index)
        model = _fit(X.loc[other_rows], y[other_rows], other_processor)
        cross_predictions = _predict_each_suite(X.loc[other_rows], y[other_rows], other_processor)
        _set_widths(model, X.loc[other_rows], cross_predictions)
        low, high = model.predict_interval(rows)
        # A saving is a negative change, so the ends of the interval are exchanged.
        columns = {"measured": y[rows.index], "predicted": model.predict(rows), "low": high, "high": low}
        predicted = pd.DataFrame(columns, rows.index).mul(-100 / rows["cycles"], axis=0)
        constant = rows["setting"].map(_calibrate_constant_widths(X.loc[other_rows], cross_predictions))
        names = rows[["program", "suite", "release", "setting"]]
        parts.append(names.join(predicted).assign(constant=constant, cost=model.posterior(rows)["cost"]))
    return pd.concat(parts).sort_index()


def coverage(predictions: pd.DataFrame) -> pd.Series:
    """Summarize the errors of predictions.

    Parameters
    ----------
    predictions : DataFrame
        Rows of :func:`held_out`.

    Returns
    -------
    Series
        Errors and widths are in percent of all cycles. Index:

        - ``programs``: number of programs
        - ``changes``: number of changes
        - ``holds``: changes inside their prediction interval [%]
        - ``bias``: mean of predicted minus measured change
        - ``error``: mean absolute error
        - ``nothing``: mean absolute error if no change is predicted
        - ``half_width``: median half-width of the prediction intervals
        - ``score``: mean interval score (Gneiting and Raftery, JASA 2007). It is the width, plus 20 times the distance
          of a measurement outside the prediction interval. Less is better.
        - ``constant_holds`` and ``constant_score``: ``holds`` and ``score`` of the simpler prediction intervals
    """
    measured, predicted = predictions["measured"], predictions["predicted"]
    low, high = predictions["low"], predictions["high"]
    constant_low, constant_high = predicted - predictions["constant"], predicted + predictions["constant"]
    return pd.Series(
        {
            "programs": predictions["program"].nunique(),
            "changes": len(predictions),
            "holds": 100 * measured.between(low, high).mean(),
            "bias": (predicted - measured).mean(),
            "error": (predicted - measured).abs().mean(),
            "nothing": measured.abs().mean(),
            "half_width": (high - low).median() / 2,
            "score": _score_interval(measured, low, high).mean(),
            "constant_holds": 100 * measured.between(constant_low, constant_high).mean(),
            "constant_score": _score_interval(measured, constant_low, constant_high).mean(),
        }
    )


def _fit(X, y, other_processor):
    """Fit a model to the changes of the cache size."""
    is_larger_cache = X["setting"].isin(LARGER_CACHE)
    model = PooledCost().fit(X[is_larger_cache], y[is_larger_cache])
    if other_processor:
        model.spread_ = np.inf  # the costs of the other programs then have no influence
    return model


def _predict_each_suite(X, y, other_processor):
    """Predict the changes of each suite with a model that was fitted to the other suites in X.

    Misses of stores are assumed to change in proportion to misses of loads. Returns a DataFrame with the ``error`` and
    the standard deviation ``scale`` of each prediction [cycles per instruction].
    """
    parts = []
    for _, rows in X.groupby("suite", sort=False):
        other_rows = X.index.difference(rows.index)
        model = _fit(X.loc[other_rows], y[other_rows], other_processor)
        without_stores = rows.drop(columns="stores_change", errors="ignore")
        error = y[rows.index] - model.predict(without_stores)
        parts.append(pd.DataFrame({"error": error, "scale": model.scale(without_stores)}, rows.index))
    return pd.concat(parts).loc[X.index]


def _set_widths(model, X, predictions):
    """Set the half-width of a model's intervals from the errors of :func:`_predict_each_suite`."""
    relative_error = predictions["error"].abs() / predictions["scale"]
    is_larger_cache = X["setting"].isin(LARGER_CACHE)
    model.half_width_ = _find_largest_quantile(relative_error[is_larger_cache], X)


def _calibrate_constant_widths(X, predictions):
    """Return the half-widths of the simpler prediction intervals [% of all cycles], keyed by setting."""
    errors = (100 * predictions["error"] / X["cycles"]).abs()
    return {setting: _find_largest_quantile(rows, X) for setting, rows in errors.groupby(X["setting"])}


def _find_largest_quantile(values, X):
    """Return the largest quantile of all suites, with conformal correction.

    The quantile of a suite is over programs, and the probability is COVERAGE. Only the largest value of each program is
    used. The quantile is therefore valid for all changes of a program at once.
    """
    largest = values.groupby([X["suite"].loc[values.index], X["program"].loc[values.index]]).max()
    quantiles = []
    for _, suite_values in largest.groupby("suite"):
        level = np.ceil((len(suite_values) + 1) * COVERAGE) / len(suite_values)
        quantiles.append(np.quantile(suite_values, min(level, 1.0), method="higher"))
    return float(max(quantiles))


def _score_interval(measured, low, high):
    """Return the interval score of each measurement, for prediction intervals with probability COVERAGE."""
    excess_below = (low - measured).clip(lower=0)
    excess_above = (measured - high).clip(lower=0)
    return high - low + _PENALTY * (excess_below + excess_above)
