"""Load the recordings of micro-benchmarks, and evaluate decision trees that find bottlenecks.

A micro-benchmark is a small program in two forms: with one known bottleneck (P), and without it (N). A case is a
form with one size of its data. :func:`load_recorded` loads the recordings. :func:`table_2` and
:func:`key_event_curve` compute the accuracy of trees. Key events are the few events that a tree uses.

Trees classify time slices. :func:`cmlib.experiments.micro.recordings.cut` makes them: X contains the event rates of
each slice, and `about` contains its label (the class), the size of the data and the time. The index of both is
program, pass and slice.

There are five kinds of programs: "micro" (micro-benchmarks for training), "unseen" (micro-benchmarks for tests),
"CPU" and "parallel" (other benchmarks) and "own" (programs of the user).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.model_selection import LeaveOneGroupOut, StratifiedGroupKFold, cross_val_predict

from cmlib import places
from cmlib.errors import InputError, NothingRecordedError
from cmlib.experiments.measured_diagnosis import HEALTHY, SLICE_S
from cmlib.experiments.micro import recordings, validation
from cmlib.experiments.micro.programs import micro_benchmarks
from cmlib.experiments.simulated_classes import rates_of_one_run
from cmlib.fingerprint import key_events
from cmlib.fingerprint.c45 import C45Classifier
from cmlib.fingerprint.phases import MIN_CAUSE_SHARE, penalty_shares
from cmlib.fingerprint.simulated_rates import MODELLED_RATES
from cmlib.fingerprint.unknown import UnknownRejector
from cmlib.io.archive.programs import readable_runs
from cmlib.io.archive.runs import VALGRIND, source_of
from cmlib.io.events import simulated_events
from cmlib.io.provenance import OWN_HARDWARE, SIMULATED, SYNTHETIC, Provenance, note_read

if TYPE_CHECKING:
    from sklearn.base import ClassifierMixin

    from cmlib.experiments.micro.recordings import Series

__all__ = [
    "HEALTHY",
    "charged_causes",
    "find",
    "key_event_curve",
    "load",
    "load_recorded",
    "load_simulated",
    "program_of",
    "run_of",
    "share_within_cases",
    "table_2",
]

KINDS = ("micro", "unseen", "CPU", "parallel", "own")
SOURCES = ["auto", "hardware", "simulated"]
# A simulation can distinguish the two forms of a program if a cause of estimated cycles has at least this many times
# its share in the healthy form, and a share of at least MIN_CAUSE_SHARE.
_SMALLEST_RATIO = 2.0
# A single simulated run has two cache levels only, so that these classes are joined.
_CLASS_OF_ONE_RUN = dict.fromkeys(("P_Mem_L2", "P_Mem_L3"), "P_Mem_L2/L3")


@dataclass(frozen=True)
class Fingerprints:
    """Recordings of the micro-benchmarks, measured or simulated.

    A micro-benchmark has two forms: with a known bottleneck, and without it. Key events are the few events that the
    decision tree uses.

    Attributes
    ----------
    key : dict of str to list of cmlib.experiments.micro.recordings.Series
        Runs that counted the key events. The key is the kind of program.
    all : list of cmlib.experiments.micro.recordings.Series
        Runs that counted all events.
    sweep : DataFrame
        Load latency for each size of the accessed data. Empty if the recordings are simulated.
    meta : dict
        Metadata of one run.
    indistinguishable : tuple of cmlib.experiments.micro.recordings.Series
        Simulated runs of some micro-benchmarks. The simulation does not show a difference between their two forms.
    """

    key: dict
    all: list
    sweep: pd.DataFrame
    meta: dict
    indistinguishable: tuple = ()

    @property
    def simulated(self) -> bool:
        """True if the runs were simulated by Callgrind."""
        return source_of(self.meta) == VALGRIND

    @property
    def provenance(self) -> Provenance:
        """Where the counts come from."""
        if self.simulated:
            kind = SIMULATED
        elif "fake" in (self.meta["machine"]["perf"] or ""):
            kind = SYNTHETIC
        else:
            kind = OWN_HARDWARE
        runs = list(self.all)
        for runs_of_kind in self.key.values():
            runs.extend(runs_of_kind)
        events = {event for run in runs for event in run.counts}
        return Provenance(kind, tuple({run.program for run in runs}), tuple(events))

    @property
    def counted_by(self) -> str:
        """Name of the processor, or of the simulator with its version."""
        if self.simulated:
            return f"Valgrind's Callgrind {self.meta['simulator']['version']} (simulated)"
        return self.meta["machine"].get("model_name") or "a processor without a name"

    @property
    def slice_s(self) -> float:
        """Length of a slice.

        The unit is seconds for measured runs. For simulated runs, it is the number of intervals.
        """
        return 1 if self.simulated else SLICE_S

    @property
    def per(self) -> str:
        """Unit by which counts are divided.

        It is "cycle" for measured runs, and "1,000 estimated cycles" for simulated runs.
        """
        return "1,000 estimated cycles" if self.simulated else "cycle"

    @property
    def tree(self) -> C45Classifier:
        """Decision tree that is not fitted.

        Simulated counts have no noise. Thresholds of their trees are therefore half-way between two classes.
        """
        return C45Classifier(midpoints=self.simulated)

    @property
    def caveat(self) -> str:
        """Sentence for captions. Empty if the counts were measured."""
        if self.simulated:
            version = self.meta["simulator"]["version"]
            return f" **Simulated** by Valgrind's Callgrind {version}, not measured."
        made_up = self.provenance.kind == SYNTHETIC
        return " **Synthetic data:** these counts were made up, not measured." if made_up else ""

    @property
    def unmultiplexed(self) -> int:
        """Number of key events that can be counted at the same time.

        For simulated runs, it is the number of modeled events.
        """
        if self.simulated:
            return len(MODELLED_RATES)
        return self.meta["counters"]["good"] - len(self.meta["pinned"])


def load(
    folder: str | Path | None = None, *, kinds: Collection[str] = KINDS, with_all: bool = True
) -> Fingerprints:
    """Load the measured recordings of the micro-benchmarks.

    Parameters
    ----------
    folder : path, optional
        Folder of all recordings. Default: the data folder.
    kinds : collection of str, default all
        Kinds of programs to load. For example, ``("micro", "unseen")``.
    with_all : bool, default True
        True to also load the runs that counted all events. This takes longer.

    Returns
    -------
    Fingerprints
        The recordings.

    Raises
    ------
    NothingRecordedError
        If no recording was found.
    """
    folder = Path(folder or places.recordings_dir()) / recordings.FOLDER
    meta = recordings.key_metadata(folder)
    if meta is None:
        raise NothingRecordedError(f"nothing recorded yet: run `{recordings.COMMAND}`")
    key = {kind: recordings.read_series(folder, recordings.KEY, kind) for kind in kinds}
    runs_of_all_events = recordings.read_series(folder, recordings.ALL) if with_all else []
    recorded = Fingerprints(key, runs_of_all_events, recordings.stored_sweep(folder), meta)
    note_read(recorded.provenance)
    return recorded


def load_recorded(source: str = "auto") -> Fingerprints:
    """Load the measured or the simulated recordings of the micro-benchmarks.

    Parameters
    ----------
    source : {"auto", "hardware", "simulated"}, default "auto"
        Which recordings to load. The value ``"auto"`` loads simulated recordings only if no measured recording was
        found.

    Returns
    -------
    Fingerprints
        The recordings.

    Raises
    ------
    NothingRecordedError
        If no recording was found.
    ValueError
        If the source is unknown.
    """
    if source not in SOURCES:
        raise InputError(f"source {source!r}: it can be {', '.join(SOURCES)}.")
    if source == "hardware":
        return load()
    if source == "simulated":
        return load_simulated()
    try:
        return load()
    except NothingRecordedError:
        return load_simulated()


def load_simulated(
    folder: str | Path | None = None, *, kinds: Collection[str] = ("micro", "unseen", "own")
) -> Fingerprints:
    """Load the simulated recordings of the micro-benchmarks.

    The key events are the modeled events: cache misses and branch mispredictions. A program is not used for training
    if the simulation does not show a difference between its two forms (with and without a bottleneck).

    Parameters
    ----------
    folder : path, optional
        Folder of all recordings. Default: the data folder.
    kinds : collection of str, default ("micro", "unseen", "own")
        Kinds of programs to load. Must include ``"micro"``.

    Returns
    -------
    Fingerprints
        The recordings.

    Raises
    ------
    NothingRecordedError
        If no recording was found.
    """
    folder = Path(folder or places.recordings_dir()) / recordings.SIMULATED_FOLDER
    runs_by_kind = {}
    for kind in kinds:
        runs_by_kind[kind] = [_unite_healthy(run) for run in recordings.read_simulated_series(folder, kind)]
    if not runs_by_kind["micro"]:
        raise NothingRecordedError(f"nothing simulated yet: run `{recordings.SIMULATE_COMMAND}`")
    distinguishable = _find_distinguishable([*runs_by_kind["micro"], *runs_by_kind.get("unseen", [])])
    training = [run for run in runs_by_kind["micro"] if program_of(run) in distinguishable]
    key = {kind: [_select_modeled(run) for run in runs_by_kind[kind]] for kind in kinds}
    indistinguishable = [
        run for kind in kinds if kind != "own" for run in key[kind] if program_of(run) not in distinguishable
    ]
    key["micro"] = [_select_modeled(run) for run in training]
    recorded = Fingerprints(
        key=dict.fromkeys(KINDS, []) | key,
        all=training,
        sweep=pd.DataFrame(),
        meta=next(iter(readable_runs(folder / training[0].program).values())),
        indistinguishable=tuple(indistinguishable),
    )
    note_read(recorded.provenance)
    return recorded


def key_event_curve(
    X: pd.DataFrame, about: pd.DataFrame, sizes: Iterable[int], tree: ClassifierMixin, *, seed: int = 0
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Measure the accuracy of a decision tree with several numbers of key events.

    Key events are the events that are left after eliminating the least informative ones.

    Parameters
    ----------
    X, about : DataFrame
        Event rates and labels of the time slices, from :func:`cmlib.experiments.micro.recordings.cut`.
    sizes : iterable of int
        Numbers of key events.
    tree : classifier
        It is cloned for each fold.
    seed : int, default 0
        Seed of the folds.

    Returns
    -------
    elimination : DataFrame
        Order in which the events were eliminated, from :func:`cmlib.fingerprint.key_events.eliminate`.
    curves : dict of str to DataFrame
        Accuracy [%] for each number of key events, with two kinds of folds. The key ``"10-fold"`` stands for random
        slices. The key ``"whole cases left out"`` stands for folds of complete cases. A case is a program with one
        size of its data.
    """
    X = X.loc[:, X.nunique() > 1]
    label = about["label"]
    elimination = key_events.eliminate(X, label)
    sizes = sorted({min(size, X.shape[1]) for size in sizes}, reverse=True)
    curve = validation.accuracy_curve(X, label, elimination, sizes, tree)
    cases = X.index.get_level_values("program")
    folds_by_case = StratifiedGroupKFold(10, shuffle=True, random_state=seed).split(X, label, cases)
    curve_by_case = validation.nested_accuracy_curve(X, label, sizes, tree, folds_by_case)
    return elimination, {"10-fold": curve, "whole cases left out": curve_by_case}


