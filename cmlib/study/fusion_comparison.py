"""Stacked and aligned runs compared like with like: which of the differences between them makes models better."""

import numpy as np
import pandas as pd

from cmlib import fuse, rank
from cmlib.rank.boosting import STACKED, predict_held_out

# A tree must find the run before it can look at the run's events: stacked runs want larger trees than aligned ones.
_UNITS = {"counts": "intervals", "per cycle": "cycles"}


def compare_fusions(runs, *, n_blocks=12, n_folds=4, seed=0):
    """Errors on blocks of models of stacked and of aligned runs of the first pass.

    All models have the same trees and see the same steps of progress, those of
    aligned runs the mean of all runs, those of stacked runs each run by itself.
    Both are judged twice: by the IPC of each run, and by the mean IPC of all runs,
    for which the predictions for the runs of a step are averaged. One more model of
    aligned runs has the smaller trees that are used everywhere else.

    Parameters
    ----------
    runs : DataFrame
        Result of :func:`cmlib.study.cleaned_runs`.
    n_blocks, n_folds, seed : int
        As in :func:`cmlib.rank.refine`: every run's steps are cut into blocks of
        neighbouring steps, which are held out in folds, in all runs at once.

    Returns
    -------
    DataFrame
        A row a model. Columns: ``fusion`` (stacked, aligned, or aligned with small
        trees), ``values`` (``counts`` of an interval, or ``per cycle``), ``rows`` and
        the mean relative errors [%] ``each run`` and ``mean of runs``. The fusion
        ``none`` predicts the mean of the other blocks.
    """
    first = runs[runs["pass"] == runs["pass"].min()]["counts"]
    steps = fuse.step_runs([run.assign(intervals=1.0) for run in first])
    n_runs, n_steps = len(steps), len(steps[0])
    fold = rank.blocks(steps[0].index, n_blocks) % n_folds
    rows = []
    for values, per in _UNITS.items():
        stacked, own = fuse.stack_runs(steps, per=per, leave_out=("intervals",))
        aligned, mean = fuse.align_runs(steps, n_steps, per=per, leave_out=("intervals",))
        by_run, large = own.to_numpy().reshape(n_runs, n_steps), {"boosting": STACKED, "seed": seed}
        each = predict_held_out(stacked, own, np.tile(fold, n_runs), **large).reshape(by_run.shape)
        rows.append(_judged("stacked", values, by_run, each))
        rows.append(_judged("aligned", values, by_run, predict_held_out(aligned, mean, fold, **large)))
    small = predict_held_out(aligned, mean, fold, seed=seed)
    rows.append(_judged("aligned, small trees", values, by_run, small))
    others = np.array([by_run[:, fold != held].mean() for held in fold])
    return pd.DataFrame([*rows, _judged("none", "", by_run, others)])


def gain_by_change(errors):
    """What each change from the paper's stacked runs to this package's aligned ones does to the error.

    Parameters
    ----------
    errors : DataFrame
        Results of :func:`compare_fusions`, with a column ``program``.

    Returns
    -------
    DataFrame
        Index: ``change``, from the paper's way to this package's, one after the other. Columns: the
        error with it and all changes before it [%], of each program and their ``mean``, and
        the ``share of the gain`` of that mean [%]. In another order the shares would be
        others; `errors` has what they need.
    """
    table = errors.set_index(["fusion", "values"])
    ways = {
        "stacked counts, IPC of each run": ("stacked", "counts", "each run"),
        "events per cycle": ("stacked", "per cycle", "each run"),
        "mean IPC of all runs": ("stacked", "per cycle", "mean of runs"),
        "aligned instead of stacked": ("aligned", "per cycle", "mean of runs"),
        "smaller trees": ("aligned, small trees", "per cycle", "mean of runs"),
    }
    rows = {
        change: table.loc[[(fusion, values)]].set_index("program")[judged]
        for change, (fusion, values, judged) in ways.items()
    }
    by_change = pd.DataFrame(rows).T.rename_axis("change")
    by_change["mean"] = by_change.mean(axis=1)
    gains = -by_change["mean"].diff()
    return by_change.assign(**{"share of the gain": 100 * gains / gains.sum()})


def say_fusions(errors):
    """Which way of putting runs together makes better models, in a sentence.

    Parameters
    ----------
    errors : DataFrame
        Results of :func:`compare_fusions`, with a column ``program``.

    Returns
    -------
    str
        Markdown.
    """
    alike = errors[errors["values"] == "per cycle"].set_index(["fusion", "program"])["mean of runs"]
    stacked, aligned = alike["stacked"], alike["aligned"]
    gains = gain_by_change(errors)
    averaged = gains.at["mean IPC of all runs", "share of the gain"]
    return (
        f"Judged alike (events per cycle, the mean IPC of all runs, the same trees), models of aligned runs err by "
        f"{aligned.mean():.1f} % on blocks that they never saw and models of stacked runs by "
        f"{stacked.mean():.1f} %; aligned "
        f"ones err less on {(aligned < stacked).sum()} of {len(aligned)} programs. From the paper's stacked runs "
        f"({gains['mean'].iloc[0]:.1f} %) to the aligned ones of this package "
        f"({gains['mean'].iloc[-1]:.1f} %), averaging IPC "
        f"over the runs alone makes {averaged:.0f} % of the difference."
    )


def _judged(fusion, values, by_run, predicted):
    """Errors of predictions, a row a run or one for all, by the IPC of each run and by their mean."""
    of_mean = predicted if predicted.ndim == 1 else predicted.mean(axis=0)
    return {
        "fusion": fusion,
        "values": values,
        "rows": predicted.size,
        "each run": rank.relative_error(by_run, np.broadcast_to(predicted, by_run.shape)),
        "mean of runs": rank.relative_error(by_run.mean(axis=0), of_mean),
    }
