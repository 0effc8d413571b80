"""Spectre attacks beside quiet and busy systems, through the detector of notebook 06."""

import numpy as np
import pandas as pd

from cmlib.anomaly.autoencoder import Autoencoder
from cmlib.anomaly.detector import AutoPerf
from cmlib.study.public.reading import counts_of, files_like, lengths

SET = "spectre-tables"
_LOADS = {"no_noise_raw": "quiet", "stress-c-raw": "CPU stress"}
_WINDOW = 20  # intervals of a run
_PER = "branches"


def recorded():
    """Recordings cut into runs of twenty seconds, whose samples the detector takes.

    Counts are divided by branches, as those of notebook 06 are by instructions, which were not counted here;
    interrupts by seconds.

    Returns
    -------
    dict of (str, str) to list of DataFrame
        Load and what ran, such as ``("quiet", "spectre-v1")``. Empty where the set is not here.
    """
    files = files_like(SET, r"(?P<load>[\w-]+)\.(?P<what>[\w-]+)\.txt")
    found = {(_LOADS[row.load], row.what): counts_of(row.file) for row in files.itertuples()}
    return {key: _runs(runs[0][0]) for key, runs in sorted(found.items()) if runs}


def judge(recordings, *, seed=0):
    """Train on the first half of the normal runs of each load, and judge all others of that load.

    Parameters
    ----------
    recordings : dict of (str, str) to list of DataFrame
    seed : int, default 0

    Returns
    -------
    DataFrame
        A row a recording: ``load``, ``what``, ``attack``, ``runs`` that were judged, ``anomalous``, how many of
        them were found to be so, and ``beyond``, in how many the mean of some event lies farther from that of the
        training runs than four of their standard deviations: a detector without any model.
    """
    rows = []
    for load in dict.fromkeys(load for load, _ in recordings):
        normal = recordings[load, "normal"]
        middle = len(normal) // 2
        detector = AutoPerf(autoencoder=Autoencoder(), max_clusters=1, random_state=seed)
        detector.fit(normal[:middle])
        for (other, what), runs in recordings.items():
            if other == load:
                judged = runs[middle:] if what == "normal" else runs
                found = sum(detector.predict_runs(judged))
                beyond = sum(_is_beyond(run, normal[:middle]) for run in judged)
                rows.append((load, what, "spectre" in what, len(judged), found, beyond))
    table = pd.DataFrame(rows, columns=["load", "what", "attack", "runs", "anomalous", "beyond"])
    return table.sort_values(["load", "attack", "what"], ignore_index=True)


def rates(judged):
    """Share of attacked runs that were found, and of normal ones that raised a false alarm [%]."""
    sums = judged.groupby("attack")[["runs", "anomalous"]].sum()
    share = 100 * sums["anomalous"] / sums["runs"]
    return share[True], share[False]


def _is_beyond(run, normal):
    means = pd.DataFrame([one.mean(numeric_only=True) for one in normal])
    return bool(((run.mean(numeric_only=True) - means.mean()).abs() > 4 * means.std()).any())


def _runs(counts):
    rates = counts.drop(columns=_PER).div(counts[_PER], axis=0)
    for event in (name for name in counts if "INTERRUPT" in name.upper()):
        rates[event] = counts[event] / lengths(counts)
    rates = rates.iloc[1:].replace([np.inf, -np.inf], np.nan).dropna().reset_index(drop=True)
    samples = rates.assign(function="system", location="")
    return [samples[start : start + _WINDOW] for start in range(0, len(samples) - _WINDOW + 1, _WINDOW)]