def table_2(
    micro: tuple[pd.DataFrame, pd.DataFrame],
    everything: tuple[pd.DataFrame, pd.DataFrame],
    others: dict[str, tuple[pd.DataFrame, pd.DataFrame]],
    tree: ClassifierMixin,
    *,
    seed: int = 0,
) -> pd.DataFrame:
    """Cross-validate a decision tree with four kinds of folds.

    - ``10-fold``: random slices, as in the paper's Table 2 (Yoo et al. 2012).
    - ``by run``: complete runs.
    - ``by size``: sizes of the data. The key events are chosen without the tested size.
    - ``by program``: micro-benchmarks.

    Parameters
    ----------
    micro, everything : tuple of (DataFrame, DataFrame)
        X and `about` of the micro-benchmarks, with the key events and with all events.
    others : dict of str to tuple of (DataFrame, DataFrame)
        X and `about` of the other kinds of programs.
    tree : classifier
        It is cloned for each fold.
    seed : int, default 0
        Seed of the folds.

    Returns
    -------
    DataFrame
        One row per kind of program and kind of folds. Columns: benchmarks, folds, accuracy [%], correct and
        incorrect (numbers of slices).
    """
    slices_by_benchmarks = {"Micro-benchmarks": micro}
    for kind, slices in others.items():
        slices_by_benchmarks[f"{kind[0].upper()}{kind[1:]} programs"] = slices
    parts = {
        name: validation.validate(tree, X, about["label"], runs=run_of(X), seed=seed)
        for name, (X, about) in slices_by_benchmarks.items()
    }
    n_events = micro[0].shape[1]
    parts["Micro-benchmarks"].loc["by size"] = _score_by_size(*everything, n_events, tree)
    parts["Micro-benchmarks"].loc["by program"] = _score_by_program(*micro, tree)
    table = pd.concat(parts, names=["benchmarks", "folds"]).reset_index()
    return table.astype({"correct": int, "incorrect": int})


