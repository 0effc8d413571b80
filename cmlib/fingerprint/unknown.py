"""Classify slices, and answer "unknown" for those that are far from all training data.

:class:`UnknownRejector` is a scikit-learn classifier around another one: X has events per cycle, a row per time
slice; ``predict`` returns an array of classes or "unknown". Raises a ValueError for rates below 0, or training slices
of one group alone.
"""

from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from cmlib.errors import InputError

_FLOOR = 0.01  # share of an event's mean rate that is added before the logarithm
_REFERENCES = 1000  # training slices that distances are measured to, taken evenly from each class and group
_UNKNOWN = "unknown"


class UnknownRejector(ClassifierMixin, BaseEstimator):
    """Classifier that answers "unknown" far from its training data.

    Distances are Euclidean between log(rate + floor), standardised event by event; the floor is a hundredth
    of the event's mean rate in training. A slice is unknown if its nearest reference slice
    is farther than `margin` times the `quantile` of the distances of training slices from the nearest reference
    of another group. With runs as groups, that is the distance of a new run of the same programs; with programs as
    groups, that of a new program of the same classes.

    Parameters
    ----------
    classifier : classifier
        Predicts the class of slices that are not unknown.
    quantile : float in (0, 1], default 0.99
        Quantile of the distances between groups in training.
    margin : float > 0, default 1.0
        Factor of that quantile.

    Attributes
    ----------
    classifier_ : fitted classifier
        Trained on all slices.
    threshold_ : float
        Largest distance of a slice that is not unknown [standard deviations].
    classes_ : ndarray, shape (n_classes,)
        Classes in training, without "unknown".
    """

    def __init__(self, classifier: ClassifierMixin, *, quantile: float = 0.99, margin: float = 1.0) -> None:
        self.classifier = classifier
        self.quantile = quantile
        self.margin = margin

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit the classifier and measure how far apart the groups are.

        Parameters
        ----------
        X : array-like of float >= 0, shape (n_slices, n_events)
            Events per cycle.
        y : array-like, shape (n_slices,)
        groups : array-like, shape (n_slices,), optional
            Run or program of each slice. Default: every slice its own.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer than two groups, rates below zero, or parameters out of range.
        """
        if not (0 < self.quantile <= 1 and self.margin > 0):
            raise InputError(
                f"UnknownRejector: quantile {self.quantile!r}, margin {self.margin!r}; give a quantile in (0, 1] and a "
                "margin above 0."
            )
        self.classifier_ = clone(self.classifier).fit(X, y)
        self.classes_ = self.classifier_.classes_
        rates = _check_rates(validate_data(self, X, dtype=np.float64))
        groups = np.arange(len(rates)) if groups is None else np.unique(groups, return_inverse=True)[1]
        if groups.max() == 0:
            raise InputError("UnknownRejector: all slices are of one group; their distances take two.")
        mean = rates.mean(axis=0)
        self.floor_ = np.where(mean > 0, _FLOOR * mean, 1.0)
        logs = np.log(rates + self.floor_)
        self.mean_, self.std_ = logs.mean(axis=0), logs.std(axis=0)
        self.std_[self.std_ == 0] = 1.0
        points = self._standardise(rates)
        chosen = _select_references(np.asarray(y), groups)
        self.reference_ = points[chosen]
        distances = cdist(points, self.reference_)
        distances[groups[:, None] == groups[chosen]] = np.inf
        to_other_groups = distances.min(axis=1)
        to_other_groups = to_other_groups[np.isfinite(to_other_groups)]
        self.threshold_ = self.margin * float(np.quantile(to_other_groups, self.quantile))
        return self

    def distance(self, X: ArrayLike) -> np.ndarray:
        """Compute the distance of each slice (row of X) to its nearest reference [standard deviations].

        Raises a ValueError if a rate is below 0 or X has other columns than in training.
        """
        check_is_fitted(self)
        rates = _check_rates(validate_data(self, X, dtype=np.float64, reset=False))
        return cdist(self._standardise(rates), self.reference_).min(axis=1)

    def is_unknown(self, X: ArrayLike) -> np.ndarray:
        """Mask of the slices (rows of X) that are farther than `threshold_` from all references: ndarray of bool."""
        return self.distance(X) > self.threshold_

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the class of each slice (row of X), or "unknown": ndarray of object (str), shape (n_slices,)."""
        labels = self.classifier_.predict(X).astype(object)
        labels[self.is_unknown(X)] = _UNKNOWN
        return labels

    def _standardise(self, rates):
        """Standardize the logarithms of rates as in training."""
        return (np.log(rates + self.floor_) - self.mean_) / self.std_


def _check_rates(rates):
    """Return the rates; raise a ValueError if one is below 0."""
    if rates.min(initial=0.0) < 0:
        raise InputError(f"UnknownRejector: a rate of {rates.min():g} a cycle; rates are never below 0.")
    return rates


def _select_references(y, groups):
    """Select the positions of the reference slices: about as many of each class and group, evenly spaced."""
    cells = pd.Series(range(len(y))).groupby([y, groups]).apply(np.array)
    share = max(1, _REFERENCES // len(cells))
    taken = [rows[np.linspace(0, len(rows) - 1, min(share, len(rows))).astype(int)] for rows in cells]
    return np.sort(np.concatenate(taken))
