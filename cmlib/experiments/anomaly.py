"""Train detectors of anomalies on good runs of a program, and compare rules that call runs anomalous.

A run is a DataFrame with one row per sample. A sample has the normalized counts of one passage through a region of
code; the columns are function, location, and one per counter. :func:`train_detector` takes a program's recordings and
returns a :class:`TrainedDetector`, from which :func:`compare_rules`, :func:`errors_by_run` and
:func:`most_frequent_cause` compute tables. ValueError if runs differ in their counters or contain values that are not
finite.
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

__all__ = [
    "CALIBRATED",
    "EVERY",
    "PAPER_RULE",
    "TIME",
    "TrainedDetector",
    "call_runs",
    "compare_rules",
    "error_variance_by_run",
    "errors_by_run",
    "f1_of_calls",
    "most_frequent_cause",
    "retrain_detector",
    "slow_runs",
    "slowdown",
    "train_detector",
]

# Rules that call a run anomalous.
PAPER_RULE = "paper's rule (mean + 2 sd)"
CALIBRATED = "calibrated rule"
TIME = "time alone"
EVERY = "every run"
_FIXED_SHARES = (10, 20, 40)  # changes of a sample's length [%], §5.7

_EPS_SHARE = 0.05 / 8  # the paper's eps (0.05) as a share of its variances (about 8)
_FEWEST_OTHERS = 10  # runs that calibrate a threshold


def slow_runs(learned: Sequence[pd.DataFrame], *others: Sequence[pd.DataFrame]) -> list[np.ndarray] | None:
    """Find the runs that are slower than all runs that a detector learned.

    A run is slow if the median of its cycles, or of its time if cycles were not counted, exceeds that of every
    learned run.

    Parameters
    ----------
    learned : sequence of DataFrame
        Runs that the detector learned.
    *others : sequence of DataFrame
        One or more groups of runs to judge.

    Returns
    -------
    list of ndarray of bool, or None
        For each group of `others` an array of shape (n_runs,), True for slow runs. None if neither cycles nor time
        was counted.
    """
    times = _compute_medians(learned, *others)
    if times is None:
        return None
    slowest_learned = times[0].max()
    return [medians > slowest_learned for medians in times[1:]]


def slowdown(good: Sequence[pd.DataFrame], bad: Sequence[pd.DataFrame]) -> float:
    """Compute how many times longer the median bad run takes than the median good run.

    Parameters
    ----------
    good, bad : sequence of DataFrame
        Runs, one row per sample.

    Returns
    -------
    float
        Ratio of the cycles, or of the times if cycles were not counted; NaN if neither was.
    """
    times = _compute_medians(good, bad)
    if times is None:
        return np.nan
    good_medians, bad_medians = times
    return np.median(bad_medians) / np.median(good_medians)


def _compute_medians(*groups):
    """Return an array of the runs' median cycles, or times, for each group of runs; None if neither was counted."""
    clocks = counters_with_role(CYCLES, groups[0][0])
    if not clocks:
        return None
    clock = clocks[0]
    return [np.array([run[clock].median() for run in runs]) for runs in groups]


@dataclass
class TrainedDetector:
    """A detector of one program, with the runs that it was trained on.

    Attributes
    ----------
    program : object
        The program's recordings, as passed to :func:`train_detector`.
    detector : AutoPerf
        The fitted detector.
    learned : list of DataFrame
        Runs that the autoencoder learned.
    others : list of DataFrame
        Runs that calibrate its threshold; if there are none, the learned ones do.
    stopped : bool
        True if training needed fewer runs than there are.
    """

    program: Any
    detector: AutoPerf
    learned: list
    others: list
    stopped: bool


