"""Join, scale and summarize samples for AutoPerf.

A sample contains the counts of one call of a function or another region of code, divided by its instructions or its
work. A run is a DataFrame with one row per sample: function, location (file and line), and one column per counter.
:func:`gather` joins runs, and :func:`summarize` summarizes distances of samples per run and function.
"""

import numpy as np
import pandas as pd

from cmlib.errors import InputError
from cmlib.locations import LOCATION_COLUMNS

__all__ = ["smallest_range"]

# Smallest relevant range of a counter: one event per million instructions, or per quarter of a millisecond.
_PER_INSTRUCTION, _PER_NANOSECOND = 1e-6, 4e-6

# Columns with the median and the 90 % quantile of the distances.
DISTANCES = ("distance_p50", "distance_p90")


def smallest_range(samples: pd.DataFrame) -> float:
    """Return the smallest range of a counter that is relevant.

    Counters with a smaller range are scaled by it. Their differences stay small.

    Parameters
    ----------
    samples : DataFrame
        Normalized samples: events per instruction, or per nanosecond if there is a column ``task-clock``.

    Returns
    -------
    float
        One event per million instructions, or per quarter of a millisecond [unit of the samples].
    """
    if "task-clock" in samples:
        return _PER_NANOSECOND * float(samples["task-clock"].median())
    return _PER_INSTRUCTION


def usual_range(X, smallest_range):
    """Compute the range between the 5 % and the 95 % quantile of each counter.

    Parameters
    ----------
    X : ndarray, shape (n_samples, n_counters)
        Normalized counts.
    smallest_range : float or None
        Smallest width of a range [unit of X]. None means 1e-6.

    Returns
    -------
    low, width : ndarray, shape (n_counters,)
        5 % quantile, and width of the range [unit of X]. The width is always above 0.
    """
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    least = _PER_INSTRUCTION if smallest_range is None else smallest_range
    return low, np.maximum(high - low, least or np.finfo(float).tiny)


def gather(runs, counters):
    """Join the samples of several runs.

    Parameters
    ----------
    runs : sequence of DataFrame
        Runs with one row per sample: function, location, and the counters.
    counters : list of str
        Names of the counters.

    Returns
    -------
    DataFrame
        Indexed by number of the run and by function. Columns: the counters, in the order of `counters`.

    Raises
    ------
    ValueError
        If a run has other counters, no samples, or values that are not finite.
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
    """Summarize the distances of samples per run and function.

    Parameters
    ----------
    samples : DataFrame
        Samples from :func:`gather`.
    distances : ndarray of float, shape (n_samples,)
        Distance of each sample as a multiple of the threshold.

    Returns
    -------
    DataFrame
        One row per run and function. Columns:

        - run, function: number of the run, and name of the function
        - exceeding, samples: number of samples above the threshold, and of all samples
        - distance_p50, distance_p90: median and 90 % quantile of the distances
    """
    table = pd.DataFrame({"distance": distances, "exceeding": distances > 1}, samples.index)
    grouped = table.groupby(["run", "function"], sort=False)
    grouped_distances = grouped["distance"]
    columns = {
        "exceeding": grouped["exceeding"].sum(),
        "samples": grouped_distances.size(),
        "distance_p50": grouped_distances.median(),
        "distance_p90": grouped_distances.quantile(0.9),
    }
    return pd.DataFrame(columns).reset_index()
