"""What is known of the good samples of a cluster of functions, and how far other samples are from that."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from sklearn.base import clone

from cmlib.anomaly.autoencoder import Autoencoder, fit_each
from cmlib.anomaly.profiles import PLACE


@dataclass(frozen=True)
class Samples:
    """Samples of runs.

    Attributes
    ----------
    functions : ndarray of str, shape (n_samples,)
    values : ndarray of float, shape (n_samples, n_counters)
    run : ndarray of int, shape (n_samples,)
        Number of the run that a sample is of.
    """

    functions: np.ndarray
    values: np.ndarray
    run: np.ndarray

    def where(self, chosen):
        """Those that a mask chooses."""
        return Samples(self.functions[chosen], self.values[chosen], self.run[chosen])

    def of_cluster(self, clusters, number):
        """Values of the functions in a cluster."""
        return self.values[_cluster(self.functions, clusters) == number]


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


def gather(runs, counters):
    """Put the samples of runs together.

    Parameters
    ----------
    runs : sequence of DataFrame
        Normalized samples: columns function, location, and the counters.
    counters : list of str

    Returns
    -------
    Samples

    Raises
    ------
    ValueError
        If a run has other counters, is empty, or holds values that aren't finite.
    """
    values = [_values(run, counters) for run in runs]
    functions = np.concatenate([run["function"].to_numpy() for run in runs])
    return Samples(
        functions, np.concatenate(values), np.repeat(np.arange(len(values)), list(map(len, values)))
    )


def learn(samples, clusters, model):
    """Train an autoencoder for each cluster of functions.

    Parameters
    ----------
    samples : Samples
    clusters : dict of str to int
        Function to cluster.
    model : estimator
        Cloned for each.

    Returns
    -------
    list of Expert
    """
    experts = []
    for number in range(max(clusters.values()) + 1):
        own = samples.of_cluster(clusters, number)
        autoencoder = clone(model).fit(own)
        experts.append(expert(autoencoder, own))
    return experts


def expert(autoencoder, values):
    """A fitted autoencoder with the threshold that its training samples give.

    Parameters
    ----------
    autoencoder : Autoencoder
    values : ndarray of float, shape (n_samples, n_counters)
        What it was fitted to.

    Returns
    -------
    Expert
    """
    errors = -autoencoder.score_samples(values)
    return Expert(autoencoder, errors.mean() + 2 * errors.std(), np.median(values, axis=0))


def leave_out(samples, clusters, experts, model, *, folds):
    """Runs as seen by experts, of the topologies found, that learned the other runs only.

    Parameters
    ----------
    samples : Samples
    clusters : dict of str to int
    experts : list of Expert
        That learned all runs; their thresholds are kept.
    model : estimator
    folds : int
        Parts the runs are left out in.

    Returns
    -------
    ndarray of float, shape (n_samples,)
        As `distances` gives them.
    """
    fold = samples.run % min(folds, samples.run.max() + 1)
    learned = [samples.where(fold != number) for number in range(fold.max() + 1)]
    refitted = []
    for number, final in enumerate(experts):
        one = clone(model)
        if isinstance(one, Autoencoder):
            one.set_params(topologies=[final.autoencoder.topology_])
        fitted = fit_each(one, [part.of_cluster(clusters, number) for part in learned])
        refitted.append([replace(final, autoencoder=autoencoder) for autoencoder in fitted])
    held_out = np.empty(len(samples.run))
    for number, others in enumerate(zip(*refitted, strict=True)):
        held_out[fold == number] = distances(samples.where(fold == number), clusters, others)
    return held_out


def distances(samples, clusters, experts, threshold="2sd"):
    """How far samples are from what was learned.

    Parameters
    ----------
    samples : Samples
    clusters : dict of str to int
    experts : sequence of Expert
    threshold : "2sd" or float
        As for :class:`cmlib.anomaly.AutoPerf`.

    Returns
    -------
    ndarray of float, shape (n_samples,)
        Length of what could not be reconstructed, as a multiple of the length at the threshold; or the share
        by which a sample's length changes, as a multiple of a fixed threshold.
    """
    scaled = np.empty(len(samples.functions))
    cluster = _cluster(samples.functions, clusters)
    for number, one in enumerate(experts):
        own = cluster == number
        if not own.any():
            continue
        if threshold == "2sd":
            errors = -one.autoencoder.score_samples(samples.values[own])
            scaled[own] = np.sqrt(errors / one.threshold)
        else:
            scaled[own] = one.autoencoder.length_change(samples.values[own]) / threshold
    return scaled


def summarize(samples, scaled):
    """What is noted of each run, function by function.

    Parameters
    ----------
    samples : Samples
    scaled : ndarray of float, shape (n_samples,)
        Their distances.

    Returns
    -------
    DataFrame
        Columns run, function, exceeding, samples, half, tenth: counts of samples beyond the threshold and in
        all, and the distance that half, and a tenth, of them exceed.
    """
    rows = []
    for run in dict.fromkeys(samples.run):
        of_run = samples.run == run
        functions, own = samples.functions[of_run], scaled[of_run]
        for function in dict.fromkeys(functions):
            values = own[functions == function]
            half, tenth = np.quantile(values, [0.5, 0.9])
            rows.append((run, function, int((values > 1).sum()), len(values), half, tenth))
    return pd.DataFrame(rows, columns=["run", "function", "exceeding", "samples", "half", "tenth"])


def _cluster(functions, clusters):
    names, places = np.unique(functions.astype(str), return_inverse=True)
    return np.array([clusters[name] for name in names])[places]


def _values(run, counters):
    there = [column for column in run if column not in PLACE]
    if set(there) != set(counters):
        raise ValueError(
            f"a run has the counters {there}, the first good one {counters}: only runs that counted the same events "
            "can be compared"
        )
    values = np.column_stack([run[name].to_numpy(float) for name in counters])
    if not len(values) or not np.isfinite(values).all():
        raise ValueError(f"a run of {len(values)} samples is empty or not counted everywhere: leave it out")
    return values
