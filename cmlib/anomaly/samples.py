"""Samples of runs, the range by which their counters are scaled, and what is noted of a run."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

# An event in a million instructions is no difference that costs time, nor is one in a quarter of a millisecond.
_PER_INSTRUCTION, _PER_NANOSECOND = 1e-6, 4e-6

# What says where in a program a sample is from; the other columns are counts.
PLACE = ("function", "location")


def smallest_range(samples):
    """The smallest difference of an event that is taken for one."""
    if "task-clock" in samples:
        return _PER_NANOSECOND * float(samples["task-clock"].median())
    return _PER_INSTRUCTION


def usual_range(X, smallest_range):
    """The range that nine tenths of each counter's values lie in."""
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    least = _PER_INSTRUCTION if smallest_range is None else smallest_range
    return low, np.maximum(high - low, least or np.finfo(float).tiny)


@dataclass(frozen=True)
class Samples:
    """Samples of runs.

    Attributes
    ----------
    functions : ndarray of str, shape (n_samples,)
    values : ndarray of float, shape (n_samples, n_counters)
    run : ndarray of int, shape (n_samples,)
        Number of the run that a sample is of.
    """

    functions: np.ndarray
    values: np.ndarray
    run: np.ndarray

    def where(self, chosen):
        """Those that a mask chooses."""
        return Samples(self.functions[chosen], self.values[chosen], self.run[chosen])


def gather(runs, counters):
    """Put the samples of runs together."""
    values = [_values(run, counters) for run in runs]
    functions = np.concatenate([run["function"].to_numpy() for run in runs])
    return Samples(
        functions, np.concatenate(values), np.repeat(np.arange(len(values)), list(map(len, values)))
    )


def summarize(samples, scaled):
    """What is noted of each run, function by function.

    Parameters
    ----------
    samples : Samples
    scaled : ndarray of float, shape (n_samples,)
        Their distances.

    Returns
    -------
    DataFrame
        Columns run, function, exceeding, samples, half, tenth: counts of samples beyond the threshold and in
        all, and the distance that half, and a tenth, of them exceed.
    """
    rows = []
    for run in dict.fromkeys(samples.run):
        of_run = samples.run == run
        functions, own = samples.functions[of_run], scaled[of_run]
        for function in dict.fromkeys(functions):
            values = own[functions == function]
            half, tenth = np.quantile(values, [0.5, 0.9])
            rows.append((run, function, int((values > 1).sum()), len(values), half, tenth))
    return pd.DataFrame(rows, columns=["run", "function", "exceeding", "samples", "half", "tenth"])


def _values(run, counters):
    there = [column for column in run if column not in PLACE]
    if set(there) != set(counters):
        raise ValueError(
            f"a run has the counters {there}, the first good one {counters}: only runs that counted the same events "
            "can be compared"
        )
    values = np.column_stack([run[name].to_numpy(float) for name in counters])
    if not len(values) or not np.isfinite(values).all():
        raise ValueError(f"a run of {len(values)} samples is empty or not counted everywhere: leave it out")
    return values