def _score_by_size(X, about, n_events, tree):
    """Return [accuracy, correct, incorrect] with folds by size.

    The key events are chosen without the slices of the tested size.
    """
    X = X.loc[:, X.nunique() > 1]
    folds = validation.leave_each_out(about["size"])
    sizes = [min(n_events, X.shape[1])]
    curve = validation.nested_accuracy_curve(X, about["label"], sizes, tree, folds)
    n_wrong = int(curve["n_wrong"].iloc[0])
    n_slices = int(curve["n_slices"].iloc[0])
    return [curve["accuracy"].iloc[0], n_slices - n_wrong, n_wrong]


def _score_by_program(X, about, tree):
    """Return [accuracy, correct, incorrect] with folds by program."""
    is_right = predict_left_out(X, about, tree) == about["label"].to_numpy()
    return [100 * is_right.mean(), is_right.sum(), (~is_right).sum()]


def predict_left_out(X: pd.DataFrame, about: pd.DataFrame, tree: ClassifierMixin) -> np.ndarray:
    """Predict the class of each slice without training on its micro-benchmark.

    Parameters
    ----------
    X, about : DataFrame
        Event rates and labels of the time slices, from :func:`cmlib.experiments.micro.recordings.cut`.
    tree : classifier
        It is cloned for each micro-benchmark.

    Returns
    -------
    ndarray of str, shape (n_slices,)
        Predicted class of each slice.
    """
    return cross_val_predict(tree, X, about["label"], groups=program_of(X), cv=LeaveOneGroupOut())


