"""Packet processing with perf on its own core or on a neighbour's: what changes in IPC and in the ranking."""

import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from cmlib import public, rank, record, store
from cmlib.rank.boosting import predict_held_out
from cmlib.study.public.reading import counts_of, files_like
from cmlib.study.public.rows import QUICK, Recorded, pooled
from cmlib.study.readings import judge_by_readings

SET = "nfv-haswell"
_SEEDS = range(3)


def recorded():
    """Recordings of all of FastClick in intervals of 1 s.

    Returns
    -------
    dict of (str, str) to Recorded
        Length of the chain of network functions and where perf ran: ``("3", "collocated")`` on the measured core,
        ``("3", "independent")`` on another. Empty where the set is not here.
    """
    files = files_like(SET, r"(?P<chain>\d)-vnf-(?P<place>\w+)-core-freq-1-all-fastclick\.txt")
    runs = {(row.chain, row.place): counts_of(row.file) for row in files.itertuples()}
    return {key: pooled([counts for counts, _ in found]) for key, found in sorted(runs.items()) if found}


def describe(recordings):
    """IPC of each recording, and how well and by which events it is explained.

    Parameters
    ----------
    recordings : dict of (str, str) to Recorded

    Returns
    -------
    DataFrame
        Index: ``chain``, ``perf's core``. Columns: ``IPC``, ``sd``; ``error`` on stretches that a model never saw and
        ``mean``, that of the mean [%]; ``first events``.
    """
    rows = {}
    for key, data in recordings.items():
        predicted = np.exp(predict_held_out(data.X, data.y, data.fold, boosting=QUICK))
        mean = [data.ipc[data.fold != held].mean() for held in data.fold]
        rows[key] = {
            "IPC": data.ipc.mean(),
            "sd": data.ipc.std(),
            "error": rank.relative_error(data.ipc, predicted),
            "mean": rank.relative_error(data.ipc, mean),
            "first events": ", ".join(_importances(data).nlargest(3).index),
        }
    return pd.DataFrame(rows).T.rename_axis(["chain", "perf's core"]).infer_objects()


def agreement(recordings):
    """How far rankings agree: of halves of one recording, with perf on another core, and with another chain.

    Parameters
    ----------
    recordings : dict of (str, str) to Recorded

    Returns
    -------
    DataFrame
        Index: what differs. Columns: ``pairs``; ``kendall``, mean rank correlation of importances.
    """
    rows = [("nothing: halves of a recording", *_halves(data)) for data in recordings.values()]
    for one, other in combinations(recordings, 2):
        differs = {(True, False): "perf's core", (False, True): "the chain"}.get(
            (one[0] == other[0], one[1] == other[1])
        )
        if differs:
            rows.append((differs, recordings[one], recordings[other]))
    taus = [(what, kendalltau(*_common(_importances(a), _importances(b))).statistic) for what, a, b in rows]
    grouped = pd.DataFrame(taus, columns=["differs", "kendall"]).groupby("differs", sort=False)["kendall"]
    return pd.DataFrame({"pairs": grouped.size(), "kendall": grouped.mean()})


def judge_cleaning(methods):
    """Clean one of two names of an event without sight of the other, and compare it with the other as printed.

    Parameters
    ----------
    methods : sequence of str
        Of :data:`cmlib.clean.METHODS`.

    Returns
    -------
    DataFrame
        A row a recording, reading and method, as of :func:`cmlib.study.readings.judge_by_readings`, with ``file``.
        Empty where the set is not here, or no pair has no time in common.
    """
    names = [name for name in public.files(SET)["file"] if public.read(name) is not None]
    with tempfile.TemporaryDirectory() as folder:
        found = [_judged(name, Path(folder) / str(number), methods) for number, name in enumerate(names)]
    found = [table for table in found if len(table)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _judged(name, folder, methods):
    folder.mkdir()
    file = folder / Path(name).name
    file.write_bytes(public.read(name))
    record.import_files("app", [file], folder=folder / "recordings")
    url = f"sqlite:///{folder}/store.sqlite"
    run_id = store.rebuild(folder / "recordings", url)["run_id"].iloc[0]
    return judge_by_readings(store.load(url, run_id), methods).assign(file=file.stem)


def _importances(data):
    return rank.draw_importances(data.X, data.y, seeds=_SEEDS, boosting=QUICK).mean()


def _common(one, other):
    common = one.index.intersection(other.index)
    return one[common], other[common]


def _halves(data):
    middle = len(data.X) // 2
    return [
        Recorded(data.X[part], data.ipc[part], data.counts[part], 1)
        for part in (slice(middle), slice(middle, None))
    ]
