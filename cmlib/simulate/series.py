"""A simulated run as a series of intervals, like one that perf counted."""

import numpy as np
import pandas as pd

from cmlib.events import simulated_events
from cmlib.simulate.callgrind import CallgrindError, read_parts

# Where a run of perf has seconds, a simulated one has progress: a second stands for so many instructions.
INSTRUCTIONS_PER_SECOND = 1e9


def read_series(text):
    """Counts of a simulated run by interval.

    Parameters
    ----------
    text : str
        Output of Callgrind.

    Returns
    -------
    counts, running : DataFrame, shape (n_intervals, 13)
        As from :func:`cmlib.perf.series`, under the names of :func:`cmlib.events.simulated_events`; running shares
        are 1. No clock runs in a simulation: the index ``time_s`` is progress, 10⁹ instructions.

    Raises
    ------
    CallgrindError
        As of :func:`cmlib.simulate.callgrind.read_parts`, or if an event was not simulated.
    """
    counts = as_events(read_parts(text).totals)
    counts = counts[counts["sim.instructions"] > 0]
    counts.index = pd.Index(
        counts["sim.instructions"].cumsum().to_numpy() / INSTRUCTIONS_PER_SECOND, name="time_s"
    )
    return counts, pd.DataFrame(1.0, counts.index, counts.columns)


def as_events(costs):
    """Columns under the names of simulated events, as float, instead of Callgrind's short ones."""
    names = simulated_events()["callgrind"]
    lacking = [short for short in names if short not in costs]
    if lacking:
        raise CallgrindError(
            f"Callgrind did not simulate {', '.join(lacking)}: run it with --cache-sim=yes --branch-sim=yes."
        )
    return costs[list(names)].set_axis(list(names.index), axis=1).astype(np.float64)