def share_within_cases(X: pd.DataFrame) -> float:
    """Measure how much the slices of the same case differ.

    Parameters
    ----------
    X : DataFrame of float, shape (n_slices, n_events)
        Event rates of the time slices, indexed by program, pass and slice. A case is a program with one size of its
        data: one value of the index level ``program``.

    Returns
    -------
    float
        Variance within cases, relative to the variance of all slices [%]. It is the mean over the events. It is 0 if
        all slices of a case are equal, and 100 if all cases have equal means.
    """
    X = X.loc[:, X.nunique() > 1]
    squares_within = ((X - X.groupby("program").transform("mean")) ** 2).sum()
    squares = ((X - X.mean()) ** 2).sum()
    return 100 * float((squares_within / squares).mean())


def train(X: pd.DataFrame, about: pd.DataFrame, tree: ClassifierMixin, **settings: Any) -> UnknownRejector:
    """Train a classifier that recognizes slices of an unknown class.

    Parameters
    ----------
    X, about : DataFrame
        Event rates and labels of the time slices, from :func:`cmlib.experiments.micro.recordings.cut`.
    tree : classifier
        Decision tree that is not fitted.
    **settings
        Parameters of :class:`cmlib.fingerprint.unknown.UnknownRejector`.

    Returns
    -------
    cmlib.fingerprint.unknown.UnknownRejector
        The fitted classifier.

    Raises
    ------
    ValueError
        If all slices are from one program.
    """
    return UnknownRejector(tree, **settings).fit(X, about["label"], groups=program_of(X))


def charged_causes(recorded: Fingerprints) -> pd.DataFrame:
    """Compare the costs of the two forms of each simulated program.

    A micro-benchmark has a form with a bottleneck, and a form without it. The costs are shares of the estimated
    cycles.

    Parameters
    ----------
    recorded : Fingerprints
        The simulated programs.

    Returns
    -------
    DataFrame
        One row per program, with these columns:

        - ``program``, ``pathology``: name, and known bottleneck.
        - ``trained``: "yes" if trees are trained on the program, otherwise "no".
        - ``case``, ``cause``: size of the data, and cause of cycles, with the largest difference between the two
          forms.
        - ``P``, ``N``: share of this cause in the form with the bottleneck, and in the form without it [% of the
          cycles].
        - ``apart``: "yes" if the simulation shows a difference between the two forms, otherwise "no".
    """
    runs = {run.program: run for run in [*recorded.all, *recorded.indistinguishable, *recorded.key["unseen"]]}
    totals = pd.DataFrame({name: run.counts.sum() for name, run in runs.items()}).T
    shares = penalty_shares(totals, simulated_events()["weight"])
    indistinguishable = {program_of(run) for run in recorded.indistinguishable}
    rows = []
    for program in micro_benchmarks():
        pathological = shares[shares.index.str.match(rf"[a-z]+-{program.name}-P")]
        if pathological.empty:
            continue
        healthy = shares.loc[pathological.index.str.replace("-P", "-N", n=1)]
        difference = pathological - healthy.to_numpy()
        is_different = _differ(pathological, healthy.to_numpy())
        if is_different.any(axis=None):
            difference = difference.where(is_different)
        case, cause = difference.stack().idxmax()
        is_distinguishable = program.name not in indistinguishable
        rows.append(
            {
                "program": program.name,
                "pathology": program.pathology,
                "trained": "yes" if program.trained and is_distinguishable else "no",
                "case": case.partition("-P")[2].removeprefix("-") or "–",
                "cause": cause,
                "P": 100 * pathological.at[case, cause],
                "N": 100 * shares.at[case.replace("-P", "-N", 1), cause],
                "apart": "yes" if is_distinguishable else "no",
            }
        )
    return pd.DataFrame(rows)


