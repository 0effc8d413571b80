"""Predict IPC (instructions per cycle) from event rates with gradient-boosted regression trees.

:func:`regressor` returns an unfitted model. Its `fit(X, y)` and `predict(X)` take a DataFrame X with one column per
event and a Series y. :func:`predict_held_out` predicts each fold with a model of the other folds. LightGBM fits the
trees.
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

    The defaults were chosen on four programs, by the error on held-out blocks of rows and on a second recording. With
    4 to 15 leaves, 100 to 300 trees and rates of 0.05 to 0.15, the errors differed by less than a tenth.

    Parameters
    ----------
    trees : int, default 100
        Number of trees.
    learning_rate : float, default 0.1
        Factor of each tree's values.
    leaves : int, default 8
        Number of leaves per tree. A tree with J leaves can express interactions of J - 1 events.
    rows_per_leaf : int, default 5
        Smallest number of rows in a leaf.
    row_share : float, default 0.5
        Random share of the rows that each tree is fitted to (0-1). Friedman (2002) recommends a half.
    """

    trees: int = 100
    learning_rate: float = 0.1
    leaves: int = 8
    rows_per_leaf: int = 5
    row_share: float = 0.5


# Settings for stacked runs that counted different events (cmlib.merge.stack_runs), chosen like the defaults. They need
# more leaves, because a tree has to separate the runs before it can split on their events.
STACKED = Boosting(trees=100, learning_rate=0.15, leaves=31)


def regressor(
    model: BaseEstimator | None = None, *, boosting: Boosting | None = None, seed: int = 0
) -> BaseEstimator:
    """Return an unfitted model of IPC.

    Parameters
    ----------
    model : estimator, optional
        A scikit-learn regressor to clone. Default: LightGBM's stochastic gradient boosting.
    boosting : Boosting, optional
        Settings of the default model.
    seed : int, default 0
        Seed of the model. Ignored if `model` has no parameter `random_state`.

    Returns
    -------
    estimator
        Unfitted model with `fit(X, y)` and `predict(X)`. The default model accepts any column names.

    Raises
    ------
    ValueError
        If both `model` and `boosting` are given.
    """
    if model is None:
        return _Regressor(boosting or Boosting(), seed)
    if boosting is not None:
        raise InputError(
            "boosting is for the default model only; if you pass a model, set them on the estimator."
        )
    clone = sklearn.base.clone(model)
    return clone.set_params(random_state=seed) if "random_state" in clone.get_params() else clone


def predict_held_out(
    X: pd.DataFrame, y: pd.Series, fold: np.ndarray, *, boosting: Boosting | None = None, seed: int = 0
) -> np.ndarray:
    """Predict each fold with a model of the other folds.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events, for example counts per cycle.
    y : Series of float, shape (n_rows,)
        IPC or another rate.
    fold : ndarray of int, shape (n_rows,)
        Number of the fold of each row. For example, from :func:`cmlib.rank.refinement.blocks`.
    boosting : Boosting, optional
        Settings of the models.
    seed : int, default 0
        Seed of the models.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        Predictions [unit of y].
    """
    # If two splits are equally good, LightGBM takes the first column. Sorting makes this independent of the input
    # order.
    X = X[sorted(X)]
    predicted = np.empty(len(y))
    for held in np.unique(fold):
        model = regressor(boosting=boosting, seed=seed).fit(X[fold != held], y[fold != held])
        predicted[fold == held] = model.predict(X[fold == held])
    return predicted


class _Regressor(RegressorMixin, BaseEstimator):
    r"""Fit LightGBM's boosting to DataFrames.

    For few rows, this is twice as fast as LightGBM's own scikit-learn regressor. Events may have any name: characters
    that LightGBM does not accept, for example `:` and `\`, are encoded.
    """

    def __init__(self, settings, random_state=0):
        self.settings = settings
        self.random_state = random_state

    def fit(self, X, y):
        """Fit the model to X (DataFrame, one column per event) and y (Series). Return self."""
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
        """Predict the rows of X as an array. With `pred_leaf`, return the leaf numbers in each tree instead."""
        return self.booster_.predict(_to_array(X), pred_leaf=pred_leaf, num_threads=1)


def _to_array(values):
    """Convert a DataFrame or Series to an array of float64."""
    return values.to_numpy(dtype=np.float64)


def _translate_settings(settings, seed):
    """Convert settings to a dict of LightGBM's parameters."""
    return yaml_beside(__file__) | {
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.leaves,
        "min_data_in_leaf": settings.rows_per_leaf,
        "min_data_in_bin": settings.rows_per_leaf,
        "bagging_fraction": settings.row_share,
        "seed": seed,
    }
