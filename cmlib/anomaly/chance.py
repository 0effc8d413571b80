"""How far good runs stray, and the chance that one strays as far as a run in question."""

import numpy as np
from scipy import stats


def chance_of_distance(distance, good):
    """Chance that a good run is at least so far from what was learned.

    Above their median, distances of good runs are taken as exponentially distributed; with the mean excess
    only estimated from m of them, a further one exceeds x with probability (1 + x / sum of excesses)^-m / 2.
    Inputs nobody tried before give the distances long tails: on planted good runs 0.5 % of false alarms were
    promised and 1.0 to 1.3 % came. Squared distances, the reconstruction errors, have longer ones still; with
    their logarithms anomalies that every sample shows go unfound.

    Parameters
    ----------
    distance : float
        Of the run in question.
    good : array-like of float, shape (n_runs,)
        Of good runs that were not learned from; at least 2.

    Returns
    -------
    float
        In (0, 1]; 1 at or below the median.
    """
    good = np.asarray(good, dtype=float)
    median = np.median(good)
    if distance <= median:
        return 1.0
    excesses = good[good > median] - median
    return float(0.5 * (1 + (distance - median) / max(excesses.sum(), 1e-12)) ** -max(len(excesses), 1))


def chance_of_count(exceeding, samples, good_exceeding, good_samples):
    """Chance that a good run has at least so many samples above a threshold.

    Each good run has its own share of samples above; shares are taken as beta-distributed, with mean and
    correlation of samples within a run from the moments of the good runs (half a sample in one more run is
    added, so that runs without any don't promise that there never will be). Were samples of a run independent
    this would be the binomial test.

    Parameters
    ----------
    exceeding, samples : int
        Of the run in question.
    good_exceeding, good_samples : array-like of int, shape (n_runs,)
        Of good runs that were not learned from.

    Returns
    -------
    float
        In (0, 1]; 1 if no sample exceeds.
    """
    if exceeding == 0:
        return 1.0
    k, n = np.asarray(good_exceeding, dtype=float), np.asarray(good_samples, dtype=float)
    mean = (k.sum() + 0.5) / (n.sum() + n.mean())
    correlation = _correlation(k, n)
    if correlation < 1e-6:
        return float(stats.binom.sf(exceeding - 1, samples, mean))
    total = 1 / correlation - 1
    return float(stats.betabinom.sf(exceeding - 1, samples, mean * total, (1 - mean) * total))


def _correlation(k, n):
    """Correlation of samples within a run, by analysis of variance; 0 where runs differ no more than by chance."""
    runs = len(n)
    share = k.sum() / n.sum()
    if runs < 2 or share in (0, 1) or n.max() < 2:
        return 0.0
    between = (n * (k / n - share) ** 2).sum() / (runs - 1)
    within = (k * (1 - k / n)).sum() / (n.sum() - runs)
    typical = (n.sum() - (n**2).sum() / n.sum()) / (runs - 1)
    return float(np.clip((between - within) / (between + (typical - 1) * within), 0, 0.999))
