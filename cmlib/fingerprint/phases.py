"""Cut a series where its level changes, and name the phases of a simulated run by what costs cycles in them."""

import numpy as np
import pandas as pd

# Standard deviations below this share are taken for it: a simulation has no noise to estimate.
_LEAST_STD = 0.02
_PENALTY = 4.0


def segment_starts(X, *, weights=None, penalty=None, shortest=1):
    """Cut a series into segments of constant mean (optimal partitioning).

    ruptures.KernelCPD cuts 240 points in 0.2 ms instead of 5, but takes no weights, and 0.4 s to import.

    Parameters
    ----------
    X : array-like of float, shape (n_samples, n_features)
        The series.
    weights : array-like of float > 0, shape (n_samples,), optional
        Weight of each sample. Default: all the same.
    penalty : float > 0, optional
        Price of a segment, in squared units of X. Default: by the noise of neighbouring samples.
    shortest : int, default 1
        Fewest samples of a segment.

    Returns
    -------
    ndarray of int
        The first sample of each segment; the first of them is 0.

    Raises
    ------
    ValueError
        If there is no sample, or a weight or the penalty is not above 0.
    """
    X = np.asarray(X, np.float64)
    n = len(X)
    if not n:
        raise ValueError("segment_starts: there is no sample.")
    w = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    if not (w > 0).all():
        raise ValueError(f"segment_starts: weights are above 0, got {w.min()}.")
    price = _default_penalty(X) if penalty is None else penalty
    if not price > 0:
        raise ValueError(f"segment_starts: a penalty is above 0, got {price}.")
    sums = np.vstack([np.zeros(X.shape[1]), np.cumsum(w[:, None] * X, axis=0)])
    squares = np.concatenate([[0.0], np.cumsum(w * (X**2).sum(axis=1))])
    lengths = np.concatenate([[0.0], np.cumsum(w)])
    best, begins = np.zeros(n + 1), np.zeros(n + 1, int)
    shortest = min(max(shortest, 1), n)
    best[1:shortest] = np.inf
    for end in range(shortest, n + 1):
        start = slice(end - shortest + 1)
        means = ((sums[end] - sums[start]) ** 2).sum(axis=1) / (lengths[end] - lengths[start])
        costs = best[start] + squares[end] - squares[start] - means + price
        begins[end] = costs.argmin()
        best[end] = costs[begins[end]]
    starts, end = [], n
    while end:
        end = int(begins[end])
        starts.append(end)
    return np.array(starts[::-1])


def _default_penalty(X):
    differences = np.abs(np.diff(X, axis=0))
    std = 1.4826 * np.median(differences, axis=0) / np.sqrt(2) if len(X) > 1 else np.zeros(X.shape[1])
    return _PENALTY * np.log(max(len(X), 2)) * (np.maximum(std, _LEAST_STD) ** 2).sum()


INSTRUCTIONS, NOTHING_ELSE = "instructions", "instructions only"
IN_ORDER = "data misses in order"
FIRST_LEVEL = "first-level data misses"
# What the events of KCachegrind's cycle estimate have in common; every event with a weight is in one of these.
CONTRIBUTORS = {
    INSTRUCTIONS: ("sim.instructions",),
    FIRST_LEVEL: ("sim.l1d_load_misses", "sim.l1d_store_misses"),
    "last-level data misses": ("sim.ll_load_misses", "sim.ll_store_misses"),
    "mispredictions": ("sim.conditional_mispredictions", "sim.indirect_mispredictions"),
    "instruction-cache misses": ("sim.l1i_misses", "sim.ll_instruction_misses"),
}
# A phase is called after what comes to this share of the estimated cycles, the largest first.
NAMED_FROM = 0.1


def contributions(counts, weights):
    """Split the estimated cycles per instruction by what they are charged for (KCachegrind's cycle estimate).

    Parameters
    ----------
    counts : DataFrame, shape (n_rows, n_events)
        Simulated counts (``sim.…``).
    weights : Series of float
        Cycles charged for one of each event.

    Returns
    -------
    DataFrame of float, shape (n_rows, 5)
        Cycles per instruction: instructions, data misses of the first and the last level, mispredictions and
        instruction-cache misses.
    """
    charged = {
        name: counts[list(charged_events)] @ weights[list(charged_events)] / counts["sim.instructions"]
        for name, charged_events in CONTRIBUTORS.items()
    }
    return pd.DataFrame(charged, index=counts.index)


def added_shares(counts, weights):
    """Return the shares of each row's estimated cycles that misses and mispredictions add.

    Parameters
    ----------
    counts : DataFrame, shape (n_rows, n_events)
        Simulated counts (``sim.…``).
    weights : Series of float
        Cycles charged for one of each event.

    Returns
    -------
    DataFrame of float, shape (n_rows, 4)
        Shares of the estimated cycles (0 to 1), by what is charged; instructions have the rest.
    """
    parts = contributions(counts, weights)
    return parts.div(parts.sum(axis=1), axis=0).drop(columns=INSTRUCTIONS)


def simulated_phases(counts, weights):
    """Phases of a simulated run, in each of which the estimated cycles go the same way."""
    parts, executed = contributions(counts, weights), counts["sim.instructions"].to_numpy()
    shares = parts.div(parts.sum(axis=1), axis=0)
    starts = segment_starts(shares, weights=executed / np.median(executed))
    ends = np.append(starts[1:], len(counts))
    progress = np.append(0.0, counts.index.to_numpy(float))
    of_phases = counts.groupby(np.repeat(np.arange(len(starts)), ends - starts)).sum()
    estimate = contributions(of_phases, weights).sum(axis=1)
    cycles, added = estimate * of_phases["sim.instructions"], added_shares(of_phases, weights)
    return pd.DataFrame(
        {
            "first": starts,
            "last": ends - 1,
            "start": progress[starts],
            "end": progress[ends],
            "share": cycles / cycles.sum(),
            "label": added.idxmax(axis=1).where(added.max(axis=1) >= NAMED_FROM, NOTHING_ELSE),
            "estimate": estimate,
        }
    )
