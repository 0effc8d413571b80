"""Which simulated counts have changed between two versions, and in which functions."""

import numpy as np
import pandas as pd

from cmlib.anomaly.speed import NO_CHANGE

_EXACT = "exact"
# A modelled event must also come to this share of the estimated cycles: 5 % of few misses are nothing.
_LEAST_COST = 0.001
# Where runs of one version differ, a change must be this many times as large.
_TIMES_SPREAD = 5
_MOST_FUNCTIONS, _LEAST_SHARE = 5, 0.1


def judge_counts(old, new, table, smallest=0.005, smallest_modelled=0.02):
    """Which events have changed; `table` has the kind of each, and its weight in the estimated cycles."""
    means = old.mean(), new.mean()
    differing = pd.concat([spread(old), spread(new)], axis=1).max(axis=1)
    wanted = pd.Series(np.where(table["kind"] == _EXACT, smallest, smallest_modelled), table.index)
    threshold = wanted.clip(lower=_TIMES_SPREAD * differing)
    difference = means[1] - means[0]
    costly = table["weight"] * difference.abs() >= _LEAST_COST * (means[0][table.index] @ table["weight"])
    relevant = (difference.abs() >= threshold * means[0]) & (difference != 0)
    apart = (new.min() > old.max()) | (new.max() < old.min())
    changed = relevant & apart & (costly | (table["kind"] == _EXACT))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (means[1] / means[0]).where(means[0] > 0, np.where(means[1] > 0, np.inf, 1.0))
    return pd.DataFrame(
        {
            "event": table.index,
            "kind": table["kind"].to_numpy(),
            "verdict": np.where(changed, np.where(difference > 0, "more", "fewer"), NO_CHANGE),
            "ratio": ratio.to_numpy(),
            "old": means[0].to_numpy(),
            "new": means[1].to_numpy(),
            "spread": differing.to_numpy(),
            "threshold": threshold.to_numpy(),
        }
    )


def blame(old, new, event):
    """Functions that account for a change of an event, by Callgrind's attribution of costs to functions
    themselves."""
    counts = pd.concat({"old": old[event], "new": new[event]}, axis=1).fillna(0.0)
    difference = counts["new"] - counts["old"]
    share = difference / difference.sum()
    named = share[share >= _LEAST_SHARE].nlargest(_MOST_FUNCTIONS)
    before = counts.loc[named.index, "old"]
    ratio = (counts.loc[named.index, "new"] / before.where(before > 0)).fillna(np.inf)
    files = new["file"].reindex(named.index).fillna(old["file"].reindex(named.index))
    return pd.DataFrame({"share": named, "ratio": ratio, "file": files})


def spread(runs):
    """Largest difference between runs of one version, by event, as a share of the smallest count."""
    return ((runs.max() - runs.min()) / runs.min().clip(lower=1)).rename(None)
