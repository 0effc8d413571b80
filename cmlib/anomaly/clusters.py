"""Cluster functions with similar counts, and train one autoencoder per cluster (AutoPerf, §3.4).

:func:`select_n_clusters` finds the number of clusters and trains their models. :func:`distances` computes how far
samples are from the model of their cluster. A sample contains the counts of one call of a function. Inputs are checked
by `AutoPerf`.
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
    """Cluster functions by k-means of their samples (AutoPerf, §3.4).

    A function belongs to the cluster of most of its samples.

    Parameters
    ----------
    samples : ndarray of float, shape (n_samples, n_counters)
        Normalized counts.
    functions : array-like of str, shape (n_samples,)
        Function of each sample.
    k : int
        Number of clusters of k-means.
    random_state : int, default 0
        Seed of k-means.

    Returns
    -------
    dict of str to int
        Number of the cluster, keyed by function. Numbers start at 0. Clusters without a function have no number.
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
    """Find the number of clusters at which the rate of false positives stops falling.

    Parameters
    ----------
    samples : DataFrame
        Samples of good runs, from :func:`cmlib.anomaly.samples.gather`.
    model : estimator
        Unfitted autoencoder, which is cloned for each cluster.
    max_clusters : int
        Largest number of clusters to try.
    random_state : int, default 0
        Seed of k-means.

    Returns
    -------
    clusters : dict of str to int
        Number of the cluster, keyed by function.
    models : list of FittedCluster
    history : DataFrame
        One row per number of clusters k that was tried. Columns: k, autoencoders (number of clusters with a function)
        and false_positive_rate.
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
    """Return the number of clusters at which a rate stops falling (AutoPerf, §3.4, Fig. 8).

    Parameters
    ----------
    rates : sequence of float
        Rates of false positives with 1, 2, … clusters.

    Returns
    -------
    int
        The first number at which one more cluster does not lower the rate.
    """
    return next((k for k in range(1, len(rates)) if rates[k] >= rates[k - 1]), len(rates))


@dataclass(frozen=True)
class FittedCluster:
    """The model of a cluster of functions.

    Attributes
    ----------
    autoencoder : cmlib.anomaly.autoencoder.Autoencoder
        Model, fitted to the good samples of the cluster.
    threshold : float
        Mean + 2 standard deviations of the reconstruction errors in training.
    median : ndarray of float, shape (n_counters,)
        Median of each counter in training.
    """

    autoencoder: Autoencoder
    threshold: float
    median: np.ndarray


def fit_clusters(samples, clusters, model):
    """Fit a model to the samples of each cluster.

    Parameters
    ----------
    samples : DataFrame
        Samples of good runs, from :func:`cmlib.anomaly.samples.gather`.
    clusters : dict of str to int
        Number of the cluster, keyed by function.
    model : estimator
        Unfitted model with the methods fit and score_samples, which is cloned for each cluster.

    Returns
    -------
    list of FittedCluster
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
    """Compute the distance of each sample from models that were trained on other runs.

    Parameters
    ----------
    samples : DataFrame
        Samples of good runs, from :func:`cmlib.anomaly.samples.gather`.
    clusters : dict of str to int
        Number of the cluster, keyed by function.
    models : list of FittedCluster
        Models of all runs. The new models have the same topologies and thresholds.
    model : estimator
        Unfitted autoencoder.
    folds : int
        Number of folds of runs. The samples of a fold are scored by models of the other folds.

    Returns
    -------
    ndarray of float, shape (n_samples,)
        Distances, as from :func:`distances`.
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
    """Compute the distance of each sample from the model of its cluster.

    Parameters
    ----------
    samples : DataFrame
        Samples from :func:`cmlib.anomaly.samples.gather`.
    clusters : dict of str to int
        Number of the cluster, keyed by function.
    models : list of FittedCluster

    Returns
    -------
    ndarray of float, shape (n_samples,)
        Square root of reconstruction error / threshold. Above 1 a sample is anomalous.
    """
    scaled, cluster_numbers = np.empty(len(samples)), _number_clusters(samples, clusters)
    for number, model in enumerate(models):
        members = cluster_numbers == number
        if members.any():
            errors = -model.autoencoder.score_samples(samples[members].to_numpy())
            scaled[members] = np.sqrt(errors / model.threshold)
    return scaled


def _clone_with_topology(model, final):
    """Return an unfitted clone of `model`; an Autoencoder gets the topology of a fitted cluster."""
    topology = {"topologies": [final.autoencoder.topology_]} if isinstance(model, Autoencoder) else {}
    return clone(model).set_params(**topology)


def _split_by_cluster(samples, clusters):
    """Return the samples of each cluster (list of DataFrame)."""
    cluster_numbers = _number_clusters(samples, clusters)
    return [samples[cluster_numbers == number] for number in range(max(clusters.values()) + 1)]


def _number_clusters(samples, clusters):
    """Return the cluster number of each sample."""
    return samples.index.get_level_values("function").map(clusters).to_numpy()
