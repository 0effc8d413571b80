"""Recordings that fingerprints are made from, measured or simulated, and what notebooks 05 and 05a ask of them."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedGroupKFold

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.experiments import micro_recordings
from cmlib.fingerprint import key_events, validation
from cmlib.fingerprint.c45 import C45Classifier
from cmlib.fingerprint.phases import NAMED_FROM, added_shares
from cmlib.fingerprint.slices import EXACT_RATES, MODELLED_RATES, simulated_counts
from cmlib.fingerprint.unknown import UnknownRejector
from cmlib.io.archive.programs import readable_runs
from cmlib.io.archive.runs import VALGRIND, source_of
from cmlib.io.events import simulated_events
from cmlib.io.programs import micro_benchmarks

SLICE_S = 0.4
KINDS = ("micro", "unseen", "CPU", "parallel", "own")
HEALTHY = "N"  # the class of all simulated healthy forms: what lies in order is prefetched, wherever it lies
# The forms of a program are told apart if something is charged so many times as large a share of the pathological
# form's estimated cycles as of the other one's, and as much of them as names a phase.
_APART_FROM = 2.0
# A single run tells of the levels behind the first only whether it is the last.
_OF_ONE_RUN = dict.fromkeys(("P_Mem_L2", "P_Mem_L3"), "P_Mem_L2/L3")


@dataclass(frozen=True)
class Fingerprints:
    """Runs of key events by kind of program, runs of all events, the latency sweep, and the metadata of one run;
    how rates, slices and captions are worded follows from its source."""

    key: dict
    all: list
    sweep: pd.DataFrame
    meta: dict
    indistinguishable: tuple = ()

    @property
    def simulated(self):
        return source_of(self.meta) == VALGRIND

    @property
    def tree(self):
        """C4.5; simulated counts of loops have no noise, so that a threshold must lie half-way between classes."""
        return C45Classifier(midpoints=self.simulated)

    @property
    def caveat(self):
        """What captions add of simulated counts, and of those that a stand-in of perf made up."""
        if self.simulated:
            version = self.meta["simulator"]["version"]
            return f" **Simulated** by Valgrind's Callgrind {version}, not measured."
        made_up = "fake" in (self.meta["machine"]["perf"] or "")
        return " **Synthetic data:** these counts were made up, not measured." if made_up else ""

    @property
    def unmultiplexed(self):
        """Events that can be counted at once beside the pinned ones; of a simulation, those the tree is trained on."""
        if self.simulated:
            return len(MODELLED_RATES)
        return self.meta["counters"]["good"] - len(self.meta["pinned"])


def load(folder=None, *, kinds=KINDS, with_all=True):
    """Read the measured recordings of the micro-benchmarks and of what was recorded with them."""
    folder = Path(folder or places.recordings_dir()) / micro_recordings.FOLDER
    meta = micro_recordings.key_metadata(folder)
    if meta is None:
        raise NothingRecordedError(f"nothing recorded yet: run `{micro_recordings.COMMAND}`")
    key = {kind: micro_recordings.read_series(folder, micro_recordings.KEY, kind) for kind in kinds}
    everything = micro_recordings.read_series(folder, micro_recordings.ALL) if with_all else []
    return Fingerprints(key, everything, micro_recordings.stored_sweep(folder), meta)


def load_simulated(folder=None, *, kinds=("micro", "unseen", "own")):
    """Read the simulated recordings; the key events are the modelled ones, and the tree is not trained on programs
    whose forms a simulation does not tell apart."""
    folder = Path(folder or places.recordings_dir()) / micro_recordings.SIMULATED_FOLDER
    read = micro_recordings.read_simulated_series
    series = {kind: list(map(_one_healthy, read(folder, kind))) for kind in kinds}
    if not series["micro"]:
        raise NothingRecordedError(f"nothing simulated yet: run `{micro_recordings.SIMULATE_COMMAND}`")
    apart = _distinguishable([*series["micro"], *series.get("unseen", [])])
    everything = [run for run in series["micro"] if program_of(run) in apart]
    key = {kind: list(map(_modelled, series[kind])) for kind in kinds}
    alike = tuple(run for kind in kinds if kind != "own" for run in key[kind] if program_of(run) not in apart)
    key["micro"] = list(map(_modelled, everything))
    meta = next(iter(readable_runs(folder / everything[0].program).values()))
    return Fingerprints(dict.fromkeys(KINDS, []) | key, everything, pd.DataFrame(), meta, alike)


def table_1(about):
    """The micro-benchmarks, with the sizes and slices recorded of each."""
    names = about.index.get_level_values("program").str.split("-")
    frame = about.assign(program=names.str[1], form=names.str[2])
    rows = []
    for program in micro_benchmarks():
        cases = frame[frame["program"] == program.name]
        if program.trained and len(cases):
            sizes = [f"{size / 1024:.0f}" for size in sorted(cases["size"].dropna().unique())]
            rows.append(
                {
                    "in the paper": program.table_1,
                    "program": program.name,
                    "pathology": program.pathology,
                    "working sets [KiB]": " ".join(sizes) or "–",
                    **{form: int((cases["form"] == form).sum()) for form in "PN"},
                }
            )
    return pd.DataFrame(rows)


def key_event_curve(X, about, sizes, tree, *, seed=0):
    """Accuracy of the tree on ever fewer key events, by two kinds of folds."""
    X, label = X.loc[:, X.nunique() > 1], about["label"]
    elimination = key_events.eliminate(X, label)
    sizes = sorted({min(size, X.shape[1]) for size in sizes}, reverse=True)
    cases = X.index.get_level_values("program")
    by_case = StratifiedGroupKFold(10, shuffle=True, random_state=seed).split(X, label, cases)
    curve = validation.accuracy_curve(X, label, elimination, sizes, tree)
    whole = validation.nested_accuracy_curve(X, label, sizes, tree, by_case)
    return elimination, {"10-fold": curve, "whole programs left out": whole}


def table_2(micro, everything, others, tree, *, seed=0):
    """Cross-validation by random folds as in Table 2, by whole runs, and by working sets that neither the tree nor
    the choice of its events has seen."""
    named = {f"{kind[0].upper()}{kind[1:]} programs": sliced for kind, sliced in others.items()}
    parts = {
        name: validation.validate(tree, X, about["label"], runs=run_of(X), seed=seed)
        for name, (X, about) in ({"Micro-benchmarks": micro} | named).items()
    }
    X, about = everything
    X, n = X.loc[:, X.nunique() > 1], micro[0].shape[1]
    folds, sizes = validation.leave_each_out(about["size"]), [min(n, X.shape[1])]
    by_size = validation.nested_accuracy_curve(X, about["label"], sizes, tree, folds)
    wrong, n_slices = (int(by_size[name].iloc[0]) for name in ("n_wrong", "n_slices"))
    parts["Micro-benchmarks"].loc["by size"] = [by_size["accuracy"].iloc[0], n_slices - wrong, wrong]
    table = pd.concat(parts, names=["benchmarks", "folds"]).reset_index()
    return table.astype({"correct": int, "incorrect": int})


def train(X, about, tree, **settings):
    """The tree, which calls unknown what lies farther off than programs of one class are from each other."""
    return UnknownRejector(tree, **settings).fit(X, about["label"], groups=program_of(X))


def outcomes_by_program(labels, X, about):
    """Shares of slices [%] with each outcome, a row a program of known behaviour: pathological ones first."""
    expected, labels = about["label"].to_numpy(), np.asarray(labels)
    healthy = pd.Series(expected).str.startswith(HEALTHY).to_numpy()
    outcome = np.select(
        [labels == expected, labels == "unknown", healthy, np.char.startswith(labels.astype(str), HEALTHY)],
        ["right class", "unknown", "false alarm: P", "missed: N"],
        "another P class",
    )
    names = X.index.get_level_values("program").str.split("-").str[1:3].str.join(" ")
    programs = pd.Series(names + " (" + expected + ")")
    wrong = pd.Series(labels)[labels != expected].groupby(programs).agg(lambda of: of.mode()[0])
    programs += programs.map(": " + wrong).fillna("")
    counted = 100 * pd.crosstab(programs, outcome, normalize="index")
    order = pd.DataFrame({"healthy": healthy}).groupby(programs).first().join(counted.get("right class", 0.0))
    order = order.sort_values([*order], kind="stable")
    return counted.loc[order.index].rename_axis(index="program", columns="outcome")


def run_of(X):
    """The run of each slice: program and pass."""
    return X.index.get_level_values("program") + "/" + X.index.get_level_values("pass").astype(str)


def program_of(run):
    """The program of a recording, or of each slice."""
    if isinstance(run, pd.DataFrame):
        return run.index.get_level_values("program").str.split("-").str[1]
    return run.program.split("-")[1]


def train_for_one_run():
    """A tree for a single simulated run, which knows the first and the last level only."""
    series = load_simulated(kinds=("micro",)).all
    rates = [rates_of_one_run(run.counts.iloc[:-1]) for run in series]
    labels = [_OF_ONE_RUN.get(run.about["label"], run.about["label"]) for run in series]
    return C45Classifier(midpoints=True).fit(pd.concat(rates), np.repeat(labels, list(map(len, rates))))


def rates_of_one_run(counts):
    """Modelled events per 1,000 estimated cycles of each row of a simulation of two levels."""
    events = simulated_events()
    counts = simulated_counts(counts[events.index], events["weight"])
    return counts.drop(columns=["instructions", "cycles", *EXACT_RATES]).div(counts["cycles"], axis=0)


def _one_healthy(run):
    healthy = run.about["label"].startswith("N_")
    return replace(run, about=run.about | {"label": HEALTHY}) if healthy else run


def _distinguishable(series):
    """The programs of which some case's pathological form misses or mispredicts well above the other form."""
    totals = pd.DataFrame({run.program: run.counts.sum() for run in series}).T
    charged = added_shares(totals, simulated_events()["weight"])
    pathological = charged[charged.index.str.contains("-P")]
    healthy = charged.reindex(pathological.index.str.replace("-P", "-N", n=1)).to_numpy()
    apart = (pathological >= np.maximum(NAMED_FROM, _APART_FROM * healthy)).any(axis=1)
    return set(pathological.index[apart].str.split("-").str[1])


def _modelled(run):
    return replace(run, events=tuple(MODELLED_RATES))
