"""Key events: the few that tell the classes apart and don't repeat each other."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict

from cmlib.fingerprint.cfs import (
    TIE_DIGITS,
    discretize,
    gain_ratio,
    mutual_information,
    select_subset,
    symmetric_uncertainty,
)


def select_key_events(X, y, n=40):
    """Select the key events by backward elimination.

    Parameters
    ----------
    X : DataFrame of float, shape (n_slices, n_events)
        Events per cycle of each time slice.
    y : array-like, shape (n_slices,)
        Classes.
    n : int, default 40
        Events to keep.

    Returns
    -------
    list of str
        The events kept, in the order of their columns in X.

    Raises
    ------
    ValueError
        If `n` is not between 1 and the number of events, or X holds values that are not finite.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(as_frame=True, return_X_y=True)
    >>> select_key_events(X, y, n=2)
    ['petal length (cm)', 'petal width (cm)']
    """
    X = pd.DataFrame(X)
    if not 1 <= n <= X.shape[1]:
        raise ValueError(f"select_key_events: n is {n}; X has {X.shape[1]} events. Keep 1 to {X.shape[1]}.")
    kept = eliminate(X, y).index[-n:]
    return [event for event in X.columns if event in kept]


def eliminate(X, y):
    """Remove the event of worst average rank, step by step, until none is left."""
    X = pd.DataFrame(X)
    values = X.to_numpy(np.float64)
    if not len(X):
        raise ValueError(
            "eliminate: X has no slices; record longer runs, or slice them with on_missing='drop'."
        )
    if not np.isfinite(values).all():
        bad = X.columns[~np.isfinite(values).all(axis=0)]
        raise ValueError(
            f"eliminate: {len(bad)} of {X.shape[1]} events hold values that are not finite, the first is "
            f"{bad[0]!r}. Drop them, or the slices in which they were not counted."
        )
    classes, codes = np.unique(y, return_inverse=True)
    information = mutual_information(discretize(values, codes, len(classes)), codes)
    ratios, uncertainty = gain_ratio(information), symmetric_uncertainty(information)
    left = np.argsort(-ratios.round(TIE_DIGITS), kind="stable")
    removed = []
    while len(left):
        n_left = len(left)
        cfs_rank = np.full(n_left, n_left)
        subset = select_subset(uncertainty[-1, left], uncertainty[np.ix_(left, left)])
        cfs_rank[subset] = np.arange(1, len(subset) + 1)
        average = (cfs_rank + np.arange(1, n_left + 1)) / 2
        worst = n_left - 1 - np.argmax(average[::-1])
        removed.append((left[worst], n_left, ratios[left[worst]], worst + 1, cfs_rank[worst], average[worst]))
        left = np.delete(left, worst)
    columns = ["event", "n_left", "gain_ratio", "gain_rank", "cfs_rank", "average_rank"]
    frame = pd.DataFrame(removed, columns=columns)
    return frame.assign(event=X.columns[frame["event"]]).set_index("event")


def accuracy_curve(X, y, elimination, sizes, estimator):
    """Cross-validate an estimator on ever fewer key events, chosen once from all slices."""
    X, y = pd.DataFrame(X), np.asarray(y)
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))
    wrong = {}
    for size in sizes:
        predicted = cross_val_predict(clone(estimator), X[elimination.index[-size:]], y, cv=folds)
        wrong[size] = int((predicted != y).sum())
    return _curve(wrong, len(y))


def nested_accuracy_curve(X, y, sizes, estimator, folds):
    """The same, but with key events chosen anew in each fold, from its training slices alone."""
    X, y = pd.DataFrame(X), np.asarray(y)
    wrong, n_slices = dict.fromkeys(sizes, 0), 0
    for train, test in folds:
        elimination, n_slices = eliminate(X.iloc[train], y[train]), n_slices + len(test)
        for size in wrong:
            kept = X[elimination.index[-size:]]
            fitted = clone(estimator).fit(kept.iloc[train], y[train])
            wrong[size] += int((fitted.predict(kept.iloc[test]) != y[test]).sum())
    return _curve(wrong, n_slices)


def _curve(wrong, n_slices):
    curve = pd.DataFrame({"n_events": list(wrong), "n_wrong": list(wrong.values()), "n_slices": n_slices})
    curve.insert(1, "accuracy", 100 * (1 - curve["n_wrong"] / n_slices))
    return curve


_N_FOLDS = 10


def validate(estimator, X, y, *, runs=None, seed=0):
    """Cross-validate a classifier of slices, as Table 2 does and more strictly."""
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
    """Folds that each leave out all slices of one value, such as a working-set size."""
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
