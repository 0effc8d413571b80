"""C4.5 decision trees: split by gain ratio, pruned by pessimistic errors.

:class:`C45Classifier` is a scikit-learn classifier: X is an array or DataFrame of numbers, a row per sample, y the
classes; ``rules`` returns a DataFrame, a row per leaf. Raises a ValueError for values that are not finite, or a
parameter out of its range.
"""

from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from cmlib.errors import InputError
from cmlib.fingerprint.c45_tree import grow, prune


class C45Classifier(ClassifierMixin, BaseEstimator):
    """C4.5 decision tree for numeric attributes, as Weka's J48 builds it.

    A node is split at the threshold of highest information gain of the attribute of highest gain
    ratio, among the attributes whose gain is at least average. An attribute pays log2(thresholds
    tried)/n bits for the choice of its threshold. The grown tree is pruned bottom-up: a subtree gives
    way to a leaf, or to its largest branch, where the upper confidence limit of the errors says so
    (Quinlan 1993; Quinlan 1996 for the threshold's price).

    Parameters
    ----------
    min_leaf : int >= 1, default 2
        Fewest training samples on either side of a split. For large nodes C4.5 asks for more: a tenth
        of the mean class size, up to 25.
    confidence : float in (0, 0.5], default 0.25
        Confidence level of the pessimistic errors; smaller prunes more.
    midpoints : bool, default False
        True to put a threshold half-way between the values that it separates; False for the largest value of the
        training set below that point. J48's option ``-doNotMakeSplitPointActualValue``.

    Attributes
    ----------
    classes_ : ndarray, shape (n_classes,)
    feature_, left_, right_ : ndarray of int64, shape (n_nodes,)
        Of each node in preorder: column of the attribute that it splits on, numbers of its sons; -1 in a leaf.
    threshold_ : ndarray of float64, shape (n_nodes,)
        Samples with values <= threshold go left; NaN in a leaf.
    counts_ : ndarray of int64, shape (n_nodes, n_classes)
        Training samples by class.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (n_features,)
        Only if X had column names.
    """

    def __init__(self, *, min_leaf: int = 2, confidence: float = 0.25, midpoints: bool = False) -> None:
        self.min_leaf = min_leaf
        self.confidence = confidence
        self.midpoints = midpoints

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Grow and prune the tree.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Finite values, such as events per cycle.
        y : array-like, shape (n_samples,)
            Class labels.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is out of its range, X is not finite, or y is not made of classes.
        """
        if not (self.min_leaf >= 1 and 0 < self.confidence <= 0.5):
            raise InputError(
                f"C45Classifier: min_leaf is {self.min_leaf!r}, confidence {self.confidence!r}; give at least 1, and "
                "one in (0, 0.5]."
            )
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        tree = grow(X, codes, len(self.classes_), min_leaf=self.min_leaf, midpoints=self.midpoints)
        prune(tree, X, codes, confidence=self.confidence)
        nodes = tree.below()
        number = {id(node): place for place, node in enumerate(nodes)}
        sons = [[number[id(son)] for son in node.sons] or [-1, -1] for node in nodes]
        self.left_, self.right_ = np.array(sons, np.int64).T.copy()
        self.feature_ = np.array([node.feature for node in nodes], np.int64)
        self.threshold_ = np.array([node.threshold for node in nodes])
        self.counts_ = np.array([node.counts for node in nodes], np.int64)
        return self

    def apply(self, X: ArrayLike) -> np.ndarray:
        """Return the number of the leaf that each sample (row of X) falls into: ndarray of int, shape (n_samples,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        nodes = np.zeros(len(X), np.int64)
        while (rows := np.flatnonzero(self.feature_[nodes] >= 0)).size:
            at = nodes[rows]
            goes_left = X[rows, self.feature_[at]] <= self.threshold_[at]
            nodes[rows] = np.where(goes_left, self.left_[at], self.right_[at])
        return nodes

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the class of each sample (row of X), its leaf's most frequent one: ndarray, shape (n_samples,)."""
        leaves = self.apply(X)
        return self.classes_[np.argmax(self.counts_, axis=1)[leaves]]

    def rules(self) -> pd.DataFrame:
        """Return one readable rule a leaf.

        Returns
        -------
        DataFrame
            Index ``leaf`` (what `apply` returns); columns ``rule`` (conditions joined by "and", one
            interval an attribute), ``label``, ``n`` (training samples) and ``wrong`` (of other classes).
        """
        check_is_fitted(self)
        bounds = {0: {}}
        for node in np.flatnonzero(self.feature_ >= 0).tolist():
            feature, threshold = self.feature_[node], self.threshold_[node]
            low, high = bounds[node].get(feature, (-np.inf, np.inf))
            bounds[self.left_[node]] = bounds[node] | {feature: (low, min(high, threshold))}
            bounds[self.right_[node]] = bounds[node] | {feature: (max(low, threshold), high)}
        leaves = np.flatnonzero(self.feature_ < 0).tolist()
        counts = self.counts_[leaves]
        limits = ([_interval(self._name(f), *ends) for f, ends in bounds[leaf].items()] for leaf in leaves)
        rules = [" and ".join(limit) or "always" for limit in limits]
        n, labels = counts.sum(axis=1), self.classes_[np.argmax(counts, axis=1)]
        table = {"rule": rules, "label": labels, "n": n, "wrong": n - counts.max(axis=1)}
        return pd.DataFrame(table, pd.Index(leaves, name="leaf"))

    def to_dict(self) -> dict:
        """Return the tree as nested dicts, for drawing.

        Returns
        -------
        dict
            Every node: ``node``, ``label``, ``n``, ``wrong``; an inner one also ``event``,
            ``threshold``, ``left`` (values <= threshold) and ``right``, both nodes.
        """
        check_is_fitted(self)
        nodes = {}
        for node in reversed(range(len(self.feature_))):
            counts = self.counts_[node]
            nodes[node] = {
                "node": node,
                "label": self.classes_[np.argmax(counts)],
                "n": int(counts.sum()),
                "wrong": int(counts.sum() - counts.max()),
            }
            if self.feature_[node] >= 0:
                nodes[node] |= {
                    "event": self._name(self.feature_[node]),
                    "threshold": float(self.threshold_[node]),
                    "left": nodes.pop(self.left_[node]),
                    "right": nodes.pop(self.right_[node]),
                }
        return nodes[0]

    def _name(self, feature):
        """Return the name of a column, or x and its number."""
        return str(self.feature_names_in_[feature]) if hasattr(self, "feature_names_in_") else f"x{feature}"


def _interval(name, low, high):
    """Write a condition on one attribute as text, such as ``2 < x <= 3``."""
    if np.isinf(low):
        return f"{name} <= {high:.6g}"
    if np.isinf(high):
        return f"{name} > {low:.6g}"
    return f"{low:.6g} < {name} <= {high:.6g}"
