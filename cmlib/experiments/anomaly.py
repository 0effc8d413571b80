"""Train anomaly detectors on good runs of a program, and evaluate them.

:func:`train_detector` trains a detector of AutoPerf (:class:`cmlib.anomaly.AutoPerf`) on the recordings of a
program. :func:`compare_rules` compares rules that decide whether a run is anomalous.

A run is a DataFrame with one row per sample. A sample contains the counts of one passage through a region of code,
divided by the number of instructions or by the amount of work. The columns are function, location and one per
counter.
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

# Names of the rules that decide whether a run is anomalous.
PAPER_RULE = "paper's rule (mean + 2 sd)"
CALIBRATED = "calibrated rule"
TIME = "time alone"
EVERY = "every run"
_FIXED_SHARES = (10, 20, 40)  # thresholds of the rule "fixed" [%], AutoPerf §5.7

_EPS_SHARE = 0.05 / 8  # eps of the paper (0.05), relative to the variances in the paper (about 8)
_FEWEST_OTHERS = 10  # runs for the calibration of a threshold


def slow_runs(learned: Sequence[pd.DataFrame], *others: Sequence[pd.DataFrame]) -> list[np.ndarray] | None:
    """Find the runs that are slower than all training runs.

    The time of a run is the median of the cycles of its samples. If cycles were not counted, it is the median time.

    Parameters
    ----------
    learned : sequence of DataFrame
        Training runs of a detector.
    *others : sequence of DataFrame
        One or more lists of runs.

    Returns
    -------
    list of ndarray of bool, or None
        For each list in `others`, an array of shape (n_runs,) that is True for the slow runs. None if neither cycles
        nor time was counted.
    """
    times = _compute_medians(learned, *others)
    if times is None:
        return None
    slowest_learned = times[0].max()
    return [medians > slowest_learned for medians in times[1:]]


def slowdown(good: Sequence[pd.DataFrame], bad: Sequence[pd.DataFrame]) -> float:
    """Compute the ratio between the times of bad runs and good runs.

    The time of a run is the median of the cycles of its samples. If cycles were not counted, it is the median time.

    Parameters
    ----------
    good, bad : sequence of DataFrame
        Good and bad runs.

    Returns
    -------
    float
        Median time of the bad runs, divided by the median time of the good runs. NaN if neither cycles nor time was
        counted.
    """
    times = _compute_medians(good, bad)
    if times is None:
        return np.nan
    good_medians, bad_medians = times
    return np.median(bad_medians) / np.median(good_medians)


def _compute_medians(*groups):
    """Return the median cycles or time of each run, or None.

    The list contains one array for each group of runs.
    """
    clocks = counters_with_role(CYCLES, groups[0][0])
    if not clocks:
        return None
    clock = clocks[0]
    return [np.array([run[clock].median() for run in runs]) for runs in groups]


@dataclass
class TrainedDetector:
    """A detector of one program and its training runs.

    Attributes
    ----------
    program : object
        Recordings of the program.
    detector : AutoPerf
        The fitted detector.
    learned : list of DataFrame
        Training runs.
    others : list of DataFrame
        Good runs that calibrate the threshold. If empty, the training runs calibrate it.
    stopped : bool
        True if the training needed only some of the good runs.
    """

    program: Any
    detector: AutoPerf
    learned: list
    others: list
    stopped: bool


def train_detector(recorded: Any, *, max_runs: int = 100, seed: int = 0) -> TrainedDetector:
    """Train a detector on good runs of a program.

    Algorithm 1 of AutoPerf chooses the number of training runs. If it does not stop, all good runs are used.

    Parameters
    ----------
    recorded : cmlib.experiments.kernels.recordings.ProgramRuns
        Recordings of a program. Any object with the lists of good runs `training` and `again` is accepted.
    max_runs : int, default 100
        Maximum number of training runs.
    seed : int, default 0
        Seed of all random choices.

    Returns
    -------
    TrainedDetector
        The fitted detector and its training runs.

    Raises
    ------
    ValueError
        If the runs have different counters, or a value is not finite.
    """
    runs = [*recorded.training, *recorded.again][:max_runs]
    variance = error_variance_by_run(runs, seed=seed)["variance"]
    eps = _EPS_SHARE * variance.expanding().mean()
    n_learned = stopping_run(variance, eps=eps, goal=1, max_runs=len(runs))
    not_learned = recorded.training[n_learned:]  # contains no test run
    others = not_learned if len(not_learned) >= _FEWEST_OTHERS else []
    detector = AutoPerf(random_state=seed).fit(runs[:n_learned], others=others)
    return TrainedDetector(recorded, detector, runs[:n_learned], others, n_learned < len(runs))


def retrain_detector(case: TrainedDetector, *, seed: int) -> TrainedDetector:
    """Train a detector again on the same runs with another seed.

    Parameters
    ----------
    case : TrainedDetector
        The detector and its training runs.
    seed : int
        Seed of all random choices. It determines the initial weights.

    Returns
    -------
    TrainedDetector
        The new detector with the same runs.
    """
    detector = AutoPerf(random_state=seed).fit(case.learned, others=case.others)
    return TrainedDetector(case.program, detector, case.learned, case.others, case.stopped)


def f1_of_calls(good: Sequence[bool], bad: Sequence[bool]) -> float:
    """Compute the F1 score of decisions on good and bad runs.

    The score is defined in AutoPerf §5.3.

    Parameters
    ----------
    good, bad : sequence of bool
        Decision on each good run and on each bad run. True if the run was called anomalous.

    Returns
    -------
    float
        F1 score, 2 TP / (2 TP + FP + FN), with the numbers of true positives, false positives and false negatives.
    """
    true_positives = sum(bad)
    false_negatives = len(bad) - true_positives
    false_positives = sum(good)
    return 2 * true_positives / (2 * true_positives + false_positives + false_negatives)


def call_runs(case: TrainedDetector) -> dict[str, tuple[list[bool], list[bool]]]:
    """Decide by several rules whether the test runs of a program are anomalous.

    Parameters
    ----------
    case : TrainedDetector
        Trained detector. All functions of the program must be in one cluster.

    Returns
    -------
    dict of str to (list of bool, list of bool)
        Decisions of each rule on the good and on the bad test runs. True if a run is called anomalous.

    Notes
    -----
    The rules call a run anomalous in these cases:

    - ``fixed, 10 %`` (also 20 % and 40 %): the counts of a sample are a vector, and the autoencoder changes the length
      of this vector by more than 10 % (AutoPerf §5.7).
    - :data:`PAPER_RULE`: the reconstruction error of a sample exceeds the threshold (AutoPerf §3.3).
    - :data:`CALIBRATED`: :class:`cmlib.anomaly.AutoPerf` predicts an anomaly.
    - :data:`TIME`: the run is slower than all training runs. The rule is missing if no time was counted.
    - :data:`EVERY`: all runs are called anomalous.
    """
    good_and_bad = (case.program.good, case.program.bad)
    detector = case.detector
    autoencoder = detector.models_[0].autoencoder
    calls: dict[str, Any] = {}
    changes_of_good, changes_of_bad = (
        [100 * autoencoder.length_change(_get_samples(detector, run)) for run in runs]
        for runs in good_and_bad
    )
    for share in _FIXED_SHARES:
        calls[f"fixed, {share} %"] = (
            [bool((change > share).any()) for change in changes_of_good],
            [bool((change > share).any()) for change in changes_of_bad],
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
    """Return the counts of a run, one row per sample."""
    return run[detector.counters_].to_numpy()


def compare_rules(case: TrainedDetector) -> pd.DataFrame:
    """Compare the rules of :func:`call_runs` on the test runs of a program.

    Parameters
    ----------
    case : TrainedDetector
        Trained detector. All functions of the program must be in one cluster.

    Returns
    -------
    DataFrame
        One row per rule, with these columns:

        - ``rule``: name of the rule.
        - ``F1``: F1 score.
        - ``false alarms``: share of the good runs that are called anomalous [%].
        - ``found``: number of bad runs that are called anomalous.
    """
    rows = [
        {"rule": rule, "F1": f1_of_calls(good, bad), "false alarms": 100 * np.mean(good), "found": sum(bad)}
        for rule, (good, bad) in call_runs(case).items()
    ]
    return pd.DataFrame(rows)


def errors_by_run(case: TrainedDetector) -> pd.DataFrame:
    """Compute the largest reconstruction error of each run.

    Parameters
    ----------
    case : TrainedDetector
        Trained detector. All functions of the program must be in one cluster.

    Returns
    -------
    DataFrame
        One row per run, with these columns:

        - ``kind``: learned (a training run), good or bad (test runs).
        - ``largest``: largest error of a sample, in standard deviations above the mean error of the training samples.
          The paper's threshold is 2.
    """
    detector = case.detector
    autoencoder = detector.models_[0].autoencoder
    learned_errors = -autoencoder.score_samples(_get_samples(detector, pd.concat(case.learned)))
    runs_by_kind = {"learned": case.learned, "good": case.program.good, "bad": case.program.bad}
    rows = []
    for kind, runs in runs_by_kind.items():
        for run in runs:
            run_errors = -autoencoder.score_samples(_get_samples(detector, run))
            rows.append({"kind": kind, "largest": run_errors.max()})
    errors = pd.DataFrame(rows)
    standardized = (errors["largest"] - learned_errors.mean()) / learned_errors.std()
    return errors.assign(largest=standardized)


def most_frequent_cause(detector: AutoPerf, runs: Sequence[pd.DataFrame]) -> str:
    """Return the counter that most often explains an anomalous run.

    The detector sorts the counters of a run by their contribution to the anomaly (AutoPerf §3.5). The first one
    explains the run.

    Parameters
    ----------
    detector : AutoPerf
        The fitted detector.
    runs : sequence of DataFrame
        Runs to explain.

    Returns
    -------
    str
        Name of the counter. Empty if no run is anomalous.
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
    """Compute the training errors of an autoencoder for each number of runs.

    The autoencoder is trained on the first run, on the first two runs and so on. It has one hidden layer with half
    as many units as there are counters.

    Parameters
    ----------
    runs : sequence of DataFrame
        Training runs.
    seed : int, default 0
        Seed of the autoencoder.

    Returns
    -------
    DataFrame
        One row for each number of runs (index ``runs``). Columns: ``variance`` and ``mean`` of the squared errors
        of the training samples.
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
