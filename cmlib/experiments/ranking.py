"""Models of one program's IPC, or of what else is explained."""

from functools import partial

import pandas as pd

from cmlib import rank
from cmlib.experiments.cache import cached
from cmlib.experiments.targets import IPC
from cmlib.rank.boosting import regressor

_STEPS = 4


def refine(data, *, step=10, test_share=0.2, seed=0):
    """:func:`cmlib.rank.refine` of a :class:`cmlib.experiments.Matrix`, its second pass held out.

    Fewer than `step` events are dropped at a time where a quarter of all is fewer. What takes long is read where
    another notebook has kept it; the model is fitted anew. Errors of IPC are relative (Eq. 14); those of another rate,
    which may be near zero or zero, in percent of its mean.
    """
    step = min(step, max(1, data.X.shape[1] // _STEPS))
    options = {"step": step, "test_share": test_share, "seed": seed}

    def compute():
        return _frames(rank.refine(data.X, data.ipc, holdout=data.holdout, **options, **_of_target(data)))

    computed = cached(
        ("refinement", data.target.name, options, data.X, data.ipc, *(data.holdout or ())), compute
    )
    return _refinement(computed, data, seed)


def core_errors(data, *, seed=0):
    """Errors of one model of all columns, beside predictions that look at no event."""
    options = {"step": data.X.shape[1], "seed": seed} | _of_target(data)
    refined = rank.refine(data.X, data.ipc, holdout=data.holdout, **options)
    model = refined.history.loc[0, ["error", "blocks_error", "holdout_error"]]
    return pd.concat([model, refined.baselines.add_prefix("without events: ")]).rename(None)


def _of_target(data):
    in_mean = partial(rank.error_of_mean, mean=data.ipc.mean())
    return {"gives_away": data.target.gives_away, "error": None if data.target == IPC else in_mean}


def _frames(refined):
    rankings = pd.DataFrame({str(step): ranking for step, ranking in enumerate(refined.rankings)})
    return {
        "history": refined.history,
        "nested": refined.nested,
        "baselines": refined.baselines.to_frame(),
        "chosen": pd.DataFrame({"step": [refined.chosen]}),
        "rankings": rankings,
    }


def _refinement(frames, data, seed):
    rankings = [_in_order(frames["rankings"][step].dropna()) for step in frames["rankings"]]
    chosen = int(frames["chosen"].at[0, "step"])
    model = regressor(seed=seed).fit(data.X[sorted(rankings[chosen].index)], data.ipc)
    baselines = frames["baselines"]["error"]
    history, nested = frames["history"], frames["nested"]
    return rank.Refinement(history, nested, baselines, chosen, model, rankings[chosen], rankings)


def _in_order(ranking):
    return ranking.sort_index().sort_values(ascending=False, kind="stable").rename("importance")
