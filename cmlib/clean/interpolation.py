"""Straight lines between the stretches in which an event was counted."""

import numpy as np

from cmlib.errors import UnfitRecordingError


def interpolate(values, running):
    """Estimate what was not seen from straight lines between what was.

    Scaling assumes that an event went on, while it was not counted, at the rate of
    its own interval. Here the rate is known for the share of each interval in which
    the event ran, taken as one stretch in the interval's middle, and runs straight
    from one such stretch to the next; an interval's count is the area below the line
    (after Mathur and Cook's linear interpolation between observed sub-intervals,
    [38] in CounterMiner; perf tells shares, not the sub-intervals themselves).

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Counts as perf prints them, scaled by 1 / running [events per interval]; NaN
        where nothing was counted. Never modified.
    running : ndarray of float64, shape (n,)
        Share of the interval in which the event was counted, 0 to 1.

    Returns
    -------
    ndarray of float64, shape (n,)
        Equal to `values` wherever `running` is 1. Before the first and after the
        last stretch the rate stays what it was.

    Raises
    ------
    ValueError
        If no sample was counted.
    """
    seen = np.isfinite(values) & (running > 0)
    if not seen.any():
        raise UnfitRecordingError(
            f"none of {len(values)} samples was counted: there is nothing to draw a line between"
        )
    middle = np.flatnonzero(seen) + 0.5
    half = running[seen] / 2
    borders = np.arange(len(values) + 1.0)
    known_at = np.column_stack([middle - half, middle + half]).ravel()
    at = np.union1d(borders, known_at)
    rate = np.interp(at, known_at, np.repeat(values[seen], 2))
    areas = np.diff(at) * (rate[1:] + rate[:-1]) / 2
    counts = np.add.reduceat(areas, np.searchsorted(at, borders[:-1]))
    return np.where(seen & (running >= 1), values, counts)
