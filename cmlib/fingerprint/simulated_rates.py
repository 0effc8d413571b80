"""Slices of a simulated run: events per 1,000 estimated cycles."""

import numpy as np
import pandas as pd

from cmlib.events import cycle_estimate

_MISSES = {level: (f"sim.{level}_load_misses", f"sim.{level}_store_misses") for level in ("l1d", "l2", "ll")}
# What adds up to each; a miss of a level is one of those before it as well. The dearest come first, as a tree takes the
# first of equally good events.
MODELLED_RATES = {
    "sim.ll_misses": _MISSES["ll"],
    "sim.l2_misses": _MISSES["l2"],
    "sim.l1d_misses": _MISSES["l1d"],
    "sim.mispredictions": ("sim.conditional_mispredictions", "sim.indirect_mispredictions"),
    "sim.l1i_misses": ("sim.l1i_misses",),
}
EXACT_RATES = ("sim.loads", "sim.stores", "sim.conditional_branches", "sim.indirect_branches")


def simulated_rates(counts, intervals=1):
    """Events per 1,000 estimated cycles of each slice of a simulated run.

    Yoo et al. (2012, §3.1) divide by the slice's cycles. A simulation counts none, and KCachegrind's estimate,
    :func:`cmlib.events.cycle_estimate`, stands in for them: of a loop that misses, most are those of the misses, so
    that rates hardly depend on what else it executes.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, 13 or 16)
        From :func:`cmlib.simulate.read_series`. No interval is without an instruction.
    intervals : int, default 1
        Of a slice. What is left over at the end is dropped.

    Returns
    -------
    DataFrame, shape (n_slices, 8 or 9)
        Index of `counts`, the last interval of each slice. The columns of :data:`MODELLED_RATES`, without
        ``sim.l2_misses`` where two levels were simulated, and of :data:`EXACT_RATES`.

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
    parts = {name: parts for name, parts in MODELLED_RATES.items() if set(parts) <= set(counts)}
    happened = {name: sums[list(own)].sum(axis=1) for name, own in parts.items()}
    return pd.DataFrame(happened).join(sums[list(EXACT_RATES)]).mul(1000 / cycle_estimate(sums), axis=0)
