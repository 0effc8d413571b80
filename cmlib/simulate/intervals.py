"""A simulated run cut into few intervals, with the functions of each."""

import numpy as np
import pandas as pd

from cmlib.simulate.callgrind import read_functions, read_parts
from cmlib.simulate.series import INSTRUCTIONS_PER_SECOND, as_events


def read_intervals(text, most=300):
    """Counts and functions by interval; where there are more parts, neighbours are joined, equally many each.

    Parameters
    ----------
    text : str
        Output of Callgrind.
    most : int, default 300
        Of intervals.

    Returns
    -------
    counts : DataFrame, shape (n_intervals, 13)
        As from :func:`cmlib.simulate.read_series`; the index is progress [10⁹ instructions].
    functions : DataFrame
        Index ``interval`` (number), ``function``, ``file`` and ``object``; the same columns: what each function did
        itself.

    Raises
    ------
    CallgrindError
        As of :func:`cmlib.simulate.read_series`.
    """
    totals = as_events(read_parts(text).totals)
    interval = np.arange(len(totals)) // -(-len(totals) // most)
    counts = totals.groupby(interval).sum()
    counts.index = pd.Index(
        counts["sim.instructions"].cumsum().to_numpy() / INSTRUCTIONS_PER_SECOND, name="time_s"
    )
    functions = as_events(read_functions(text))
    names = ["interval", "function", "file", "object"]
    placed = functions.reset_index().assign(interval=lambda frame: interval[frame["part"]])
    return counts, placed.drop(columns="part").groupby(names).sum()
