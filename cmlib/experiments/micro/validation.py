"""Cross-validate classifiers of time slices.

:func:`validate` measures the accuracy of a classifier with random folds and with folds of complete runs.
:func:`accuracy_curve` and :func:`nested_accuracy_curve` measure it for several numbers of key events (the events
that classify best).

A slice is a row of X, which contains its event rates. Its class is in y.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

_N_FOLDS = 10  # as in Yoo et al. (2012)


def validate(
    estimator: ClassifierMixin, X: pd.DataFrame, y: ArrayLike, *, runs: ArrayLike | None = None, seed: int = 0
) -> pd.DataFrame:
    """Cross-validate a classifier of slices.

    Random folds reproduce Table 2 of Yoo et al. (2012). Folds of complete runs are stricter, because slices of the
    same run are similar.

    Parameters
    ----------
    estimator : classifier
        It is cloned for each fold.
    X : DataFrame of float, shape (n_slices, n_events)
        Events per cycle of each slice.
    y : array-like, shape (n_slices,)
        Class of each slice.
    runs : array-like, shape (n_slices,), optional
        Run of each slice. Default: no folds of complete runs.
    seed : int, default 0
        Seed of the folds.

    Returns
    -------
    DataFrame
        Rows: ``10-fold`` (random folds), and ``by run`` (folds of complete runs) if `runs` is given. If a class has
        fewer than ten slices, there are fewer random folds. Columns: ``accuracy`` [%], and the numbers of ``correct``
        and ``incorrect`` slices.

    Raises
    ------
    ValueError
        If a class has only one slice.
        If all slices are from one run.
    """
    if not hasattr(X, "iloc"):
        X = pd.DataFrame(X)
    y = np.asarray(y)
    n_folds = min(_N_FOLDS, int(np.unique(y, return_counts=True)[1].min()))
    if n_folds < 2:
        raise InputError(
            "validate: a class has a single slice, which cannot be in both training and test. Record more."
        )
    random_folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    folds_by_kind = {f"{_N_FOLDS}-fold": random_folds.split(X, y)}
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


def accuracy_curve(
    X: pd.DataFrame,
    y: ArrayLike,
    elimination: pd.DataFrame,
    sizes: Iterable[int],
    estimator: ClassifierMixin,
) -> pd.DataFrame:
    """Measure the accuracy with several numbers of key events.

    The key events are chosen once from all slices, including the test slices. The accuracy is therefore too high.

    Parameters
    ----------
    X : DataFrame, shape (n_slices, n_events)
        Events per cycle of each slice.
    y : array-like, shape (n_slices,)
        Class of each slice.
    elimination : DataFrame
        Events in the order of their removal, from :func:`cmlib.fingerprint.key_events.eliminate`. The last event is the
        best one, so that n key events are the last n rows.
    sizes : iterable of int
        Numbers of key events.
    estimator : classifier
        It is cloned for each fold.

    Returns
    -------
    DataFrame
        One row per number of key events. Columns: ``n_events``, ``accuracy`` [%], ``n_wrong`` and ``n_slices``.

    Raises
    ------
    ValueError
        If no class has at least ten slices.
    """
    X = pd.DataFrame(X)
    y = np.asarray(y)
    folds = list(StratifiedKFold(_N_FOLDS, shuffle=True, random_state=0).split(X, y))
    wrong_by_size = {}
    for size in sizes:
        predicted = cross_val_predict(clone(estimator), X[elimination.index[-size:]], y, cv=folds)
        wrong_by_size[size] = int((predicted != y).sum())
    return _tabulate_accuracy(wrong_by_size, len(y))


def nested_accuracy_curve(
    X: pd.DataFrame,
    y: ArrayLike,
    sizes: Iterable[int],
    estimator: ClassifierMixin,
    folds: Iterable[tuple[np.ndarray, np.ndarray]],
) -> pd.DataFrame:
    """Measure the accuracy with several numbers of key events, without a bias.

    In each fold, the key events are chosen from the training slices only.

    Parameters
    ----------
    X : DataFrame, shape (n_slices, n_events)
        Events per cycle of each slice.
    y : array-like, shape (n_slices,)
        Class of each slice.
    sizes : iterable of int
        Numbers of key events.
    estimator : classifier
        It is cloned for each fold.
    folds : iterable of (ndarray of int, ndarray of int)
        Positions of the training slices and of the test slices in X.

    Returns
    -------
    DataFrame
        One row per number of key events. Columns: ``n_events``, ``accuracy`` [%], ``n_wrong`` and ``n_slices``.
    """
    X = pd.DataFrame(X)
    y = np.asarray(y)
    wrong_by_size = dict.fromkeys(sizes, 0)
    n_slices = 0
    for train, test in folds:
        elimination = eliminate(X.iloc[train], y[train])
        n_slices += len(test)
        for size in wrong_by_size:
            chosen = X[elimination.index[-size:]]
            fitted = clone(estimator).fit(chosen.iloc[train], y[train])
            predicted = fitted.predict(chosen.iloc[test])
            wrong_by_size[size] += int((predicted != y[test]).sum())
    return _tabulate_accuracy(wrong_by_size, n_slices)


def _tabulate_accuracy(wrong_by_size: dict[int, int], n_slices: int) -> pd.DataFrame:
    """Return the table of an accuracy curve.

    `wrong_by_size` contains the number of wrong slices for each number of key events.
    """
    curve = pd.DataFrame(
        {"n_events": list(wrong_by_size), "n_wrong": list(wrong_by_size.values()), "n_slices": n_slices}
    )
    curve.insert(1, "accuracy", 100 * (1 - curve["n_wrong"] / n_slices))
    return curve


def leave_each_out(values: ArrayLike) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Make one fold for each distinct value.

    The test rows of a fold have this value, and the training rows do not. For example, each fold tests one
    working-set size.

    Parameters
    ----------
    values : array-like, shape (n_rows,)
        Value of each row. Rows with NaN are always training rows.

    Yields
    ------
    train, test : ndarray of int
        Positions of the rows.
    """
    values = pd.Series(np.asarray(values))
    for value in values.dropna().unique():
        yield np.flatnonzero(values != value), np.flatnonzero(values == value)
