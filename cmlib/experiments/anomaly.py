"""Train detectors of anomalies on good runs of a program, and tell its slow runs.

A run is a DataFrame, a row a sample: normalized counts of a passage through a region of code; columns function,
location, and one for each counter. :func:`train_detector` takes a program's recordings, and gives a
:class:`TrainedDetector`; :func:`error_variance_by_run` gives the errors after 1, 2, … runs (DataFrame). A
ValueError if runs differ in their counters or hold values that are not finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cmlib.anomaly import Autoencoder, AutoPerf, stopping_run
from cmlib.anomaly.samples import smallest_range
from cmlib.experiments.cache import cached
from cmlib.io.events import CYCLES, counters_with_role
from cmlib.locations import LOCATION_COLUMNS

__all__ = ["error_variance_by_run", "slow_runs", "slowdown", "train_detector"]

_EPS_SHARE = 0.05 / 8  # the paper's variances are about 8
_FEWEST_OTHERS = 10


def slow_runs(learned: Sequence[pd.DataFrame], *others: Sequence[pd.DataFrame]) -> list[np.ndarray] | None:
    """Find the runs that are slower than all runs that a detector learned: a list of masks (arrays of bool).

    The list has a mask, a value a run, for each of `others`; `learned` and each of `others` are lists of runs
    (DataFrames of samples). A run is slow if the median of its cycles, or of its time where cycles were not
    counted, exceeds that of every learned run. None if neither was counted.
    """
    times = _medians(learned, *others)
    return times and [medians > times[0].max() for medians in times[1:]]


def slowdown(good: Sequence[pd.DataFrame], bad: Sequence[pd.DataFrame]) -> float:
    """Cycles or time of the median bad run as a multiple of the median good one's: a float, NaN if neither was counted.

    `good` and `bad` are lists of runs (DataFrames of samples).
    """
    times = _medians(good, bad)
    return np.median(times[1]) / np.median(times[0]) if times else np.nan


def _medians(*groups):
    """Median cycles, or time, of each run: an array for each of several lists of runs; None if neither was counted."""
    counted = counters_with_role(CYCLES, groups[0][0])
    return [np.array([run[counted[0]].median() for run in runs]) for runs in groups] if counted else None


@dataclass
class TrainedDetector:
    """A detector of one program, with the runs that it was trained on.

    `program` are the program's recordings, as :func:`train_detector` was given them, of whatever type. `learned` are
    the runs (DataFrames of samples) that the autoencoder learned, `others` those that calibrate its threshold (empty:
    the learned ones do), `stopped` is True if training needed fewer runs than there are.
    """

    program: object
    detector: AutoPerf
    learned: list
    others: list
    stopped: bool


def train_detector(recorded: Any, *, max_runs: int = 100, seed: int = 0) -> TrainedDetector:
    """Train a detector on as many good runs as Algorithm 1 of AutoPerf says, or on all where it never stops.

    `recorded` is a program's recordings, such as a :class:`cmlib.experiments.kernels.recordings.ProgramRuns`, of
    which `training` and `again` (lists of good runs) are used; `max_runs` the most runs to learn, `seed` that of
    all random choices. Returns a TrainedDetector (`detector` fitted, and the runs that it learned).
    """
    runs = [*recorded.training, *recorded.again][:max_runs]
    variance = error_variance_by_run(runs, seed=seed)["variance"]
    eps = _EPS_SHARE * variance.expanding().mean()
    stop = stopping_run(variance, eps=eps, goal=1, max_runs=len(runs))
    rest = recorded.training[stop:]  # good runs that are not learned; no test run is among them
    others = rest if len(rest) >= _FEWEST_OTHERS else []
    detector = AutoPerf(random_state=seed).fit(runs[:stop], others=others)
    return TrainedDetector(recorded, detector, runs[:stop], others, stop < len(runs))


def error_variance_by_run(runs: Sequence[pd.DataFrame], *, seed: int = 0) -> pd.DataFrame:
    """Reconstruction errors after training on the first 1, 2, … of the `runs` (list of DataFrames of samples).

    The autoencoder has one hidden layer, half as wide as its input, and one start; `seed` is its random state. Returns
    a DataFrame, a row for each number of runs (index: runs), with the columns variance and mean of the training
    samples' squared errors.
    """
    values = [run.drop(columns=list(LOCATION_COLUMNS)) for run in runs]
    samples, ends = pd.concat(values), np.cumsum([len(counts) for counts in values])

    def compute():
        widths = [(max(1, samples.shape[1] // 2),)]
        least, X = smallest_range(samples), samples.to_numpy()
        model = Autoencoder(topologies=widths, n_starts=1, smallest_range=least, random_state=seed)
        errors = [-model.fit(X[:end]).score_samples(X[:end]) for end in ends]
        table = [(errors_of.var(), errors_of.mean()) for errors_of in errors]
        index = pd.RangeIndex(1, len(runs) + 1, name="runs")
        return {"settling": pd.DataFrame(table, index, columns=["variance", "mean"])}

    return cached(("settling", seed, list(ends), samples), compute)["settling"]
