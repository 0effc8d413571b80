"""Load the recordings of the micro-benchmarks, and compute the tables of the notebooks on fingerprinting.

A micro-benchmark has a pathological form (P) with one known bottleneck, and a healthy form (N), on several sizes of
data. :func:`cmlib.experiments.micro.recordings.cut` cuts runs into time slices: X is a DataFrame of rates of events,
one row per slice, indexed by program, pass and slice, and `about` has the columns label (class), size and time_s of the
same rows. Key events are the few events that classify best. Kinds of programs are "micro" (for training), "unseen"
(micro-benchmarks left out of training), "CPU" and "parallel" (other benchmarks) and "own".
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.model_selection import LeaveOneGroupOut, StratifiedGroupKFold, cross_val_predict

from cmlib import places
from cmlib.errors import InputError, NothingRecordedError
from cmlib.experiments.diagnosis import HEALTHY, SLICE_S
from cmlib.experiments.micro import recordings, validation
from cmlib.experiments.micro.programs import micro_benchmarks
from cmlib.experiments.simulated_classes import rates_of_one_run
from cmlib.fingerprint import key_events
from cmlib.fingerprint.c45 import C45Classifier
from cmlib.fingerprint.phases import NAMED_FROM, added_shares
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
# A simulation distinguishes the forms of a program if a cause of estimated cycles has at least this many times the
# share in the pathological form that it has in the healthy one, and a share of at least NAMED_FROM.
_APART_FROM = 2.0
# A single simulated run has two levels of caches, so that it can't distinguish these classes.
_OF_ONE_RUN = dict.fromkeys(("P_Mem_L2", "P_Mem_L3"), "P_Mem_L2/L3")


@dataclass(frozen=True)
class Fingerprints:
    """Recordings of the micro-benchmarks, measured or simulated.

    Attributes
    ----------
    key : dict of str to list of cmlib.experiments.micro.recordings.Series
        Runs of the key events by kind of program.
    all : list of cmlib.experiments.micro.recordings.Series
        Runs of all events.
    sweep : DataFrame
        Latencies by working-set size (:func:`cmlib.experiments.micro.recordings.stored_sweep`); empty if simulated.
    meta : dict
        Metadata of one run.
    indistinguishable : tuple of cmlib.experiments.micro.recordings.Series
        Runs of programs with two forms that a simulation can't distinguish.
    """

    key: dict
    all: list
    sweep: pd.DataFrame
    meta: dict
    indistinguishable: tuple = ()

    @property
    def simulated(self):
        """True if the runs were simulated by Callgrind."""
        return source_of(self.meta) == VALGRIND

    @property
    def provenance(self) -> Provenance:
        """Provenance of the counts."""
        if self.simulated:
            kind = SIMULATED
        else:
            kind = SYNTHETIC if "fake" in (self.meta["machine"]["perf"] or "") else OWN_HARDWARE
        runs = [*self.all, *(run for kind_runs in self.key.values() for run in kind_runs)]
        events = {event for run in runs for event in run.counts}
        return Provenance(kind, tuple({run.program for run in runs}), tuple(events))

    @property
    def counted_by(self) -> str:
        """Source of the counts (str): the name of a processor, or Valgrind's Callgrind with its version."""
        if self.simulated:
            return f"Valgrind's Callgrind {self.meta['simulator']['version']} (simulated)"
        return self.meta["machine"].get("model_name") or "a processor without a name"

    @property
    def slice_s(self) -> float:
        """Length of a slice: in seconds, or for simulated runs in intervals of a fixed number of basic blocks."""
        return 1 if self.simulated else SLICE_S

    @property
    def per(self) -> str:
        """Unit by which counts are divided (str)."""
        return "1,000 estimated cycles" if self.simulated else "cycle"

    @property
    def tree(self):
        """Unfitted C45Classifier; for simulated counts (without noise), its thresholds are half-way between classes."""
        return C45Classifier(midpoints=self.simulated)

    @property
    def caveat(self):
        """A sentence for captions if counts are simulated or synthetic; "" if they were measured."""
        if self.simulated:
            version = self.meta["simulator"]["version"]
            return f" **Simulated** by Valgrind's Callgrind {version}, not measured."
        made_up = self.provenance.kind == SYNTHETIC
        return " **Synthetic data:** these counts were made up, not measured." if made_up else ""

    @property
    def unmultiplexed(self):
        """Number (int) of events that fit on the counters together with the pinned ones, which are always counted.

        For a simulation it is the number of modeled rates (misses and mispredictions).
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
        Folder of all recordings. Default: that of the data.
    kinds : collection of str
        Kinds of programs to read; all by default.
    with_all : bool, default True
        Read the runs of all events, too, which takes longer.

    Returns
    -------
    Fingerprints
        The recorded runs.

    Raises
    ------
    NothingRecordedError
        If there are no such recordings.
    """
    folder = Path(folder or places.recordings_dir()) / recordings.FOLDER
    meta = recordings.key_metadata(folder)
    if meta is None:
        raise NothingRecordedError(f"nothing recorded yet: run `{recordings.COMMAND}`")
    key = {kind: recordings.read_series(folder, recordings.KEY, kind) for kind in kinds}
    everything = recordings.read_series(folder, recordings.ALL) if with_all else []
    recorded = Fingerprints(key, everything, recordings.stored_sweep(folder), meta)
    note_read(recorded.provenance)
    return recorded


