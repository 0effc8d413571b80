"""How many runs an autoencoder needs: Algorithm 1 of the AutoPerf paper, and the variances it reads."""

import math

import numpy as np
from sklearn.base import clone


def stopping_run(variances, *, eps=0.05, goal=1, max_runs=100):
    """Number of training runs after which the reconstruction error has settled (Algorithm 1, as printed).

    At run i the mean change of variance over the last tenth of the runs is compared with the one over all of
    them, divided by 1 + i/2. Training stops where it is below that and below `eps`, and was below the former
    in the `goal` runs before.

    Parameters
    ----------
    variances : sequence of float, shape (n_runs,)
        Entry i is the variance of the reconstruction errors after training on i + 1 runs.
    eps : float > 0, default 0.05
        Smallest change of variance that matters [that of the variances].
    goal : int >= 0, default 1
        Consecutive runs that must have settled before.
    max_runs : int >= 1, default 100
        Where training ends in any case.

    Returns
    -------
    int
        The stopping run, or `max_runs` if the series never settles: more than were given means record more.

    Raises
    ------
    ValueError
        If a variance isn't finite, or `goal` or `max_runs` is out of range.
    """
    v = np.asarray(variances, dtype=float)
    if v.ndim != 1 or not np.isfinite(v).all():
        raise ValueError(
            f"variances: expected one finite number a run, received shape {v.shape} with "
            f"{np.count_nonzero(~np.isfinite(v))} that are not finite. Leave out runs without samples."
        )
    if goal < 0 or max_runs < 1:
        raise ValueError(f"goal must be >= 0 and max_runs >= 1, received {goal} and {max_runs}")
    changes = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(v)))])
    met = 0
    for i in range(1, min(len(v), max_runs + 1)):
        window = math.ceil(i / 10)
        piece = (changes[i] - changes[i - window]) / (window + 1)
        half = changes[i] / (i + 1) / math.ceil(1 + i / 2)
        if piece < half and piece < eps and met >= goal:
            return i
        met = met + 1 if piece < half else 0
    return max_runs


def error_variances(autoencoder, runs, *, step=1):
    """Variance of the reconstruction errors after training on the first 1, 2, … runs (§3.3.1).

    Parameters
    ----------
    autoencoder : Autoencoder
        Cloned and fitted anew for each number of runs; give it one topology, or every fit searches.
    runs : sequence of array-like, each of shape (n_samples, n_counters)
        Good runs in the order of recording.
    step : int >= 1, default 1
        Runs added at a time.

    Returns
    -------
    variances : ndarray of float
        What `stopping_run` reads.
    means : ndarray of float, same shape
        Mean reconstruction error (Fig. 4).
    """
    samples = [np.asarray(run, dtype=float) for run in runs]
    variances, means = [], []
    for n_runs in range(step, len(samples) + 1, step):
        seen = np.concatenate(samples[:n_runs])
        errors = -clone(autoencoder).fit(seen).score_samples(seen)
        variances.append(errors.var())
        means.append(errors.mean())
    return np.array(variances), np.array(means)