def train_detector(recorded: Any, *, max_runs: int = 100, seed: int = 0) -> TrainedDetector:
    """Train a detector on as many good runs as Algorithm 1 of AutoPerf asks for, or on all if it never stops.

    Parameters
    ----------
    recorded : cmlib.experiments.kernels.recordings.ProgramRuns
        A program's recordings; any object with the lists of good runs `training` and `again`.
    max_runs : int, default 100
        Maximum number of runs to learn.
    seed : int, default 0
        Seed of all random choices.

    Returns
    -------
    TrainedDetector
        The fitted detector and the runs that it learned.

    Raises
    ------
    ValueError
        If runs differ in their counters or contain values that are not finite.
    """
    runs = [*recorded.training, *recorded.again][:max_runs]
    variance = error_variance_by_run(runs, seed=seed)["variance"]
    eps = _EPS_SHARE * variance.expanding().mean()
    stop = stopping_run(variance, eps=eps, goal=1, max_runs=len(runs))
    not_learned = recorded.training[stop:]  # good runs; no test run is among them
    others = not_learned if len(not_learned) >= _FEWEST_OTHERS else []
    detector = AutoPerf(random_state=seed).fit(runs[:stop], others=others)
    return TrainedDetector(recorded, detector, runs[:stop], others, stop < len(runs))


def retrain_detector(case: TrainedDetector, *, seed: int) -> TrainedDetector:
    """Train a detector again on the runs that it learned, with other initial weights.

    Parameters
    ----------
    case : TrainedDetector
        The detector and the runs that it learned.
    seed : int
        Seed of all random choices.

    Returns
    -------
    TrainedDetector
        Another detector, with the same runs.
    """
    detector = AutoPerf(random_state=seed).fit(case.learned, others=case.others)
    return TrainedDetector(case.program, detector, case.learned, case.others, case.stopped)


def f1_of_calls(good: Sequence[bool], bad: Sequence[bool]) -> float:
    """Compute F1 of the calls of good and bad runs (§5.3).

    Parameters
    ----------
    good, bad : sequence of bool
        One value per run: True if it was called anomalous.

    Returns
    -------
    float
        2 t_p / (2 t_p + f_p + f_n), with the numbers of true positives, false positives and false negatives.
    """
    found = sum(bad)
    missed = len(bad) - found
    return 2 * found / (2 * found + sum(good) + missed)


def call_runs(case: TrainedDetector) -> dict[str, tuple[list[bool], list[bool]]]:
    """Call the test runs of a program anomalous or not, by each rule.

    Parameters
    ----------
    case : TrainedDetector
        Its detector must have one cluster of functions.

    Returns
    -------
    dict of str to tuple of (list of bool, list of bool)
        By rule, one value for each good run and one for each bad run: True if it is called anomalous. The rules:

        - ``fixed, 10 %`` and more: the autoencoder changes the length of a sample by more than this share (§5.7).
        - :data:`PAPER_RULE`: the error of a sample exceeds the threshold (§3.3).
        - :data:`CALIBRATED`: the rule of :class:`cmlib.anomaly.AutoPerf`.
        - :data:`TIME`: the median time exceeds that of all learned runs; absent if no time was counted.
        - :data:`EVERY`: every run is called anomalous.
    """
    good_and_bad = (case.program.good, case.program.bad)
    detector = case.detector
    autoencoder = detector.models_[0].autoencoder
    calls: dict[str, Any] = {}
    changes = [
        [100 * autoencoder.length_change(_get_samples(detector, run)) for run in runs]
        for runs in good_and_bad
    ]
    for share in _FIXED_SHARES:
        calls[f"fixed, {share} %"] = tuple(
            [bool((change > share).any()) for change in of_runs] for of_runs in changes
        )
    calls[PAPER_RULE] = tuple(
        (detector.summarize(runs).groupby("run")["exceeding"].sum() > 0).tolist() for runs in good_and_bad
    )
    calls[CALIBRATED] = tuple(detector.predict_runs(runs) for runs in good_and_bad)
    slow = slow_runs(case.learned, *good_and_bad)
    if slow:
        calls[TIME] = tuple(mask.tolist() for mask in slow)
    calls[EVERY] = tuple([True] * len(runs) for runs in good_and_bad)
    return calls


def _get_samples(detector, run):
    """Return the values of a run's counters as the detector's autoencoder takes them, one row per sample (array)."""
    return run[detector.counters_].to_numpy()


