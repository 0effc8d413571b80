"""Join, scale and summarize tables of normalized samples, as AutoPerf takes them.

A sample has the counts of one passage through a region of code (usually a function), divided by its instructions or
its work; a run is a DataFrame, a row per sample: function, location (file and line), and a column per counter.
:func:`gather` joins runs, :func:`summarize` returns the distances of samples by run and function. Raises a ValueError
if runs differ in their counters, or hold values that are not finite.
"""

import numpy as np
import pandas as pd

from cmlib.errors import InputError
from cmlib.locations import LOCATION_COLUMNS

__all__ = ["smallest_range"]

# Smallest relevant range of a counter: an event in a million instructions, or in a quarter of a millisecond.
_PER_INSTRUCTION, _PER_NANOSECOND = 1e-6, 4e-6

# Columns with the distance that half, and a tenth, of a run's samples exceed.
DISTANCES = ("distance_p50", "distance_p90")


def smallest_range(samples: pd.DataFrame) -> float:
    """Return the smallest range that a counter is scaled by, so that irrelevant differences stay small.

    Parameters
    ----------
    samples : DataFrame
        Normalized samples, events per instruction; or per nanosecond, if they hold ``task-clock``.

    Returns
    -------
    float
        An event in a million instructions, or in a quarter of a millisecond [unit of the samples].
    """
    if "task-clock" in samples:
        return _PER_NANOSECOND * float(samples["task-clock"].median())
    return _PER_INSTRUCTION


def usual_range(X, smallest_range):
    """Compute the usual range of each counter: from its 5 % quantile to its 95 % quantile.

    `X` is an array of shape (n_samples, n_counters). Returns two arrays of shape (n_counters,), in the unit of X:
    the 5 % quantile and the width of the range. The width is at least `smallest_range`, or 1e-6 if that is None,
    and always above 0.
    """
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    least = _PER_INSTRUCTION if smallest_range is None else smallest_range
    return low, np.maximum(high - low, least or np.finfo(float).tiny)


def gather(runs, counters):
    """Join the samples of runs to one DataFrame of the counters, indexed by number of the run and function.

    `runs` are DataFrames, a row per sample: function, location, and the counters; `counters` is the list of the
    latter's names, which orders the columns. Raises a ValueError if a run has other counters, no samples, or values
    that are not finite.
    """
    for run in runs:
        counted = [column for column in run if column not in LOCATION_COLUMNS]
        if set(counted) != set(counters):
            raise InputError(
                f"a run has the counters {counted}, the first good one {counters}: only runs that counted the same "
                "events can be compared"
            )
        if run.empty or not np.isfinite(run[counters].to_numpy(float)).all():
            raise InputError(f"a run of {len(run)} samples is empty or not counted everywhere: leave it out")
    samples = pd.concat([run[["function", *counters]] for run in runs])
    numbers = np.repeat(np.arange(len(runs)), list(map(len, runs)))
    functions = samples.pop("function").astype(str)
    places = pd.MultiIndex.from_arrays([numbers, functions], names=["run", "function"])
    return samples.astype(float).set_axis(places)


def summarize(samples, distances):
    """Summarize the samples' distances by run and function.

    Parameters
    ----------
    samples : DataFrame
        Samples from :func:`gather`.
    distances : ndarray of float, shape (n_samples,)
        Distance of each sample as a multiple of the threshold.

    Returns
    -------
    DataFrame
        Columns run, function, exceeding, samples, distance_p50, distance_p90: counts of samples beyond the threshold
        and in all, and the distance that half, and a tenth, of them exceed.
    """
    table = pd.DataFrame({"distance": distances, "beyond": distances > 1}, samples.index)
    grouped = table.groupby(["run", "function"], sort=False)
    by_run = grouped["distance"]
    noted = {"exceeding": grouped["beyond"].sum(), "samples": by_run.size(), "distance_p50": by_run.median()}
    return pd.DataFrame({**noted, "distance_p90": by_run.quantile(0.9)}).reset_index()
