"""Samples of runs: which columns are counters, the range they are scaled by, and the distances noted of a run."""

import numpy as np
import pandas as pd

# An event in a million instructions is no difference that costs time, nor is one in a quarter of a millisecond.
_PER_INSTRUCTION, _PER_NANOSECOND = 1e-6, 4e-6

# What says where in a program a sample is from; the other columns are counts.
LOCATION_COLUMNS = ("function", "location")
# Distances of a run's samples that half, and a tenth, of them exceed.
DISTANCES = ("distance_p50", "distance_p90")


def smallest_range(samples):
    """Return the smallest difference of a counter that is taken for one.

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
    """The range that nine tenths of each counter's values lie in."""
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    least = _PER_INSTRUCTION if smallest_range is None else smallest_range
    return low, np.maximum(high - low, least or np.finfo(float).tiny)


def gather(runs, counters):
    """The counters of runs' samples, indexed by the number of the run and the function."""
    for run in runs:
        counted = [column for column in run if column not in LOCATION_COLUMNS]
        if set(counted) != set(counters):
            raise ValueError(
                f"a run has the counters {counted}, the first good one {counters}: only runs that counted the same "
                "events can be compared"
            )
        if run.empty or not np.isfinite(run[counters].to_numpy(float)).all():
            raise ValueError(f"a run of {len(run)} samples is empty or not counted everywhere: leave it out")
    samples = pd.concat([run[["function", *counters]] for run in runs])
    numbers = np.repeat(np.arange(len(runs)), list(map(len, runs)))
    places = pd.MultiIndex.from_arrays(
        [numbers, samples.pop("function").astype(str)], names=["run", "function"]
    )
    return samples.astype(float).set_axis(places)


def summarize(samples, distances):
    """What is noted of each run, function by function.

    Parameters
    ----------
    samples : DataFrame
        Of :func:`gather`.
    distances : ndarray of float, shape (n_samples,)

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