def load_recorded(source: str = "auto") -> Fingerprints:
    """Load the recordings of the micro-benchmarks, measured or simulated.

    Parameters
    ----------
    source : {"auto", "hardware", "simulated"}, default "auto"
        Which recordings; "auto" takes the measured ones if there are any, else the simulated ones.

    Returns
    -------
    Fingerprints
        The recorded runs.

    Raises
    ------
    NothingRecordedError
        If there are no such recordings.
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

    Their key events are the modeled ones (misses and mispredictions). Programs with two forms that a simulation can't
    distinguish are left out of training (kind "micro").

    Parameters
    ----------
    folder : path, optional
        Folder of all recordings. Default: that of the data.
    kinds : collection of str, default ("micro", "unseen", "own")
        Kinds of programs to read, "micro" among them.

    Returns
    -------
    Fingerprints
        The recorded runs.

    Raises
    ------
    NothingRecordedError
        If there are no such recordings.
    """
    folder = Path(folder or places.recordings_dir()) / recordings.SIMULATED_FOLDER
    read_series = recordings.read_simulated_series
    series = {kind: list(map(_unite_healthy, read_series(folder, kind))) for kind in kinds}
    if not series["micro"]:
        raise NothingRecordedError(f"nothing simulated yet: run `{recordings.SIMULATE_COMMAND}`")
    distinguishable = _find_distinguishable([*series["micro"], *series.get("unseen", [])])
    training = [run for run in series["micro"] if program_of(run) in distinguishable]
    key = {kind: list(map(_select_modeled, series[kind])) for kind in kinds}
    indistinguishable = [
        run for kind in kinds if kind != "own" for run in key[kind] if program_of(run) not in distinguishable
    ]
    key["micro"] = list(map(_select_modeled, training))
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

    Parameters
    ----------
    X, about : DataFrame
        Rates of the slices, one row per slice, and their labels.
    sizes : iterable of int
        Numbers of events.
    tree : classifier
        Not fitted.
    seed : int, default 0
        Seed of the folds.

    Returns
    -------
    elimination : DataFrame
        The order in which events were eliminated (:func:`cmlib.fingerprint.key_events.eliminate`).
    curves : dict of str to DataFrame
        By kind of folds ("10-fold" or "whole cases left out"), one row for each number of events: accuracy [%] and more
        (:func:`cmlib.experiments.micro.validation.accuracy_curve`).
    """
    X, label = X.loc[:, X.nunique() > 1], about["label"]
    elimination = key_events.eliminate(X, label)
    sizes = sorted({min(size, X.shape[1]) for size in sizes}, reverse=True)
    cases = X.index.get_level_values("program")
    by_case = StratifiedGroupKFold(10, shuffle=True, random_state=seed).split(X, label, cases)
    curve = validation.accuracy_curve(X, label, elimination, sizes, tree)
    whole = validation.nested_accuracy_curve(X, label, sizes, tree, by_case)
    return elimination, {"10-fold": curve, "whole cases left out": whole}


def table_2(
    micro: tuple[pd.DataFrame, pd.DataFrame],
    everything: tuple[pd.DataFrame, pd.DataFrame],
    others: dict[str, tuple[pd.DataFrame, pd.DataFrame]],
    tree: ClassifierMixin,
    *,
    seed: int = 0,
) -> pd.DataFrame:
    """Cross-validate a tree as in the paper's Table 2, and with stricter folds.

    Folds are random slices (``10-fold``, as in the paper), whole runs (``by run``), working-set sizes (``by size``;
    the key events, too, are chosen without the held-out size), and whole micro-benchmarks (``by program``).

    Parameters
    ----------
    micro, everything : tuple of (DataFrame, DataFrame)
        Slices of the micro-benchmarks and their labels, with the key events and with all events.
    others : dict of str to tuple of (DataFrame, DataFrame)
        The same of other programs, by kind.
    tree : classifier
        Not fitted.
    seed : int, default 0
        Seed of the folds.

    Returns
    -------
    DataFrame
        One row for each kind of program and of folds: benchmarks, folds, accuracy [%], correct and incorrect [slices].
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
    """Return [accuracy, correct, incorrect] of `n_events` key events, chosen without the held-out size."""
    X = X.loc[:, X.nunique() > 1]
    folds = validation.leave_each_out(about["size"])
    sizes = [min(n_events, X.shape[1])]
    curve = validation.nested_accuracy_curve(X, about["label"], sizes, tree, folds)
    n_wrong = int(curve["n_wrong"].iloc[0])
    n_slices = int(curve["n_slices"].iloc[0])
    return [curve["accuracy"].iloc[0], n_slices - n_wrong, n_wrong]


