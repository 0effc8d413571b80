"""How many autoencoders it takes for a program of many functions (AutoPerf, §5.4, Fig. 6-9)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.clusters import cluster_functions
from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.profiles import PLACE

# The paper's seven functions, F1 to F7.
SEVEN = (
    "parallel_scalar_sum",
    "parallel_vector_sum",
    "parallel_dot_product",
    "parallel_matrix_mult",
    "parallel_matrix_comp",
    "histogram",
    "linear_regression",
)
_TOPOLOGY_SHARES = (1 / 2, 1 / 4)


@dataclass(frozen=True)
class Together:
    """Recordings of several programs as those of one program with as many functions.

    Attributes
    ----------
    functions : tuple of str
    training, good : list of DataFrame
        Runs of all functions.
    bad : dict of str to list of DataFrame
        Function to runs in which it alone is in its bad form.
    """

    functions: tuple
    training: list
    good: list
    bad: dict


def put_together(subjects, names=SEVEN):
    """Make one program of several: run i of each gives run i of the whole.

    Parameters
    ----------
    subjects : dict of str to Subject
    names : sequence of str
        Those that aren't there are left out; where none is, all subjects are taken.

    Returns
    -------
    Together
    """
    chosen = {name: subjects[name] for name in names if name in subjects} or subjects
    training = _joined([[_named(run, name) for run in s.training] for name, s in chosen.items()])
    good = _joined([[_named(run, name) for run in s.good] for name, s in chosen.items()])
    bad = {}
    for name in chosen:
        parts = [
            [_named(run, other) for run in (s.bad if other == name else s.good)]
            for other, s in chosen.items()
        ]
        bad[name] = _joined(parts)
    return Together(tuple(chosen), training, good, bad)


def score_clusters(k, together, *, seed=0):
    """Judge a program of many functions with K clusters of them.

    Parameters
    ----------
    k : int or "each"
        Clusters of samples; "each" gives every function an autoencoder of its own.
    together : Together
    seed : int

    Returns
    -------
    dict
        k, autoencoders, false_positive_rate (share of training samples above the threshold), f1 (over all
        good runs and all runs with one bad function), run_false_positive_rate (of good test runs), clusters
        (function to number) and f1_by_function.
    """
    clusters = _clusters(k, together, seed)
    detectors = [
        AutoPerf(autoencoder=_autoencoder(together), max_clusters=1, random_state=seed).fit(
            [_only(run, clusters, number) for run in together.training]
        )
        for number in range(max(clusters.values()) + 1)
    ]
    above = [
        detector.exceeding(_only(run, clusters, number))
        for number, detector in enumerate(detectors)
        for run in together.training
    ]
    alarms = [_alarm(run, clusters, detectors) for run in together.good]
    found = {name: [_alarm(run, clusters, detectors) for run in runs] for name, runs in together.bad.items()}
    return {
        "k": k,
        "autoencoders": len(detectors),
        "false_positive_rate": float(np.concatenate(above).mean()),
        "run_false_positive_rate": float(np.mean(alarms)),
        "f1": _f1(sum(map(sum, found.values())), sum(map(len, found.values())), sum(alarms)),
        "clusters": clusters,
        "f1_by_function": {name: _f1(sum(hits), len(hits), sum(alarms)) for name, hits in found.items()},
    }


def samples_in_plane(together):
    """Mean training sample of each function on the two principal axes of the samples (Fig. 7 a).

    Parameters
    ----------
    together : Together

    Returns
    -------
    DataFrame
        Index function; columns x and y.
    """
    samples = pd.concat(together.training, ignore_index=True)
    values = samples.drop(columns=list(PLACE))
    low, high = values.min(), values.max()
    scaled = (values - low) / (high - low).where(high > low, 1)
    centred = scaled - scaled.mean()
    axes = np.linalg.svd(centred.to_numpy(), full_matrices=False)[2][:2]
    return pd.DataFrame(centred.to_numpy() @ axes.T, columns=["x", "y"]).groupby(samples["function"]).mean()


def _clusters(k, together, seed):
    if k == "each":
        return {name: number for number, name in enumerate(together.functions)}
    samples = pd.concat(together.training, ignore_index=True)
    values = samples.drop(columns=list(PLACE)).to_numpy()
    return cluster_functions(values, samples["function"].to_numpy(), k, random_state=seed)


def _autoencoder(together):
    n_counters = together.training[0].shape[1] - len(PLACE)
    widths = sorted({max(1, int(share * n_counters)) for share in _TOPOLOGY_SHARES}, reverse=True)
    return Autoencoder(topologies=[tuple(widths)], n_starts=1)


def _alarm(run, clusters, detectors):
    """Whether any function of any cluster strays; the chance of a false alarm is shared among the clusters."""
    for number, detector in enumerate(detectors):
        chances = detector.chances(_only(run, clusters, number))["chance"]
        if chances.min() * len(clusters) <= detector.alpha:
            return True
    return False


def _only(run, clusters, number):
    return run[run["function"].map(clusters) == number]


def _named(run, name):
    return run.assign(function=name)


def _joined(parts):
    return [pd.concat(pieces, ignore_index=True) for pieces in zip(*parts, strict=False)]


def _f1(hits, n_bad, alarms):
    return 2 * hits / (hits + n_bad + alarms) if hits else 0.0
