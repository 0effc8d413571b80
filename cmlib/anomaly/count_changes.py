"""Which simulated counts have changed between two versions, and in which functions."""

import numpy as np
import pandas as pd

from cmlib.anomaly.speed import NO_CHANGE
from cmlib.events import cycle_estimate, simulated_events
from cmlib.events.simulated import EXACT

# A modelled event must also come to this share of the estimated cycles: 5 % of few misses are nothing.
_LEAST_COST = 0.001
# Where runs of one version differ, a change must be this many times as large.
_TIMES_SPREAD = 5
_MOST_FUNCTIONS, _LEAST_SHARE = 5, 0.1


def judge_counts(old, new, smallest=0.005, smallest_modelled=0.02):
    """Which events have changed.

    Parameters
    ----------
    old, new : DataFrame, shape (n_runs, 13)
        Counts of each run by simulated event.
    smallest, smallest_modelled : float
        Smallest relevant change of exact and of modelled events, as a share.

    Returns
    -------
    DataFrame
        A row an event: ``event``, ``kind``, ``verdict`` (more, fewer, no change), ``ratio`` (infinite where the old
        count is 0), ``old`` and ``new`` (means), ``spread`` (largest relative difference between runs of one version)
        and ``threshold`` (smallest change that is told, as a share).
    """
    table = simulated_events()
    means = old.mean(), new.mean()
    differing = pd.concat([spread(old), spread(new)], axis=1).max(axis=1)
    wanted = pd.Series(np.where(table["kind"] == EXACT, smallest, smallest_modelled), table.index)
    threshold = wanted.clip(lower=_TIMES_SPREAD * differing)
    difference = means[1] - means[0]
    costly = table["weight"] * difference.abs() >= _LEAST_COST * cycle_estimate(means[0])
    relevant = (difference.abs() >= threshold * means[0]) & (difference != 0)
    apart = (new.min() > old.max()) | (new.max() < old.min())
    changed = relevant & apart & (costly | (table["kind"] == EXACT))
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
    """Functions that account for a change of an event, by Callgrind's attribution of costs to functions themselves.

    Parameters
    ----------
    old, new : DataFrame
        Mean counts by function, and a column ``file``.
    event : str

    Returns
    -------
    DataFrame
        Index ``function``, at most five, those with a tenth of the change or more, the largest share first; columns
        ``share`` (of the change), ``ratio`` (infinite for a new function) and ``file``.
    """
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