def compare_rules(case: TrainedDetector) -> pd.DataFrame:
    """Compare the rules of :func:`call_runs` on the test runs of a program.

    Parameters
    ----------
    case : TrainedDetector
        Its detector must have one cluster of functions.

    Returns
    -------
    DataFrame
        One row per rule: ``rule``, ``F1``, ``false alarms`` [% of the good runs] and ``found`` (number of bad runs).
    """
    rows = [
        {"rule": rule, "F1": f1_of_calls(good, bad), "false alarms": 100 * np.mean(good), "found": sum(bad)}
        for rule, (good, bad) in call_runs(case).items()
    ]
    return pd.DataFrame(rows)


def errors_by_run(case: TrainedDetector) -> pd.DataFrame:
    """Find the largest reconstruction error of each run.

    Parameters
    ----------
    case : TrainedDetector
        Its detector must have one cluster of functions.

    Returns
    -------
    DataFrame
        One row per run: ``kind`` (learned, good or bad) and ``largest``, the largest error of its samples, in standard
        deviations above the mean error of the learned samples. The threshold of the paper is 2.
    """
    detector = case.detector
    autoencoder = detector.models_[0].autoencoder
    learned_errors = -autoencoder.score_samples(_get_samples(detector, pd.concat(case.learned)))
    runs_by_kind = {"learned": case.learned, "good": case.program.good, "bad": case.program.bad}
    rows = [
        {"kind": kind, "largest": -autoencoder.score_samples(_get_samples(detector, run)).min()}
        for kind, runs in runs_by_kind.items()
        for run in runs
    ]
    errors = pd.DataFrame(rows)
    standardized = (errors["largest"] - learned_errors.mean()) / learned_errors.std()
    return errors.assign(largest=standardized)


def most_frequent_cause(detector: AutoPerf, runs: Sequence[pd.DataFrame]) -> str:
    """Find the counter that is most often the first cause of an anomalous run (§3.5).

    Parameters
    ----------
    detector : AutoPerf
        The fitted detector.
    runs : sequence of DataFrame
        Runs, one row per sample.

    Returns
    -------
    str
        Name of the counter; "" if no run is anomalous.
    """
    first_causes = []
    for run, is_anomalous in zip(runs, detector.predict_runs(runs), strict=True):
        if not is_anomalous:
            continue
        counters = detector.causes(run)["counter"]
        if len(counters):
            first_causes.append(counters.iloc[0])
    return pd.Series(first_causes, dtype=object).mode()[0] if first_causes else ""


def error_variance_by_run(runs: Sequence[pd.DataFrame], *, seed: int = 0) -> pd.DataFrame:
    """Compute the reconstruction errors after training on the first 1, 2, … runs.

    The autoencoder has one hidden layer, half as wide as its input, and one start.

    Parameters
    ----------
    runs : sequence of DataFrame
        Runs, one row per sample.
    seed : int, default 0
        Random state of the autoencoder.

    Returns
    -------
    DataFrame
        One row for each number of runs (index ``runs``, from 1); columns ``variance`` and ``mean`` of the training
        samples' squared errors.
    """
    counts_by_run = [run.drop(columns=list(LOCATION_COLUMNS)) for run in runs]
    samples = pd.concat(counts_by_run)
    ends = np.cumsum([len(counts) for counts in counts_by_run])

    def compute():
        X = samples.to_numpy()
        model = Autoencoder(
            topologies=[(max(1, samples.shape[1] // 2),)],
            n_starts=1,
            smallest_range=smallest_range(samples),
            random_state=seed,
        )
        rows = []
        for end in ends:
            errors = -model.fit(X[:end]).score_samples(X[:end])
            rows.append((errors.var(), errors.mean()))
        index = pd.RangeIndex(1, len(runs) + 1, name="runs")
        return {"settling": pd.DataFrame(rows, index, columns=["variance", "mean"])}

    return cached(("settling", seed, list(ends), samples), compute)["settling"]