def find(name: str, recordings: Iterable[str]) -> str | None:
    """Find a recording by the name of its program.

    Parameters
    ----------
    name : str
        Name of the program, with or without its kind. For example, ``"own-gcc"`` or ``"gcc"``.
    recordings : iterable of str
        Names of recordings.

    Returns
    -------
    str or None
        Name of the first match. None if no recording matches.
    """
    for recording in recordings:
        if name in (recording, recording.partition("-")[2]):
            return recording
    return None


def run_of(X: pd.DataFrame) -> pd.Index:
    """Return the run of each slice.

    Parameters
    ----------
    X : DataFrame
        Slices, indexed by program, pass and slice.

    Returns
    -------
    Index of str
        Program and pass of each slice. For example, ``"micro-branch-P/0"``.
    """
    return X.index.get_level_values("program") + "/" + X.index.get_level_values("pass").astype(str)


def program_of(run: pd.DataFrame | Series) -> pd.Index | str:
    """Return the name of the micro-benchmark, without kind, form and size.

    Parameters
    ----------
    run : cmlib.experiments.micro.recordings.Series or DataFrame
        A run, or slices indexed by program, pass and slice.

    Returns
    -------
    str or Index of str
        Name of the run. For slices, one name per slice.
    """
    if isinstance(run, pd.DataFrame):
        return run.index.get_level_values("program").str.split("-").str[1]
    return run.program.split("-")[1]


def train_for_one_run() -> C45Classifier:
    """Train a decision tree for a single simulated run.

    A single simulation has two cache levels only. The tree therefore does not distinguish L2 from L3.

    Returns
    -------
    cmlib.fingerprint.c45.C45Classifier
        The fitted tree.

    Raises
    ------
    NothingRecordedError
        If no micro-benchmark was simulated.
    """
    rates_of_runs = []
    labels = []
    for run in load_simulated(kinds=("micro",)).all:
        rates = rates_of_one_run(run.counts.iloc[:-1])  # the last interval is shorter
        label = run.about["label"]
        rates_of_runs.append(rates)
        labels += [_CLASS_OF_ONE_RUN.get(label, label)] * len(rates)
    return C45Classifier(midpoints=True).fit(pd.concat(rates_of_runs), np.array(labels))


def _unite_healthy(run):
    """Give all runs without a bottleneck the same class."""
    if run.about["label"].startswith("N_"):
        return replace(run, about=run.about | {"label": HEALTHY})
    return run


def _find_distinguishable(series):
    """Return the programs (set) whose two forms differ in at least one case."""
    totals = pd.DataFrame({run.program: run.counts.sum() for run in series}).T
    shares = penalty_shares(totals, simulated_events()["weight"])
    pathological = shares[shares.index.str.contains("-P")]
    healthy = shares.reindex(pathological.index.str.replace("-P", "-N", n=1)).to_numpy()
    is_distinguishable = _differ(pathological, healthy).any(axis=1)
    return set(pathological.index[is_distinguishable].str.split("-").str[1])


def _differ(pathological, healthy):
    """Mark the causes of cycles that distinguish the two forms.

    Such a cause has a much larger share in the form with the bottleneck.
    """
    return pathological >= np.maximum(MIN_CAUSE_SHARE, _SMALLEST_RATIO * healthy)


def _select_modeled(run):
    """Select the rates of the modeled events of a run."""
    return replace(run, events=tuple(MODELLED_RATES))
