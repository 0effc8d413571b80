"""The micro-benchmarks as Valgrind simulates them, in the place of recordings or beside them."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone

from cmlib import places
from cmlib.errors import NothingRecordedError
from cmlib.events import simulated_events
from cmlib.fingerprint import C45Classifier
from cmlib.fingerprint.simulated import NAMED_FROM, added_shares
from cmlib.fingerprint.simulated_rates import EXACT_RATES, MODELLED_RATES, simulated_rates
from cmlib.record import existing_runs
from cmlib.study import fingerprint as study
from cmlib.workloads.micro import micro_benchmarks
from cmlib.workloads.micro import simulated as recorded

KINDS = ("micro", "unseen", "own")
# The rates, the tree and the prefetcher were fixed before these programs were simulated.
_SIMULATED_LAST = ("count_keys", "tree_walk", "graph_search", "varint", "median_filter")
# What lies in order is prefetched: a healthy form misses nothing that counts, wherever its data lie.
_HEALTHY = "N"
# A program is told if something is charged so many times as large a share of the pathological form's estimated cycles
# as of the other one's, and as much of them as names a phase.
_TOLD_FROM = 2.0
# A single run tells of the levels behind the first only whether it is the last.
_OF_ONE_RUN = dict.fromkeys(("P_Mem_L2", "P_Mem_L3"), "P_Mem_L2/L3")
_LOAD_MISSES = {"L1": "sim.l1d_load_misses", "L2": "sim.l2_load_misses", "LL": "sim.ll_load_misses"}


@dataclass(frozen=True)
class SimulatedFingerprints(study.Fingerprints):
    """Simulated recordings that fingerprints are made from.

    Attributes
    ----------
    untold : list of Series
        Runs of programs whose forms a simulation does not tell apart: neither misses of a level nor mispredictions
        are charged a tenth of the pathological form's estimated cycles, and twice the share of the other form's. They
        are in none of the others.
    """

    untold: list

    simulated = True
    # Simulated counts of loops have no noise: half-way between classes a threshold is far from both.
    tree = C45Classifier(midpoints=True)
    per = "1,000 estimated cycles"
    unit = "interval(s)"
    note = "simulated"
    lengths = (1, 2)

    def slice_length(self, slice_s):
        """One interval, whatever the length in seconds: a simulation has no clock."""
        return 1

    @property
    def left_out(self):
        """A sentence on the programs that a simulation does not tell."""
        names = dict.fromkeys(_program(one) for one in self.untold)
        return (
            f" Left out, as a simulation does not tell their forms apart: {', '.join(names)}."
            if names
            else ""
        )

    @property
    def caveat(self):
        """What all captions add."""
        return f" **Simulated** by Valgrind's Callgrind {self.meta['simulator']['version']}, not measured."

    @property
    def unmultiplexed(self):
        """Rates that the tree is trained on: a simulation counts all events at once."""
        return len(MODELLED_RATES)


def load(folder=None, *, kinds=KINDS):
    """Read the simulated recordings of the micro-benchmarks.

    Parameters
    ----------
    folder : path-like, optional
        Of all recordings; `data/recordings` by default.
    kinds : sequence of str
        ``micro`` among them.

    Returns
    -------
    SimulatedFingerprints
        The key events are the modelled ones: which instructions a program executes tells programs apart, and not
        what they wait for. No latency is simulated: `sweep` is empty.

    Raises
    ------
    NothingRecordedError
        If there are none.
    """
    folder = Path(folder or places.recordings_dir()) / recorded.FOLDER
    series = {kind: list(map(_merged, recorded.read_simulated_series(folder, kind))) for kind in kinds}
    if not series["micro"]:
        raise NothingRecordedError(f"nothing simulated yet: run `{recorded.COMMAND}`")
    told = _told([one for kind in kinds if kind != "own" for one in series[kind]])
    told |= {_program(one) for one in series.get("own", [])}
    key = {kind: [_key(one) for one in series[kind] if _program(one) in told] for kind in kinds}
    everything = [one for one in series["micro"] if _program(one) in told]
    untold = [_key(one) for kind in kinds for one in series[kind] if _program(one) not in told]
    meta = next(iter(existing_runs(folder / everything[0].program).values()))
    return SimulatedFingerprints(
        dict.fromkeys(study.KINDS, []) | key, everything, pd.DataFrame(), meta, untold
    )


def sources(folder=None):
    """What fingerprints can be made from here: measured recordings first, then simulated ones.

    Parameters
    ----------
    folder : path-like, optional
        Of all recordings.

    Returns
    -------
    list of Fingerprints
        One or two.

    Raises
    ------
    NothingRecordedError
        If there are neither.
    """
    found, lacking = [], []
    for source in (study.load, load):
        try:
            found.append(source(folder))
        except NothingRecordedError as error:
            lacking.append(str(error))
    if not found:
        raise NothingRecordedError("; ".join(lacking))
    return found


def untold(fingerprints):
    """The programs whose forms a simulation does not tell apart, with the modelled rates of each form.

    Parameters
    ----------
    fingerprints : SimulatedFingerprints

    Returns
    -------
    DataFrame
        A row a program and form: ``program``, ``pathology``, ``form`` and the modelled rates but that of instruction
        misses [per 1,000 estimated cycles].
    """
    pathology = {one.name: one.pathology for one in micro_benchmarks()}
    rows = []
    for one in fingerprints.untold:
        _, program, form, *_ = one.program.split("-")
        rates = simulated_rates(one.counts.sum().to_frame().T)[list(MODELLED_RATES)].iloc[0]
        about = {"program": program, "pathology": pathology[program], "form": form}
        rows.append(about | rates.drop("sim.l1i_misses").to_dict())
    return pd.DataFrame(rows)


def miss_rates(fingerprints):
    """How the working sets of the pointer chain lie in the simulated caches.

    Parameters
    ----------
    fingerprints : SimulatedFingerprints

    Returns
    -------
    DataFrame
        A row a working set and form: ``level``, ``working set [KiB]``, ``form`` (P in random order, N in order) and, of
        100 loads, those that miss the first level, the second and the last.
    """
    rows = []
    for one in fingerprints.all:
        _, program, form, *level = one.program.split("-")
        if program == "pointer":
            total = one.counts.sum()
            missed = {name: 100 * total[event] / total["sim.loads"] for name, event in _LOAD_MISSES.items()}
            about = {"level": level[0], "working set [KiB]": one.about["size"] / 1024, "form": form}
            rows.append(about | missed)
    return pd.DataFrame(rows).sort_values(["working set [KiB]", "form"], ignore_index=True)


def blind_scores(scores):
    """Scores of the programs that were not simulated before rates, tree and prefetcher were fixed.

    Parameters
    ----------
    scores : DataFrame
        From :func:`cmlib.study.fingerprint.score`.

    Returns
    -------
    dict of str to float
        What is scored, to the mean of the programs [percent].
    """
    new = scores[scores.index.str.split("-").str[1].isin(_SIMULATED_LAST)]
    healthy = new["expected"] == _HEALTHY
    return {
        "programs simulated last: pathological slices in the right class": new.loc[~healthy, "right"].mean(),
        "programs simulated last: pathological slices in some P class": new.loc[
            ~healthy, "pathological"
        ].mean(),
        "programs simulated last: healthy slices in a P class": new.loc[healthy, "pathological"].mean(),
    }


def agreement(measured, simulated, slice_s=study.SLICE_S):
    """What the tree of measured counts and the tree of simulated ones say of programs that neither was trained on.

    Parameters
    ----------
    measured, simulated : Fingerprints
    slice_s : float, default 0.4
        Of the measured ones [s].

    Returns
    -------
    DataFrame
        Index ``program``, such as ``filter P``; columns ``expected``, ``measured`` and ``simulated`` (the most
        frequent label of each), and ``agree``.
    """
    said = {}
    for name, source in {"measured": measured, "simulated": simulated}.items():
        length = source.slice_length(slice_s)
        model = study.train(*study.slices(source.key["micro"], length), source.tree)
        _, scores = study.score(model, *study.slices(source.key["unseen"], length))
        forms = scores.index.str.split("-").str
        said[name] = scores.set_axis(forms[1] + " " + forms[2] + (" " + forms[3]).fillna(""))
    both = pd.concat({name: scores["most"] for name, scores in said.items()}, axis=1, join="inner")
    both.insert(0, "expected", said["measured"]["expected"])
    agree = both["measured"].str.replace("N_.*", _HEALTHY, regex=True) == both["simulated"]
    return both.assign(agree=agree).rename_axis("program")


def train_for_one_run(folder=None):
    """A tree for a single simulated run, which knows the first and the last level only.

    Parameters
    ----------
    folder : path-like, optional
        Of all recordings.

    Returns
    -------
    C45Classifier
        Its classes have no third level: ``P_Mem_L2/L3``, ``P_Mem_M``, ``P_CPU`` and ``N``.

    Raises
    ------
    NothingRecordedError
        If the micro-benchmarks are not simulated.
    """
    series = load(folder, kinds=("micro",)).all
    rates = [rates_of_one_run(one.counts.iloc[:-1]) for one in series]
    labels = [
        [_OF_ONE_RUN.get(one.about["label"], one.about["label"])] * len(one.counts.iloc[:-1])
        for one in series
    ]
    return clone(SimulatedFingerprints.tree).fit(pd.concat(rates), np.concatenate(labels))


def rates_of_one_run(counts):
    """Rates that the tree of :func:`train_for_one_run` takes.

    Parameters
    ----------
    counts : DataFrame, shape (n, 13 or 16)
        With prefetching.

    Returns
    -------
    DataFrame, shape (n, 4)
        Per 1,000 estimated cycles.
    """
    return simulated_rates(counts[simulated_events().index]).drop(columns=[*EXACT_RATES])


def _program(one):
    return one.program.split("-")[1]


def _merged(one):
    healthy = one.about["label"].startswith("N_")
    return replace(one, about=one.about | {"label": _HEALTHY}) if healthy else one


def _told(series):
    """The programs of which some case's pathological form misses or mispredicts well above the other form."""
    charged = {one.program: added_shares(one.counts.sum()) for one in series}
    healthy = {name: name.replace("-P", "-N", 1) for name in charged if "-P" in name}
    return {
        name.split("-")[1]
        for name, other in healthy.items()
        if other in charged and (charged[name] >= np.maximum(NAMED_FROM, _TOLD_FROM * charged[other])).any()
    }


def _key(one):
    return replace(one, events=tuple(MODELLED_RATES))
