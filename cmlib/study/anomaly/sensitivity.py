"""What comparing two versions promises: no alarm between equals, and how small a slowdown is found."""

import numpy as np
import pandas as pd

from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.compare import compare_versions
from cmlib.anomaly.detector import AutoPerf
from cmlib.study.anomaly.judging import slowdown

_MOST_OLD, _MOST_NEW = 20, 10


def same_version_alarms(judged, *, n_pairs, seed=0):
    """Compare runs of two recordings of the same version, drawn at random; of one where there is but one.

    Each of the two is the new version in every other pair: a machine that was slower while one of them was made
    would otherwise go unnoticed, or be noticed always.

    Parameters
    ----------
    judged : Judged
    n_pairs : int
    seed : int

    Returns
    -------
    list of (float, bool)
        Of each pair the p-value, and whether it was called an anomaly.
    """
    subject, rng, alarms = judged.subject, np.random.default_rng(seed), []
    good, third = [*subject.training, *subject.good], (len(subject.training) + len(subject.good)) // 3
    for number in range(n_pairs):
        old, new = _shuffled(good, rng), _shuffled(subject.again, rng)
        if not new:
            old, new = old[third:], old[:third]
        elif number % 2:
            old, new = new, old
        verdict = _compared(old[:_MOST_OLD], new[:_MOST_NEW], judged.topology, seed)
        alarms.append((verdict.p_value, bool(verdict.anomalous)))
    return alarms


def dilution(judged, *, seed=0):
    """Which share of sharing, and so which slowdown, is still found.

    Parameters
    ----------
    judged : Judged
    seed : int

    Returns
    -------
    DataFrame
        A row a share of updates at the contended place, in per cent: program, sharing, slowdown (time, as
        :func:`cmlib.study.anomaly.judging.slowdown` has it, above the control's [%]), p_value, found. Empty without
        diluted runs.
    """
    rows = []
    for sharing, (control, diluted) in judged.subject.diluted.items():
        verdict = _compared(control, diluted, judged.topology, seed)
        slower = 100 * (slowdown(control, diluted) - 1)
        rows.append(
            (judged.subject.stands_for, 100 * sharing, slower, verdict.p_value, bool(verdict.anomalous))
        )
    return pd.DataFrame(rows, columns=["program", "sharing", "slowdown", "p_value", "found"])


def _shuffled(runs, rng):
    return [runs[i] for i in rng.permutation(len(runs))]


def _compared(old, new, topology, seed):
    settings = AutoPerf(autoencoder=Autoencoder(topologies=[topology], n_starts=1), random_state=seed)
    return compare_versions(old, new, detector=settings)
