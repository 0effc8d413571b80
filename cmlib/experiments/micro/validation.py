"""Cross-validate classifiers of slices, with folds of slices or of runs, and with fewer and fewer key events.

Slices are rows of X (DataFrame of events per cycle), and y are their classes. Each function takes an unfitted
classifier and returns a DataFrame. :func:`validate` returns one row per kind of folds (accuracy [%], correct,
incorrect), :func:`accuracy_curve` and :func:`nested_accuracy_curve` one row per number of events (accuracy [%], numbers
of wrong and of all slices). ValueError if a class has a single slice, or there is a single run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict

from cmlib.errors import InputError
from cmlib.fingerprint.key_events import eliminate

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

__all__ = ["validate"]

_N_FOLDS = 10


def validate(
    estimator: ClassifierMixin, X: pd.DataFrame, y: ArrayLike, *, runs: ArrayLike | None = None, seed: int = 0
) -> pd.DataFrame:
    """Cross-validate a classifier of slices, as Table 2 does (Yoo et al. 2012) and with folds by run.

    Parameters
    ----------
    estimator : classifier
        Cloned for each fold.
    X : DataFrame of float, shape (n_slices, n_events)
        Events per cycle of each time slice.
    y : array-like, shape (n_slices,)
        Classes.
    runs : array-like, shape (n_slices,), optional
        Run of each slice, for folds that leave out whole runs.
    seed : int, default 0
        Seed of the folds.

    Returns
    -------
    DataFrame
        Rows ``10-fold`` and ``by run``: accuracy [%], correct and incorrect [slices].

    Raises
    ------
    ValueError
        If a class has a single slice, or there is a single run.
    """
    X, y = X if hasattr(X, "iloc") else pd.DataFrame(X), np.asarray(y)
    n_folds = min(_N_FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    if n_folds < 2:
        raise InputError(
            "validate: a class has a single slice, and can't be in both training and test. Record more."
        )
    folds_by_kind = {"10-fold": StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y)}
    if runs is not None:
        n_runs = len(pd.unique(np.asarray(runs)))
        if n_runs < 2:
            raise InputError(f"validate: {n_runs} run; folds by run need at least 2. Record more passes.")
        by_run = StratifiedGroupKFold(min(_N_FOLDS, n_runs), shuffle=True, random_state=seed)
        folds_by_kind["by run"] = by_run.split(X, y, runs)
    scores = {}
    for kind, folds in folds_by_kind.items():
        is_right = cross_val_predict(estimator, X, y, cv=list(folds)) == y
        scores[kind] = [100 * is_right.mean(), is_right.sum(), (~is_right).sum()]
    table = pd.DataFrame.from_dict(scores, orient="index", columns=["accuracy", "correct", "incorrect"])
    return table.rename_axis("folds")


def accuracy_curve(X, y, elimination, sizes, estimator):
    """Cross-validate a classifier with several numbers of key events, chosen once from all slices.

    Parameters
    ----------
    X : DataFrame, shape (n_slices, n_events)
        Events per cycle.
    y : array-like, shape (n_slices,)
        Classes.
    elimination : DataFrame
        Result of :func:`cmlib.fingerprint.key_events.eliminate`.
    sizes : iterable of int
        Numbers of key events.
    estimator : classifier
        Not fitted.

    Returns
    -------
    DataFrame
        One row per size: ``n_events``, ``accuracy`` [%] of ten folds, ``n_wrong`` and ``n_slices``.

    Raises
    ------
    ValueError
        If no class has ten slices.
    """
    X, y = pd.DataFrame(X), np.asarray(y)
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
    wrong = {}
    for size in sizes:
        predicted = cross_val_predict(clone(estimator), X[elimination.index[-size:]], y, cv=folds)
        wrong[size] = int((predicted != y).sum())
    return _tabulate_accuracy(wrong, len(y))


def nested_accuracy_curve(X, y, sizes, estimator, folds):
    """Cross-validate a classifier with several numbers of key events, chosen in each fold from its training slices.

    Parameters
    ----------
    X : DataFrame, shape (n_slices, n_events)
        Events per cycle.
    y : array-like, shape (n_slices,)
        Classes.
    sizes : iterable of int
        Numbers of key events.
    estimator : classifier
        Not fitted.
    folds : iterable of (array, array)
        Numbers of the rows for training and for the test.

    Returns
    -------
    DataFrame
        One row per size: ``n_events``, ``accuracy`` [%], ``n_wrong`` and ``n_slices``.
    """
    X, y = pd.DataFrame(X), np.asarray(y)
    wrong = dict.fromkeys(sizes, 0)
    n_slices = 0
    for train, test in folds:
        elimination = eliminate(X.iloc[train], y[train])
        n_slices += len(test)
        for size in wrong:
            chosen = X[elimination.index[-size:]]
            fitted = clone(estimator).fit(chosen.iloc[train], y[train])
            wrong[size] += int((fitted.predict(chosen.iloc[test]) != y[test]).sum())
    return _tabulate_accuracy(wrong, n_slices)


def _tabulate_accuracy(wrong, n_slices):
    """Return the table of :func:`accuracy_curve`; `wrong` is a dict from size to the number of wrong slices."""
    curve = pd.DataFrame({"n_events": list(wrong), "n_wrong": list(wrong.values()), "n_slices": n_slices})
    curve.insert(1, "accuracy", 100 * (1 - curve["n_wrong"] / n_slices))
    return curve


def leave_each_out(values):
    """Make folds that leave out one value after the other, such as a working-set size.

    Parameters
    ----------
    values : array-like, shape (n_rows,)
        Rows with NaN are always in training.

    Yields
    ------
    train, test : ndarray of int
        Numbers of the rows without the value, and of the rows with it.
    """
    values = pd.Series(np.asarray(values))
    for value in values.dropna().unique():
        yield np.flatnonzero(values != value), np.flatnonzero(values == value)
