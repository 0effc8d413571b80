"""Load the recordings of the micro-benchmarks, and compute from them what the notebooks on fingerprinting show.

A micro-benchmark has a pathological form (P), with one known bottleneck, and a healthy one (N), on several sizes of
data. Runs are cut into time slices; X is a DataFrame of rates of events, a row per slice, indexed by program, pass and
slice, and `about` has columns label (class), size and time_s of the same rows, both as of
:func:`cmlib.experiments.micro.recordings.cut`. Key events are the few that classify best. Kinds of programs are
"micro" (for training), "unseen" (micro-benchmarks left out of it), "CPU", "parallel" (other benchmarks) and "own".
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

    `key`: dict from kind of program to the list of runs (Series) of the key events; `all`: list of runs of all events;
    `sweep`: latencies by working-set size (DataFrame as of :func:`cmlib.experiments.micro.recordings.stored_sweep`;
    empty if simulated); `meta`: metadata (dict) of one run; `indistinguishable`: runs whose forms a simulation can't
    distinguish.
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
        """Where the counts come from."""
        if self.simulated:
            kind = SIMULATED
        else:
            kind = SYNTHETIC if "fake" in (self.meta["machine"]["perf"] or "") else OWN_HARDWARE
        runs = [*self.all, *(run for of_kind in self.key.values() for run in of_kind)]
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
        """Length of a slice: in seconds, or for simulated runs in intervals of equally many basic blocks."""
        return 1 if self.simulated else SLICE_S

    @property
    def per(self) -> str:
        """Unit by which counts are divided (str)."""
        return "1,000 estimated cycles" if self.simulated else "cycle"

    @property
    def tree(self):
        """Unfitted C45Classifier; of simulated counts, without noise, its thresholds are half-way between classes."""
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
        """Number (int) of events that can be counted at once beside the pinned ones, which are always counted.

        Of a simulation it is the number of modelled rates (misses and mispredictions).
        """
        if self.simulated:
            return len(MODELLED_RATES)
        return self.meta["counters"]["good"] - len(self.meta["pinned"])


def load(
    folder: str | Path | None = None, *, kinds: Collection[str] = KINDS, with_all: bool = True
) -> Fingerprints:
    """Fingerprints of the measured recordings.

    `folder` holds them among others (path; by default that of all recordings); `kinds` are those of programs to read.
    With `with_all` the runs of all events are read, too, which take longer. A NothingRecordedError if there are none.
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
    """Fingerprints of the simulated recordings, whose key events are the modelled ones (misses and mispredictions).

    `folder` holds them among others (path; by default that of all recordings); `kinds` are those of programs to
    read. Programs whose forms a simulation can't distinguish are left out of those for training (kind "micro"). A
    NothingRecordedError if there are none.
    """
    folder = Path(folder or places.recordings_dir()) / recordings.SIMULATED_FOLDER
    read = recordings.read_simulated_series
    series = {kind: list(map(_one_healthy, read(folder, kind))) for kind in kinds}
    if not series["micro"]:
        raise NothingRecordedError(f"nothing simulated yet: run `{recordings.SIMULATE_COMMAND}`")
    apart = _distinguishable([*series["micro"], *series.get("unseen", [])])
    everything = [run for run in series["micro"] if program_of(run) in apart]
    key = {kind: list(map(_modelled, series[kind])) for kind in kinds}
    alike = tuple(run for kind in kinds if kind != "own" for run in key[kind] if program_of(run) not in apart)
    key["micro"] = list(map(_modelled, everything))
    meta = next(iter(readable_runs(folder / everything[0].program).values()))
    recorded = Fingerprints(dict.fromkeys(KINDS, []) | key, everything, pd.DataFrame(), meta, alike)
    note_read(recorded.provenance)
    return recorded


