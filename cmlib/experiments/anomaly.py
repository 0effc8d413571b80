"""The fifteen programs of AutoPerf's Table 2, each evaluated by a detector that learned its good runs only."""

import json
import time
from copy import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cmlib import places
from cmlib.anomaly.autoencoder import Autoencoder, error_variances, search_space, stopping_run
from cmlib.anomaly.clusters import cluster_model
from cmlib.anomaly.compare import compare_versions
from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.evaluation import EventRatioTree, baseline, evaluate
from cmlib.anomaly.samples import PLACE, smallest_range
from cmlib.collect.compare.counters import CONTENTION, CYCLES, counters_with_role
from cmlib.collect.workloads.kernels import kernels
from cmlib.collect.workloads.kernels.executions import DILUTED
from cmlib.collect.workloads.kernels.executions import FILE as OVERHEAD
from cmlib.errors import NothingRecordedError
from cmlib.experiments.requested import resolve_names
from cmlib.io.regions import load_recording

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
_MOST_OLD, _MOST_NEW = 20, 10  # runs of versions that are compared
_TREE_LEARNS = (
    "parallel_scalar_sum",
    "parallel_vector_sum",
    "parallel_dot_product",
    "parallel_matrix_mult",
    "parallel_matrix_comp",
)


@dataclass(frozen=True)
class ProgramRuns:
    """The recordings of one program."""

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
class Evaluation:
    """What was learned and found of one program."""

    program: ProgramRuns
    detector: AutoPerf
    row: pd.Series
    thresholds: pd.DataFrame
    settling: pd.DataFrame
    samples: pd.DataFrame

    @property
    def learned(self):
        """The runs that were learned."""
        return [*self.program.training, *self.program.again][: int(self.row["learned"])]

    @property
    def topology(self):
        """Widths of the encoding layers of the first cluster's autoencoder."""
        return self.detector.models_[0].autoencoder.topology_

    @property
    def threshold(self):
        """Mean + 2 standard deviations, of the first cluster's autoencoder."""
        return self.detector.models_[0].threshold


def recorded_programs(folder="", wanted="all"):
    """Read the recordings of the fifteen programs."""
    folder = Path(folder or places.hardware_first(places.data_dir() / "regions"))
    known = [program.name for program in kernels()]
    names = resolve_names(
        wanted, known, about="AutoPerf's programs, which are what is evaluated here", todo=INSTEAD
    )
    programs = {}
    for program in kernels():
        both = [folder / program.name / f"{form}.json" for form in ("good", "bad")]
        if program.name in names and all(file.is_file() for file in both):
            programs[program.name] = _program_runs(program, folder / program.name)
    if not programs:
        raise NothingRecordedError(f"nothing recorded yet: run `{RECORD}`")
    return programs


def evaluate_program(program, *, max_runs=100, seed=0):
    """Learn as many good runs of a program as Algorithm 1 says, and judge the others by AutoPerf and the
    baselines."""
    runs = [*program.training, *program.again][:max_runs]
    settling = _settling(runs, seed)
    stop = _stop(settling["variance"])
    learned, others = runs[:stop], program.training[stop:]
    others = others if len(others) >= _FEWEST_OTHERS else ()
    began = time.monotonic()
    detector = AutoPerf(random_state=seed).fit(learned, others=others)
    seconds = time.monotonic() - began
    cause = counters_with_role(CONTENTION, detector.counters_) if program.type != "np" else ()
    row = evaluate(detector, program.good, program.bad, cause=cause)
    for name in ("pca", "isolation_forest"):
        model = baseline(name, random_state=seed).fit(learned, others=others)
        row[name] = evaluate(model, program.good, program.bad)["f1"]
    row["learned"], row["stopping_run"] = len(learned), stop if stop < len(runs) else np.nan
    row["slowdown"], row["seconds"] = slowdown(program.good, program.bad), seconds
    thresholds = _thresholds(detector, program)
    return Evaluation(program, detector, row, thresholds, settling, _samples(program, detector, learned))


def evaluate_tree(programs, *, seed=0):
    """F1 of the decision tree of Jayasena et al., that is shown good and bad runs of the other kernels."""
    scores, trees = {}, {}
    for name, program in programs.items():
        shown = tuple(other for other in _TREE_LEARNS if other in programs and other != name)
        scores[name] = np.nan
        if shown and program.type != "np":
            trees[shown] = trees.get(shown) or _tree([programs[other] for other in shown], seed)
            scores[name] = evaluate(trees[shown], program.good, program.bad)["f1"]
    return pd.Series(scores, name="tree", dtype=float)


