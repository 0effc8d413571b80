"""The fifteen programs of AutoPerf's Table 2, each judged by a detector that learned its good runs only."""

import json
import time
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib import places
from cmlib.anomaly.autoencoder import Autoencoder, search_space
from cmlib.anomaly.baselines import EventRatioTree, baseline
from cmlib.anomaly.counters import CONTENTION, CYCLES, playing
from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.evaluation import evaluate
from cmlib.anomaly.experts import expert
from cmlib.anomaly.profiles import PLACE
from cmlib.anomaly.recordings import load_recording
from cmlib.anomaly.scaling import smallest_range
from cmlib.anomaly.training import error_variances, stopping_run
from cmlib.errors import NothingRecordedError
from cmlib.study.requested import chosen
from cmlib.workloads.kernels.executions import DILUTED
from cmlib.workloads.kernels.overhead import FILE as OVERHEAD
from cmlib.workloads.kernels.recipe import kernels

RECORD = "cmlib record-kernels"
INSTEAD = (
    "Two versions of NAME are compared by `cmlib compare OLD NEW`, without counters by `cmlib compare --simulate OLD "
    "NEW`."
)
FIXED = (0.1, 0.2, 0.4)
# Algorithm 1's ε of 0.05 as a share of the paper's variances, about 8: errors here are on another scale.
SMALLEST_CHANGE = 0.05 / 8
_FEWEST_OTHERS = 10  # good runs that say how far is too far
_MOST_TOPOLOGIES = 40
_TREE_LEARNS = (
    "parallel_scalar_sum",
    "parallel_vector_sum",
    "parallel_dot_product",
    "parallel_matrix_mult",
    "parallel_matrix_comp",
)


@dataclass(frozen=True)
class Subject:
    """The recordings of one program.

    Attributes
    ----------
    name, stands_for, type : str
        As in :class:`cmlib.workloads.kernels.Kernel`.
    original : bool
    machine : dict
    per : {"instructions", "work"}
        What counts are divided by.
    training, good, bad : list of DataFrame
        Normalized samples of runs: the first good ones, the rest of them, and the bad ones.
    again : list of DataFrame
        The good form, recorded once more; empty if it wasn't.
    diluted : dict of float to (list of DataFrame, list of DataFrame)
        Share of updates at the contended place to runs of the good form and of the bad one.
    overhead : list of float
        Counted time / uncounted time; empty if it wasn't measured.
    """

    name: str
    stands_for: str
    type: str
    original: bool
    machine: dict
    per: str
    training: list
    good: list
    bad: list
    again: list
    diluted: dict
    overhead: list

    @property
    def synthetic(self):
        return bool(self.machine.get("synthetic"))


@dataclass(frozen=True)
class Judged:
    """What was learned and found of one program.

    Attributes
    ----------
    subject : Subject
    detector : AutoPerf
    row : Series
        Of Table 2: as `evaluate` gives it, with learned (runs), stopping_run (NaN where the error did not
        settle), slowdown, pca, isolation_forest (F1) and seconds (of the training, topology search included).
    thresholds : DataFrame
        Index threshold; columns f1 and false_alarms (share of the good test runs): Fig. 11.
    settling : DataFrame
        Index runs; columns variance and mean of the errors (Fig. 4).
    samples : DataFrame
        A row a sample of all runs: kind (training, good, bad), run, error, and each counter's squared error.
    """

    subject: Subject
    detector: AutoPerf
    row: pd.Series
    thresholds: pd.DataFrame
    settling: pd.DataFrame
    samples: pd.DataFrame

    @property
    def learned(self):
        """The runs that were learned."""
        return [*self.subject.training, *self.subject.again][: int(self.row["learned"])]

    @property
    def topology(self):
        """Widths of the encoding layers of the first cluster's autoencoder."""
        return self.detector.experts_[0].autoencoder.topology_

    @property
    def threshold(self):
        """Mean + 2 standard deviations, of the first cluster's autoencoder."""
        return self.detector.experts_[0].threshold


