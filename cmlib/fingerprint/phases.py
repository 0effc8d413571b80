"""Split the estimated cycles of a simulated run by their causes, and cut the run into phases by these.

The estimate charges a fixed number of cycles (`weights`) for each instruction, miss and misprediction. Functions
take Callgrind's counts, a DataFrame with a row per interval and a column per event (``sim.…``), and return a
DataFrame. Raises a KeyError if a simulated event is missing; a row without instructions gives NaN or infinity.
"""

import numpy as np
import pandas as pd

from cmlib.fingerprint.segments import segment_starts
from cmlib.places import yaml_beside

INSTRUCTIONS = "instructions"  # a cause of estimated cycles
INSTRUCTIONS_ONLY = "instructions only"  # label of phases without another large cause
FIRST_LEVEL_MISSES = "first-level data misses"
# Smallest share of the estimated cycles of a cause that names a phase. Instructions do not name a phase.
MIN_CAUSE_SHARE = 0.1


def contributions(counts, weights):
    """Split the estimated cycles per instruction by their causes (KCachegrind's cycle estimate).

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
        name: counts[events] @ weights[events] / counts["sim.instructions"]
        for name, events in yaml_beside(__file__).items()
    }
    return pd.DataFrame(charged, index=counts.index)


def penalty_shares(counts, weights):
    """Return the share of misses and mispredictions in the estimated cycles.

    Parameters
    ----------
    counts : DataFrame, shape (n_rows, n_events)
        Simulated counts (``sim.…``).
    weights : Series of float
        Cycles charged for one of each event.

    Returns
    -------
    DataFrame of float, shape (n_rows, 4)
        Shares of the estimated cycles (0-1), one column per cause. Instructions have the remaining share.
    """
    parts = contributions(counts, weights)
    return parts.div(parts.sum(axis=1), axis=0).drop(columns=INSTRUCTIONS)


def simulated_phases(counts, weights):
    """Cut a simulated run into phases in which the shares of the causes of estimated cycles are constant.

    `counts` is a DataFrame, a row per interval (index: its end [10⁹ instructions]), `weights` a Series of the
    cycles charged for each event. Returns a DataFrame, a row per phase: first and last (positions of rows), start
    and end [as the index], share (of all estimated cycles, 0-1), label (the largest cause but instructions, if that
    has at least 0.1 of the phase's; else "instructions only") and estimate (cycles per instruction). Raises a
    ValueError if an interval has no instructions.
    """
    parts, executed = contributions(counts, weights), counts["sim.instructions"].to_numpy()
    shares = parts.div(parts.sum(axis=1), axis=0)
    starts = segment_starts(shares, weights=executed / np.median(executed))
    ends = np.append(starts[1:], len(counts))
    progress = np.append(0.0, counts.index.to_numpy(float))
    of_phases = counts.groupby(np.repeat(np.arange(len(starts)), ends - starts)).sum()
    estimate = contributions(of_phases, weights).sum(axis=1)
    cycles, added = estimate * of_phases["sim.instructions"], penalty_shares(of_phases, weights)
    label = added.idxmax(axis=1).where(added.max(axis=1) >= MIN_CAUSE_SHARE, INSTRUCTIONS_ONLY)
    spans = {"first": starts, "last": ends - 1, "start": progress[starts], "end": progress[ends]}
    return pd.DataFrame(spans | {"share": cycles / cycles.sum(), "label": label, "estimate": estimate})
