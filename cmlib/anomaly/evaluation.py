"""How well runs of known kind are told apart: a row of AutoPerf's Table 2."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.samples import PLACE, gather, usual_range


def evaluate(detector, good_runs, bad_runs, *, cause=None):
    """Judge good and bad runs one by one."""
    positives = [run for run, hit in zip(bad_runs, detector.predict_runs(bad_runs), strict=True) if hit]
    false_positives = sum(detector.predict_runs(good_runs))
    true_positives = len(positives)
    precision = true_positives / (true_positives + false_positives) if true_positives else 0.0
    recall = true_positives / len(bad_runs) if bad_runs else 0.0
    causes = [] if cause is None else [list(detector.causes(run)["counter"]) for run in positives]
    firsts = pd.Series([counters[0] for counters in causes if counters], dtype=object)
    ranks = [1 + min(map(counters.index, cause)) for counters in causes if counters and cause]
    return pd.Series(
        {
            "good": len(good_runs),
            "bad": len(bad_runs),
            "false_negatives": len(bad_runs) - true_positives,
            "false_positives": false_positives,
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall) if true_positives else 0.0,
            "cause_rank": pd.Series(ranks, dtype=float).median(),
            "named": "" if firsts.empty else firsts.mode()[0],
        }
    )


class EventRatioTree(BaseEstimator):
    """Decision tree on the ratio of each event to the instructions (Jayasena et al. 2013).

    The ratios are those of the samples: to the work where no instructions were counted.
    It has to be shown anomalies: it learns from small programs that are good and bad on purpose, and is asked
    about others. A run is anomalous if most of its samples are.

    Parameters
    ----------
    random_state : int, RandomState or None

    Attributes
    ----------
    tree_ : DecisionTreeClassifier
    counters_ : list of str
    """

    def __init__(self, *, random_state=None):
        self.random_state = random_state

    def fit(self, runs, y):
        """Learn good and bad runs of training programs."""
        if len(set(map(bool, y))) < 2 or len(y) != len(runs):
            raise ValueError(
                f"{len(runs)} runs with {len(y)} labels {sorted(set(map(bool, y)))}: the tree needs a label for each, "
                "and both good and bad runs"
            )
        self.counters_ = [column for column in runs[0] if column not in PLACE]
        samples = gather(runs, self.counters_)
        labels = np.asarray(y, dtype=bool)[samples.run]
        self.tree_ = DecisionTreeClassifier(
            criterion="entropy", min_samples_leaf=5, random_state=self.random_state
        ).fit(samples.values, labels)
        return self

    def predict(self, run):
        """Whether a run is anomalous."""
        return self.predict_runs([run])[0]

    def predict_runs(self, runs):
        """Which of many runs are anomalous."""
        check_is_fitted(self)
        if not len(runs):
            return []
        samples = gather(runs, self.counters_)
        exceeding = self.tree_.predict(samples.values)
        return (np.bincount(samples.run, exceeding) / np.bincount(samples.run) > 0.5).tolist()


_SHARE = 0.95  # of the variance, that the components explain


class PrincipalComponents(BaseEstimator):
    """Reconstruction from principal components, in place of an autoencoder.

    Parameters
    ----------
    smallest_range : float >= 0, optional
        As for `Autoencoder`.
    random_state : ignored

    Attributes
    ----------
    pca_ : PCA
    """

    def __init__(self, *, smallest_range=None, random_state=None):
        self.smallest_range = smallest_range
        self.random_state = random_state

    def fit(self, X, y=None):
        """Learn good samples."""
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.low_, self.range_ = usual_range(X, self.smallest_range)
        self.pca_ = PCA(_SHARE, svd_solver="full").fit((X - self.low_) / self.range_)
        return self

    def squared_errors(self, X):
        """Squared difference of each counter from its reconstruction, in units of its range."""
        check_is_fitted(self)
        x = (validate_data(self, X, dtype=np.float64, reset=False) - self.low_) / self.range_
        return (x - self.pca_.inverse_transform(self.pca_.transform(x))) ** 2

    def score_samples(self, X):
        """Minus the reconstruction error."""
        return -self.squared_errors(X).sum(axis=1)


def baseline(name, **settings):
    """AutoPerf's decisions with another model of good samples."""
    models = {"pca": PrincipalComponents(), "isolation_forest": IsolationForest(n_jobs=1)}
    if name not in models:
        raise ValueError(
            f"no baseline {name!r}; there are {', '.join(models)} (and the class EventRatioTree)"
        )
    return AutoPerf(autoencoder=models[name], **settings)
