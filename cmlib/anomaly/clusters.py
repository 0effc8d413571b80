"""Cluster functions of similar counts, and train one autoencoder for each cluster (AutoPerf, §3.4).

:func:`select_n_clusters` finds how many clusters, :func:`fit_clusters` returns a list of :class:`FittedCluster`, and
:func:`distances` how far samples are from their models. A sample has the counts of one passage through a function.
Inputs are checked by `AutoPerf`, not here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.cluster import KMeans

from cmlib.anomaly.autoencoder import Autoencoder

__all__ = ["cluster_functions", "clusters_needed"]


def cluster_functions(
    samples: np.ndarray, functions: ArrayLike, k: int, *, random_state: int = 0
) -> dict[str, int]:
    """Cluster samples by k-means, and assign each function to the cluster of most of its samples (AutoPerf, §3.4).

    Parameters
    ----------
    samples : ndarray of float, shape (n_samples, n_counters)
        Normalized counts.
    functions : array-like of str, shape (n_samples,)
        Function that each sample is from.
    k : int
        Number of clusters of k-means.
    random_state : int, default 0
        Seed of k-means.

    Returns
    -------
    dict of str to int
        Number of each function's cluster, from 0; clusters without a function are not numbered.
    """
    if k == 1:
        return dict.fromkeys(np.unique(functions).tolist(), 0)
    low, high = samples.min(axis=0), samples.max(axis=0)
    scaled = (samples - low) / np.where(high > low, high - low, 1)
    labels = KMeans(k, n_init=4, random_state=random_state).fit_predict(scaled)
    chosen = pd.crosstab(np.asarray(functions), labels).idxmax(axis=1)
    numbers = {label: number for number, label in enumerate(chosen.unique())}
    return {function: numbers[label] for function, label in chosen.items()}


def select_n_clusters(samples, model, *, max_clusters, random_state=0):
    """Raise the number of clusters k from 1 until the rate of false positives stops falling.

    `samples` are a DataFrame of :func:`cmlib.anomaly.samples.gather` (a row per sample, indexed by run and function),
    `model` is the unfitted autoencoder, of which each cluster gets a clone, `random_state` the seed of k-means. Returns
    the clusters (dict from function to number of its cluster) and the models (as of :func:`fit_clusters`) of the best
    k, and a DataFrame of k, autoencoders (number of clusters that have a function) and false_positive_rate, a row per
    k; at most `max_clusters` are tried.
    """
    functions = samples.index.get_level_values("function")
    trained, history = [], []
    for k in range(1, min(max_clusters, functions.nunique()) + 1):
        clusters = cluster_functions(samples.to_numpy(), functions, k, random_state=random_state)
        models = fit_clusters(samples, clusters, model)
        trained.append((clusters, models))
        rate = (distances(samples, clusters, models) > 1).mean()
        history.append((k, len(set(clusters.values())), rate))
        if (needed := clusters_needed([rate for *_, rate in history])) < k:
            break
    return *trained[needed - 1], pd.DataFrame(history, columns=["k", "autoencoders", "false_positive_rate"])


def clusters_needed(rates: Sequence[float]) -> int:
    """Return the number of clusters at which the rate of false positives stops falling (AutoPerf, §3.4, Fig. 8).

    Parameters
    ----------
    rates : sequence of float
        Rates of false positives with 1, 2, … clusters.

    Returns
    -------
    int
        The first number whose successor has no lower rate.
    """
    return next((k for k in range(1, len(rates)) if rates[k] >= rates[k - 1]), len(rates))


@dataclass(frozen=True)
class FittedCluster:
    """The model of a cluster of functions.

    Attributes
    ----------
    autoencoder : cmlib.anomaly.autoencoder.Autoencoder
        Fitted to the cluster's good samples.
    threshold : float
        Mean + 2 standard deviations of the reconstruction errors in training.
    usual : ndarray of float, shape (n_counters,)
        Median of each counter.
    """

    autoencoder: Autoencoder
    threshold: float
    usual: np.ndarray


def fit_clusters(samples, clusters, model):
    """Fit a clone of `model` to the samples of each cluster's functions; return a list of FittedCluster.

    `samples` is a DataFrame, a column per counter, indexed by run and function; `clusters` a dict from function to
    number; `model` an unfitted Autoencoder, or another model with `fit` and `score_samples` (minus the reconstruction
    error).
    """
    parts = [cluster_samples.to_numpy() for cluster_samples in _split_by_cluster(samples, clusters)]
    fitted = []
    for cluster_samples in parts:
        autoencoder = clone(model).fit(cluster_samples)
        errors = -autoencoder.score_samples(cluster_samples)
        threshold = errors.mean() + 2 * errors.std()
        fitted.append(FittedCluster(autoencoder, threshold, np.median(cluster_samples, axis=0)))
    return fitted


def cross_val_distances(samples, clusters, models, model, *, folds):
    """Compute the distance of each sample by models that were trained on other runs: ndarray, shape (n_samples,).

    The runs are divided into `folds` folds, at most one per run; the models that score a fold are trained on the
    other folds. The distance is the root of the reconstruction error over the threshold; above 1 a sample is
    anomalous.

    `samples` is a DataFrame, a column per counter, indexed by run and function. `clusters` is a dict from function
    to number. `models` are the FittedClusters of all runs; the new models take over their topologies and
    thresholds. `model` is the unfitted Autoencoder.
    """
    runs = samples.index.get_level_values("run")
    fold = runs % min(folds, runs.max() + 1)
    held_out = np.empty(len(samples))
    for number in range(fold.max() + 1):
        learned = _split_by_cluster(samples[fold != number], clusters)
        new_models = [
            replace(final, autoencoder=_clone_with_topology(model, final).fit(cluster_samples.to_numpy()))
            for final, cluster_samples in zip(models, learned, strict=True)
        ]
        held_out[fold == number] = distances(samples[fold == number], clusters, new_models)
    return held_out


def distances(samples, clusters, models):
    """Compute the distance of each sample from its cluster's model: ndarray, shape (n_samples,).

    The distance is the root of the reconstruction error over the threshold; above 1 a sample is anomalous.
    `samples` is a DataFrame indexed by run and function, `clusters` a dict from function to number, `models` a list
    of FittedClusters (autoencoder and threshold).
    """
    scaled, cluster_numbers = np.empty(len(samples)), _number_clusters(samples, clusters)
    for number, model in enumerate(models):
        members = cluster_numbers == number
        if members.any():
            errors = -model.autoencoder.score_samples(samples[members].to_numpy())
            scaled[members] = np.sqrt(errors / model.threshold)
    return scaled


def _clone_with_topology(model, final):
    """Return an unfitted clone of `model`; an Autoencoder gets the topology of the FittedCluster `final`."""
    topology = {"topologies": [final.autoencoder.topology_]} if isinstance(model, Autoencoder) else {}
    return clone(model).set_params(**topology)


def _split_by_cluster(samples, clusters):
    """Split the samples by cluster: a list of DataFrames."""
    cluster_numbers = _number_clusters(samples, clusters)
    return [samples[cluster_numbers == number] for number in range(max(clusters.values()) + 1)]


def _number_clusters(samples, clusters):
    """Return the cluster number of each sample."""
    return samples.index.get_level_values("function").map(clusters).to_numpy()
