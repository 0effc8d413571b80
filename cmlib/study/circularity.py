"""Whether cleaning makes events follow IPC more than they do; joint cleaning predicts them from cycles, too."""

import pandas as pd

from cmlib import fuse, store
from cmlib.study.data import cleaned_runs

_METHODS = ("interpolate", "counterminer", "joint")


def correlations_with_ipc(url, program, methods=_METHODS, *, workers=None):
    """Rank correlation of events with IPC, multiplexed and cleaned, against the same events counted all the time.

    Parameters
    ----------
    url : str
    program : str
    methods : sequence of str
        Of :func:`cmlib.clean.clean_run`; those that leave no gaps.
    workers : cmlib.fanout.Workers, optional
        By default a process a processor.

    Returns
    -------
    DataFrame
        A row a method: ``program``, ``method``, ``events``, the mean correlation without its sign when
        ``counted`` all the time and when ``multiplexed``, and ``distance``, the mean of their
        difference without sign. Empty if the program was not multiplexed beside its
        unmultiplexed runs. Spearman's, of events per cycle, runs aligned by progress.
    """
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
    X, ipc = fuse.align_runs(list(runs["counts"]))
    varying = X.loc[:, X.nunique() > 1]
    return varying.corrwith(ipc, method="spearman")
