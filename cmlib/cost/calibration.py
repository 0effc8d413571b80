"""Learn the cost of misses from measured changes, and measure how good the predictions for other suites are.

:func:`changes` loads the measurements. :func:`learn` fits a model and sets the width of its prediction intervals.
:func:`held_out` predicts each suite with a model that learned from the others, and :func:`coverage` counts how many of
these intervals hold the measured change.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from cmlib import places
from cmlib.cost.pooled import PooledCost

# Settings under which the programs were measured: sizes of the last-level cache, and the prefetchers left on.
LARGER_CACHE = ("3.5 MiB", "7 MiB", "14 MiB", "19.25 MiB")
PREFETCHERS = ("none", "DCUI", "DCUP", "L2A", "L2P")
COVERAGE = 0.9  # share of the programs that prediction intervals are made to hold
_MISS = 2 / (1 - COVERAGE)  # weight of a missed measurement in the interval score


def changes(settings: Sequence[str] = LARGER_CACHE) -> tuple[pd.DataFrame, pd.Series]:
    """Load the measured effect of changed misses on 29 programs of SPEC CPU2006 (20) and CPU2017 (9).

    Parameters
    ----------
    settings : sequence of str
        Changed settings. The setting before the change is a last-level cache of 1.75 MiB with all prefetchers on.
        Either the size of the cache, or the only prefetcher left on: ``none``, ``DCUI``, ``DCUP``, ``L2A``, ``L2P``.

    Returns
    -------
    X : DataFrame
        What :meth:`PooledCost.fit` takes; ``suite`` (such as ``CINT2006``: the integer programs of SPEC CPU2006),
        ``release`` (``CPU2006`` or ``CPU2017``), ``setting``; and ``stores_change`` of misses of stores per
        instruction.
    y : Series
        Measured change of cycles per instruction.
    """
    folder = places.shipped("cost")
    table = pd.read_csv(folder / "changes.csv").merge(pd.read_csv(folder / "programs.csv"), on="program")
    table = table[table["setting"].isin(list(settings))].reset_index(drop=True)
    return table.drop(columns="cycles_change"), table["cycles_change"]


def learn(X: pd.DataFrame, y: pd.Series, *, other_processor: bool = False) -> PooledCost:
    """Fit a model of the cost of misses, and set the width of its prediction intervals.

    The width is calibrated by cross-conformal prediction over suites: the changes of each suite in X are predicted by
    a model that learned from the other suites in X. Each error is divided by the standard deviation of its
    prediction. The half-width is the 90 % quantile over programs of the largest such quotient of each program, in the
    suite where this quantile is largest. So intervals are meant to hold for 90 % of the programs of a new suite, at all
    sizes of the cache at once.

    Parameters
    ----------
    X : DataFrame
        One row per change, as :func:`changes` returns it, of at least two suites. Only changes by
        larger caches are learned from.
    y : Series
        Measured change of cycles per instruction.
    other_processor : bool, default False
        As for :func:`cmlib.cost.default_cost_model`.

    Returns
    -------
    PooledCost
        Fitted, with ``half_width_`` set.
    """
    model = _fit(X, y, other_processor)
    _set_widths(model, X, _predict_each_suite(X, y, other_processor))
    return model


def held_out(
    X: pd.DataFrame, y: pd.Series, *, by: str = "suite", other_processor: bool = False
) -> pd.DataFrame:
    """Predict the changes of each suite (or release, or program) by a model that learned from the others.

    Parameters
    ----------
    X : DataFrame
        The first result of :func:`changes`, one row per change. Without its column ``stores_change``, misses of
        stores are assumed to change in proportion to those of loads.
    y : Series
        Measured change of cycles per instruction.
    by : {"suite", "release", "program"}, default "suite"
        Column whose values are left out one after the other.
    other_processor : bool, default False
        True to ignore the costs in the other programs, as for another processor.

    Returns
    -------
    DataFrame
        One row for each row of X: ``program``, ``suite``, ``release``, ``setting``; ``measured``, ``predicted``,
        ``low`` and ``high`` in percent of the cycles before the change, positive if cycles are saved; ``constant``,
        the half-width of an interval that is equally wide for all programs at this setting, calibrated on the same
        other suites; and ``cost`` of a miss [cycles].
    """
    parts = []
    for _, rows in X.groupby(by, sort=False):
        other_rows = X.index.difference(rows.index)
        model = _fit(X.loc[other_rows], y[other_rows], other_processor)
        cross_predictions = _predict_each_suite(X.loc[other_rows], y[other_rows], other_processor)
        _set_widths(model, X.loc[other_rows], cross_predictions)
        low, high = model.predict_interval(rows)
        table = {"measured": y[rows.index], "predicted": model.predict(rows), "low": high, "high": low}
        predicted = pd.DataFrame(table, rows.index).mul(-100 / rows["cycles"], axis=0)
        constant = rows["setting"].map(_calibrate_constant_widths(X.loc[other_rows], cross_predictions))
        names = rows[["program", "suite", "release", "setting"]]
        parts.append(names.join(predicted).assign(constant=constant, cost=model.posterior(rows)["cost"]))
    return pd.concat(parts).sort_index()


def coverage(predictions: pd.DataFrame) -> pd.Series:
    """Summarize how good predictions and their intervals are.

    Parameters
    ----------
    predictions : DataFrame
        Rows of :func:`held_out`.

    Returns
    -------
    Series
        ``programs`` and ``changes`` (numbers of); ``holds``, changes inside their interval [%]; ``bias``, ``error``
        and ``nothing``: mean of predicted minus measured, mean absolute error, and the mean absolute error of
        predicting that nothing changes [% of all cycles]; ``half_width``, median [% of all cycles]; ``score``, mean
        interval score (the width, plus 20 times the distance of a measurement outside; less is better; Gneiting and
        Raftery, Strictly proper scoring rules, JASA 2007); ``constant_holds`` and ``constant_score``, the same for
        intervals of constant width.
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
    """Fit a PooledCost to the changes by larger caches."""
    larger = X["setting"].isin(LARGER_CACHE)
    model = PooledCost().fit(X[larger], y[larger])
    if other_processor:
        model.spread_ = np.inf
    return model


