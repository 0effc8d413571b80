"""Rank the events of a Matrix by their importance.

:func:`refine` runs event importance refinement (CounterMiner): fit a model, drop the least important events and fit
again. Its results are stored in a cache, so that several notebooks can use them.
"""

from __future__ import annotations

import pandas as pd

from cmlib import rank
from cmlib.errors import UnfitRecordingError
from cmlib.experiments.cache import cached
from cmlib.experiments.event_matrix import Matrix, describe_steady_target
from cmlib.experiments.targets import IPC
from cmlib.rank.boosting import regressor
from cmlib.rank.refinement import Refinement

_FEWEST_MODELS = 4  # a smaller number of models is avoided by dropping fewer events at a time


def refine(data: Matrix, *, step: int = 10, test_share: float = 0.2, seed: int = 0) -> Refinement:
    """Rank events by importance, and drop unimportant events.

    The ranking is stored in a cache. The best model is not stored, and is always fitted again.

    Parameters
    ----------
    data : Matrix
        Rates of the events and the target.
    step : int, default 10
        Number of events to drop before each fit. The largest possible number is a quarter of all events.
    test_share : float, default 0.2
        Share of the rows for tests (0-1).
    seed : int, default 0
        Seed of the models and folds.

    Returns
    -------
    cmlib.rank.refinement.Refinement
        Errors by number of events, the best model and its event importances.

    Raises
    ------
    UnfitRecordingError
        If the standard deviation of the target is below 2 % of its mean.
    ValueError
        If the matrix has fewer than 20 rows.
    """
    if not data.varies:
        raise UnfitRecordingError(describe_steady_target(data))
    n_events = data.X.shape[1]
    step = min(step, max(1, n_events // _FEWEST_MODELS))
    options = {"step": step, "test_share": test_share, "seed": seed}

    def compute():
        error = None if data.target == IPC else data.error
        refinement = rank.refine(
            data.X,
            data.ipc,
            holdout=data.holdout,
            leaks_target=data.target.leaks_target,
            error=error,
            **options,
        )
        return _tabulate(refinement)

    inputs = ("refinement", data.target.name, options, data.X, data.ipc, *(data.holdout or ()))
    return _restore(data, cached(inputs, compute), seed)


def _tabulate(refinement):
    """Return a Refinement without its model as a dict of DataFrames."""
    return {
        "history": refinement.history,
        "nested": refinement.nested,
        "baselines": refinement.baselines.to_frame(),
        "chosen": pd.DataFrame({"step": [refinement.chosen], "one_event": [refinement.one_event]}),
        "rankings": pd.DataFrame({str(step): ranking for step, ranking in enumerate(refinement.rankings)}),
    }


def _restore(data, tables, seed):
    """Return the Refinement that was tabulated, and fit its best model."""
    rankings = []
    for _, column in tables["rankings"].items():
        ranking = column.dropna().sort_index().sort_values(ascending=False, kind="stable")
        rankings.append(ranking.rename("importance"))
    best = int(tables["chosen"].at[0, "step"])
    model_events = sorted(rankings[best].index)
    return rank.Refinement(
        history=tables["history"],
        nested=tables["nested"],
        baselines=tables["baselines"]["error"],
        chosen=best,
        model=regressor(seed=seed).fit(data.X[model_events], data.ipc),
        importances=rankings[best],
        rankings=rankings,
        one_event=tables["chosen"].at[0, "one_event"],
    )
