"""Compute partial dependence: a model's mean prediction with one or two events held at chosen values.

:func:`partial_dependence` takes a fitted model, its rows X and points, and returns an array, one value per point.
Raises a ValueError if an event held is no column of X.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cmlib.errors import InputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["pair_surface", "partial_dependence", "positions_on_surface"]

# Rows that are predicted in one call of the model. With a few hundred rows the call costs more than the trees:
# scikit-learn's partial dependence, a call a value, takes three times as long for Friedman's H of ten events.
_ROWS = 40_000


def partial_dependence(fitted: BaseEstimator, X: pd.DataFrame, points: pd.DataFrame) -> np.ndarray:
    """Compute the mean prediction over all rows, with some events held at given values and the others as they are.

    Parameters
    ----------
    fitted : fitted estimator
        A model with `predict`.
    X : DataFrame, shape (n_rows, n_events)
        The columns of the model, in its order.
    points : DataFrame, shape (n_points, n_held)
        A column per event to hold, a row per combination of values.

    Returns
    -------
    ndarray of float64, shape (n_points,)
        Mean prediction at each point (Friedman 2001, Eq. 53), by n_points times n_rows predictions.

    Raises
    ------
    ValueError
        If an event held is no column of X.
    """
    places = X.columns.get_indexer(points.columns)
    if (places < 0).any():
        raise InputError(f"{points.columns[places < 0][0]!r} is no column of the model's {X.shape[1]}.")
    return next(partial_dependences(fitted, X, [(places, points.to_numpy())]))


def partial_dependences(fitted, X, point_sets):
    """Yield the partial dependence at each of many sets of points, an ndarray (n_points,) each.

    `fitted` is a model with `predict`, `X` a DataFrame of its columns in its order; `point_sets` are pairs of
    column numbers in X and values (n_points, n_held), all of as many points. Several sets are predicted in one call
    of the model.
    """
    values, remaining_sets = X.to_numpy(), iter(point_sets)
    while batch := list(islice(remaining_sets, 1)):
        batch += islice(remaining_sets, max(0, _ROWS // max(1, len(batch[0][1]) * len(X)) - 1))
        rows = np.concatenate([_hold_columns(values, *points) for points in batch])
        predicted = fitted.predict(pd.DataFrame(rows, columns=X.columns))
        yield from predicted.reshape(len(batch), -1, len(X)).mean(axis=2)


def pair_surface(
    fitted: BaseEstimator, X: pd.DataFrame, a: str, b: str, n: int = 10
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Compute a model's mean prediction at quantiles of two events.

    Parameters
    ----------
    fitted : fitted estimator
        Model with `predict` and `feature_names_in_`.
    X : DataFrame, shape (n_rows, n_events)
        Rates, with the model's columns. Means are over at most 100 of the rows.
    a, b : str
        Events.
    n : int, default 10
        Number of quantiles of each event, from 5 % to 95 %.

    Returns
    -------
    joint : DataFrame, shape (n, n)
        Mean prediction for both events together. Rows are values of `a`, columns of `b`, in the unit of `X`.
    summed : DataFrame, shape (n, n)
        Sum of the mean predictions for each event alone: what `joint` would be without an interaction.
    """
    X = X[fitted.feature_names_in_]
    at = {event: np.unique(X[event].quantile(np.linspace(0.05, 0.95, n))) for event in (a, b)}
    rows = X.iloc[np.unique(np.linspace(0, len(X) - 1, 100).round().astype(int))]
    grid = pd.MultiIndex.from_product(at.values(), names=at)
    joint = pd.Series(partial_dependence(fitted, rows, grid.to_frame(index=False)), grid).unstack()
    alone = [partial_dependence(fitted, rows, pd.DataFrame({event: at[event]})) for event in at]
    summed = np.add.outer(*alone) - fitted.predict(rows).mean()
    return joint, pd.DataFrame(summed, joint.index, joint.columns)


def positions_on_surface(X: pd.DataFrame, surface: pd.DataFrame) -> pd.DataFrame:
    """Compute where the rows of X lie on a surface of :func:`pair_surface`.

    Parameters
    ----------
    X : DataFrame
        With a column for each of the two events of the surface.
    surface : DataFrame
        Index and columns are ascending values of the events, and are named after them.

    Returns
    -------
    DataFrame
        A column for each event: number of the value in the index or in the columns, between two values linearly
        interpolated; NaN outside of the surface. Rows as X.
    """
    positions = {}
    for values in (surface.columns, surface.index):
        numbers = np.arange(len(values))
        positions[values.name] = np.interp(X[values.name], values, numbers, left=np.nan, right=np.nan)
    return pd.DataFrame(positions, index=X.index)


def _hold_columns(values, places, points):
    """Copy all rows once for each point, with the columns `places` set to the point's values."""
    rows = np.tile(values, (len(points), 1))
    rows[:, places] = np.repeat(points, len(values), axis=0)
    return rows
