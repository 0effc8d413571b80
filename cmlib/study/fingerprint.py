"""What notebook 05 asks of the micro-benchmarks' recordings."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedGroupKFold

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.fingerprint import C45Classifier
from cmlib.fingerprint.diagnosis import label_shares, score_programs
from cmlib.fingerprint.key_events import accuracy_curve, eliminate, nested_accuracy_curve
from cmlib.fingerprint.unknown import UnknownRejector
from cmlib.fingerprint.validate import leave_each_out, validate
from cmlib.workloads.micro import micro_benchmarks, plateaus
from cmlib.workloads.micro import selection as recorded

SLICE_S = 0.4
KINDS = ("micro", "unseen", "CPU", "parallel", "own")
_NAMES = {"micro": "Micro-benchmarks", "CPU": "CPU programs", "parallel": "Parallel programs"}


@dataclass(frozen=True)
class Fingerprints:
    """All recordings that fingerprints are made from.

    Attributes
    ----------
    key : dict of str to list of Series
        Runs that counted the key events, by kind: "micro", "unseen", "CPU", "parallel", "own"
        (kept by `cmlib diagnose --keep`).
    all : list of Series
        Runs of the micro-benchmarks that counted all events.
    sweep : DataFrame
        Latency by working-set size.
    meta : dict
        Metadata of one run of the key events: machine, counters, interval, note.
    """

    key: dict
    all: list
    sweep: pd.DataFrame
    meta: dict

    # How a rate, a slice and the paper's comparison are told; simulated recordings have others.
    simulated = False
    tree = C45Classifier()
    per = "cycle"
    unit = "s"
    note = left_out = ""
    lengths = (0.2, 0.4, 0.8, 1.6, 3.2)

    def slice_length(self, slice_s):
        """Length of a slice in :attr:`unit`, where the notebook's parameter says `slice_s` seconds."""
        return slice_s

    @property
    def caveat(self):
        """What captions add where a stand-in of perf made these recordings; else empty."""
        made_up = "fake" in (self.meta["machine"]["perf"] or "")
        return " **Synthetic data:** these counts were made up, not measured." if made_up else ""

    @property
    def programs(self):
        """Names of the recordings of programs, other than the small ones that the tree is trained and tested on."""
        return [one.program for kind in ("CPU", "parallel", "own") for one in self.key[kind]]

    @property
    def unmultiplexed(self):
        """Events that can be counted at once, beside the pinned ones."""
        return self.meta["counters"]["good"] - len(self.meta["pinned"])


def load(folder=None, *, kinds=KINDS, with_all=True):
    """Read the recordings of the micro-benchmarks and of what was recorded with them.

    Parameters
    ----------
    folder : path-like, optional
        Of all recordings; `data/recordings` by default.
    kinds : sequence of str
    with_all : bool, default True
        Whether the runs that counted all events are read as well.

    Returns
    -------
    Fingerprints

    Raises
    ------
    NothingRecordedError
        If there are none.
    """
    folder = Path(folder or places.recordings_dir()) / recorded.FOLDER
    meta = recorded.key_metadata(folder)
    if meta is None:
        raise NothingRecordedError(f"nothing recorded yet: run `{recorded.COMMAND}`")
    key = {kind: recorded.read_series(folder, recorded.KEY, kind) for kind in kinds}
    everything = recorded.read_series(folder, recorded.ALL) if with_all else []
    return Fingerprints(key, everything, recorded.kept_sweep(folder), meta)


def slices(series, slice_s=SLICE_S):
    """Cut runs into slices: see :func:`cmlib.workloads.micro.selection.cut`."""
    return recorded.cut(series, slice_s=slice_s)


def table_1(about):
    """The micro-benchmarks, with the sizes and slices recorded of each.

    Parameters
    ----------
    about : DataFrame
        From `slices`.

    Returns
    -------
    DataFrame
        A row a program: its name in the paper's Table 1 (``in the paper``) and here (``program``), the pathology,
        the working sets [KiB], and the slices of the pathological (``P``) and the healthy form (``N``).
    """
    names = about.index.get_level_values("program").str.split("-")
    frame = about.assign(program=names.str[1], form=names.str[2])
    rows = []
    for program in micro_benchmarks():
        own = frame[frame["program"] == program.name]
        if program.trained and len(own):
            sizes = [f"{size / 1024:.0f}" for size in sorted(own["size"].dropna().unique())]
            rows.append(
                {
                    "in the paper": program.table_1,
                    "program": program.name,
                    "pathology": program.pathology,
                    "working sets [KiB]": " ".join(sizes) or "–",
                    **{form: int((own["form"] == form).sum()) for form in "PN"},
                }
            )
    return pd.DataFrame(rows)


def levels(sweep):
    """Levels of the memory in a sweep, from :func:`cmlib.workloads.micro.plateaus`."""
    return plateaus(sweep)


def chosen_sizes(about):
    """Working sets that were recorded, by level [bytes]."""
    sized = about.dropna(subset="size")
    level = sized["label"].str.rsplit("_", n=1).str[-1]
    return {name: sorted(group.unique()) for name, group in sized["size"].groupby(level)}


