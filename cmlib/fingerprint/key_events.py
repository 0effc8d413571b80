"""Key events: the few that tell the classes apart and don't repeat each other."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from cmlib.fingerprint.cfs import (
    TIE_DIGITS,
    gain_ratio,
    mutual_information,
    select_subset,
    symmetric_uncertainty,
)
from cmlib.fingerprint.discretize import discretize


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
    """
    X = pd.DataFrame(X)
    if not 1 <= n <= X.shape[1]:
        raise ValueError(f"select_key_events: n is {n}; X has {X.shape[1]} events. Keep 1 to {X.shape[1]}.")
    kept = eliminate(X, y).index[-n:]
    return [event for event in X.columns if event in kept]


def eliminate(X, y):
    """Remove the event of worst average rank, step by step, until none is left.

    Events are ranked by gain ratio, once, and by CFS, at every step among those left: in the order in
    which the search added them to its subset; all events outside the subset share the last rank. Of
    events equal in average rank the one of lower gain ratio goes (Yoo et al. 2012, §3.1).

    Parameters
    ----------
    X, y
        As in `select_key_events`.

    Returns
    -------
    DataFrame
        A row an event in order of removal, so that the last k are the k key events. Columns: ``n_left``
        (events left before its removal), ``gain_ratio``, ``gain_rank`` and ``cfs_rank`` (1 is best),
        ``average_rank``.

    Raises
    ------
    ValueError
        If X has no slice, or holds values that are not finite.
    """
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


def accuracy_curve(X, y, elimination, sizes, estimator, *, cv=None, groups=None):
    """Cross-validate an estimator on ever fewer key events.

    Parameters
    ----------
    X, y
        As in `select_key_events`.
    elimination : DataFrame
        What `eliminate` returned.
    sizes : sequence of int
        Numbers of key events.
    estimator : classifier
    cv : cross-validation splitter, optional
        Default: ten stratified folds, shuffled with seed 0.
    groups : array-like, shape (n_slices,), optional
        Run of each slice, for splitters by group.

    Returns
    -------
    DataFrame
        Columns ``n_events``, ``accuracy`` (percent of slices), ``n_wrong`` (slices).
    """
    X, y = pd.DataFrame(X), np.asarray(y)
    cv = cv or StratifiedKFold(10, shuffle=True, random_state=0)
    rows = []
    for size in sizes:
        kept = X[elimination.index[-size:]]
        predicted = cross_val_predict(clone(estimator), kept, y, cv=cv, groups=groups)
        wrong = int((predicted != y).sum())
        rows.append({"n_events": size, "accuracy": 100 * (1 - wrong / len(kept)), "n_wrong": wrong})
    return pd.DataFrame(rows)
