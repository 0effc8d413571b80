"""Compare simulated counts of two versions of a program: which events changed, and in which functions."""

import numpy as np
import pandas as pd

from cmlib.anomaly.speed import FASTER, INCONCLUSIVE, NO_CHANGE, SLOWER

MAY_BE_SLOWER, SAME = "may be slower", "same"
# Of the estimated cycles, which are a model: 200 pairs of equal programs, on two sizes of caches, came to 0.001 %, and
# one whose tables lie at other addresses to 3 %.
LEAST_ESTIMATE = 0.05

_EXACT = "exact"
# A modelled event must also come to this share of the estimated cycles: 5 % of few misses are nothing.
_LEAST_COST = 0.001
# Where runs of one version differ, a change must be this many times as large.
_TIMES_SPREAD = 5
_MOST_FUNCTIONS, _LEAST_SHARE = 5, 0.1
_MOST_IN_LIBC = 0.1  # of the instructions


def compare_counts(old, new, table, smallest=0.005, smallest_modelled=0.02):
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


def compare_estimates(tests, old, new, weight, smallest=0.02):
    """The verdict: by instructions, by the estimated cycles (both slower), or by what misses add to these (may be).

    Parameters
    ----------
    tests : DataFrame
        Of :func:`compare_counts`.
    old, new : DataFrame
        Simulated counts, a row a run.
    weight : Series
        Cycles that the estimate charges for one event; instructions come first.
    smallest : float, default 0.02
        Share of the old version's estimated cycles that misses must add or save to be told.

    Returns
    -------
    verdict : str
        ``slower``, ``may be slower``, ``faster`` (fewer instructions, and misses no more), ``same``; or
        ``inconclusive`` if runs of one version differ so much that the smallest relevant change could not be told.
    ratio : float
        Estimated cycles of the new version, as a multiple of the old one's.
    by_misses : float
        What misses and mispredictions add, as a share of the old version's estimated cycles.
    threshold : float
        Share of these from which the estimate alone makes a version slower.
    """
    cycles = [runs[weight.index] @ weight for runs in (old, new)]
    misses = [runs[weight.index[1:]] @ weight.iloc[1:] for runs in (old, new)]
    base, noise = cycles[0].mean(), _TIMES_SPREAD * max(map(spread, cycles))
    by_misses, change = ((b.mean() - a.mean()) / base for a, b in (misses, cycles))
    threshold = max(LEAST_ESTIMATE, noise)
    first = tests.iloc[0]
    instructions = first["verdict"]
    if instructions == "more" or (change >= threshold and cycles[1].min() > cycles[0].max()):
        verdict = SLOWER
    elif by_misses >= max(smallest, noise) and misses[1].min() > misses[0].max():
        verdict = MAY_BE_SLOWER
    elif instructions == "fewer":
        verdict = FASTER
    else:
        verdict = INCONCLUSIVE if 0 < first["threshold"] <= _TIMES_SPREAD * first["spread"] else SAME
    return verdict, float(1 + change), float(by_misses), float(threshold)


def depends_on_libc(*shares):
    """Whether libc's routines, which it chooses by processor, hold so many instructions that the verdict is theirs."""
    return max(shares) > _MOST_IN_LIBC


def blame_changes(tests, old, new, n_runs):
    """The functions that changed counts come from: a row an event of `tests` and function, by :func:`blame`."""
    rows = [
        {
            "counter": test.event,
            "kind": test.kind,
            "votes": n_runs,
            "share": float(row.share),
            "times_usual": float(row.ratio),
            "function": function,
            "location": row.file,
        }
        for test in tests.itertuples()
        for function, row in blame(old, new, test.event).iterrows()
    ]
    return pd.DataFrame(rows)


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
    return (runs.max() - runs.min()) / np.maximum(runs.min(), 1)
