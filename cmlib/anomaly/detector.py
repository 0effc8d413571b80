"""Is this run anomalous, where, and by which counter? Learned from good runs alone (AutoPerf, §3.3-3.5)."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.chance import chance_of_count, chance_of_distance
from cmlib.anomaly.clusters import raise_clusters
from cmlib.anomaly.profiles import PLACE
from cmlib.anomaly.scaling import smallest_range


@dataclass(frozen=True)
class Expert:
    """What is known of the good samples of a cluster of functions.

    Attributes
    ----------
    autoencoder : Autoencoder
    threshold : float
        Mean + 2 standard deviations of the reconstruction errors in training.
    usual : ndarray of float, shape (n_counters,)
        Median of each counter.
    """

    autoencoder: Autoencoder
    threshold: float
    usual: np.ndarray


class AutoPerf(BaseEstimator):
    """Zero-positive detector of performance anomalies.

    A sample is anomalous if its reconstruction error exceeds mean + 2 standard deviations of the errors in
    training (§3.3.2). By that alone some samples of every good run are; how many make a *run* anomalous the
    paper leaves open. Here the good runs say: each is judged by autoencoders that learned only the others
    (`folds`), and noted is how far above the threshold half of its samples lie, and how far a tenth of them.
    A run is anomalous if half, or a tenth, of a function's samples lie farther off than good runs' do but for
    a chance of `alpha` (Bonferroni over the two and over functions; see `chance_of_distance`).

    Parameters
    ----------
    autoencoder : estimator, default Autoencoder()
        Cloned for each cluster, its random_state set from this one's. Another with score_samples (the higher
        the more normal, never above 0) and squared_errors may stand in; without the latter there are no
        causes.
    threshold : "2sd" or float, default "2sd"
        A float is the paper's fixed threshold instead (Fig. 11): the share by which the length of a sample's
        vector changes in reconstruction. It goes with rule "count" only.
    rule : {"distance", "count"}, default "distance"
        "count" asks only how many samples exceed the threshold, not by how far (see `chance_of_count`). It is
        blind where some good inputs already lie beyond the threshold with all of their samples.
    max_clusters : int, default 10
        Most clusters of functions tried; 1 for one autoencoder for all.
    folds : int >= 2, default 5
        Parts the good runs are left out in.
    alpha : float, default 0.005
        Nominal chance of a false alarm per run. A quarter of the 2 % that are tolerable, for new inputs stray
        farther than a few dozen good runs can tell.
    random_state : int, RandomState or None

    Attributes
    ----------
    counters_ : list of str
    clusters_ : dict of str to int
        Autoencoder of each function.
    experts_ : list of Expert
        Autoencoder and threshold of each cluster.
    history_ : DataFrame
        k, autoencoders, false_positive_rate for each number of clusters tried (Fig. 8).
    held_out_ : DataFrame
        Columns run, function, exceeding, samples (counts above the threshold and in all), half and tenth
        (distance that half, and a tenth, of the samples exceed): good runs as autoencoders see them
        that learned only the others, by the threshold of the one that learned all.
    """

    def __init__(
        self,
        *,
        autoencoder=None,
        threshold="2sd",
        rule="distance",
        max_clusters=10,
        folds=5,
        alpha=0.005,
        random_state=None,
    ):
        self.autoencoder = autoencoder
        self.threshold = threshold
        self.rule = rule
        self.max_clusters = max_clusters
        self.folds = folds
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, runs, y=None):
        """Learn good runs.

        Parameters
        ----------
        runs : sequence of DataFrame
            Normalized samples: columns function, location, and the counters. At least two, and as many as
            `stopping_run` asks for.
        y : ignored

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
            raise ValueError(
                f"{len(runs)} good runs: at least 2 are needed to tell what differs between good runs"
            )
        if self.rule not in ("distance", "count") or (self.rule == "distance" and self.threshold != "2sd"):
            raise ValueError(
                f"rule {self.rule!r} with threshold {self.threshold!r}: rules are 'distance' and 'count', and a fixed "
                "threshold goes with 'count' only"
            )
        self.counters_ = [column for column in runs[0] if column not in PLACE]
        self._seed = int(check_random_state(self.random_state).randint(2**31))
        self._smallest = smallest_range(pd.concat(runs))
        samples = pd.concat([self._checked(run) for run in runs], keys=range(len(runs)), names=["run", None])
        self.clusters_, self.experts_, self.history_ = raise_clusters(
            samples[self.counters_].to_numpy(),
            samples["function"].to_numpy(),
            lambda clusters: self._learned(samples, clusters),
            max_clusters=self.max_clusters,
            random_state=self._seed,
        )
        self.held_out_ = self._held_out(samples, min(self.folds, len(runs)))
        return self

    def exceeding(self, run):
        """Which samples of a run are anomalous.

        Parameters
        ----------
        run : DataFrame

        Returns
        -------
        ndarray of bool, shape (n_samples,)

        Raises
        ------
        ValueError
            If a counter or a function wasn't there in the good runs, or a value isn't finite.
        """
        return self.distances(run) > 1

    def distances(self, run):
        """How far each sample is from what was learned.

        Parameters
        ----------
        run : DataFrame

        Returns
        -------
        ndarray of float, shape (n_samples,)
            Length of what could not be reconstructed, as a multiple of the length at the threshold (the
            square root of reconstruction error / threshold); above 1 the sample is anomalous.

        Raises
        ------
        ValueError
            As for `exceeding`.
        """
        check_is_fitted(self)
        run = self._checked(run)
        unknown = set(run["function"]) - set(self.clusters_)
        if unknown:
            raise ValueError(
                f"functions {sorted(unknown)} were not in the good runs ({sorted(self.clusters_)}): there is nothing "
                "to compare them with. Put regions around their callers instead."
            )
        return self._distances(run, self.clusters_, self.experts_)

    def summary(self, run):
        """What is noted of a run, function by function.

        Parameters
        ----------
        run : DataFrame

        Returns
        -------
        DataFrame
            Columns function, exceeding, samples, half, tenth, as in `held_out_`.
        """
        return _summary(run["function"].to_numpy(), self.distances(run))

    def chances(self, run):
        """How likely a good run would stray so far, function by function.

        Parameters
        ----------
        run : DataFrame

        Returns
        -------
        DataFrame
            That of `summary` with a column chance (0-1, of the function alone).
        """
        summary = self.summary(run)
        good = dict(list(self.held_out_.groupby("function")))
        return summary.assign(chance=[self._chance(row, good[row.function]) for row in summary.itertuples()])

    def predict(self, run):
        """Whether a run is anomalous.

        Parameters
        ----------
        run : DataFrame

        Returns
        -------
        bool
        """
        chances = self.chances(run)["chance"]
        return bool(chances.min() * len(chances) <= self.alpha)

    def causes(self, run, *, beyond=1.0):
        """Counters that make samples anomalous, by majority vote (§3.5).

        Each anomalous sample ranks the counters by their part of its reconstruction error; they are listed by
        how often they come first, then second, and so on.

        Parameters
        ----------
        run : DataFrame
        beyond : float, default 1.0
            Distance from which a sample votes; 1 is the threshold, see `distances`.

        Returns
        -------
        DataFrame
            A row a counter, the cause first: counter, votes (samples where it comes first), share (of the
            error, mean), times_usual (its median, as a multiple of the good samples'; infinite where that is
            0), and function and location of most of the samples where it comes first. Empty if no sample votes.
        """
        found = run[self.distances(run) > beyond]
        if found.empty:
            return pd.DataFrame(columns=["counter", "votes", "share", "times_usual", *PLACE])
        values = found[self.counters_].to_numpy()
        cluster = found["function"].map(self.clusters_).to_numpy()
        errors = np.empty_like(values)
        for number, expert in enumerate(self.experts_):
            if (cluster == number).any():
                errors[cluster == number] = expert.autoencoder.squared_errors(values[cluster == number])
        usual = np.array([self.experts_[number].usual for number in cluster])
        unseen = np.where(values > 0, np.inf, 0.0)
        times_usual = np.median(np.divide(values, usual, out=unseen, where=usual > 0), axis=0)
        shares = (errors / errors.sum(axis=1, keepdims=True)).mean(axis=0)
        ranked = np.argsort(-errors, axis=1, kind="stable")
        rows = []
        for counter in vote(ranked):
            first = ranked[:, 0] == counter
            place = found[first if first.any() else slice(None)][list(PLACE)].value_counts().index[0]
            rows.append(
                (self.counters_[counter], int(first.sum()), shares[counter], times_usual[counter], *place)
            )
        return pd.DataFrame(rows, columns=["counter", "votes", "share", "times_usual", *PLACE])

    def _checked(self, run):
        counters = [column for column in run if column not in PLACE]
        if set(counters) != set(self.counters_):
            raise ValueError(
                f"a run has the counters {counters}, the first good one {self.counters_}: only runs that counted the "
                "same events can be compared"
            )
        if run.empty or not np.isfinite(run[counters].to_numpy(float)).all():
            raise ValueError(f"a run of {len(run)} samples is empty or not counted everywhere: leave it out")
        return run

    def _learned(self, samples, clusters, found=None):
        """Experts for clusters of functions, and the share of their own samples they find anomalous."""
        experts = []
        for cluster in range(max(clusters.values()) + 1):
            own = samples.loc[
                samples["function"].map(clusters).to_numpy() == cluster, self.counters_
            ].to_numpy()
            settings = Autoencoder() if self.autoencoder is None else self.autoencoder
            autoencoder = clone(settings).set_params(random_state=self._seed)
            if autoencoder.get_params().get("smallest_range", 0) is None:
                autoencoder.set_params(smallest_range=self._smallest)
            if found and isinstance(autoencoder, Autoencoder):
                autoencoder.set_params(topologies=[found[cluster].autoencoder.topology_])
            errors = -autoencoder.fit(own).score_samples(own)
            experts.append(Expert(autoencoder, errors.mean() + 2 * errors.std(), np.median(own, axis=0)))
        return experts, (self._distances(samples, clusters, experts) > 1).mean()

    def _distances(self, samples, clusters, experts):
        distances = np.empty(len(samples))
        cluster = samples["function"].map(clusters).to_numpy()
        values = samples[self.counters_].to_numpy()
        for number in np.unique(cluster):
            own, expert = cluster == number, experts[number]
            if self.threshold == "2sd":
                errors = -expert.autoencoder.score_samples(values[own])
                distances[own] = np.sqrt(errors / expert.threshold)
            else:
                distances[own] = expert.autoencoder.length_change(values[own]) / self.threshold
        return distances

    def _held_out(self, samples, folds):
        """Good runs as judged by experts, of the topologies found, that learned the other runs only."""
        run = samples.index.get_level_values("run")
        summaries = []
        for fold in range(folds):
            left_out = run % folds == fold
            experts, _ = self._learned(samples[~left_out], self.clusters_, self.experts_)
            both = zip(experts, self.experts_, strict=True)
            experts = [replace(expert, threshold=final.threshold) for expert, final in both]
            distances = self._distances(samples[left_out], self.clusters_, experts)
            for name in run[left_out].unique():
                one = run[left_out] == name
                functions = samples["function"].to_numpy()[left_out][one]
                summaries.append(_summary(functions, distances[one]).assign(run=name))
        return pd.concat(summaries, ignore_index=True).sort_values("run", ignore_index=True)

    def _chance(self, row, good):
        if self.rule == "count":
            return chance_of_count(row.exceeding, row.samples, good["exceeding"], good["samples"])
        chances = chance_of_distance(row.half, good["half"]), chance_of_distance(row.tenth, good["tenth"])
        return min(1.0, 2 * min(chances))


def vote(rankings):
    """Order counters by how many samples rank them first, then second, and so on.

    Parameters
    ----------
    rankings : ndarray of int, shape (n_samples, n_counters)
        In each row the counters' numbers, the largest error first.

    Returns
    -------
    ndarray of int, shape (n_counters,)
    """
    n_counters = rankings.shape[1]
    votes = np.stack([np.bincount(place, minlength=n_counters) for place in rankings.T])
    return np.lexsort(-votes[::-1])


def _summary(functions, distances):
    rows = []
    for function in dict.fromkeys(functions):
        own = distances[functions == function]
        half, tenth = np.quantile(own, [0.5, 0.9])
        rows.append((function, int((own > 1).sum()), len(own), half, tenth))
    return pd.DataFrame(rows, columns=["function", "exceeding", "samples", "half", "tenth"])
