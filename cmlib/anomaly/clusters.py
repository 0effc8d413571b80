"""Functions that behave alike share an autoencoder (AutoPerf, §3.4)."""

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans


def cluster_functions(samples, functions, k, *, random_state=0):
    """Put each function into the cluster that holds most of its samples.

    Parameters
    ----------
    samples : ndarray of float, shape (n_samples, n_counters)
        Brought to the range 0-1 counter by counter before distances are taken.
    functions : array of str, shape (n_samples,)
    k : int >= 1
        Clusters of samples; fewer may hold a function.
    random_state : int

    Returns
    -------
    dict of str to int
        Cluster of each function, numbered from 0 without gaps.
    """
    if k == 1:
        return dict.fromkeys(np.unique(functions).tolist(), 0)
    low, high = samples.min(axis=0), samples.max(axis=0)
    scaled = (samples - low) / np.where(high > low, high - low, 1)
    labels = KMeans(k, n_init=4, random_state=random_state).fit_predict(scaled)
    votes = pd.crosstab(np.asarray(functions), labels)
    chosen = votes.idxmax(axis=1)
    numbers = {label: number for number, label in enumerate(chosen.unique())}
    return {function: numbers[label] for function, label in chosen.items()}


def raise_clusters(samples, functions, fit, *, max_clusters, random_state=0):
    """Raise K from 1 until the rate of false positives stops falling.

    Parameters
    ----------
    samples : ndarray of float, shape (n_samples, n_counters)
    functions : array of str, shape (n_samples,)
    fit : callable of dict
        Fits a model for each cluster of functions, gives (models, share of the samples falsely found
        anomalous).
    max_clusters : int
        Never more than there are functions.
    random_state : int

    Returns
    -------
    clusters : dict of str to int
    models
        As `fit` gave them for these clusters.
    history : DataFrame
        Columns k, autoencoders, false_positive_rate; the last row is the first without improvement, if any.
    """
    trained, history = [], []
    for k in range(1, min(max_clusters, len(set(functions))) + 1):
        clusters = cluster_functions(samples, functions, k, random_state=random_state)
        models, rate = fit(clusters)
        trained.append((clusters, models))
        history.append((k, len(set(clusters.values())), rate))
        if clusters_needed([rate for *_, rate in history]) < k:
            break
    best = clusters_needed([rate for *_, rate in history]) - 1
    return *trained[best], pd.DataFrame(history, columns=["k", "autoencoders", "false_positive_rate"])


def clusters_needed(rates):
    """Number of clusters at which the rate of false positives stops falling.

    Parameters
    ----------
    rates : sequence of float
        For K = 1, 2, …

    Returns
    -------
    int
        The K before the first that lowers the rate no further.
    """
    rises = (k for k in range(1, len(rates)) if rates[k] >= rates[k - 1])
    return next(rises, len(rates))
