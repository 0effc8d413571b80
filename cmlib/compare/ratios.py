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
    p_slower, p_faster : float
        One-sided p-values (0-1) of the hypotheses that the new version does not take longer, and not less time.
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
        raise InputError(f"{old.size} old and {new.size} new times are no pairs")
    differences = new - old
    means = np.sort(np.add.outer(differences, differences)[np.triu_indices(old.size)] / 2)
    at_least = compute_signed_rank_tail(old.size)
    outside = np.flatnonzero(at_least <= (1 - confidence) / 2)
    n_outside = means.size - outside[0] if outside.size else -1
    p_slower = at_least[(means > 0).sum()]
    p_faster = at_least[(means < 0).sum()]
    return _make_ratio(means, n_outside, p_slower, p_faster)


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
    differences = np.sort(np.subtract.outer(new, old).ravel())
    spread = math.sqrt(old.size * new.size * (old.size + new.size + 1) / 12)
    n_outside = math.floor((old.size * new.size - 1) / 2 - stats.norm.ppf((1 + confidence) / 2) * spread)
    p_slower = stats.mannwhitneyu(new, old, alternative="greater").pvalue
    p_faster = stats.mannwhitneyu(new, old, alternative="less").pvalue
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
        One-sided p-value if every new run is slower than the old run of its pair, or without pairs than all old runs.
    """
    return 0.5 ** min(n_old, n_new) if paired else 1 / math.comb(n_old + n_new, n_new)


def compute_signed_rank_tail(n_pairs):
    """Compute the distribution of Wilcoxon's signed-rank sum if both versions are equal.

    Parameters
    ----------
    n_pairs : int
        Number of pairs of runs.

    Returns
    -------
    ndarray of float, shape (n_pairs (n_pairs + 1) / 2 + 1,)
        Probability (0-1) that the sum of the positive ranks is at least w, for each w from 0.
    """
    probabilities = np.ones(1)
    for rank in range(1, n_pairs + 1):
        probabilities = np.convolve(probabilities, np.r_[0.5, np.zeros(rank - 1), 0.5])
    return np.minimum(1.0, probabilities[::-1].cumsum()[::-1])


def _take_logarithms(old, new):
    """Return the logarithms of both arrays of times; ValueError if one is empty or has a time that is not above 0."""
    old = np.asarray(old, dtype=float)
    new = np.asarray(new, dtype=float)
    if not all(times.size and (times > 0).all() for times in (old, new)):
        raise InputError(f"{old.size} old and {new.size} new times: it takes one of each, above 0")
    return np.log(old), np.log(new)


def _make_ratio(shifts, n_outside, p_slower, p_faster):
    """Make a Ratio from sorted differences of logarithms, `n_outside` of which are outside the interval at each end.

    A negative `n_outside` means that there is no interval.
    """
    low, high = -np.inf, np.inf
    if n_outside >= 0:
        low, high = shifts[n_outside], shifts[-1 - n_outside]
    estimate, low, high = np.exp([np.median(shifts), low, high]).tolist()
    return Ratio(estimate, low, high, float(p_slower), float(p_faster))
