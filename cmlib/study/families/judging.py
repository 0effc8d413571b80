"""How far families of events can be trusted: other ways of weighing them, held-out errors, stability."""

import numpy as np
import pandas as pd

from cmlib.families import (
    by_influence,
    by_permutation,
    choose_cut,
    conditional_shapley,
    overlap,
    random_overlap,
    resample,
    shares,
)
from cmlib.rank import influence, regressor, relative_error

_FIRST = 5


def boost_single_events(steps, fold, *, seed):
    """Boosted models of single events, one a fold that was held out.

    Parameters
    ----------
    steps : Steps
    fold : ndarray of int, shape (n_steps,)
    seed : int

    Returns
    -------
    influences : Series
        By event, mean over the models.
    predicted : DataFrame, shape (n_steps, 2)
        Cycles per instruction of ``single events`` and of the ``mean``, both of the other folds.
    """
    X, cpi = steps.counted[sorted(steps.counted)], steps.cpi
    influences, predicted, mean = [], cpi.copy(), cpi.copy()
    for held in np.unique(fold):
        seen = fold != held
        model = regressor(seed=seed).fit(X[seen], cpi[seen])
        predicted[~seen], mean[~seen] = model.predict(X[~seen]), cpi[seen].mean()
        influences.append(influence(model))
    predicted = pd.DataFrame({"single events": predicted, "mean": mean})
    return pd.concat(influences, axis=1).mean(axis=1), predicted


def importance_by_ways(fitted, influences):
    """Importance of every family by four definitions.

    Parameters
    ----------
    fitted : FittedFamilies
    influences : Series
        From :func:`boost_single_events`.

    Returns
    -------
    DataFrame
        Index: family. Columns ``model``, ``boosted``, ``permutation`` and ``conditional`` [%], as of
        :class:`cmlib.study.Families`.
    """
    cpi, grouped, added = fitted.steps.cpi, fitted.grouped, fitted.added
    return pd.DataFrame(
        {
            "model": fitted.draws.mean(),
            "boosted": by_influence(influences, grouped),
            "permutation": by_permutation(added, grouped, cpi - fitted.predicted),
            "conditional": conditional_shapley(added, grouped, cpi),
        }
    )


def errors_by_test(fitted, predicted, other, *, seed):
    """Mean relative errors of the models, on held-out blocks and on another pass.

    Parameters
    ----------
    fitted : FittedFamilies
    predicted : DataFrame
        From :func:`boost_single_events`.
    other : Steps or None
    seed : int

    Returns
    -------
    DataFrame
        As ``errors`` of :class:`cmlib.study.Families`.
    """
    steps = fitted.steps
    tests = {"held-out blocks": _errors(steps.cpi, {"families": fitted.predicted, **predicted})}
    if other is not None:
        names = sorted(steps.counted)
        boosted = regressor(seed=seed).fit(steps.counted[names], steps.cpi)
        there = {
            "families": fitted.model.predict(other.X),
            "single events": boosted.predict(other.counted[names]),
            "mean": steps.cpi.mean(),
        }
        tests["another pass"] = _errors(other.cpi, there)
    return pd.DataFrame(tests).T.rename_axis("test").reset_index()


def stability(fitted, other, *, seed):
    """How alike the first families of resampled models are, and of models of another pass.

    Parameters
    ----------
    fitted : FittedFamilies
    other : Steps or None
    seed : int

    Returns
    -------
    DataFrame
        As ``stability`` of :class:`cmlib.study.Families`.
    """
    n_families = fitted.draws.shape[1]
    alone = choose_cut(fitted.steps.X, fitted.judging, cuts=[fitted.distance])[1].iloc[0]
    row = {
        "families": n_families,
        "distance": fitted.distance,
        "overlap": overlap(fitted.draws, n_first=_FIRST),
        "random rankings": random_overlap(n_families, _FIRST),
        "members alike": alone,
        "between passes": np.nan if other is None else _between_passes(fitted, other, seed),
    }
    return pd.DataFrame([row])


def _errors(cpi, predicted):
    return {name: relative_error(cpi, values) for name, values in predicted.items()}


def _between_passes(fitted, other, seed):
    seeds = range(seed, seed + len(fitted.judging))
    again = resample(other.X, other.cpi, fitted.kinds, fitted.penalty, seeds=seeds)
    theirs = pd.DataFrame([shares(one.model.contributions(other.X), fitted.grouped) for one in again])
    return overlap(fitted.draws, theirs, n_first=_FIRST)