def _score_by_program(X, about, tree):
    """Return [accuracy, correct, incorrect] of a tree trained without the micro-benchmark that it classifies."""
    is_right = predict_left_out(X, about, tree) == about["label"].to_numpy()
    return [100 * is_right.mean(), is_right.sum(), (~is_right).sum()]


def predict_left_out(X: pd.DataFrame, about: pd.DataFrame, tree: ClassifierMixin) -> np.ndarray:
    """Predict the class of each slice by a tree that was trained without its micro-benchmark.

    Parameters
    ----------
    X, about : DataFrame
        Slices of the micro-benchmarks and their labels.
    tree : classifier
        Not fitted; cloned for each micro-benchmark.

    Returns
    -------
    ndarray of str, shape (n_slices,)
    """
    return cross_val_predict(tree, X, about["label"], groups=program_of(X), cv=LeaveOneGroupOut())


def share_within_cases(X: pd.DataFrame) -> float:
    """Measure how much the slices of one case differ, compared with all slices.

    Parameters
    ----------
    X : DataFrame of float, shape (n_slices, n_events)
        Rates, indexed by program (the case), pass and slice.

    Returns
    -------
    float
        Share of the variance of the rates that lies within cases [%]: the mean over the events that vary. 0 if the
        slices of each case are copies of each other, 100 if cases do not differ.
    """
    X = X.loc[:, X.nunique() > 1]
    within = ((X - X.groupby("program").transform("mean")) ** 2).sum()
    return 100 * float((within / ((X - X.mean()) ** 2).sum()).mean())


def train(X, about, tree, **settings):
    """Train a classifier that rejects unknown slices.

    Parameters
    ----------
    X, about : DataFrame
        Rates of the slices, one row per slice, and their labels.
    tree : classifier
        Not fitted.
    **settings
        Parameters of UnknownRejector.

    Returns
    -------
    cmlib.fingerprint.unknown.UnknownRejector
        Fitted, with the slices of a program as a group.

    Raises
    ------
    ValueError
        If all slices are from one program.
    """
    return UnknownRejector(tree, **settings).fit(X, about["label"], groups=program_of(X))


