"""Estimate the ratio of the run times of two versions, with confidence intervals and p-values by rank tests.

:func:`estimate_paired_ratio` (runs in pairs) and :func:`estimate_unpaired_ratio` take two arrays of times in one unit,
and return a :class:`Ratio`: new over old time, an interval, and p-values for slower and faster. ValueError if an array
is empty, a time is not above 0, or pairs are not complete.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from cmlib.errors import InputError


@dataclass(frozen=True)
class Ratio:
    """Time of the new version as a multiple of the old one's.

    Attributes
    ----------
    ratio : float
        Hodges-Lehmann estimate of the ratio, new over old.
    low, high : float
        Confidence interval; 0 and infinity if there are too few runs for one.
    p_slower : float
        One-sided p-value (0-1): small if the new version takes longer.
    p_faster : float
        One-sided p-value (0-1): small if the new version takes less time.
    """

    ratio: float
    low: float
    high: float
    p_slower: float
    p_faster: float


def estimate_paired_ratio(old, new, *, confidence=0.95):
    """Compare times of runs in pairs, old[i] with new[i], by Wilcoxon's exact signed-rank test.

    Parameters
    ----------
    old, new : array-like of float, shape (n_pairs,)
        Times, all in one unit.
    confidence : float, default 0.95
        Confidence of the interval (0-1).

    Returns
    -------
    Ratio

    Raises
    ------
    ValueError
        If the arrays have different lengths, are empty, or a time is not above 0.
    """
    old, new = _take_logarithms(old, new)
    if old.shape != new.shape:
        raise InputError(f"{old.size} old and {new.size} new times can't be paired: give as many of each")
    differences = new - old
    # The average of each pair of differences, and each difference itself. The number of positive averages is Wilcoxon's
    # signed-rank sum, and their median is the Hodges-Lehmann estimate.
    averages = np.sort(np.add.outer(differences, differences)[np.triu_indices(old.size)] / 2)
    tail = compute_signed_rank_tail(old.size)
    p_slower = tail[(averages > 0).sum()]
    p_faster = tail[(averages < 0).sum()]
    # The interval ends where a rank sum would be just too unlikely, at either end.
    unlikely_sums = np.flatnonzero(tail <= (1 - confidence) / 2)
    n_outside = averages.size - unlikely_sums[0] if unlikely_sums.size else -1
    return _make_ratio(averages, n_outside, p_slower, p_faster)


def estimate_unpaired_ratio(old, new, *, confidence=0.95):
    """Compare times of independent runs by the test of Mann and Whitney.

    Parameters
    ----------
    old : array-like of float, shape (n_old,)
    new : array-like of float, shape (n_new,)
        Times, all in one unit.
    confidence : float, default 0.95
        Confidence of the interval (0-1).

    Returns
    -------
    Ratio

    Raises
    ------
    ValueError
        If an array is empty, or a time is not above 0.
    """
    old, new = _take_logarithms(old, new)
    # The differences of each new and each old run. The number of positive ones is Mann and Whitney's U, and their
    # median is the Hodges-Lehmann estimate.
    differences = np.sort(np.subtract.outer(new, old).ravel())
    p_slower = stats.mannwhitneyu(new, old, alternative="greater").pvalue
    p_faster = stats.mannwhitneyu(new, old, alternative="less").pvalue
    # The interval ends where U would be just too unlikely, by its normal approximation with a correction of 1/2.
    mean_u = old.size * new.size / 2
    std_u = math.sqrt(old.size * new.size * (old.size + new.size + 1) / 12)
    n_outside = math.floor(mean_u - 0.5 - stats.norm.ppf((1 + confidence) / 2) * std_u)
    return _make_ratio(differences, n_outside, p_slower, p_faster)


def compute_smallest_p_value(n_old, n_new, *, paired):
    """Compute the smallest p-value that a comparison of some numbers of runs can have.

    Parameters
    ----------
    n_old, n_new : int
        Numbers of runs.
    paired : bool
        True for :func:`estimate_paired_ratio`, False for :func:`estimate_unpaired_ratio`.

    Returns
    -------
    float
        One-sided p-value in the clearest case: in pairs, if every new run is slower than its old one; otherwise, if
        every new run is slower than all old ones.
    """
    if paired:
        return 0.5 ** min(n_old, n_new)
    return 1 / math.comb(n_old + n_new, n_new)


def compute_signed_rank_tail(n_pairs):
    """Compute the distribution of Wilcoxon's signed-rank sum if both versions are equal.

    Each rank from 1 to `n_pairs` is then part of the sum with probability 1/2, independently of the others.

    Parameters
    ----------
    n_pairs : int
        Number of pairs of runs.

    Returns
    -------
    ndarray of float, shape (n_pairs (n_pairs + 1) / 2 + 1,)
        Probability (0-1) that the sum of the positive ranks is at least w, for each w from 0.
    """
    probabilities = np.ones(1)  # of the sums 0, 1, 2, ...
    for rank in range(1, n_pairs + 1):
        zero_or_rank = np.r_[0.5, np.zeros(rank - 1), 0.5]
        probabilities = np.convolve(probabilities, zero_or_rank)
    tail = probabilities[::-1].cumsum()[::-1]
    return np.minimum(1.0, tail)


def _take_logarithms(old, new):
    """Return the logarithms of both arrays of times; ValueError if one is empty or has a time that is not above 0."""
    old = np.asarray(old, dtype=float)
    new = np.asarray(new, dtype=float)
    if not all(times.size and (times > 0).all() for times in (old, new)):
        raise InputError(
            f"{old.size} old and {new.size} new times: give at least one of each, and only times above 0"
        )
    return np.log(old), np.log(new)


def _make_ratio(differences, n_outside, p_slower, p_faster):
    """Make a Ratio from sorted differences of logarithms.

    The confidence interval leaves out `n_outside` of them at each end. A negative `n_outside` means that there are too
    few for an interval.
    """
    low, high = -np.inf, np.inf
    if n_outside >= 0:
        low, high = differences[n_outside], differences[-1 - n_outside]
    estimate, low, high = np.exp([np.median(differences), low, high]).tolist()
    return Ratio(estimate, low, high, float(p_slower), float(p_faster))
