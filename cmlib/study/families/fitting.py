"""Linear models of cycles per instruction on resampled steps, and the families that their events form."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cmlib.errors import UnfitRecordingError
from cmlib.families import (
    LinearModel,
    Resampled,
    choose_cut,
    choose_penalty,
    contributions_held_out,
    cut,
    fit,
    resample,
    shares,
    trees,
)
from cmlib.rank import blocks

_SEEN_IN = 0.1  # share of the steps in which an event must have happened
_FEWEST_STEPS, _BLOCKS, _FOLDS = 20, 12, 4
_FARTHEST = 3.0  # standard deviations from an event's mean: what lies beyond is set to that


@dataclass(frozen=True)
class Steps:
    """Steps of progress of one pass.

    Attributes
    ----------
    counted : DataFrame, shape (n_steps, n_events)
        Events per instruction.
    X : DataFrame, shape (n_steps, n_events)
        The same in units of the first pass's spread, clipped at three standard deviations.
    cpi : Series, shape (n_steps,)
        Cycles per instruction.
    """

    counted: pd.DataFrame
    X: pd.DataFrame
    cpi: pd.Series


@dataclass(frozen=True)
class FittedFamilies:
    """Families of events and the linear models that weigh them; families are numbered from 0, the largest first.

    Attributes
    ----------
    steps : Steps
        What the models were fitted to.
    kinds : Series of str
        Kind of every event.
    penalty : float
        Of every model.
    model : LinearModel
        Fitted to all steps.
    judging : list of Resampled
        Models from which intervals and overlaps are taken; other ones chose the cut.
    distance : float
        Distance up to which events were joined.
    alike : Series
        By distance, as of :func:`cmlib.families.choose_cut`.
    grouped : Series of int
        Family of every event.
    draws : DataFrame, shape (n_models, n_families)
        Importances [%].
    fold : ndarray of int, shape (n_steps,)
        Fold of blocked cross-validation.
    added : DataFrame, shape (n_steps, n_events)
        Cycles per instruction that each event adds, by models of the other folds.
    predicted : Series, shape (n_steps,)
        Cycles per instruction, by the same models.
    """

    steps: Steps
    kinds: pd.Series
    penalty: float
    model: LinearModel
    judging: list[Resampled]
    distance: float
    alike: pd.Series
    grouped: pd.Series
    draws: pd.DataFrame
    fold: np.ndarray
    added: pd.DataFrame
    predicted: pd.Series


def standardized_steps(data, classes):
    """Steps of a matrix and of its other pass, by the events that can explain anything.

    Parameters
    ----------
    data : Matrix
        Events per instruction: :func:`cmlib.study.matrix` with ``per="instructions"``.
    classes : Series of str
        Class of every event (:func:`cmlib.events.kinds`); those of class "target" are left out.

    Returns
    -------
    steps : Steps
    other : Steps or None
        Of the pass held out, where there is one.

    Raises
    ------
    UnfitRecordingError
        With fewer than 20 steps, or without an event that varies.
    """
    counted = _usable(data.X, classes)
    steps = Steps(counted, _standardized(counted, counted), 1 / data.ipc)
    if data.holdout is None:
        return steps, None
    other, ipc = data.holdout
    return steps, Steps(other[counted.columns], _standardized(other, counted), 1 / ipc)


def fit_families(steps, kinds, *, n_models, seed):
    """Group events into families and weigh these by resampled models.

    Parameters
    ----------
    steps : Steps
    kinds : Series of str
        Kind of every event; only events of one kind are joined.
    n_models : int
        Resampled models by which families are judged; half as many more choose the cut.
    seed : int

    Returns
    -------
    FittedFamilies
    """
    X, cpi = steps.X, steps.cpi
    kinds = kinds.reindex(X.columns)
    fold = blocks(X.index, _BLOCKS) % _FOLDS
    penalty = choose_penalty(X, cpi, fold)
    seeds = range(seed, seed + n_models + max(2, n_models // 2))
    resampled = resample(X, cpi, kinds, penalty, seeds=seeds)
    judging, choosing = resampled[:n_models], resampled[n_models:]
    distance, alike = choose_cut(X, choosing)
    grouped, draws = _largest_first(cut(trees(X, kinds), distance), judging, X)
    added, predicted = contributions_held_out(X, cpi, fold)
    model = fit(X, cpi, penalty)
    return FittedFamilies(
        steps, kinds, penalty, model, judging, distance, alike, grouped, draws, fold, added, predicted
    )


def _usable(X, classes):
    if len(X) < _FEWEST_STEPS:
        raise UnfitRecordingError(
            f"{len(X)} steps of progress are too few for families of events; {_FEWEST_STEPS} at least are needed. "
            "Record longer, or at shorter intervals."
        )
    happens = ((X > 0).mean() >= _SEEN_IN) & (X.nunique() > 1) & (classes.reindex(X.columns) != "target")
    if not happens.any():
        raise UnfitRecordingError(
            "no event varies with progress, so that none explains cycles per instruction."
        )
    return X.loc[:, happens]


def _standardized(X, like):
    """Events in units of their spread, outliers that cleaning left drawn in."""
    return ((X[like.columns] - like.mean()) / like.std(ddof=0)).clip(-_FARTHEST, _FARTHEST)


def _largest_first(grouped, models, X):
    """Families numbered by falling mean importance, and their importances by each model."""
    draws = pd.DataFrame([shares(one.model.contributions(X), grouped) for one in models])
    order = draws.mean().sort_values(ascending=False, kind="stable").index
    renumbered = grouped.map({family: place for place, family in enumerate(order)})
    return renumbered, draws[order].set_axis(range(len(order)), axis=1)
