"""Models of one program's IPC."""

import pandas as pd

from cmlib import fuse, rank
from cmlib.boosting import Boosting

# Stacked runs have thousands of rows; with the small trees that suit aligned runs they would look worse than they are.
_LARGE = Boosting(trees=200, leaves=31)


def refine(data, *, step=10, test_share=0.25, seed=0):
    """:func:`cmlib.rank.refine` of a :class:`cmlib.study.Matrix`, its second pass held out."""
    return rank.refine(data.X, data.ipc, step=step, test_share=test_share, holdout=data.holdout, seed=seed)


def compare_fusions(runs, *, test_share=0.25, seed=0):
    """Error of a model of all events on stacked and on aligned runs of the first pass.

    Parameters
    ----------
    runs : DataFrame
        Result of :func:`cleaned_runs`.

    Returns
    -------
    DataFrame
        Index: ``fusion``. Columns: rows, events, and the errors [%] of
        :class:`cmlib.rank.Refinement`.
    """
    counts = list(runs[runs["pass"] == runs["pass"].min()]["counts"])
    rows = {}
    for name, fused in (("stacked", fuse.stack_runs(counts)), ("aligned", fuse.align_runs(counts))):
        X, ipc = fused
        refined = rank.refine(X, ipc, step=X.shape[1], test_share=test_share, boosting=_LARGE, seed=seed)
        rows[name] = {"rows": len(X), "events": X.shape[1]} | dict(
            refined.history.loc[0, ["error", "blocks_error", "trivial"]]
        )
    return pd.DataFrame(rows).T.rename_axis("fusion")


def core_errors(data, *, seed=0):
    """Errors of one model of all columns, beside predictions that look at no event.

    Parameters
    ----------
    data : Matrix

    Returns
    -------
    Series
        Errors [%], those of another pass included where there is one.
    """
    refined = rank.refine(data.X, data.ipc, step=data.X.shape[1], holdout=data.holdout, seed=seed)
    model = refined.history.loc[0, ["error", "blocks_error", "holdout_error"]]
    return pd.concat([model, refined.baselines.add_prefix("without events: ")]).rename(None)
