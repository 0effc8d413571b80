"""A simulated run as a series of intervals, like one that perf counted."""

import numpy as np
import pandas as pd

from cmlib.events import second_level_events, simulated_events
from cmlib.simulate.callgrind import CallgrindError, read_parts, read_second_level

# Where a run of perf has seconds, a simulated one has progress: a second stands for so many instructions.
INSTRUCTIONS_PER_SECOND = 1e9
# Instructions of one program and input repeat to this share; more is told.
REPEATS = 1e-4


def read_series(text):
    """Counts of a simulated run by interval.

    Parameters
    ----------
    text : str
        Output of Callgrind.

    Returns
    -------
    counts, running : DataFrame, shape (n_intervals, 13 or 16)
        As from :func:`cmlib.perf.series`, under the names of :func:`cmlib.events.simulated_events`, and, where a second
        simulation follows, of :func:`cmlib.events.second_level_events`; running shares are 1. No clock runs in a
        simulation: the index ``time_s`` is progress, 10⁹ instructions.

    Raises
    ------
    CallgrindError
        As of :func:`cmlib.simulate.callgrind.read_parts`, if an event was not simulated, or as of
        :func:`join_levels`.
    """
    counts, second = as_events(read_parts(text).totals), read_second_level(text)
    if second is not None:
        counts = join_levels(counts, as_events(second.totals))
    counts = counts[counts["sim.instructions"] > 0]
    counts.index = pd.Index(
        counts["sim.instructions"].cumsum().to_numpy() / INSTRUCTIONS_PER_SECOND, name="time_s"
    )
    return counts, pd.DataFrame(1.0, counts.index, counts.columns)


def join_levels(last, second):
    """Counts of two simulations of a program: three levels of caches.

    Where both executed the same, which is the rule, that is exact. Where their instructions differ by up to 0.01 %,
    misses of the second level are read off at equal shares of the instructions.

    Parameters
    ----------
    last, second : DataFrame, shape (n_intervals, 13)
        From simulations whose last level is the processor's last cache, and its second.

    Returns
    -------
    DataFrame, shape (n_intervals, 16)
        The columns of `last`, and those of :func:`cmlib.events.second_level_events`.

    Raises
    ------
    CallgrindError
        If their instructions differ by more.
    """
    apart = difference(last, second)
    if apart > REPEATS:
        raise CallgrindError(
            f"the two simulations did not execute the same: their instructions differ by {100 * apart:.2g} %."
        )
    misses = second[_lowest()]
    if apart:
        reached, here = (
            one["sim.instructions"].cumsum() / one["sim.instructions"].sum() for one in (second, last)
        )
        so_far = misses.cumsum()
        read = [np.interp(here, [0.0, *reached], [0.0, *so_far[event]]) for event in misses]
        misses = pd.DataFrame(np.diff(read, prepend=0.0).T, last.index)
    return pd.concat([last, misses.set_axis(second_level_events().index, axis=1)], axis=1)


def difference(last, second):
    """How far two simulations are apart.

    Parameters
    ----------
    last, second
        As of :func:`join_levels`.

    Returns
    -------
    float
        Of their instructions, as a share; 0 only if every count of every interval, other than those of the last
        level, is the same.
    """
    same = last.columns.difference(_lowest())
    if np.array_equal(last[same], second[same]):
        return 0.0
    first, other = (one["sim.instructions"].sum() for one in (last, second))
    return max(abs(first - other) / first, np.finfo(float).eps)


def as_events(costs):
    """Columns under the names of simulated events, as float, instead of Callgrind's short ones."""
    names = simulated_events()["callgrind"]
    lacking = [short for short in names if short not in costs]
    if lacking:
        raise CallgrindError(
            f"Callgrind did not simulate {', '.join(lacking)}: run it with --cache-sim=yes --branch-sim=yes."
        )
    return costs[list(names)].set_axis(list(names.index), axis=1).astype(np.float64)


def _lowest():
    """The events that a second simulation counts of another level."""
    names = simulated_events()["callgrind"]
    return [names.index[names == short][0] for short in second_level_events()["callgrind"]]
