"""Cut a recorded run into time slices of equal length, with events per cycle in each.

:func:`slice_rates` takes the counts of a run, a DataFrame with a row an interval (index: its end [s]), and gives a
DataFrame of rates with a row a slice (index: its end [s]). Of simulated runs, rates are of modelled events (misses
and mispredictions, by Callgrind's model) and exact ones (loads, stores, branches), per 1,000 estimated cycles: a
fixed number of cycles is charged for each instruction, miss and misprediction; :func:`simulated_counts` prepares
them. A ValueError if no slice is left, no cycles were counted, or a slice is no multiple of the intervals.
"""

import numpy as np
import pandas as pd

_LENGTH_TOLERANCE = 0.1  # of a slice, relative, as a multiple of the intervals
ESTIMATED_CYCLES = 1000  # rates of simulated events are per so many estimated cycles
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


def slice_rates(counts, running=None, *, slice_s=0.4):
    """Cut a run into slices of `slice_s` seconds: a DataFrame of events per cycle, a row a slice (index: its end [s]).

    `counts` (index: ends of intervals [s]; NaN where not counted) and `running` shares (0-1; by default 1) are
    DataFrames, a row an interval, a column an event. The last slice, slices that lack an event and events that were
    never counted are left out. A ValueError if no slice is left, there is no column cycles, or `slice_s` is no
    multiple of the interval.
    """
    if "cycles" not in counts:
        raise ValueError(
            f"slice_rates: no column 'cycles' among {counts.shape[1]} events; pin it when recording."
        )
    length = _intervals_a_slice(counts.index.to_numpy(np.float64), slice_s)
    running = pd.DataFrame(1.0, counts.index, counts.columns) if running is None else running
    counted = counts["cycles"].notna().to_numpy()
    first = int(np.argmax(counted)) if counted.any() else len(counts)
    rates = _rates(counts.iloc[first:], running.iloc[first:], length)
    if rates.empty:
        raise ValueError(
            f"slice_rates: {len(counts)} intervals, of which the first {first} were not counted, hold no slice of "
            f"{length} intervals beside the last one. Run the program longer, or take shorter slices."
        )
    return rates.dropna(axis=1, how="all").dropna()


def join_parts(parts):
    """Join the rates of runs that counted different events of one steady program, slice by slice: one DataFrame.

    `parts` is a list of DataFrames as of :func:`slice_rates`. The result has as many slices as the shortest run,
    numbered from 0 (index: slice); an event in several runs is taken from the first.
    """
    n = min(map(len, parts))
    number = pd.RangeIndex(n, name="slice")
    joined = pd.concat([part.iloc[:n].set_axis(number) for part in parts], axis=1)
    return joined.loc[:, ~joined.columns.duplicated()]


def _intervals_a_slice(times, slice_s):
    """Number of intervals in a slice, by the ends of the intervals [s]."""
    if len(times) < 2:
        raise ValueError(f"slice_rates: {len(times)} intervals; slicing needs at least 2.")
    interval = float(np.median(np.diff(times)))
    length = round(slice_s / interval)
    if length < 1 or abs(length * interval - slice_s) > _LENGTH_TOLERANCE * interval * length:
        raise ValueError(
            f"slice_rates: slices of {slice_s:g} s from intervals of {interval:.3g} s; take a multiple of the "
            f"interval, such as {max(length, 1) * interval:.3g}, or record shorter intervals."
        )
    return length


def _rates(counts, running, length):
    """Events per cycle of slices of `length` intervals, without the last one and those in which no cycle was
    counted."""
    n_slices = -(-len(counts) // length) - 1
    used = slice(0, max(n_slices, 0) * length)
    present = counts.iloc[used].notna()
    shares = running.iloc[used].where(present, 0.0)
    weighted = (counts.iloc[used] * shares).fillna(0.0)
    exposed = shares.mul(counts["cycles"].iloc[used].fillna(0.0), axis=0)
    number = np.arange(used.stop) // length
    rates = weighted.groupby(number).sum() / exposed.groupby(number).sum().replace(0.0, np.nan)
    rates.index = pd.Index(counts.index[length - 1 : used.stop : length], name=counts.index.name)
    return rates[rates["cycles"].notna()].drop(columns="cycles")


def simulated_counts(counts, weights):
    """Counts of a simulated run in the form that :func:`slice_rates` takes.

    `counts` is a DataFrame of Callgrind's events, a row an interval; `weights` a Series from event to the cycles that
    the estimate charges for it. Returns a DataFrame, a row an interval. Columns: sums of misses by cache level, and of
    mispredictions (names of `MODELLED_RATES`; one whose events were not all simulated is left out); ``instructions``
    and the exact counts of `EXACT_RATES`; and ``cycles``, thousands of estimated cycles (the weighted sum of the
    counts). A KeyError if `counts` lacks an exact count or one that has a weight.
    """
    sums = {
        name: counts[list(summed)].sum(axis=1)
        for name, summed in MODELLED_RATES.items()
        if set(summed) <= set(counts)
    }
    cycles = counts[list(weights.index)] @ weights / ESTIMATED_CYCLES
    exact = counts[["sim.instructions", *EXACT_RATES]].rename(columns={"sim.instructions": "instructions"})
    return pd.DataFrame(sums).join(exact).assign(cycles=cycles)
