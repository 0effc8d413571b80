"""Compute the importance of each event in a boosted model of IPC, by Friedman's formula or CounterMiner's as printed.

:func:`influence` takes a fitted model, and returns a Series by event [%]. Raises a ValueError if the formula is
unknown, or can't read the model's trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from cmlib.errors import InputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


class Tree(NamedTuple):
    """One tree of an ensemble, applied to the rows of a matrix.

    Attributes
    ----------
    splits : list of tuple (str, ndarray of bool, ndarray of bool)
        Each split: its event, a mask of the rows that go left, a mask of those that go right.
    values : ndarray of float, shape (n_rows,)
        What the tree adds to the prediction of each row, learning rate included.
    """

    splits: list
    values: np.ndarray


def influence(model: BaseEstimator, *, method: str = "friedman", X: pd.DataFrame | None = None) -> pd.Series:
    """Compute the importance of every event in a fitted model, in percent.

    Parameters
    ----------
    model : fitted estimator
        For ``friedman`` any with `feature_names_in_` (the events) and `feature_importances_`, if these
        are gains (LightGBM's own default is numbers of splits); for ``printed`` a boosted
        model of LightGBM. The default model of :func:`cmlib.rank.regressor` serves both.
    method : {"friedman", "printed"}, default "friedman"
        ``friedman``: reduction of the squared error by the splits on an event, added
        up over the trees (Friedman 2001, Eq. 44 and 45, which CounterMiner quotes).
        ``printed``: Eq. 10 and 11 as CounterMiner prints them.
    X : DataFrame, optional
        The rows that the model was trained on; needed by ``printed`` only.

    Returns
    -------
    Series of float
        Percent by event, descending, equal ones in order of their names; sums to
        100, or all zero if the model never splits.

    Raises
    ------
    ValueError
        If the method is unknown, or ``printed`` lacks X or cannot read the trees.

    Notes
    -----
    Eq. 10 weighs nt, the number of splits on the event in a tree, with the sum of
    P²(k), where P(k) = (IPC_k - IPC_{k-1}) / IPC_{k-1} after the k-th split. IPC_k
    is read here as the IPC that the ensemble predicts for a row once its tree has
    been grown to the k-th split, and P²(k) as the mean over all rows of the
    squared change. Had P(k) been the change of the mean, it would vanish: what
    goes up on one side of a split goes down on the other. Eq. 11 averages over
    the trees that use the event, not over all: an event used once, in an early
    tree, comes out above one that is used in every tree.
    """
    if method == "friedman":
        raw = pd.Series(model.feature_importances_, index=model.feature_names_in_, dtype=float)
    elif method == "printed":
        if X is None:
            raise InputError("method='printed' follows the training rows through every tree: pass them as X.")
        raw = _compute_as_printed(model, X)
    else:
        raise InputError(f"method is {method!r}; it can be 'friedman' or 'printed'.")
    total = raw.sum()
    percent = 100 * raw / total if total > 0 else raw
    return percent.sort_index().sort_values(ascending=False, kind="stable").rename("importance")


def _compute_as_printed(model, X):
    """Compute CounterMiner's Eq. 11 of each event, not normalized: Series.

    Raises a ValueError if the model is not LightGBM's.
    """
    if not hasattr(model, "booster_"):
        raise InputError(f"the trees of {type(model).__name__} can't be read; use a model of LightGBM.")
    trees = list(_trees(model, X))
    predicted = model.predict(X) - sum(tree.values for tree in trees)
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
    """Compute P²(k) of one split, as a mean over all rows.

    A node adds the mean of its rows' leaf values to the prediction. `values` are those of the tree by row,
    `predicted` is the prediction before the tree, `left` and `right` are masks of rows.
    """
    node = left | right
    before = values[node].mean()
    sides = [side for side in (left, right) if side.any()]
    changes = [(values[side].mean() - before) / (predicted[side] + before) for side in sides]
    return sum(np.sum(change**2) for change in changes) / len(values)


def _trees(model, X):
    """Yield each tree of a LightGBM model that has a split, as a Tree of the rows of X."""
    names = model.feature_names_in_
    leaves = model.predict(X, pred_leaf=True).reshape(len(X), -1)
    for number, described in enumerate(model.booster_.dump_model()["tree_info"]):
        splits, values = [], {}
        _walk(described["tree_structure"], names, leaves[:, number], splits, values)
        if splits:
            yield Tree(splits, np.array([values[leaf] for leaf in sorted(values)])[leaves[:, number]])


def _walk(node, names, leaf_of_row, splits, values):
    """Collect splits (list) and leaf values (dict) below a node; return the mask of the rows that reach it.

    `node` is a dict of LightGBM's dump, `leaf_of_row` the number of the leaf that each row falls into.
    """
    if "leaf_index" in node or "split_feature" not in node:
        values[node.get("leaf_index", 0)] = node["leaf_value"]
        return leaf_of_row == node.get("leaf_index", 0)
    place = len(splits)
    splits.append(None)
    left = _walk(node["left_child"], names, leaf_of_row, splits, values)
    right = _walk(node["right_child"], names, leaf_of_row, splits, values)
    splits[place] = (names[node["split_feature"]], left, right)
    return left | right
