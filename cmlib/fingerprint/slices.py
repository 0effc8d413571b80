"""Cut a recorded run into time slices of equal length, with events per cycle in each.

:func:`slice_rates` takes the counts of a run, a DataFrame with a row per interval (index: its end [s]), and returns a
DataFrame of rates with a row per slice (index: its end [s]). Raises a ValueError if no slice is left, no cycles
were counted, or a slice is not a multiple of the intervals.
"""

import numpy as np
import pandas as pd

from cmlib.errors import InputError

_LENGTH_TOLERANCE = 0.1  # of a slice, relative, as a multiple of the intervals


def slice_rates(counts, running=None, *, slice_s=0.4):
    """Cut a run into slices of `slice_s` seconds, and compute events per cycle in each.

    Parameters
    ----------
    counts : DataFrame, shape (n_intervals, n_events)
        Counts, NaN where not counted; index: end of the interval [s].
    running : DataFrame, same shape, optional
        Running shares (0-1). Default: 1.
    slice_s : float, default 0.4
        Length of a slice [s].

    Returns
    -------
    DataFrame, shape (n_slices, n_events)
        Events per cycle; index: end of the slice [s]. The last slice, slices that lack an event, and events that
        were never counted are left out.

    Raises
    ------
    ValueError
        If no slice is left, there is no column cycles, or `slice_s` is not a multiple of the interval.
    """
    if "cycles" not in counts:
        raise InputError(f"slice_rates: no 'cycles' among {counts.shape[1]} events; pin it when recording.")
    length = _count_intervals(counts.index.to_numpy(np.float64), slice_s)
    running = pd.DataFrame(1.0, counts.index, counts.columns) if running is None else running
    counted = counts["cycles"].notna().to_numpy()
    first = int(np.argmax(counted)) if counted.any() else len(counts)
    rates = (
        _compute_rates(counts.iloc[first:], running.iloc[first:], length).dropna(axis=1, how="all").dropna()
    )
    if rates.empty:
        raise InputError(
            f"slice_rates: {len(counts)} intervals, of which the first {first} were not counted, hold no "
            f"slice of {length} intervals beside the last one in which every event was counted. Run the "
            "program longer, or count fewer events."
        )
    return rates


def _count_intervals(times, slice_s):
    """Compute the number of intervals in a slice from the ends of the intervals [s]."""
    if len(times) < 2:
        raise InputError(f"slice_rates: {len(times)} intervals; slicing needs at least 2.")
    interval = float(np.median(np.diff(times)))
    length = round(slice_s / interval)
    if length < 1 or abs(length * interval - slice_s) > _LENGTH_TOLERANCE * interval * length:
        raise InputError(
            f"slice_rates: slices of {slice_s:g} s from intervals of {interval:.3g} s; take a multiple of "
            f"the interval, such as {max(length, 1) * interval:.3g}, or record shorter intervals."
        )
    return length


def _compute_rates(counts, running, length):
    """Compute events per cycle in slices of `length` intervals, without the last one and those without cycles."""
    n_slices = max(-(-len(counts) // length) - 1, 0)
    used = slice(0, n_slices * length)

    def by_slice(values):
        return np.nan_to_num(values, posinf=np.inf).reshape(n_slices, length, values.shape[1]).sum(axis=1)

    values = counts.to_numpy(np.float64)[used]
    shares = np.where(np.isnan(values), 0.0, running[counts.columns].to_numpy(np.float64)[used])
    exposed = by_slice(shares * counts["cycles"].to_numpy(np.float64)[used, np.newaxis])
    exposed[exposed == 0] = np.nan
    ends = pd.Index(counts.index[length - 1 : used.stop : length], name=counts.index.name)
    rates = pd.DataFrame(by_slice(values * shares) / exposed, ends, counts.columns)
    return rates[rates["cycles"].notna()].drop(columns="cycles")