def key_event_curve(X, about, sizes, tree=Fingerprints.tree, *, seed=0):
    """Accuracy of the tree on ever fewer key events, by two kinds of folds.

    Parameters
    ----------
    X, about : DataFrame
        Slices of all events.
    sizes : sequence of int
        Numbers of events; those above what there is are taken as all.
    tree : C45Classifier
        Not fitted.
    seed : int, default 0
        Of the folds by case.

    Returns
    -------
    elimination : DataFrame
        From :func:`cmlib.fingerprint.key_events.eliminate`.
    curves : dict of str to DataFrame
        ``10-fold`` as the paper's, with events chosen once from all slices; and ``whole programs left out``:
        a form of a program at a size is in one fold, and events are chosen in each fold without it.
    """
    X, label = X.loc[:, X.nunique() > 1], about["label"]
    elimination = eliminate(X, label)
    sizes = sorted({min(size, X.shape[1]) for size in sizes}, reverse=True)
    cases = X.index.get_level_values("program")
    by_case = StratifiedGroupKFold(10, shuffle=True, random_state=seed).split(X, label, cases)
    curve = accuracy_curve(X, label, elimination, sizes, tree)
    whole = nested_accuracy_curve(X, label, sizes, tree, by_case)
    return elimination, {"10-fold": curve, "whole programs left out": whole}


def table_2(X, about, kind, tree=Fingerprints.tree, *, seed=0):
    """Cross-validation of a tree of one kind of programs, as Table 2 has it and by whole runs.

    Parameters
    ----------
    X, about : DataFrame
        From `slices`, of the key events; micro-benchmarks are classified by class, others by program.
    kind : {"micro", "CPU", "parallel"}
    tree : C45Classifier
        Not fitted.
    seed : int

    Returns
    -------
    DataFrame
        ``benchmarks``, ``folds`` and what :func:`cmlib.fingerprint.validate.validate` gives.
    """
    scores = validate(tree, X, about["label"], runs=run_of(X), seed=seed).reset_index()
    scores.insert(0, "benchmarks", _NAMES[kind])
    return scores


def table_2_by_size(X, about, n, tree=Fingerprints.tree):
    """A row of Table 2 for working sets that neither the tree nor the choice of its events has seen.

    Parameters
    ----------
    X, about : DataFrame
        From `slices`, of all events: recordings of the key events hold what was chosen from all sizes.
    n : int
        Events, instructions among them, chosen in each fold from the slices of the other sizes.
    tree : C45Classifier
        Not fitted.

    Returns
    -------
    DataFrame
        One row, as of :func:`table_2`: ``by size``.
    """
    X = X.loc[:, X.nunique() > 1]
    folds = leave_each_out(about["size"])
    scores = nested_accuracy_curve(X, about["label"], [min(n, X.shape[1])], tree, folds).iloc[0]
    row = {"benchmarks": _NAMES["micro"], "folds": "by size", "accuracy": scores["accuracy"]}
    right = scores["n_slices"] - scores["n_wrong"]
    return pd.DataFrame([row | {"correct": int(right), "incorrect": int(scores["n_wrong"])}])


def train(X, about, tree=Fingerprints.tree, *, quantile=0.99, margin=1.0):
    """Train the tree, and learn how far from each other programs of the same classes lie.

    Parameters
    ----------
    X, about : DataFrame
        Slices of the micro-benchmarks.
    tree : C45Classifier
        Not fitted.
    quantile, margin
        As for :class:`cmlib.fingerprint.unknown.UnknownRejector`, with programs as its groups.

    Returns
    -------
    UnknownRejector
    """
    model = UnknownRejector(tree, quantile=quantile, margin=margin)
    return model.fit(X, about["label"], groups=X.index.get_level_values("program").str.split("-").str[1])


def score(model, X, about):
    """How slices of programs of known behaviour were labelled.

    Returns
    -------
    labels : ndarray of str
    scores : DataFrame
        From :func:`cmlib.fingerprint.diagnosis.score_programs`.
    """
    labels = model.predict(X[model.feature_names_in_])
    return labels, score_programs(labels, about["label"], X.index.get_level_values("program"))


def shares_by_program(labels, X, about):
    """How the slices of programs of known behaviour were labelled, each program named with its class.

    Returns
    -------
    DataFrame
        Index such as ``filter P (P_CPU)``; a column a label [percent].
    """
    names = X.index.get_level_values("program").str.split("-").str[1:3].str.join(" ")
    return label_shares(labels, names + " (" + about["label"].to_numpy() + ")")


def slice_lengths(series, lengths, tree=Fingerprints.tree, *, seed=0):
    """Accuracy of the tree against the length of a slice.

    Parameters
    ----------
    series : list of Series
        The micro-benchmarks' runs of the key events.
    lengths : sequence of float
        [s, or intervals of simulated runs]; those of which a run holds no two are left out.
    tree : C45Classifier
        Not fitted.

    Returns
    -------
    dict of str to DataFrame
        Kind of folds to ``slice_s``, ``accuracy`` and ``n_slices``.
    """
    shortest = min(one.counts.notna().any(axis=1).sum() for one in series)
    interval = float(np.median(np.diff(series[0].counts.index)))
    rows = []
    for length in lengths:
        if round(length / interval) < 1 or shortest < 3 * length / interval:
            continue
        X, about = slices(series, length)
        scores = validate(tree, X, about["label"], runs=run_of(X), seed=seed).reset_index()
        rows.append(scores.assign(slice_s=length, n_slices=len(X)))
    return {str(folds): frame for folds, frame in pd.concat(rows).groupby("folds")}


def run_of(X):
    """The run of each slice: program and pass."""
    return X.index.get_level_values("program") + "/" + X.index.get_level_values("pass").astype(str)
