"""Detect performance anomalies after training on good runs only (AutoPerf).

:class:`AutoPerf` is a scikit-learn estimator. `fit` takes good runs, `predict` returns whether a run is anomalous, and
`causes` ranks the counters that differ. A run is a DataFrame with one row per sample (one call of a function). Columns
are function, location, and the counters, divided by instructions or by work.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.clusters import cross_val_distances, distances, select_n_clusters
from cmlib.anomaly.samples import DISTANCES, gather, smallest_range, summarize
from cmlib.errors import InputError
from cmlib.locations import LOCATION_COLUMNS


def p_value_of_distance(distance, good):
    """Compute the p-value of the distance of a run.

    Above the median of the good runs, the excess over the median is assumed to be exponentially distributed. Its scale
    is estimated from the good runs above the median.

    Parameters
    ----------
    distance : float
        Distance of the run.
    good : array-like of float, shape (n_runs,)
        Distances of good runs. Not empty.

    Returns
    -------
    float
        Probability (0-1) of such a distance in a good run. 1 up to the median.
    """
    good = np.asarray(good, dtype=float)
    median = np.median(good)
    if distance <= median:
        return 1.0
    excesses = good[good > median] - median
    return float(0.5 * (1 + (distance - median) / max(excesses.sum(), 1e-12)) ** -max(len(excesses), 1))


@dataclass(kw_only=True, eq=False, repr=False)
class AutoPerf(BaseEstimator):
    """Detector of performance anomalies that is trained on good runs only (AutoPerf, §3).

    A sample is anomalous if its reconstruction error exceeds mean + 2 standard deviations of the errors in training
    (§3.3.2). The paper's rule ("any") calls a run with such a sample anomalous (§3.3, §3.5). By that rule, good runs
    with many samples are anomalous too.

    The default rule ("distance") compares the distances of samples with those of good runs. It computes the median and
    the 90 % quantile of the distances for each function. A run is anomalous if one of them is larger than in good
    runs, at a false-alarm probability of `alpha` (Bonferroni over the two and over functions; see
    `p_value_of_distance`). Good runs are scored by autoencoders that were trained without them.

    Parameters
    ----------
    autoencoder : estimator, default Autoencoder()
        Model that is cloned for each cluster. Any estimator with the method score_samples (higher is more normal, never
        above 0). `causes` also needs squared_errors.
    rule : {"distance", "any"}, default "distance"
        Rule that makes a run anomalous. It may be changed after fitting.
    max_clusters : int, default 10
        Largest number of clusters of functions to try. 1 means one autoencoder for all functions.
    folds : int >= 2, default 5
        Number of folds for scoring good runs.
    alpha : float, default 0.005
        Nominal false-alarm probability per run. It is a quarter of the tolerable 2 %, because runs on new inputs
        differ more than a few dozen good runs show.
    random_state : int, numpy.random.RandomState or None
        Seed of the clusters and of the autoencoders' initial weights.

    Attributes
    ----------
    counters_ : list of str
        Names of the counters.
    clusters_ : dict of str to int
        Number of the cluster in `models_`, keyed by function.
    models_ : list of cmlib.anomaly.clusters.FittedCluster
        Autoencoder and threshold of each cluster.
    history_ : DataFrame
        One row per number of clusters k that was tried (Fig. 8). Columns: k, autoencoders and false_positive_rate.
    held_out_ : DataFrame
        Distances of good runs from autoencoders that were trained without the run, with the columns of `summarize`.
    """

    autoencoder: BaseEstimator | None = None
    rule: str = "distance"
    max_clusters: int = 10
    folds: int = 5
    alpha: float = 0.005
    random_state: object = None

    def fit(
        self, runs: Sequence[pd.DataFrame], y: object | None = None, *, others: Sequence[pd.DataFrame] = ()
    ) -> Self:
        """Train on good runs.

        Parameters
        ----------
        runs : sequence of DataFrame
            At least two runs with normalized samples. Columns: function, location, and the counters. `stopping_run`
            finds how many runs are enough.
        y : ignored
        others : sequence of DataFrame, optional
            Further good runs for `held_out_`. By default `held_out_` is computed by cross-validation over `runs`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer than 2 runs, if they differ in their counters, if a value is not finite, or if the
            rule is unknown.
        """
        runs = list(runs)
        if len(runs) < 2:
            raise InputError(f"{len(runs)} good runs: at least 2 are needed to see how they differ")
        self._check_rule()
        self.counters_ = [column for column in runs[0] if column not in LOCATION_COLUMNS]
        self._seed = int(check_random_state(self.random_state).randint(2**31))
        samples, model = gather(runs, self.counters_), self._model(runs)
        clustering = {"max_clusters": self.max_clusters, "random_state": self._seed}
        self.clusters_, self.models_, self.history_ = select_n_clusters(samples, model, **clustering)
        if others:
            judged = self._known(others)
            held_out = distances(judged, self.clusters_, self.models_)
        else:
            judged = samples
            held_out = cross_val_distances(samples, self.clusters_, self.models_, model, folds=self.folds)
        self.held_out_ = summarize(judged, held_out)
        return self

    def distances(self, run: pd.DataFrame) -> np.ndarray:
        """Compute the distance of each sample from the good runs.

        Parameters
        ----------
        run : DataFrame
            Normalized samples. Columns: function, location, and the counters.

        Returns
        -------
        ndarray of float, shape (n_samples,)
            Square root of reconstruction error / threshold. Above 1 a sample is anomalous.

        Raises
        ------
        ValueError
            If a counter or a function was not in the good runs, or a value is not finite.
        """
        return distances(self._known([run]), self.clusters_, self.models_)

    def summarize(self, runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Summarize the distances of samples per run and function.

        Parameters
        ----------
        runs : sequence of DataFrame
            Normalized samples of each run.

        Returns
        -------
        DataFrame
            One row per run and function, from :func:`cmlib.anomaly.samples.summarize`.

        Raises
        ------
        ValueError
            If a counter or a function was not in the good runs, or a value is not finite.
        """
        samples = self._known(runs)
        return summarize(samples, distances(samples, self.clusters_, self.models_))

    def p_values_of(self, runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Compute the p-value of each run and function.

        Parameters
        ----------
        runs : sequence of DataFrame
            Normalized samples of each run.

        Returns
        -------
        DataFrame
            The result of `summarize` with the column p_value: the probability (0-1) of such distances in a good run.
            It is corrected for the two distances, but not for the number of functions.
        """
        summaries, good = self.summarize(runs), dict(list(self.held_out_.groupby("function")))
        p_values = [
            [p_value_of_distance(getattr(row, part), good[row.function][part]) for part in DISTANCES]
            for row in summaries.itertuples()
        ]
        return summaries.assign(p_value=np.minimum(1, 2 * np.min(p_values, axis=1)))

    def predict(self, run: pd.DataFrame) -> bool:
        """Predict whether a run is anomalous.

        Parameters
        ----------
        run : DataFrame
            Normalized samples. Columns: function, location, and the counters.

        Returns
        -------
        bool
            True if the run is anomalous by `rule`.

        Raises
        ------
        ValueError
            If the rule is unknown, a counter or a function was not in the good runs, or a value is not finite.
        """
        return self.predict_runs([run])[0]

    def predict_runs(self, runs: Sequence[pd.DataFrame]) -> list[bool]:
        """Predict for each of several runs whether it is anomalous.

        Parameters
        ----------
        runs : sequence of DataFrame
            Normalized samples of each run.

        Returns
        -------
        list of bool
            True for a run that is anomalous by `rule`. Empty if there are no runs.

        Raises
        ------
        ValueError
            If the rule is unknown, a counter or a function was not in the good runs, or a value is not finite.
        """
        self._check_rule()
        if not len(runs):
            return []
        if self.rule == "any":
            return (self.summarize(runs).groupby("run")["exceeding"].sum() > 0).tolist()
        p_values = self.p_values_of(runs).groupby("run")["p_value"]
        return (p_values.min() * p_values.size() <= self.alpha).tolist()

    def causes(self, run: pd.DataFrame, *, beyond: float = 1.0) -> pd.DataFrame:
        """Rank counters by their part in the anomaly, by majority vote (§3.5).

        Each anomalous sample ranks the counters by their part of its reconstruction error. Counters are sorted by how
        often they are first, then second, and so on.

        Parameters
        ----------
        run : DataFrame
            Normalized samples. Columns: function, location, and the counters.
        beyond : float, default 1.0
            Smallest distance of a sample that votes. 1 is the threshold of anomalous samples.

        Returns
        -------
        DataFrame
            One row per counter, the most likely cause first. Empty if no sample votes. Columns:

            - counter: name
            - votes: number of samples that rank it first
            - share: mean share of the reconstruction error
            - times_usual: median, as a multiple of the median of good samples (infinite if that is 0)
            - function, location: of most of the samples that rank it first
        """
        exceeding = run[self.distances(run) > beyond]
        if exceeding.empty:
            return pd.DataFrame(columns=["counter", "votes", "share", "times_usual", *LOCATION_COLUMNS])
        values = exceeding[self.counters_].to_numpy()
        cluster = exceeding["function"].map(self.clusters_).to_numpy()
        errors = self._compute_errors(values, cluster)
        ranked = np.argsort(-errors, axis=1, kind="stable")
        first = ranked[:, 0]
        order = vote(ranked)
        table = {
            "counter": self.counters_,
            "votes": np.bincount(first, minlength=len(order)),
            "share": (errors / errors.sum(axis=1, keepdims=True)).mean(axis=0),
            "times_usual": self._compare_with_usual(values, cluster),
        }
        frame = pd.DataFrame(table).iloc[order].reset_index(drop=True)
        locations = [_find_most_common_location(exceeding, first == counter) for counter in order]
        return frame.join(pd.DataFrame(locations, columns=list(LOCATION_COLUMNS)))

    def _compute_errors(self, values, cluster):
        """Compute the squared error of each sample and counter, by the model of the cluster."""
        errors = np.empty_like(values)
        for number in np.unique(cluster):
            members = cluster == number
            errors[members] = self.models_[number].autoencoder.squared_errors(values[members])
        return errors

    def _compare_with_usual(self, values, cluster):
        """Compute the median of each counter as a multiple of that of good samples; infinite if that is 0."""
        medians = np.stack([self.models_[number].median for number in cluster])
        ratios_to_zero = np.where(values > 0, np.inf, 0.0)
        return np.median(np.divide(values, medians, out=ratios_to_zero, where=medians > 0), axis=0)

    def _check_rule(self):
        """Raise a ValueError if the rule is unknown."""
        if self.rule not in ("distance", "any"):
            raise InputError(f"rule {self.rule!r}: it can be 'distance' or 'any'")

    def _model(self, runs):
        """Return the unfitted autoencoder with its seed and smallest range."""
        model = clone(Autoencoder() if self.autoencoder is None else self.autoencoder)
        model.set_params(random_state=self._seed)
        if model.get_params().get("smallest_range", 0) is None:
            model.set_params(smallest_range=smallest_range(pd.concat(runs)))
        return model

    def _known(self, runs):
        """Gather the samples of runs; raise a ValueError if a function was not in the good runs."""
        check_is_fitted(self)
        samples = gather(runs, self.counters_)
        if unknown := set(samples.index.get_level_values("function")) - set(self.clusters_):
            raise InputError(
                f"functions {sorted(unknown)} were not in the good runs ({sorted(self.clusters_)}): there is nothing "
                "to compare them with. Put regions around their callers instead."
            )
        return samples


def _find_most_common_location(samples, is_voting):
    """Return the most common function and location of the voting samples, or of all samples if none votes."""
    if is_voting.any():
        samples = samples[is_voting]
    located = zip(samples["function"], samples["location"], strict=True)
    return Counter(located).most_common(1)[0][0]


def vote(rankings):
    """Sort counters by how often they are ranked first, then second, and so on.

    Parameters
    ----------
    rankings : ndarray of int, shape (n_samples, n_counters)
        Numbers of the counters in each sample, the counter with the largest part of the error first.

    Returns
    -------
    ndarray of int, shape (n_counters,)
        Numbers of the counters.
    """
    n_counters = rankings.shape[1]
    votes = np.stack([np.bincount(place, minlength=n_counters) for place in rankings.T])
    return np.lexsort(-votes[::-1])