def evaluate_topologies(evaluated, *, seed=0):
    """Reconstruction error and F1 of topologies, each trained once from one start (Fig. 10)."""
    detector, program = copy(evaluated.detector).set_params(rule="any"), evaluated.program
    model = detector.models_[0].autoencoder
    values = pd.concat(evaluated.learned)[detector.counters_].to_numpy()
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
        detector.models_ = [cluster_model(searched.candidate(number), values)]
        f1 = evaluate(detector, program.good, program.bad)["f1"]
        rows.append((" → ".join(map(str, row["topology"])), row["error"], f1))
    return pd.DataFrame(rows, columns=["topology", "error", "f1"]).sort_values("error", ignore_index=True)


def slowdown(good, bad):
    """Time of the median bad run, as a multiple of the median good one's."""
    counted = counters_with_role(CYCLES, good[0])
    if not counted:
        return np.nan
    usual, now = (np.median([run[counted[0]].median() for run in runs]) for runs in (good, bad))
    return now / usual


def same_version_alarms(program, topology, *, n_pairs, seed=0):
    """Compare runs of two recordings of the same version, drawn at random; of one where there is but one."""
    rng, alarms = np.random.default_rng(seed), []
    good, third = [*program.training, *program.good], (len(program.training) + len(program.good)) // 3
    for number in range(n_pairs):
        old, new = _shuffled(good, rng), _shuffled(program.again, rng)
        if not new:
            old, new = old[third:], old[:third]
        elif number % 2:
            old, new = new, old
        verdict = _compared(old[:_MOST_OLD], new[:_MOST_NEW], topology, seed)
        alarms.append((verdict.p_value, bool(verdict.anomalous)))
    return alarms


def dilution(program, topology, *, seed=0):
    """Which share of sharing, and so which slowdown, is still found."""
    rows = []
    for sharing, (control, diluted) in program.diluted.items():
        verdict = _compared(control, diluted, topology, seed)
        slower = 100 * (slowdown(control, diluted) - 1)
        rows.append((program.stands_for, 100 * sharing, slower, verdict.p_value, bool(verdict.anomalous)))
    return pd.DataFrame(rows, columns=["program", "sharing", "slowdown", "p_value", "found"])


def _program_runs(program, folder):
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
    return ProgramRuns(
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
    runs = [run for program in shown for run in (*program.training, *program.bad)]
    bad = [bad for program in shown for bad in [False] * len(program.training) + [True] * len(program.bad)]
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


def _thresholds(detector, program):
    """What the same autoencoder finds by each threshold: any sample beyond it, as in the paper; last, calibrated."""
    ruled = {f"{100 * share:.0f} %": {"threshold": share, "rule": "any"} for share in FIXED}
    ruled |= {"mean + 2 sd": {"rule": "any"}, "mean + 2 sd, calibrated": {}}
    rows = {}
    for name, rule in ruled.items():
        row = evaluate(copy(detector).set_params(**rule), program.good, program.bad)
        rows[name] = {"f1": row["f1"], "false_alarms": row["false_positives"] / row["good"]}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("threshold")


def _samples(program, detector, learned):
    parts, autoencoder = [], detector.models_[0].autoencoder
    for kind, runs in {"training": learned, "good": program.good, "bad": program.bad}.items():
        together = pd.concat(runs, keys=range(len(runs)), names=["run", None]).reset_index("run")
        errors = autoencoder.squared_errors(together[detector.counters_].to_numpy())
        frame = pd.DataFrame(errors, columns=detector.counters_)
        frame.insert(0, "error", errors.sum(axis=1))
        frame.insert(0, "run", together["run"].to_numpy())
        parts.append(frame.assign(kind=kind))
    return pd.concat(parts, ignore_index=True)


def _shuffled(runs, rng):
    return [runs[i] for i in rng.permutation(len(runs))]


def _compared(old, new, topology, seed):
    settings = AutoPerf(autoencoder=Autoencoder(topologies=[topology], n_starts=1), random_state=seed)
    return compare_versions(old, new, detector=settings)
