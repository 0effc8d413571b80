"""How well slices are classified: by the paper's folds, and by folds that don't flatter."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

_N_FOLDS = 10


def validate(estimator, X, y, *, runs=None, seed=0):
    """Cross-validate a classifier of slices, as Table 2 does and more strictly.

    Neighbouring slices of a run are much alike: with stratified folds a slice is classified by a tree that
    has seen its neighbours. Folds by run leave whole runs out.

    Parameters
    ----------
    estimator : classifier
    X : DataFrame or ndarray of float, shape (n_slices, n_events)
    y : array-like, shape (n_slices,)
    runs : array-like, shape (n_slices,), optional
        The run each slice is of.
    seed : int, default 0
        Of the shuffling.

    Returns
    -------
    DataFrame
        Index ``folds`` ("10-fold", "by run"); columns ``accuracy`` (percent), ``correct`` and
        ``incorrect`` (slices; CC and IC of Table 2).

    Raises
    ------
    ValueError
        If a class has fewer slices, or there are fewer runs, than two.
    """
    X, y = X if hasattr(X, "iloc") else pd.DataFrame(X), np.asarray(y)
    n_folds = min(_N_FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    if n_folds < 2:
        raise ValueError(
            "validate: a class has a single slice, and can't be in both training and test. Record more."
        )
    splits = {"10-fold": StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y)}
    if runs is not None:
        n_runs = len(pd.unique(np.asarray(runs)))
        if n_runs < 2:
            raise ValueError(f"validate: {n_runs} run; folds by run need at least 2. Record more passes.")
        by_run = StratifiedGroupKFold(min(_N_FOLDS, n_runs), shuffle=True, random_state=seed)
        splits["by run"] = by_run.split(X, y, runs)
    rows = {name: _score(estimator, X, y, folds) for name, folds in splits.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("folds")


def leave_each_out(values):
    """Folds that each leave out all slices of one value, such as a working-set size.

    Parameters
    ----------
    values : array-like, shape (n_slices,)
        NaN or None where there is none: never left out.

    Yields
    ------
    train, test : ndarray of int
        Positions.
    """
    values = pd.Series(np.asarray(values))
    for value in values.dropna().unique():
        yield np.flatnonzero(values != value), np.flatnonzero(values == value)


def _score(estimator, X, y, folds):
    correct = incorrect = 0
    for train, test in folds:
        predicted = clone(estimator).fit(X.iloc[train], y[train]).predict(X.iloc[test])
        right = int((predicted == y[test]).sum())
        correct, incorrect = correct + right, incorrect + len(test) - right
    return {"accuracy": 100 * correct / (correct + incorrect), "correct": correct, "incorrect": incorrect}
