"""Estimate how many times as long a new version takes, from paired or independent times, by rank tests."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Ratio:
    """Time of the new version as a multiple of the old one's.

    Attributes
    ----------
    ratio : float
        Hodges-Lehmann estimate.
    low, high : float
        Confidence interval; 0 and infinite where there are too few runs for one.
    p_slower, p_faster : float
        One-sided p-values (0-1) of the hypothesis that the new version takes no longer, or no less time.
    """

    ratio: float
    low: float
    high: float
    p_slower: float
    p_faster: float


def paired_ratio(old, new, *, confidence=0.95):
    """Compare the times of runs that were made in pairs (Wilcoxon's signed-rank test, exact)."""
    old, new = _logarithms(old, new)
    if old.shape != new.shape:
        raise ValueError(f"{old.size} old and {new.size} new times are no pairs")
    differences = new - old
    means = np.sort(np.add.outer(differences, differences)[np.triu_indices(old.size)] / 2)
    at_least = signed_rank_tail(old.size)
    outside = np.flatnonzero(at_least <= (1 - confidence) / 2)
    n_outside = means.size - outside[0] if outside.size else -1
    p_values = at_least[(means > 0).sum()], at_least[(means < 0).sum()]
    return _ratio(means, n_outside, *p_values)


def unpaired_ratio(old, new, *, confidence=0.95):
    """Compare the times of runs that were made independently (Mann and Whitney's test)."""
    old, new = _logarithms(old, new)
    differences = np.sort(np.subtract.outer(new, old).ravel())
    spread = math.sqrt(old.size * new.size * (old.size + new.size + 1) / 12)
    n_outside = math.floor((old.size * new.size - 1) / 2 - stats.norm.ppf((1 + confidence) / 2) * spread)
    p_values = (stats.mannwhitneyu(new, old, alternative=side).pvalue for side in ("greater", "less"))
    return _ratio(differences, n_outside, *p_values)


def smallest_p_value(n_old, n_new, *, paired):
    """The p-value if every new run is slower than its partner, or than all old ones: none can be smaller."""
    return 0.5 ** min(n_old, n_new) if paired else 1 / math.comb(n_old + n_new, n_new)


def signed_rank_tail(n_pairs):
    """Probability that the positive ranks of equal versions sum to at least w."""
    probabilities = np.ones(1)
    for rank in range(1, n_pairs + 1):
        longer = np.zeros(probabilities.size + rank)
        longer[: probabilities.size] += probabilities / 2
        longer[rank:] += probabilities / 2
        probabilities = longer
    return np.minimum(1.0, probabilities[::-1].cumsum()[::-1])


def _logarithms(old, new):
    both = [np.asarray(times, dtype=float) for times in (old, new)]
    if not all(times.size and (times > 0).all() for times in both):
        raise ValueError(
            f"{both[0].size} old and {both[1].size} new times: one of each is needed, all above 0"
        )
    return [np.log(times) for times in both]


def _ratio(shifts, n_outside, p_slower, p_faster):
    """From sorted shifts, `n_outside` of which lie outside of the interval at each end; below 0 there is none."""
    low, high = (shifts[n_outside], shifts[-1 - n_outside]) if n_outside >= 0 else (-np.inf, np.inf)
    estimate, low, high = np.exp([np.median(shifts), low, high]).tolist()
    return Ratio(estimate, low, high, float(p_slower), float(p_faster))