def charged_causes(recorded: Fingerprints) -> pd.DataFrame:
    """Compare the estimated costs of the pathological and the healthy form of each simulated program.

    Parameters
    ----------
    recorded : Fingerprints
        The simulated programs.

    Returns
    -------
    DataFrame
        One row per program: ``program``; ``pathology``; ``trained`` (yes or no); ``case`` and ``cause`` with the
        largest difference between the shares of the two forms, if possible one that distinguishes the forms; ``P`` and
        ``N``, these shares [% of the estimated cycles]; and ``apart`` (yes if the simulation distinguishes the forms,
        else no).
    """
    runs = {run.program: run for run in [*recorded.all, *recorded.indistinguishable, *recorded.key["unseen"]]}
    totals = pd.DataFrame({name: run.counts.sum() for name, run in runs.items()}).T
    charged = added_shares(totals, simulated_events()["weight"])
    indistinguishable = {program_of(run) for run in recorded.indistinguishable}
    rows = []
    for program in micro_benchmarks():
        pathological = charged[charged.index.str.match(rf"[a-z]+-{program.name}-P")]
        if pathological.empty:
            continue
        healthy = charged.loc[pathological.index.str.replace("-P", "-N", n=1)]
        difference = pathological - healthy.to_numpy()
        are_apart = _differ(pathological, healthy.to_numpy())
        case, cause = difference.where(are_apart | ~are_apart.any(axis=None)).stack().idxmax()
        is_apart = program.name not in indistinguishable
        rows.append(
            {
                "program": program.name,
                "pathology": program.pathology,
                "trained": "yes" if program.trained and is_apart else "no",
                "case": case.partition("-P")[2].removeprefix("-") or "–",
                "cause": cause,
                "P": 100 * pathological.at[case, cause],
                "N": 100 * charged.at[case.replace("-P", "-N", 1), cause],
                "apart": "yes" if is_apart else "no",
            }
        )
    return pd.DataFrame(rows)


def find(name: str, recordings: Iterable[str]) -> str | None:
    """Find the first recording of a program, by the program's name.

    Parameters
    ----------
    name : str
        Such as "gcc", which finds the recordings "gcc" and "own-gcc".
    recordings : iterable of str
        Names of recordings.

    Returns
    -------
    str or None
        Name of the recording; None if there is none.
    """
    for recording in recordings:
        if name in (recording, recording.partition("-")[2]):
            return recording
    return None


def run_of(X: pd.DataFrame) -> pd.Index:
    """Return the name of each slice's run.

    Parameters
    ----------
    X : DataFrame
        Slices, indexed by program, pass and slice.

    Returns
    -------
    Index of str
        ``program/pass`` of each row.
    """
    return X.index.get_level_values("program") + "/" + X.index.get_level_values("pass").astype(str)


def program_of(run: pd.DataFrame | Series) -> pd.Index | str:
    """Return the name of the micro-benchmark of a run or of slices, without form and size.

    Parameters
    ----------
    run : cmlib.experiments.micro.recordings.Series or DataFrame
        A run, or X: slices, indexed by program, pass and slice.

    Returns
    -------
    str or Index of str
        The name of the run, or one name for each row of X.
    """
    if isinstance(run, pd.DataFrame):
        return run.index.get_level_values("program").str.split("-").str[1]
    return run.program.split("-")[1]


def train_for_one_run():
    """Fit a C45Classifier for a single simulated run, and return it.

    Such a run has counts of the first and the last cache level only. NothingRecordedError if no micro-benchmark is
    simulated.
    """
    series = load_simulated(kinds=("micro",)).all
    rates = [rates_of_one_run(run.counts.iloc[:-1]) for run in series]
    labels = [_OF_ONE_RUN.get(run.about["label"], run.about["label"]) for run in series]
    return C45Classifier(midpoints=True).fit(pd.concat(rates), np.repeat(labels, list(map(len, rates))))


def _unite_healthy(run):
    """Give a run of any healthy form the class HEALTHY; return other runs unchanged."""
    if run.about["label"].startswith("N_"):
        return replace(run, about=run.about | {"label": HEALTHY})
    return run


def _find_distinguishable(series):
    """Find the programs (set) with at least one case whose two forms a simulation distinguishes."""
    totals = pd.DataFrame({run.program: run.counts.sum() for run in series}).T
    charged = added_shares(totals, simulated_events()["weight"])
    pathological = charged[charged.index.str.contains("-P")]
    healthy = charged.reindex(pathological.index.str.replace("-P", "-N", n=1)).to_numpy()
    is_distinguishable = _differ(pathological, healthy).any(axis=1)
    return set(pathological.index[is_distinguishable].str.split("-").str[1])


def _differ(pathological, healthy):
    """Mark the shares (0-1) of the pathological form that distinguish it from the healthy one: a DataFrame of bool."""
    return pathological >= np.maximum(NAMED_FROM, _APART_FROM * healthy)


def _select_modeled(run):
    """Return a run with rates of modeled events alone."""
    return replace(run, events=tuple(MODELLED_RATES))
