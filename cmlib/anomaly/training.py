"""How many runs an autoencoder needs: Algorithm 1 of the AutoPerf paper, and the variances it reads."""

import math

import numpy as np

from cmlib.anomaly.autoencoder import fit_each


def stopping_run(variances, *, eps=0.05, goal=1, max_runs=100):
    """Number of training runs after which the reconstruction error has settled (Algorithm 1, as printed).

    At entry i the mean change of variance over the last tenth of the entries is compared with the one over
    all of them, divided by 1 + i/2. Training stops where it is below that and below `eps`, and was below the
    former in the `goal` entries before.

    Parameters
    ----------
    variances : sequence of float, shape (n_runs,)
        Of the reconstruction errors after training on 1, 2, … runs.
    eps : float > 0 or array of it, shape (n_runs,), default 0.05
        Smallest change of variance that matters [that of the variances], the same at all entries or one each.
        The text names none; 0.05 is in the program that the authors published.
    goal : int >= 0, default 1
        Consecutive entries that must have settled before. The text names none; with 1 the published series
        stop where the paper says (with 0 one entry earlier).
    max_runs : int >= 1, default 100
        Where training ends in any case.

    Returns
    -------
    int
        The stopping entry, counted from 0, or `max_runs` if the series never settles: more than were given
        means record more. This is the paper's number of runs to train on (MySQL's 58 is the 59th value of the
        published series, whose figure begins at 0), although entry i has seen i + 1 runs.

    Raises
    ------
    ValueError
        If a variance isn't finite, or `goal` or `max_runs` is out of range.

    Examples
    --------
    The variances that AutoPerf's authors published for MySQL:

    >>> import numpy as np
    >>> stopping_run(np.loadtxt("tests/golden/autoperf/variance_mysql.txt"))
    58
    """
    v = np.asarray(variances, dtype=float)
    if v.ndim != 1 or not np.isfinite(v).all():
        raise ValueError(
            f"variances: expected one finite number a run, received shape {v.shape} with "
            f"{np.count_nonzero(~np.isfinite(v))} that are not finite. Leave out runs without samples."
        )
    if goal < 0 or max_runs < 1:
        raise ValueError(f"goal must be >= 0 and max_runs >= 1, received {goal} and {max_runs}")
    eps = np.broadcast_to(eps, v.shape)
    changes = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(v)))])
    met = 0
    for i in range(1, min(len(v), max_runs + 1)):
        window = math.ceil(i / 10)
        piece = (changes[i] - changes[i - window]) / (window + 1)
        half = changes[i] / (i + 1) / math.ceil(1 + i / 2)
        if piece < half and piece < eps[i] and met >= goal:
            return i
        met = met + 1 if piece < half else 0
    return max_runs


def error_variances(autoencoder, runs):
    """Variance of the reconstruction errors after training on the first 1, 2, … runs (§3.3.1).

    Parameters
    ----------
    autoencoder : Autoencoder
        With one topology. Fitted anew for each number of runs.
    runs : sequence of array-like, each of shape (n_samples, n_counters)
        Good runs in the order of recording.

    Returns
    -------
    variances : ndarray of float, shape (n_runs,)
        What `stopping_run` reads.
    means : ndarray of float, shape (n_runs,)
        Mean reconstruction error (Fig. 4).
    """
    samples = [np.asarray(run, dtype=float) for run in runs]
    seen = [np.concatenate(samples[: n + 1]) for n in range(len(samples))]
    models = fit_each(autoencoder, seen)
    errors = [-model.score_samples(own) for model, own in zip(models, seen, strict=True)]
    return np.array([own.var() for own in errors]), np.array([own.mean() for own in errors])
