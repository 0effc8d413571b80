"""Compute the importance of each event in a fitted model of IPC (instructions per cycle).

:func:`influence` takes the model and returns a Series of importances [%]. It uses Friedman's formula or the formula
that the CounterMiner paper prints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from cmlib.errors import InputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


class Tree(NamedTuple):
    """A tree of a boosted model, applied to the rows of a matrix.

    Attributes
    ----------
    splits : list of tuple (str, ndarray of bool, ndarray of bool)
        For each split, its event, the mask of rows on the left side, and the mask of rows on the right side.
    values : ndarray of float, shape (n_rows,)
        Value that the tree adds to the prediction of each row.
    """

    splits: list
    values: np.ndarray


def influence(model: BaseEstimator, *, method: str = "friedman", X: pd.DataFrame | None = None) -> pd.Series:
    """Compute the importance of each event in a fitted model.

    Parameters
    ----------
    model : fitted estimator
        Model from :func:`cmlib.rank.regressor`. For ``friedman``, any estimator with `feature_names_in_` and
        `feature_importances_`. LightGBM's importances must be gains, not numbers of splits.
    method : {"friedman", "printed"}, default "friedman"
        ``friedman``: sum over all trees of the reduction of the squared error by splits on the event (Friedman 2001,
        Eq. 44 and 45). ``printed``: Eq. 10 and 11 as the CounterMiner paper prints them.
    X : DataFrame, optional
        Training rows of the model. Required for ``printed``.

    Returns
    -------
    Series of float
        Importance [%], indexed by event name, in descending order. Equal values are sorted by name. The sum is 100,
        or 0 if the model has no split.

    Raises
    ------
    ValueError
        If the method is unknown. Also if X is missing for ``printed``, or the model is not LightGBM's.

    Notes
    -----
    In Eq. 10, the importance in one tree is nt times the sum of P²(k). Here nt is the number of splits on the event,
    and P(k) = (IPC_k - IPC_{k-1}) / IPC_{k-1} is the change at the k-th split. The paper does not define IPC_k. We
    use the prediction for each row after the k-th split, and the mean of the squared changes over all rows. (The
    change of the mean prediction is always 0.) Eq. 11 averages over the trees that use the event. Therefore, an event
    in a single tree can have a larger importance than an event in all trees.
    """
    if method == "friedman":
        raw = pd.Series(model.feature_importances_, index=model.feature_names_in_, dtype=float)
    elif method == "printed":
        if X is None:
            raise InputError("method='printed' needs the training rows: pass them as X.")
        raw = _compute_as_printed(model, X)
    else:
        raise InputError(f"method is {method!r}; it can be 'friedman' or 'printed'.")
    total = raw.sum()
    percent = 100 * raw / total if total > 0 else raw
    return percent.sort_index().sort_values(ascending=False, kind="stable").rename("importance")


def _compute_as_printed(model, X):
    """Compute CounterMiner's Eq. 11 for each event as a Series, without normalization."""
    if not hasattr(model, "booster_"):
        raise InputError(f"the trees of {type(model).__name__} cannot be read. Use a model of LightGBM.")
    trees = list(_read_trees(model, X))
    predicted = model.predict(X) - sum(tree.values for tree in trees)  # before the first tree
    sums = dict.fromkeys(model.feature_names_in_, 0.0)
    used = dict.fromkeys(model.feature_names_in_, 0)
    for tree in trees:
        improvements = {}
        for event, left, right in tree.splits:
            improvements.setdefault(event, []).append(
                _measure_squared_change(tree.values, predicted, left, right)
            )
        for event, squares in improvements.items():
            sums[event] += len(squares) * sum(squares)
            used[event] += 1
        predicted = predicted + tree.values
    return pd.Series({event: sums[event] / max(used[event], 1) for event in sums})


def _measure_squared_change(values, predicted, left, right):
    """Compute the mean of P²(k) over all rows for one split.

    `values` are the values of the tree, and `predicted` is the prediction before the tree. `left` and `right` are the
    masks of rows on each side of the split. A node adds the mean value of its rows to the prediction.
    """
    node = left | right
    before = values[node].mean()
    sides = [side for side in (left, right) if side.any()]
    changes = [(values[side].mean() - before) / (predicted[side] + before) for side in sides]
    return sum(np.sum(change**2) for change in changes) / len(values)


def _read_trees(model, X):
    """Yield each tree of a LightGBM model as a Tree, without trees that have no split."""
    events = model.feature_names_in_
    leaves = model.predict(X, pred_leaf=True).reshape(len(X), -1)
    for number, tree_info in enumerate(model.booster_.dump_model()["tree_info"]):
        splits = []
        value_by_leaf = {}
        leaf_of_row = leaves[:, number]
        _collect_splits(tree_info["tree_structure"], events, leaf_of_row, splits, value_by_leaf)
        if splits:
            leaf_values = np.array([value_by_leaf[leaf] for leaf in sorted(value_by_leaf)])
            yield Tree(splits, leaf_values[leaf_of_row])


def _collect_splits(node, events, leaf_of_row, splits, value_by_leaf):
    """Add the splits and leaf values below a node to a list and a dict; return the mask of rows in the node.

    `node` is a dict from LightGBM's dump. `leaf_of_row` has the number of the leaf of each row.
    """
    if "leaf_index" in node or "split_feature" not in node:
        leaf = node.get("leaf_index", 0)
        value_by_leaf[leaf] = node["leaf_value"]
        return leaf_of_row == leaf
    position = len(splits)
    splits.append(None)  # a split comes before the splits below it
    left = _collect_splits(node["left_child"], events, leaf_of_row, splits, value_by_leaf)
    right = _collect_splits(node["right_child"], events, leaf_of_row, splits, value_by_leaf)
    splits[position] = (events[node["split_feature"]], left, right)
    return left | right
