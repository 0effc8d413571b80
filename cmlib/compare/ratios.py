"""Estimate the ratio of the run times of two versions, with confidence intervals and p-values by rank tests.

:func:`estimate_paired_ratio` (runs in pairs) and :func:`estimate_unpaired_ratio` take two arrays of times in one unit,
and give a :class:`Ratio`: new over old time, an interval, and p-values for slower and faster. A ValueError if an array
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
        Confidence interval; 0 and infinite if there are too few runs for one.
    p_slower, p_faster : float
        One-sided p-values (0-1) of the hypothesis that the new version takes no longer, or no less time.
    """

    ratio: float
    low: float
    high: float
    p_slower: float
    p_faster: float


def estimate_paired_ratio(old, new, *, confidence=0.95):
    """Compare times of runs that were made in pairs, old[i] with new[i] (exact signed-rank test by Wilcoxon): Ratio.

    `old` and `new` are array-likes of times, all in one unit; `confidence` (0-1) is that of the interval. A ValueError
    if there are not as many of both, none, or a time is not above 0.
    """
    old, new = _logarithms(old, new)
    if old.shape != new.shape:
        raise InputError(f"{old.size} old and {new.size} new times are no pairs")
    differences = new - old
    means = np.sort(np.add.outer(differences, differences)[np.triu_indices(old.size)] / 2)
    at_least = compute_signed_rank_tail(old.size)
    outside = np.flatnonzero(at_least <= (1 - confidence) / 2)
    n_outside = means.size - outside[0] if outside.size else -1
    p_values = at_least[(means > 0).sum()], at_least[(means < 0).sum()]
    return _ratio(means, n_outside, *p_values)


def estimate_unpaired_ratio(old, new, *, confidence=0.95):
    """Compare times of runs that were made independently (Mann-Whitney test): Ratio.

    `old` and `new` are array-likes of times, all in one unit, whose lengths may differ; `confidence` (0-1) is that
    of the interval. A ValueError if one is empty, or a time is not above 0.
    """
    old, new = _logarithms(old, new)
    differences = np.sort(np.subtract.outer(new, old).ravel())
    spread = math.sqrt(old.size * new.size * (old.size + new.size + 1) / 12)
    n_outside = math.floor((old.size * new.size - 1) / 2 - stats.norm.ppf((1 + confidence) / 2) * spread)
    p_values = (stats.mannwhitneyu(new, old, alternative=side).pvalue for side in ("greater", "less"))
    return _ratio(differences, n_outside, *p_values)


def compute_smallest_p_value(n_old, n_new, *, paired):
    """Smallest possible one-sided p-value (float): if every new run is slower than its partner, or than all old ones.

    `n_old` and `n_new` are numbers of runs, `paired` is True for :func:`estimate_paired_ratio`, False for
    :func:`estimate_unpaired_ratio`.
    """
    return 0.5 ** min(n_old, n_new) if paired else 1 / math.comb(n_old + n_new, n_new)


def compute_signed_rank_tail(n_pairs):
    """Distribution of Wilcoxon's signed-rank sum of `n_pairs` differences, if both versions are equal: an array.

    Its value at index w, from 0 to n_pairs (n_pairs + 1) / 2, is the probability (0-1) that the sum of the positive
    ranks is at least w.
    """
    probabilities = np.ones(1)
    for rank in range(1, n_pairs + 1):
        probabilities = np.convolve(probabilities, np.r_[0.5, np.zeros(rank - 1), 0.5])
    return np.minimum(1.0, probabilities[::-1].cumsum()[::-1])


def _logarithms(old, new):
    """Logarithms of both arrays of times; a ValueError if one is empty or has a time that is not above 0."""
    both = [np.asarray(times, dtype=float) for times in (old, new)]
    if not all(times.size and (times > 0).all() for times in both):
        raise InputError(f"{both[0].size} old and {both[1].size} new times: it takes one of each, above 0")
    return [np.log(times) for times in both]


def _ratio(shifts, n_outside, p_slower, p_faster):
    """Ratio from sorted differences of logarithms, `n_outside` of which are outside the interval at each end.

    A negative `n_outside` means that there is no interval.
    """
    low, high = (shifts[n_outside], shifts[-1 - n_outside]) if n_outside >= 0 else (-np.inf, np.inf)
    estimate, low, high = np.exp([np.median(shifts), low, high]).tolist()
    return Ratio(estimate, low, high, float(p_slower), float(p_faster))
