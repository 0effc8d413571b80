"""What a simulated run says of a program's phases: where the estimated cycles go, and what to do about it."""

import numpy as np
import pandas as pd

from cmlib.events import cycle_estimate, simulated_events
from cmlib.phases import change_points

INSTRUCTIONS, NOTHING_ELSE = "instructions", "instructions only"
# What the events of KCachegrind's cycle estimate have in common; every event with a weight is in one of these.
CONTRIBUTORS = {
    INSTRUCTIONS: ("sim.instructions",),
    "first-level data misses": ("sim.l1d_load_misses", "sim.l1d_store_misses"),
    "last-level data misses": ("sim.ll_load_misses", "sim.ll_store_misses"),
    "mispredictions": ("sim.conditional_mispredictions", "sim.indirect_mispredictions"),
    "instruction-cache misses": ("sim.l1i_misses", "sim.ll_instruction_misses"),
}
# A phase is called after what comes to this share of the estimated cycles, the largest first.
NAMED_FROM = 0.1
_ADVICE = {
    NOTHING_ELSE: (
        "executes instructions, and nothing that is simulated adds a tenth to them",
        "What is left is doing less work; a simulation does not see chains of dependent instructions and slow "
        "arithmetic.",
    ),
    "first-level data misses": (
        "misses the simulated first-level data cache, on data that the last level holds",
        "Visit data in the order in which it lies; put fields that are used together side by side; work on blocks "
        "that fit the first level. A processor prefetches what lies in order into the first level, the model does not.",
    ),
    "last-level data misses": (
        "misses the simulated last-level cache",
        "Use less data, or use it again before going on; keep references instead of looking up again; store nodes "
        "in the order of their use. The model of `cmlib diagnose` prefetches what lies in order, and never too late.",
    ),
    "mispredictions": (
        "takes branches that the simulated predictor gets wrong",
        "Sort or partition what a branch decides on, or compute both sides. A processor predicts better than the "
        "model.",
    ),
    "instruction-cache misses": (
        "misses the simulated instruction cache",
        "Let the compiler order code by a profile (-fprofile-use), and keep rarely used code out of loops.",
    ),
}


def contributions(counts):
    """Estimated cycles per instruction by what they are charged for.

    Parameters
    ----------
    counts : DataFrame
        Columns: simulated events.

    Returns
    -------
    DataFrame
        Index of `counts`, a column of each of :data:`CONTRIBUTORS`. Their sum is
        :func:`cmlib.events.cycle_estimate` per instruction; no cycle was counted.
    """
    weights = simulated_events()["weight"]
    charged = {
        name: counts[list(own)] @ weights[list(own)] / counts["sim.instructions"]
        for name, own in CONTRIBUTORS.items()
    }
    return pd.DataFrame(charged, index=counts.index)


def added_shares(total):
    """Shares of the estimated cycles that are added to those of the instructions, by what they are charged for.

    Parameters
    ----------
    total : Series
        Counts of simulated events.

    Returns
    -------
    Series
        :data:`CONTRIBUTORS` but the instructions, to a share of all estimated cycles (0–1).
    """
    parts = contributions(total.to_frame().T).iloc[0]
    return (parts / parts.sum()).drop(INSTRUCTIONS)


def simulated_phases(counts):
    """Phases of a simulated run, in each of which the estimated cycles go the same way.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, 13)
        Index: progress at each interval's end [10⁹ instructions].

    Returns
    -------
    DataFrame
        A row a phase: ``first`` and ``last`` (interval), ``start`` and ``end`` [10⁹ instructions], ``share`` (of
        the run's estimated cycles), ``label`` (the contributor, other than instructions, with the largest share of
        the phase's, from 10 % on), and ``estimate`` (cycles per instruction).
    """
    parts = contributions(counts)
    shares = parts.div(parts.sum(axis=1), axis=0)
    executed = counts["sim.instructions"].to_numpy()
    starts = change_points(shares, weights=executed / np.median(executed))
    ends = np.append(starts[1:], len(counts))
    progress = np.append(0.0, counts.index.to_numpy(float))
    whole = cycle_estimate(counts.sum())
    rows = []
    for first, end in zip(starts, ends, strict=True):
        of_phase = counts.iloc[first:end].sum()
        rows.append(
            {
                "first": first,
                "last": end - 1,
                "start": progress[first],
                "end": progress[end],
                "share": cycle_estimate(of_phase) / whole,
                "label": _label(of_phase),
                "estimate": cycle_estimate(of_phase) / of_phase["sim.instructions"],
            }
        )
    return pd.DataFrame(rows)


def advice(label):
    """What a label of :func:`simulated_phases` means, and what a programmer can do about it."""
    return _ADVICE[label]


def _label(counts):
    added = added_shares(counts)
    return added.idxmax() if added.max() >= NAMED_FROM else NOTHING_ELSE
