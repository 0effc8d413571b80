"""Slices of a simulated run: events per 1,000 instructions."""

import numpy as np
import pandas as pd

_PER = "sim.instructions"
_MISSES = {level: (f"sim.{level}_load_misses", f"sim.{level}_store_misses") for level in ("l1d", "l2", "ll")}
# What adds up to each, and what is taken away: loads and stores that miss a level and are served by the next one. The
# dearest come first, as a tree takes the first of equally good events.
MODELLED_RATES = {
    "sim.fills_from_memory": (_MISSES["ll"], ()),
    "sim.fills_from_l3": (_MISSES["l2"], _MISSES["ll"]),
    "sim.fills_from_l2": (_MISSES["l1d"], _MISSES["l2"]),
    "sim.mispredictions": (("sim.conditional_mispredictions", "sim.indirect_mispredictions"), ()),
    "sim.l1i_misses": (("sim.l1i_misses",), ()),
}
EXACT_RATES = ("sim.loads", "sim.stores", "sim.conditional_branches", "sim.indirect_branches")
# Per 1,000 instructions; what is rarer is no bottleneck. A prefetcher can't foresee the first lines of a page, one or
# two misses; KCachegrind charges 10 cycles for a misprediction, so that 10 are a tenth of a cycle an instruction.
NEGLIGIBLE = dict.fromkeys(MODELLED_RATES, 2.0) | {"sim.mispredictions": 10.0}


def simulated_rates(counts, intervals=1):
    """Events per 1,000 instructions of each slice of a simulated run.

    Yoo et al. (2012, §3.1) divide by cycles, of which a simulation counts none: a miss among many instructions is a
    lower rate here, where most cycles would be those of the miss. What a processor's noise does in the paper,
    a floor does here: exact counts of a loop without a miss would put the tree's threshold at zero.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, 16)
        Index ``interval``; from :func:`cmlib.workloads.micro.simulated.join_levels`. No interval is without an
        instruction.
    intervals : int, default 1
        Of a slice. What is left over at the end is dropped.

    Returns
    -------
    DataFrame, shape (n_slices, 9)
        Index ``interval``, the last one of each slice. The columns of :data:`MODELLED_RATES`, those below
        :data:`NEGLIGIBLE` raised to it, and of :data:`EXACT_RATES`.

    Raises
    ------
    ValueError
        If there is no whole slice.
    """
    n = len(counts) // intervals if intervals >= 1 else 0
    if not n:
        raise ValueError(f"simulated_rates: {len(counts)} intervals hold no slice of {intervals}.")
    used = counts.iloc[: n * intervals]
    ends = pd.Index(used.index[intervals - 1 :: intervals], name=counts.index.name)
    values = used.to_numpy(np.float64).reshape(n, intervals, -1).sum(axis=1)
    sums = pd.DataFrame(values, ends, counts.columns)
    modelled = modelled_rates(sums)
    exact = sums[list(EXACT_RATES)].to_numpy() * (1000 / sums[[_PER]].to_numpy())
    values = np.hstack([np.maximum(modelled, [NEGLIGIBLE[name] for name in modelled]), exact])
    return pd.DataFrame(values, ends, [*modelled, *EXACT_RATES])


def modelled_rates(counts):
    """The rates of :data:`MODELLED_RATES` as they are, per 1,000 instructions.

    Parameters
    ----------
    counts : DataFrame, shape (n, 16)

    Returns
    -------
    DataFrame, shape (n, 5)
    """
    scale = 1000 / counts[_PER].to_numpy()
    rates = {
        name: scale * (_sum(counts, parts) - _sum(counts, others))
        for name, (parts, others) in MODELLED_RATES.items()
    }
    return pd.DataFrame(rates, counts.index)


def _sum(counts, events):
    return counts[list(events)].to_numpy().sum(axis=1)