def _predict_each_suite(X, y, other_processor):
    """Predict each suite from the other suites in X: DataFrame of ``error`` and ``scale`` [cycles per instruction].

    Misses of stores are assumed to change in proportion to those of loads, unless users say otherwise.
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
    """Set the half-width of a model's intervals from predictions of left-out suites (:func:`_predict_each_suite`)."""
    quotient = predictions["error"].abs() / predictions["scale"]
    larger = X["setting"].isin(LARGER_CACHE)
    model.half_width_ = _find_largest_quantile(quotient[larger], X)


def _calibrate_constant_widths(X, predictions):
    """Return half-widths [% of all cycles] by setting calibrated as a model's intervals are."""
    errors = (100 * predictions["error"] / X["cycles"]).abs()
    return {setting: _find_largest_quantile(rows, X) for setting, rows in errors.groupby(X["setting"])}


def _find_largest_quantile(values, X):
    """Return the quantile COVERAGE of the suite where it is largest, with conformal correction.

    The quantile is over programs, each with its largest value, so that it holds for all changes of a program at once.
    A new suite may be as hard to predict as the hardest of these.
    """
    largest = values.groupby([X["suite"].loc[values.index], X["program"].loc[values.index]]).max()
    quantiles = []
    for _, suite_values in largest.groupby("suite"):
        level = np.ceil((len(suite_values) + 1) * COVERAGE) / len(suite_values)
        quantiles.append(np.quantile(suite_values, min(level, 1.0), method="higher"))
    return float(max(quantiles))


def _score_interval(measured, low, high):
    """Return the interval score of each measurement, for intervals that hold with probability COVERAGE."""
    below = (low - measured).clip(lower=0)
    above = (measured - high).clip(lower=0)
    return high - low + _MISS * (below + above)
