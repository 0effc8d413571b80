"""Estimate the ratio of the run times of two versions by rank tests.

:func:`estimate_paired_ratio` takes the times of paired runs, and :func:`estimate_unpaired_ratio` the times of
independent runs. Both return a :class:`Ratio` with a confidence interval and p-values.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from cmlib.errors import InputError


@dataclass(frozen=True)
class Ratio:
    """Ratio of the new time to the old time.

    Attributes
    ----------
    ratio : float
        Hodges-Lehmann estimate of new time divided by old time.
    low, high : float
        Confidence interval. The limits are 0 and infinity if there are too few runs.
    p_slower : float
        One-sided p-value. A small value indicates that the new version is slower.
    p_faster : float
        One-sided p-value. A small value indicates that the new version is faster.
    """

    ratio: float
    low: float
    high: float
    p_slower: float
    p_faster: float


def estimate_paired_ratio(old: ArrayLike, new: ArrayLike, *, confidence: float = 0.95) -> Ratio:
    """Compare the times of paired runs by Wilcoxon's signed-rank test.

    Parameters
    ----------
    old, new : array-like of float, shape (n_pairs,)
        Times in one unit. ``old[i]`` and ``new[i]`` are a pair.
    confidence : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    Ratio

    Raises
    ------
    InputError
        If the lengths differ, the arrays are empty, or a time is 0 or negative.
    """
    old, new = _take_logarithms(old, new)
    if old.shape != new.shape:
        raise InputError(
            f"{old.size} old and {new.size} new times cannot be paired: give equal numbers of both"
        )
    differences = new - old
    # The average of each pair of differences, and each difference itself. The number of positive averages is Wilcoxon's
    # signed-rank sum, and their median is the Hodges-Lehmann estimate.
    averages = np.sort(np.add.outer(differences, differences)[np.triu_indices(old.size)] / 2)
    tail = compute_signed_rank_tail(old.size)
    p_slower = tail[(averages > 0).sum()]
    p_faster = tail[(averages < 0).sum()]
    # The interval excludes averages with rank sums that are too improbable.
    unlikely_sums = np.flatnonzero(tail <= (1 - confidence) / 2)
    n_outside = averages.size - unlikely_sums[0] if unlikely_sums.size else -1
    return _make_ratio(averages, n_outside, p_slower, p_faster)


def estimate_unpaired_ratio(old: ArrayLike, new: ArrayLike, *, confidence: float = 0.95) -> Ratio:
    """Compare the times of independent runs by the Mann-Whitney test.

    Parameters
    ----------
    old : array-like of float, shape (n_old,)
        Times of the old version.
    new : array-like of float, shape (n_new,)
        Times of the new version, in the same unit.
    confidence : float, default 0.95
        Confidence level of the interval.

    Returns
    -------
    Ratio

    Raises
    ------
    InputError
        If an array is empty, or a time is 0 or negative.
    """
    old, new = _take_logarithms(old, new)
    # The differences of each new and each old run. The number of positive ones is Mann and Whitney's U, and their
    # median is the Hodges-Lehmann estimate.
    differences = np.sort(np.subtract.outer(new, old).ravel())
    p_slower = stats.mannwhitneyu(new, old, alternative="greater").pvalue
    p_faster = stats.mannwhitneyu(new, old, alternative="less").pvalue
    # The interval excludes values of U that are too improbable, by the normal approximation with a correction of 1/2.
    mean_u = old.size * new.size / 2
    std_u = math.sqrt(old.size * new.size * (old.size + new.size + 1) / 12)
    n_outside = math.floor(mean_u - 0.5 - stats.norm.ppf((1 + confidence) / 2) * std_u)
    return _make_ratio(differences, n_outside, p_slower, p_faster)


def compute_smallest_p_value(n_old: int, n_new: int, *, paired: bool) -> float:
    """Compute the smallest possible p-value for given numbers of runs.

    Paired runs have this p-value if every new run is slower than its old run. Unpaired runs have this p-value
    if every new run is slower than all old runs.

    Parameters
    ----------
    n_old, n_new : int
        Numbers of runs.
    paired : bool
        True for :func:`estimate_paired_ratio`, False for :func:`estimate_unpaired_ratio`.

    Returns
    -------
    float
        One-sided p-value.
    """
    if paired:
        return 0.5 ** min(n_old, n_new)
    return 1 / math.comb(n_old + n_new, n_new)


def compute_signed_rank_tail(n_pairs: int) -> np.ndarray:
    """Compute the tail probabilities of Wilcoxon's signed-rank sum.

    Both versions are assumed to be equal.

    Parameters
    ----------
    n_pairs : int
        Number of pairs of runs.

    Returns
    -------
    ndarray of float, shape (n_pairs (n_pairs + 1) / 2 + 1,)
        Element w is the probability that the sum of the positive ranks is at least w.
    """
    # Each rank is part of the sum with probability 1/2, independently of the other ranks.
    probabilities = np.ones(1)  # of the sums 0, 1, 2, ...
    for rank in range(1, n_pairs + 1):
        zero_or_rank = np.r_[0.5, np.zeros(rank - 1), 0.5]
        probabilities = np.convolve(probabilities, zero_or_rank)
    tail = probabilities[::-1].cumsum()[::-1]
    return np.minimum(1.0, tail)


def _take_logarithms(old: ArrayLike, new: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of two arrays of times."""
    old = np.asarray(old, dtype=float)
    new = np.asarray(new, dtype=float)
    if not all(times.size and (times > 0).all() for times in (old, new)):
        raise InputError(
            f"{old.size} old and {new.size} new times: give at least one of both, and only times above 0"
        )
    return np.log(old), np.log(new)


def _make_ratio(differences: np.ndarray, n_outside: int, p_slower: float, p_faster: float) -> Ratio:
    """Make a Ratio from sorted differences of logarithms.

    The confidence interval excludes `n_outside` differences at each end. There is no interval if `n_outside`
    is negative.
    """
    low, high = -np.inf, np.inf
    if n_outside >= 0:
        low, high = differences[n_outside], differences[-1 - n_outside]
    estimate, low, high = np.exp([np.median(differences), low, high]).tolist()
    return Ratio(estimate, low, high, float(p_slower), float(p_faster))