def key_event_curve(
    X: pd.DataFrame, about: pd.DataFrame, sizes: Iterable[int], tree: ClassifierMixin, *, seed: int = 0
) -> pd.DataFrame:
    """Accuracy of a decision tree on several numbers of key events.

    `X` (DataFrame of rates, a row per slice) and `about` (its labels) are the slices, `sizes` the numbers of events
    (int), `tree` an unfitted classifier, `seed` that of the folds. Returns two things: the order in which events
    were eliminated, as of :func:`cmlib.fingerprint.key_events.eliminate`; and a dict from kind of folds ("10-fold",
    "whole cases left out") to a DataFrame, a row for each number of events, with accuracy [%] and more, as of
    :func:`cmlib.experiments.micro.validation.accuracy_curve`.
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
        Of the folds.

    Returns
    -------
    DataFrame
        A row for each kind of program and of folds: benchmarks, folds, accuracy [%], correct and incorrect [slices].
    """
    named = {f"{kind[0].upper()}{kind[1:]} programs": sliced for kind, sliced in others.items()}
    parts = {
        name: validation.validate(tree, X, about["label"], runs=run_of(X), seed=seed)
        for name, (X, about) in ({"Micro-benchmarks": micro} | named).items()
    }
    micro_table = parts["Micro-benchmarks"]
    X, about = everything
    X, n = X.loc[:, X.nunique() > 1], micro[0].shape[1]
    folds, sizes = validation.leave_each_out(about["size"]), [min(n, X.shape[1])]
    by_size = validation.nested_accuracy_curve(X, about["label"], sizes, tree, folds)
    wrong, n_slices = (int(by_size[name].iloc[0]) for name in ("n_wrong", "n_slices"))
    micro_table.loc["by size"] = [by_size["accuracy"].iloc[0], n_slices - wrong, wrong]
    right = predict_left_out(*micro, tree) == micro[1]["label"].to_numpy()
    micro_table.loc["by program"] = [100 * right.mean(), right.sum(), (~right).sum()]
    table = pd.concat(parts, names=["benchmarks", "folds"]).reset_index()
    return table.astype({"correct": int, "incorrect": int})


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
    """Fit an UnknownRejector to slices, with programs as groups, and return it.

    `X` is the DataFrame of the slices' rates, `about` that of their labels; `tree` is an unfitted classifier;
    `settings` are parameters of UnknownRejector. A ValueError if all slices are of one program.
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
        One row per program: program, pathology, trained (yes or no), case and cause (those for which the shares of
        the two forms differ most, if possible among those that distinguish the forms), P and N (these shares [% of the
        estimated cycles]), and apart (yes if the simulation distinguishes the forms, else no).
    """
    runs = {run.program: run for run in [*recorded.all, *recorded.indistinguishable, *recorded.key["unseen"]]}
    totals = pd.DataFrame({name: run.counts.sum() for name, run in runs.items()}).T
    charged = added_shares(totals, simulated_events()["weight"])
    alike = {program_of(run) for run in recorded.indistinguishable}
    rows = []
    for program in micro_benchmarks():
        pathological = charged[charged.index.str.match(rf"[a-z]+-{program.name}-P")]
        if pathological.empty:
            continue
        healthy = charged.loc[pathological.index.str.replace("-P", "-N", n=1)]
        difference = pathological - healthy.to_numpy()
        are_apart = _differ(pathological, healthy.to_numpy())
        case, cause = difference.where(are_apart | ~are_apart.any(axis=None)).stack().idxmax()
        is_apart = program.name not in alike
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
    """Return the first recording with a name, or with that name after its first hyphen.

    "gcc" finds the recordings "gcc" and "own-gcc". Returns None if there is none.
    """
    return next((known for known in recordings if name in (known, known.partition("-")[2])), None)


def run_of(X: pd.DataFrame) -> pd.Index:
    """Name of the run of each slice (row of X): an Index of "program/pass"."""
    return X.index.get_level_values("program") + "/" + X.index.get_level_values("pass").astype(str)


def program_of(run: pd.DataFrame | Series) -> pd.Index | str:
    """Name (str) of the micro-benchmark of a run, without form and size.

    `run` is a Series of :mod:`cmlib.experiments.micro.recordings`; or X, the DataFrame of many slices, for which an
    Index of a name for each row is returned.
    """
    if isinstance(run, pd.DataFrame):
        return run.index.get_level_values("program").str.split("-").str[1]
    return run.program.split("-")[1]


def train_for_one_run():
    """Fit a C45Classifier for a single simulated run, and return it.

    Such a run has counts of the first and the last cache level only. A NothingRecordedError if no micro-benchmark
    is simulated.
    """
    series = load_simulated(kinds=("micro",)).all
    rates = [rates_of_one_run(run.counts.iloc[:-1]) for run in series]
    labels = [_OF_ONE_RUN.get(run.about["label"], run.about["label"]) for run in series]
    return C45Classifier(midpoints=True).fit(pd.concat(rates), np.repeat(labels, list(map(len, rates))))


def _one_healthy(run):
    """A run with the class HEALTHY instead of that of any healthy form."""
    healthy = run.about["label"].startswith("N_")
    return replace(run, about=run.about | {"label": HEALTHY}) if healthy else run


def _distinguishable(series):
    """Set of the programs of which a simulation distinguishes the pathological from the healthy form, in some case."""
    totals = pd.DataFrame({run.program: run.counts.sum() for run in series}).T
    charged = added_shares(totals, simulated_events()["weight"])
    pathological = charged[charged.index.str.contains("-P")]
    healthy = charged.reindex(pathological.index.str.replace("-P", "-N", n=1)).to_numpy()
    apart = _differ(pathological, healthy).any(axis=1)
    return set(pathological.index[apart].str.split("-").str[1])


def _differ(pathological, healthy):
    """Return where a share (0-1) of the pathological form distinguishes it from the healthy one (DataFrame of bool)."""
    return pathological >= np.maximum(NAMED_FROM, _APART_FROM * healthy)


def _modelled(run):
    """A run with rates of modelled events alone."""
    return replace(run, events=tuple(MODELLED_RATES))