def recorded_subjects(folder="", wanted="all"):
    """Read the recordings of the fifteen programs.

    Parameters
    ----------
    folder : path, optional
        `data/regions` by default, or the folder of hardware events in it.
    wanted : str, default "all"
        Names separated by commas, or ``all``.

    Returns
    -------
    dict of str to Subject
        In the order of Table 2; programs without both forms are left out.

    Raises
    ------
    NothingRecordedError
        If there is none, with the command to run, or if `wanted` names something else.
    """
    folder = Path(folder or places.hardware_first(places.data_dir() / "regions"))
    known = [program.name for program in kernels()]
    names = chosen(wanted, known, about="AutoPerf's programs, which are what is judged here", todo=INSTEAD)
    subjects = {}
    for program in kernels():
        both = [folder / program.name / f"{form}.json" for form in ("good", "bad")]
        if program.name in names and all(file.is_file() for file in both):
            subjects[program.name] = _subject(program, folder / program.name)
    if not subjects:
        raise NothingRecordedError(f"nothing recorded yet: run `{RECORD}`")
    return subjects


def judge_subject(subject, *, max_runs=100, seed=0):
    """Learn as many good runs of a program as Algorithm 1 says, and judge the others by AutoPerf and the baselines.

    The runs to learn are taken in the order of recording: those for training, then those recorded once more.
    If ten of the former are left over, they say how far is too far.

    Parameters
    ----------
    subject : Subject
    max_runs : int, default 100
        Most runs to learn, whether the error has settled or not.
    seed : int

    Returns
    -------
    Judged
    """
    runs = [*subject.training, *subject.again][:max_runs]
    settling = _settling(runs, seed)
    stop = _stop(settling["variance"])
    learned, others = runs[:stop], subject.training[stop:]
    others = others if len(others) >= _FEWEST_OTHERS else ()
    began = time.monotonic()
    detector = AutoPerf(random_state=seed).fit(learned, others=others)
    seconds = time.monotonic() - began
    cause = playing(CONTENTION, detector.counters_) if subject.type != "np" else ()
    row = evaluate(detector, subject.good, subject.bad, cause=cause)
    for name in ("pca", "isolation_forest"):
        model = baseline(name, random_state=seed).fit(learned, others=others)
        row[name] = evaluate(model, subject.good, subject.bad)["f1"]
    row["learned"], row["stopping_run"] = len(learned), stop if stop < len(runs) else np.nan
    row["slowdown"], row["seconds"] = slowdown(subject.good, subject.bad), seconds
    thresholds = _thresholds(detector, subject)
    return Judged(subject, detector, row, thresholds, settling, _samples(subject, detector, learned))


def judge_by_tree(subjects, *, seed=0):
    """F1 of the decision tree of Jayasena et al., that is shown good and bad runs of the other kernels.

    It looks at events per instruction, as published, or per unit of work where instructions were not counted.

    Parameters
    ----------
    subjects : dict of str to Subject
    seed : int

    Returns
    -------
    Series
        F1 by program; NaN where no kernel is there to learn from, and for NUMA, which it knows nothing of.
    """
    scores, trees = {}, {}
    for name, subject in subjects.items():
        shown = tuple(other for other in _TREE_LEARNS if other in subjects and other != name)
        scores[name] = np.nan
        if shown and subject.type != "np":
            trees[shown] = trees.get(shown) or _tree([subjects[other] for other in shown], seed)
            scores[name] = evaluate(trees[shown], subject.good, subject.bad)["f1"]
    return pd.Series(scores, name="tree", dtype=float)


def score_topologies(judged, *, seed=0):
    """Reconstruction error and F1 of topologies, each trained once from one start (Fig. 10).

    Both are those of the same model, and a run is anomalous by the paper's rule, if any of its samples is. Of
    more than 40 topologies as many are drawn at random.

    Parameters
    ----------
    judged : Judged
    seed : int

    Returns
    -------
    DataFrame
        Columns topology, error and f1, the smallest error first.
    """
    detector, subject = copy(judged.detector).set_params(rule="any"), judged.subject
    model = detector.experts_[0].autoencoder
    values = pd.concat(judged.learned)[detector.counters_].to_numpy()
    space = search_space(len(detector.counters_))
    drawn = np.random.default_rng(seed).permutation(len(space))[:_MOST_TOPOLOGIES]
    searched = Autoencoder(
        topologies=[space[place] for place in sorted(drawn)],
        n_starts=1,
        finalists=len(drawn),
        smallest_range=model.smallest_range,
        random_state=seed,
    ).fit(values)
    rows = []
    for number, row in searched.search_.iterrows():
        detector.experts_ = [expert(searched.candidate(number), values)]
        f1 = evaluate(detector, subject.good, subject.bad)["f1"]
        rows.append((show_topology(row["topology"]), row["error"], f1))
    return pd.DataFrame(rows, columns=["topology", "error", "f1"]).sort_values("error", ignore_index=True)


