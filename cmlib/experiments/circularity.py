"""Whether cleaning makes events follow IPC more than they do: rates per cycle are smoothed by cycles, too."""

import pandas as pd

from cmlib import merge
from cmlib.experiments.data import cleaned_runs
from cmlib.io import store

_METHODS = ("interpolate", "counterminer", "kalman")


def correlations_with_ipc(url, program, methods=_METHODS, *, workers=None):
    """Rank correlation of events with IPC, multiplexed and cleaned, against the same events counted all the
    time."""
    columns = ["program", "method", "events", "counted", "multiplexed", "distance"]
    runs = store.runs(url, program=program).query("set != 'sweep'")
    sets = {mode: list(group["set"].unique()) for mode, group in runs.groupby("mode")}
    if not {"ocoe", "mlpx"} <= set(sets):
        return pd.DataFrame(columns=columns)
    truth = _correlations(cleaned_runs(url, program, sets["ocoe"], method="interpolate", workers=workers))
    rows = []
    for method in methods:
        correlations = _correlations(cleaned_runs(url, program, sets["mlpx"], method=method, workers=workers))
        both = pd.DataFrame({"truth": truth, "found": correlations}).dropna()
        distance = (both["found"] - both["truth"]).abs().mean()
        means = both.abs().mean()
        rows.append((program, method, len(both), means["truth"], means["found"], distance))
    return pd.DataFrame(rows, columns=columns)


def _correlations(runs):
    X, ipc = merge.align_runs(list(runs["counts"]))
    varying = X.loc[:, X.nunique() > 1]
    return varying.corrwith(ipc, method="spearman")
