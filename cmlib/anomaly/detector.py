"""Detect performance anomalies by a detector that is trained on good runs only (AutoPerf).

:class:`AutoPerf` is a scikit-learn estimator: ``fit`` takes good runs, ``predict`` returns whether a run is anomalous
(bool), ``causes`` which counters differ (DataFrame). A run is a DataFrame, a row per sample (a passage through a
region of code): columns function, location, and the counters, divided by instructions or by work. Raises a
ValueError if there are fewer than two good runs, for counters or functions that these do not have, and for values
that are not finite.
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
    """Compute the p-value (0-1) of a run's distance (float) from the distances of good runs (array-like, not empty).

    Up to the median of the good runs it is 1. Above the median, the excess over it is assumed to be exponentially
    distributed; its scale is estimated from the good runs above the median.
    """
    good = np.asarray(good, dtype=float)
    median = np.median(good)
    if distance <= median:
        return 1.0
    excesses = good[good > median] - median
    return float(0.5 * (1 + (distance - median) / max(excesses.sum(), 1e-12)) ** -max(len(excesses), 1))


@dataclass(kw_only=True, eq=False, repr=False)
class AutoPerf(BaseEstimator):
    """Zero-positive detector of performance anomalies (AutoPerf, §3).

    A sample is anomalous if its reconstruction error exceeds mean + 2 standard deviations of the errors in
    training (§3.3.2), and by the paper's rule ("any") so is a run with such a sample (§3.3, §3.5). The
    more samples a run has, the more good runs are anomalous by that rule. The default rule ("distance") compares
    distances with those of good runs: of each function in a run, the median and the 90 % quantile of the samples'
    distances are taken, of good runs by autoencoders that were trained without them. A run is anomalous if one of
    these is larger than in good runs, at a false-alarm probability of `alpha` (Bonferroni over the two and over
    functions; see `p_value_of_distance`).

    Parameters
    ----------
    autoencoder : estimator, default Autoencoder()
        Cloned for each cluster, with a random_state drawn from the detector's. Any estimator with score_samples
        (higher is more normal, never above 0); `causes` also needs squared_errors.
    rule : {"distance", "any"}, default "distance"
        What makes a run anomalous. It may be changed after fitting.
    max_clusters : int, default 10
        Most clusters of functions tried; 1 for one autoencoder for all.
    folds : int >= 2, default 5
        Number of folds that good runs are held out in.
    alpha : float, default 0.005
        Nominal false-alarm probability per run. A quarter of the 2 % that are tolerable, because runs on new inputs
        differ more than a few dozen good runs show.
    random_state : int, numpy.random.RandomState or None
        Seed of the clusters and of the autoencoders' initial weights.

    Attributes
    ----------
    counters_ : list of str
        Columns of the samples that are counters.
    clusters_ : dict of str to int
        Number of each function's cluster in `models_`.
    models_ : list of cmlib.anomaly.clusters.FittedCluster
        Autoencoder and threshold of each cluster.
    history_ : DataFrame
        k, autoencoders, false_positive_rate for each number of clusters tried (Fig. 8).
    held_out_ : DataFrame
        A row for each good run and function, from autoencoders that were trained without the run: run, function,
        exceeding and samples (numbers of samples above the threshold and in all), distance_p50 and distance_p90
        (distance that half, and a tenth, of the samples exceed).
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
            Normalized samples: columns function, location, and the counters. At least two runs; `stopping_run`
            finds how many are enough.
        y : ignored
        others : sequence of DataFrame, optional
            Good runs for `held_out_` alone, with all functions of `runs`. By default it is computed by
            cross-validation over `runs`, with autoencoders of the same topology.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are fewer than 2 runs, they differ in their counters, or hold values that aren't finite,
            or the settings don't go together.
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
            Normalized samples: columns function, location, and the counters.

        Returns
        -------
        ndarray of float, shape (n_samples,)
            Square root of reconstruction error over threshold; above 1 the sample is anomalous.

        Raises
        ------
        ValueError
            If a counter or a function wasn't there in the good runs, or a value isn't finite.
        """
        return distances(self._known([run]), self.clusters_, self.models_)

    def summarize(self, runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Summarize the samples' distances by run and function.

        Parameters
        ----------
        runs : sequence of DataFrame
            Normalized samples of each run.

        Returns
        -------
        DataFrame
            Columns run (number), function, exceeding, samples, distance_p50, distance_p90, as in `held_out_`.

        Raises
        ------
        ValueError
            If a counter or a function was not in the good runs, or a value is not finite.
        """
        samples = self._known(runs)
        return summarize(samples, distances(samples, self.clusters_, self.models_))

    def p_values_of(self, runs: Sequence[pd.DataFrame]) -> pd.DataFrame:
        """Compute the p-value of each run and function: the probability of such distances in a good run.

        Parameters
        ----------
        runs : sequence of DataFrame
            Normalized samples of each run.

        Returns
        -------
        DataFrame
            That of `summarize` with the column p_value (0-1, corrected for the two distances but not for the number
            of functions).
        """
        summaries, good = self.summarize(runs), dict(list(self.held_out_.groupby("function")))
        p_values = [
            [p_value_of_distance(getattr(row, part), good[row.function][part]) for part in DISTANCES]
            for row in summaries.itertuples()
        ]
        return summaries.assign(p_value=np.minimum(1, 2 * np.min(p_values, axis=1)))

    def predict(self, run: pd.DataFrame) -> bool:
        """Tell whether a run is anomalous, by `rule`.

        Parameters
        ----------
        run : DataFrame
            Normalized samples: columns function, location, and the counters.

        Returns
        -------
        bool
            True if it is anomalous.

        Raises
        ------
        ValueError
            If the rule is unknown, a counter or a function was not in the good runs, or a value is not finite.
        """
        return self.predict_runs([run])[0]

    def predict_runs(self, runs: Sequence[pd.DataFrame]) -> list[bool]:
        """Tell of each of several runs whether it is anomalous, by `rule`.

        Parameters
        ----------
        runs : sequence of DataFrame
            Normalized samples of each run.

        Returns
        -------
        list of bool
            One a run; empty if there is no run.

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
        """Rank counters by how much they make samples anomalous, by majority vote (§3.5).

        Each anomalous sample ranks the counters by their part of its reconstruction error; counters are sorted by
        how often they are first, then second, and so on.

        Parameters
        ----------
        run : DataFrame
            Normalized samples: columns function, location, and the counters.
        beyond : float, default 1.0
            Samples farther than this vote; 1 is the threshold, see `distances`.

        Returns
        -------
        DataFrame
            A row per counter, the cause first: counter, votes (samples where it comes first), share (of the
            error, mean), times_usual (its median, as a multiple of the good samples'; infinite where that is
            0), and function and location of most of the samples where it comes first. Empty if no sample votes.
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
        """Compute each sample's squared error of each counter (array), by the model of its cluster."""
        errors = np.empty_like(values)
        for number in np.unique(cluster):
            members = cluster == number
            errors[members] = self.models_[number].autoencoder.squared_errors(values[members])
        return errors

    def _compare_with_usual(self, values, cluster):
        """Compute the medians of the counters as multiples of those of the good samples; infinite where these are 0."""
        usual = np.stack([self.models_[number].usual for number in cluster])
        unseen = np.where(values > 0, np.inf, 0.0)
        return np.median(np.divide(values, usual, out=unseen, where=usual > 0), axis=0)

    def _check_rule(self):
        """Raise a ValueError if the rule is unknown."""
        if self.rule not in ("distance", "any"):
            raise InputError(f"rule {self.rule!r}: it can be 'distance' or 'any'")

    def _model(self, runs):
        """Return the unfitted autoencoder that is cloned for each cluster, with its seed and smallest range set."""
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
    """Return function and location of most of the voting samples, or of all samples if none votes."""
    if is_voting.any():
        samples = samples[is_voting]
    located = zip(samples["function"], samples["location"], strict=True)
    return Counter(located).most_common(1)[0][0]


def vote(rankings):
    """Sort the counters (array of numbers) by how many samples rank them first, then second, and so on.

    `rankings` has a row per sample: the numbers of the counters, the one with the largest part of the sample's
    error first.
    """
    n_counters = rankings.shape[1]
    votes = np.stack([np.bincount(place, minlength=n_counters) for place in rankings.T])
    return np.lexsort(-votes[::-1])
