"""How many autoencoders a program of many functions takes (AutoPerf, §3.4, §5.4, Fig. 6-9)."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.clusters import cluster_functions
from cmlib.anomaly.detector import AutoPerf
from cmlib.anomaly.samples import PLACE
from cmlib.parallel import parallel_map

EACH = "each"


@dataclass(frozen=True)
class Together:
    """Recordings of several programs as those of one program with as many functions."""

    functions: tuple
    training: list
    good: list
    bad: dict


def put_together(chosen):
    """Make one program of several, which have `training`, `good` and `bad` runs: run i of each gives run i of it."""
    training = _joined([[_named(run, name) for run in s.training] for name, s in chosen.items()])
    good = _joined([[_named(run, name) for run in s.good] for name, s in chosen.items()])
    bad = {}
    for name in chosen:
        parts = [
            [_named(run, other) for run in (s.bad if other == name else s.good)]
            for other, s in chosen.items()
        ]
        bad[name] = _joined(parts)
    return Together(tuple(chosen), training, good, bad)


def score_clusters(together, k_max, *, seed=0, workers=None):
    """Judge a program of many functions with 1, 2, … clusters of them, and with an autoencoder for each."""
    clusters = {EACH: {name: number for number, name in enumerate(together.functions)}}
    samples = pd.concat(together.training, ignore_index=True)
    values, functions = samples.drop(columns=list(PLACE)).to_numpy(), samples["function"].to_numpy()
    for k in range(1, min(k_max, len(together.functions)) + 1):
        clusters[k] = cluster_functions(values, functions, k, random_state=seed)
    groups = list(dict.fromkeys(group for of in clusters.values() for group in _groups(of)))
    judge = partial(_judge, together=together, seed=seed)
    judged = dict(zip(groups, parallel_map(judge, groups, workers), strict=True))
    return {
        k: {"k": k, **_scored(of, [judged[group] for group in _groups(of)])} for k, of in clusters.items()
    }


def samples_in_plane(together):
    """Mean training sample of each function on the two principal axes of the samples (Fig. 7 a)."""
    samples = pd.concat(together.training, ignore_index=True)
    values = samples.drop(columns=list(PLACE))
    low, high = values.min(), values.max()
    scaled = (values - low) / (high - low).where(high > low, 1)
    centred = scaled - scaled.mean()
    axes = np.linalg.svd(centred.to_numpy(), full_matrices=False)[2][:2]
    return pd.DataFrame(centred.to_numpy() @ axes.T, columns=["x", "y"]).groupby(samples["function"]).mean()


@dataclass(frozen=True)
class _Group:
    """What the autoencoder of some functions finds."""

    n_samples: int
    false_positive_rate: float
    good: pd.DataFrame
    bad: pd.DataFrame


def _groups(clusters):
    """Functions of each cluster."""
    numbers = range(max(clusters.values()) + 1)
    return [tuple(name for name, own in clusters.items() if own == number) for number in numbers]


def _judge(functions, together, seed):
    """Learn some functions of the program with one autoencoder, and judge each by itself."""
    learned, good = (_only(runs, functions) for runs in (together.training, together.good))
    bad = _joined([_only(together.bad[name], [name]) for name in functions])
    width = max(1, len(learned[0].columns.drop(list(PLACE))) // 2)
    autoencoder = Autoencoder(topologies=[(width,)], n_starts=1)
    detector = AutoPerf(autoencoder=autoencoder, max_clusters=1, random_state=seed).fit(learned)
    return _Group(
        sum(map(len, learned)),
        detector.history_["false_positive_rate"].iloc[0],
        *(_judged(detector, runs, len(together.functions)) for runs in (good, bad)),
    )


def _judged(detector, runs, n_functions):
    """Row by row; the false-alarm probability is shared among all functions of the program."""
    p_values = detector.p_values_of(runs)
    alone = {
        "calibrated": p_values["p_value"] * n_functions <= detector.alpha,
        "any": p_values["exceeding"] > 0,
    }
    return p_values[["run", "function"]].assign(**alone)


def _scored(clusters, groups):
    """Put together what the groups of functions find: a run is anomalous if a function makes it so."""
    good, bad = (pd.concat([getattr(group, kind) for group in groups]) for kind in ("good", "bad"))
    rates, sizes = zip(*((group.false_positive_rate, group.n_samples) for group in groups), strict=True)
    scored = {
        "autoencoders": len(groups),
        "clusters": clusters,
        "false_positive_rate": float(np.average(rates, weights=sizes)),
    }
    for rule, suffix in (("calibrated", ""), ("any", "_any")):
        alarms = good.groupby("run")[rule].any()
        hits = {}
        for name, own in bad.groupby("function", sort=False):
            with_others = pd.concat([own, good[good["function"] != name]])
            hits[name] = with_others.groupby("run")[rule].any()[own["run"]]
        scored[f"run_false_positive_rate{suffix}"] = float(alarms.mean())
        scored[f"f1{suffix}"] = _f1(pd.concat(hits), alarms)
        scored[f"f1_by_function{suffix}"] = {name: _f1(own, alarms) for name, own in hits.items()}
    return scored


def _only(runs, functions):
    return [run[run["function"].isin(functions)] for run in runs]


def _named(run, name):
    return run.assign(function=name)


def _joined(parts):
    return [pd.concat(pieces, ignore_index=True) for pieces in zip(*parts, strict=False)]


def _f1(hits, alarms):
    """Of bad runs and good ones that are called anomalous or not."""
    return float(2 * hits.sum() / (hits.sum() + len(hits) + alarms.sum()))
