"""The rates of a simulated run by which it is sliced and classified.

They are of modelled events (misses and mispredictions, by Callgrind's model) and exact ones (loads, stores,
branches), per 1,000 estimated cycles: a fixed number of cycles is charged for each instruction, miss and
misprediction. :func:`simulated_counts` prepares counts for :func:`cmlib.fingerprint.slices.slice_rates`.
"""

import pandas as pd

ESTIMATED_CYCLES = 1000  # rates of simulated events are per this number of estimated cycles
_MISSES = {level: (f"sim.{level}_load_misses", f"sim.{level}_store_misses") for level in ("l1d", "l2", "ll")}
# Rates of simulated runs, and the events that are added up to each. A miss of a level is also one of those before it.
# The most expensive come first, as a tree splits on the first of equally good events.
MODELLED_RATES = {
    "sim.ll_misses": _MISSES["ll"],
    "sim.l2_misses": _MISSES["l2"],
    "sim.l1d_misses": _MISSES["l1d"],
    "sim.mispredictions": ("sim.conditional_mispredictions", "sim.indirect_mispredictions"),
    "sim.l1i_misses": ("sim.l1i_misses",),
}
EXACT_RATES = ("sim.loads", "sim.stores", "sim.conditional_branches", "sim.indirect_branches")


def simulated_counts(counts, weights):
    """Convert the counts of a simulated run to the form that :func:`cmlib.fingerprint.slices.slice_rates` takes.

    Parameters
    ----------
    counts : DataFrame
        Callgrind's events, a row per interval.
    weights : Series
        Cycles that the estimate charges for each event.

    Returns
    -------
    DataFrame
        A row per interval. Columns: sums of misses by cache level, and of mispredictions (names of
        `MODELLED_RATES`; one whose events were not all simulated is left out); ``instructions`` and the exact
        counts of `EXACT_RATES`; and ``cycles``, thousands of estimated cycles (the weighted sum of the counts).

    Raises
    ------
    KeyError
        If `counts` lacks an exact count or one that has a weight.
    """
    sums = {
        name: counts[list(summed)].sum(axis=1)
        for name, summed in MODELLED_RATES.items()
        if set(summed) <= set(counts)
    }
    cycles = counts[list(weights.index)] @ weights / ESTIMATED_CYCLES
    exact = counts[["sim.instructions", *EXACT_RATES]].rename(columns={"sim.instructions": "instructions"})
    return pd.DataFrame(sums).join(exact).assign(cycles=cycles)
