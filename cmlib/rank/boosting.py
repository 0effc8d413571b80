"""Gradient-boosted regression trees that predict IPC (instructions per cycle) from event rates, fitted by LightGBM.

:func:`regressor` returns an unfitted model with `fit(X, y)` and `predict(X)`, where X is a DataFrame, a column per
event, and y a Series; :func:`predict_held_out` predicts each fold by a model of the others, an array. Raises a
ValueError if both a model and settings are given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import lightgbm
import numpy as np
import sklearn.base
from sklearn.base import BaseEstimator, RegressorMixin

from cmlib.errors import InputError
from cmlib.places import yaml_beside

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Boosting:
    """Settings of a boosted model.

    The defaults were chosen on four programs by the error of blocked cross-validation
    and on another pass over the events: 4 to 15 leaves, 100 to 300 trees and
    rates of 0.05 to 0.15 were within a tenth of each other. Stacked runs want more
    leaves (31): a tree must find the run before it can look at the run's events.

    Parameters
    ----------
    trees : int, default 100
        Trees in the ensemble.
    learning_rate : float, default 0.1
        Share of each tree's correction that is applied.
    leaves : int, default 8
        Leaves a tree; a tree of J leaves can express interactions of J - 1 events.
    rows_per_leaf : int, default 5
        Fewest rows in a leaf.
    row_share : float, default 0.5
        Share of the rows that each tree is grown on; what makes it stochastic
        (Friedman 2002, who advises a half).
    """

    trees: int = 100
    learning_rate: float = 0.1
    leaves: int = 8
    rows_per_leaf: int = 5
    row_share: float = 0.5


# For matrices of stacked runs that counted different events (cmlib.merge.stack_runs); chosen like the defaults.
STACKED = Boosting(trees=100, learning_rate=0.15, leaves=31)


def regressor(
    model: BaseEstimator | None = None, *, boosting: Boosting | None = None, seed: int = 0
) -> BaseEstimator:
    """Return an unfitted model of IPC: LightGBM's boosting, or a clone of a scikit-learn estimator.

    Parameters
    ----------
    model : estimator, optional
        A scikit-learn regressor to clone. Default: stochastic gradient boosting.
    boosting : Boosting, optional
        Settings of the default model.
    seed : int, default 0
        Seed of the model's random choices; set as `random_state` where the estimator has one.

    Returns
    -------
    estimator
        With `fit(X, y)` and `predict(X)`; that of the default takes frames whose columns have any name.

    Raises
    ------
    ValueError
        If both `model` and `boosting` are given.
    """
    if model is None:
        return _Regressor(boosting or Boosting(), seed)
    if boosting is not None:
        raise InputError("boosting settings are of the model that is made here; set them on the estimator.")
    clone = sklearn.base.clone(model)
    return clone.set_params(random_state=seed) if "random_state" in clone.get_params() else clone


def predict_held_out(
    X: pd.DataFrame, y: pd.Series, fold: np.ndarray, *, boosting: Boosting | None = None, seed: int = 0
) -> np.ndarray:
    """Predict each fold by a model of the other folds.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events (counts per cycle, or per another event).
    y : Series of float, shape (n_rows,)
        IPC, or another quantity to predict.
    fold : ndarray of int, shape (n_rows,)
        Number of each row's fold, such as :func:`cmlib.rank.refinement.blocks` gives.
    boosting : Boosting, optional
        Settings of the models.
    seed : int, default 0
        Seed of the models' random choices.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        Predictions [unit of y], each by a model that saw no row of its fold.
    """
    # Columns in the order of their names: of two events whose splits are equally good, the first is taken.
    X, predicted = X[sorted(X)], np.empty(len(y))
    for held in np.unique(fold):
        model = regressor(boosting=boosting, seed=seed).fit(X[fold != held], y[fold != held])
        predicted[fold == held] = model.predict(X[fold == held])
    return predicted


class _Regressor(RegressorMixin, BaseEstimator):
    r"""LightGBM's boosting as a scikit-learn regressor of DataFrames; twice as fast as LightGBM's own on few rows.

    Events may have any name: characters that LightGBM refuses or does not escape, such as `:` and `\`, are encoded.
    """

    def __init__(self, settings, random_state=0):
        self.settings = settings
        self.random_state = random_state

    def fit(self, X, y):
        """Fit to X (DataFrame, a column per event) and y (Series); return self."""
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        names = [re.sub(r'[%:,{}"\\\[\]]', lambda match: f"%{ord(match[0]):x}", name) for name in X.columns]
        settings = _translate_settings(self.settings, self.random_state)
        rows = lightgbm.Dataset(_to_array(X), _to_array(y), feature_name=names, params=settings)
        self.booster_ = lightgbm.Booster(settings, rows)
        for _ in range(self.settings.trees):
            self.booster_.update()
        self.feature_importances_ = self.booster_.feature_importance("gain")
        return self

    def predict(self, X, *, pred_leaf=False):
        """Predict the rows of X (array); with `pred_leaf` return the number of each row's leaf in each tree instead."""
        return self.booster_.predict(_to_array(X), pred_leaf=pred_leaf, num_threads=1)


def _to_array(values):
    """Return the values of a frame or series as an array of float64."""
    return values.to_numpy(dtype=np.float64)


def _translate_settings(settings, seed):
    """Translate the settings to LightGBM's parameters (dict)."""
    return yaml_beside(__file__) | {
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.leaves,
        "min_data_in_leaf": settings.rows_per_leaf,
        "min_data_in_bin": settings.rows_per_leaf,
        "bagging_fraction": settings.row_share,
        "seed": seed,
    }
