"""The fifteen programs of AutoPerf's Table 2, each judged by a detector that learned its good runs only."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone

from cmlib import places
from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.baselines import EventRatioTree, baseline
from cmlib.anomaly.counters import CONTENTION, CYCLES, playing
from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.evaluation import evaluate
from cmlib.anomaly.profiles import PLACE
from cmlib.anomaly.recordings import load_recording
from cmlib.anomaly.training import error_variances, stopping_run
from cmlib.errors import NothingRecordedError
from cmlib.study.wanted import chosen
from cmlib.workloads.kernels.overhead import FILE as OVERHEAD
from cmlib.workloads.kernels.recipe import programs
from cmlib.workloads.kernels.recording import DILUTED

RECORD = "python -m cmlib.workloads.kernels --record"
TODO = "Two versions of NAME are compared by `cmlib compare OLD NEW`."
FIXED = (0.1, 0.2, 0.4)
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
        As in :class:`cmlib.workloads.kernels.Program`.
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
        Of Table 2: as `evaluate` gives it, with training_runs, stopping_run, slowdown, pca, isolation_forest
        (F1) and seconds (of the training, topology search included).
    thresholds : Series
        F1 by threshold (Fig. 11).
    settling : DataFrame
        Index runs; columns variance and mean of the errors (Fig. 4).
    samples : DataFrame
        A row a sample of all runs: kind (training, good, bad), run, error, and each counter's squared error.
    """

    subject: Subject
    detector: AutoPerf
    row: pd.Series
    thresholds: pd.Series
    settling: pd.DataFrame
    samples: pd.DataFrame

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
    known = [program.name for program in programs()]
    names = chosen(wanted, known, about="AutoPerf's programs, which are what is judged here", todo=TODO)
    found = {}
    for program in programs():
        both = [folder / program.name / f"{form}.json" for form in ("good", "bad")]
        if program.name in names and all(file.is_file() for file in both):
            found[program.name] = _subject(program, folder / program.name)
    if not found:
        raise NothingRecordedError(f"nothing recorded yet: run `{RECORD}`")
    return found


def judge_subject(subject, *, points=20, seed=0):
    """Learn a program's good runs, and judge its other runs by AutoPerf and by the baselines.

    Parameters
    ----------
    subject : Subject
    points : int, default 20
        Numbers of training runs that are tried at most for Fig. 4.
    seed : int

    Returns
    -------
    Judged
    """
    step = -(-len(subject.training) // points)
    began = time.monotonic()
    detector = AutoPerf(random_state=seed).fit(subject.training)
    seconds = time.monotonic() - began
    cause = playing(CONTENTION, detector.counters_) if subject.type != "np" else ()
    row = evaluate(detector, subject.good, subject.bad, cause=cause)
    settling = _settling(subject, detector, step, seed)
    others = {name: _f1(baseline(name, random_state=seed), subject) for name in ("pca", "isolation_forest")}
    row = pd.concat([row, pd.Series(others)])
    row["training_runs"] = len(subject.training)
    row["slowdown"] = slowdown(subject.good, subject.bad)
    row["seconds"] = seconds
    row["stopping_run"] = _stop(settling, step)
    thresholds = {f"{100 * share:.0f} %": _f1(_counting(detector, share, seed), subject) for share in FIXED}
    thresholds["mean + 2 sd"] = _f1(_counting(detector, "2sd", seed), subject)
    thresholds["mean + 2 sd, by distance"] = row["f1"]
    return Judged(subject, detector, row, pd.Series(thresholds), settling, _samples(subject, detector))


def judge_by_tree(subjects, *, seed=0):
    """F1 of the decision tree of Jayasena et al., that is shown good and bad runs of the other kernels.

    Parameters
    ----------
    subjects : dict of str to Subject
    seed : int

    Returns
    -------
    Series
        F1 by program; NaN where no kernel is there to learn from, and for NUMA, which it knows nothing of.
    """
    scores = {}
    for name, subject in subjects.items():
        shown = [subjects[other] for other in _TREE_LEARNS if other in subjects and other != name]
        runs = [run for other in shown for run in (*other.training, *other.bad)]
        labels = [bad for other in shown for bad in [False] * len(other.training) + [True] * len(other.bad)]
        scores[name] = np.nan
        if shown and subject.type != "np":
            tree = EventRatioTree(random_state=seed).fit(runs, labels)
            scores[name] = evaluate(tree, subject.good, subject.bad)["f1"]
    return pd.Series(scores, name="tree", dtype=float)


def searched_topologies(judged):
    """Topologies that were tried for a program, with the error of their best start.

    Parameters
    ----------
    judged : Judged

    Returns
    -------
    Series
        Index topology, the smallest error first.
    """
    found = judged.detector.experts_[0].autoencoder.search_
    return found.groupby("topology", sort=False)["error"].min().sort_values()


def score_topology(topology, judged, *, seed=0):
    """F1 of a program with one topology (Fig. 10).

    Parameters
    ----------
    topology : tuple of int
    judged : Judged
    seed : int

    Returns
    -------
    float
    """
    detector = AutoPerf(autoencoder=_fixed(topology), max_clusters=1, random_state=seed)
    return _f1(detector, judged.subject)


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
                told, runs = load_recording(file)
                diluted[told["sharing"]] = (_runs(control), list(runs.values()))
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


def _fixed(topology):
    return Autoencoder(topologies=[topology], n_starts=1)


def _counting(detector, threshold, seed):
    """AutoPerf as the paper has it: a run is anomalous by how many of its samples exceed a threshold."""
    topology = detector.experts_[0].autoencoder.topology_
    return AutoPerf(
        autoencoder=_fixed(topology), threshold=threshold, rule="count", max_clusters=1, random_state=seed
    )


def _f1(detector, subject):
    return evaluate(detector.fit(subject.training), subject.good, subject.bad)["f1"]


def _settling(subject, detector, step, seed):
    found = detector.experts_[0].autoencoder
    model = clone(found).set_params(topologies=[found.topology_], n_starts=1, random_state=seed)
    runs = [run.drop(columns=list(PLACE)) for run in subject.training]
    variances, means = error_variances(model, runs, step=step)
    return pd.DataFrame(
        {"variance": variances, "mean": means},
        index=pd.Index(range(step, step * len(means) + 1, step), name="runs"),
    )


def _stop(settling, step):
    """Algorithm 1 with eps as a share: 0.05 of a variance about 8, as the paper's, is 0.6 %."""
    relative = settling["variance"] / settling["variance"].mean()
    stop = stopping_run(relative, eps=0.05 / 8, goal=1, max_runs=len(settling))
    return (
        min(step * (stop + 1), int(settling.index[-1])) if stop < len(settling) else int(settling.index[-1])
    )


def _samples(subject, detector):
    parts = []
    for kind in ("training", "good", "bad"):
        for number, run in enumerate(getattr(subject, kind)):
            errors = pd.DataFrame(index=run.index, columns=detector.counters_, dtype=float)
            cluster = run["function"].map(detector.clusters_)
            for place, expert in enumerate(detector.experts_):
                own = cluster == place
                if own.any():
                    errors[own] = expert.autoencoder.squared_errors(
                        run.loc[own, detector.counters_].to_numpy()
                    )
            errors.insert(0, "error", errors.sum(axis=1))
            errors.insert(0, "run", number)
            parts.append(errors.assign(kind=kind))
    return pd.concat(parts, ignore_index=True)
