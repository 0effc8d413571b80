"""Slices unlike anything in the training data: labelled unknown, not forced into a class."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

_FLOOR = 0.01
_CHUNK = 4096


class UnknownRejector(ClassifierMixin, BaseEstimator):
    """A classifier that answers "unknown" far from its training data.

    Distances are Euclidean between log(rate + floor), standardised event by event; the floor is a hundredth
    of the event's mean rate in training. A slice is unknown if its nearest reference slice
    is farther than `margin` times the `quantile` of what training slices are from the nearest reference of
    another group. With runs as groups that is how far a new run of the same programs lies; with programs as
    groups, how far a new program of the same classes does.

    Parameters
    ----------
    classifier : classifier
        Answers where the slice is not unknown.
    quantile : float in (0, 1], default 0.99
    margin : float > 0, default 1.0
    label : str, default "unknown"
    n_reference : int, default 1000
        Reference slices, taken evenly from each class and group.

    Attributes
    ----------
    classifier_ : fitted classifier
    threshold_ : float
        Largest distance of a slice that is not unknown [standard deviations].
    classes_ : ndarray, shape (n_classes,)
        Without the label of the unknown.
    """

    def __init__(self, classifier, *, quantile=0.99, margin=1.0, label="unknown", n_reference=1000):
        self.classifier = classifier
        self.quantile = quantile
        self.margin = margin
        self.label = label
        self.n_reference = n_reference

    def fit(self, X, y, groups=None):
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
        if not 0 < self.quantile <= 1 or not self.margin > 0 or self.n_reference < 1:
            raise ValueError(
                f"UnknownRejector: quantile {self.quantile!r}, margin {self.margin!r}, n_reference "
                f"{self.n_reference!r}; "
                "give a quantile in (0, 1], a margin above 0, and at least 1 reference."
            )
        self.classifier_ = clone(self.classifier).fit(X, y)
        self.classes_ = self.classifier_.classes_
        rates = _non_negative(validate_data(self, X, dtype=np.float64))
        groups = np.arange(len(rates)) if groups is None else np.unique(groups, return_inverse=True)[1]
        if groups.max() == 0:
            raise ValueError(
                "UnknownRejector: all slices are of one group; it takes two to tell how far apart they are."
            )
        mean = rates.mean(axis=0)
        self.floor_ = np.where(mean > 0, _FLOOR * mean, 1.0)
        logs = np.log(rates + self.floor_)
        self.mean_, self.std_ = logs.mean(axis=0), logs.std(axis=0)
        self.std_[self.std_ == 0] = 1.0
        points = self._standardise(rates)
        chosen = _spread(np.asarray(y), groups, self.n_reference)
        self.reference_ = points[chosen]
        apart = _nearest(points, self.reference_, groups, groups[chosen])
        self.threshold_ = self.margin * float(np.quantile(apart[np.isfinite(apart)], self.quantile))
        return self

    def distance(self, X):
        """Return the distance of each slice to its nearest reference [standard deviations]."""
        return _nearest(self._standardise(self._rates(X)), self.reference_)

    def is_unknown(self, X):
        """Whether each slice is farther than `threshold_` from all references, shape (n_slices,)."""
        return self.distance(X) > self.threshold_

    def predict(self, X):
        """Return the class of each slice, or the label of the unknown."""
        labels = self.classifier_.predict(X).astype(object)
        labels[self.is_unknown(X)] = self.label
        return labels

    def _rates(self, X):
        check_is_fitted(self)
        return _non_negative(validate_data(self, X, dtype=np.float64, reset=False))

    def _standardise(self, rates):
        return (np.log(rates + self.floor_) - self.mean_) / self.std_


def _non_negative(rates):
    if rates.min(initial=0.0) < 0:
        raise ValueError(
            f"UnknownRejector: a rate of {rates.min():g} events per cycle; rates are never below 0."
        )
    return rates


def _spread(y, groups, n):
    """Choose at most about n slices, as many from each class and group, evenly along each."""
    cells = np.unique(
        np.unique(y, return_inverse=True)[1] * (groups.max() + 1) + groups, return_inverse=True
    )[1]
    share = max(1, n // (cells.max() + 1))
    members = [np.flatnonzero(cells == cell) for cell in range(cells.max() + 1)]
    taken = [m[np.linspace(0, len(m) - 1, min(share, len(m))).astype(int)] for m in members]
    return np.sort(np.concatenate(taken))


def _nearest(points, reference, groups=None, reference_groups=None):
    """Distance to the nearest reference, of another group where groups are given (inf if there is none)."""
    squares = (reference**2).sum(axis=1)
    distances = np.empty(len(points))
    for start in range(0, len(points), _CHUNK):
        part = points[start : start + _CHUNK]
        squared = (part**2).sum(axis=1)[:, None] - 2 * part @ reference.T + squares
        if groups is not None:
            squared[groups[start : start + _CHUNK, None] == reference_groups] = np.inf
        distances[start : start + _CHUNK] = np.sqrt(np.maximum(squared.min(axis=1), 0.0))
    return distances