def slowdown(good, bad):
    """Time of the median bad run, as a multiple of the median good one's: cycles per instruction and thread,
    or the processor's time per unit of work where that is what counts are divided by.

    Parameters
    ----------
    good, bad : list of DataFrame
        Normalized samples of runs.

    Returns
    -------
    float
        NaN where neither was counted.
    """
    counted = playing(CYCLES, good[0])
    if not counted:
        return np.nan
    usual, now = (np.median([run[counted[0]].median() for run in runs]) for runs in (good, bad))
    return now / usual


def show_topology(topology, n_counters=None):
    """Write a topology as the paper does: 32 → 10 → 6 → 10 → 32, or its encoding half without the counters."""
    if n_counters is None:
        return " → ".join(map(str, topology))
    return " → ".join(map(str, (n_counters, *topology, *topology[-2::-1], n_counters)))


def _subject(program, folder):
    about, good = load_recording(folder / "good.json")
    training, good_tests, _ = program.runs
    good = list(good.values())
    n_training = round(len(good) * training / (training + good_tests))
    diluted = {}
    if program.name in DILUTED:
        for file in sorted(folder.glob("diluted-*.json"), reverse=True):
            control = file.with_name(file.name.replace("diluted", "control"))
            if control.is_file():
                metadata, runs = load_recording(file)
                diluted[metadata["sharing"]] = (_runs(control), list(runs.values()))
    again, overhead = folder / "again.json", folder / OVERHEAD
    return Subject(
        name=program.name,
        stands_for=program.stands_for,
        type=program.type,
        original=program.original,
        machine=about["machine"],
        per=about["per"],
        training=good[:n_training],
        good=good[n_training:],
        bad=_runs(folder / "bad.json"),
        again=_runs(again) if again.is_file() else [],
        diluted=diluted,
        overhead=json.loads(overhead.read_text(encoding="utf-8"))["ratios"] if overhead.is_file() else [],
    )


def _runs(file):
    return list(load_recording(file)[1].values())


def _tree(shown, seed):
    runs = [run for subject in shown for run in (*subject.training, *subject.bad)]
    bad = [bad for subject in shown for bad in [False] * len(subject.training) + [True] * len(subject.bad)]
    return EventRatioTree(random_state=seed).fit(runs, bad)


def _settling(runs, seed):
    """Variance and mean of the errors of an autoencoder with one hidden layer, half as wide as the input."""
    values = [run.drop(columns=list(PLACE)) for run in runs]
    model = Autoencoder(
        topologies=[(max(1, values[0].shape[1] // 2),)],
        n_starts=1,
        smallest_range=smallest_range(pd.concat(values)),
        random_state=seed,
    )
    variances, means = error_variances(model, values)
    index = pd.RangeIndex(1, len(runs) + 1, name="runs")
    return pd.DataFrame({"variance": variances, "mean": means}, index=index)


def _stop(variances):
    """Algorithm 1, with eps as a share of the variances so far."""
    smallest = SMALLEST_CHANGE * variances.expanding().mean()
    return stopping_run(variances, eps=smallest, goal=1, max_runs=len(variances))


def _thresholds(detector, subject):
    """What the same autoencoder finds by each threshold: any sample beyond it, as in the paper; last, calibrated."""
    ruled = {f"{100 * share:.0f} %": {"threshold": share, "rule": "any"} for share in FIXED}
    ruled |= {"mean + 2 sd": {"rule": "any"}, "mean + 2 sd, calibrated": {}}
    rows = {}
    for name, rule in ruled.items():
        row = evaluate(copy(detector).set_params(**rule), subject.good, subject.bad)
        rows[name] = {"f1": row["f1"], "false_alarms": row["false_positives"] / row["good"]}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("threshold")


def _samples(subject, detector, learned):
    parts, autoencoder = [], detector.experts_[0].autoencoder
    for kind, runs in {"training": learned, "good": subject.good, "bad": subject.bad}.items():
        together = pd.concat(runs, keys=range(len(runs)), names=["run", None]).reset_index("run")
        errors = autoencoder.squared_errors(together[detector.counters_].to_numpy())
        frame = pd.DataFrame(errors, columns=detector.counters_)
        frame.insert(0, "error", errors.sum(axis=1))
        frame.insert(0, "run", together["run"].to_numpy())
        parts.append(frame.assign(kind=kind))
    return pd.concat(parts, ignore_index=True)
