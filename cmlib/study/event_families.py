"""Families of events that explain a program's cycles per instruction, and how far they can be trusted."""

from dataclasses import dataclass, fields

import numpy as np
import pandas as pd

from cmlib import events
from cmlib.errors import UnfitRecordingError
from cmlib.families import (
    by_family,
    by_influence,
    by_permutation,
    chance_overlap,
    choose_cut,
    choose_penalty,
    conditional_shapley,
    contributions_held_out,
    cut,
    fit,
    overlap,
    resample,
    shares,
    trees,
)
from cmlib.fanout import Workers
from cmlib.rank import blocks, influence, regressor, relative_error
from cmlib.study.cache import kept
from cmlib.study.data import cleaned_runs, matrix
from cmlib.study.event_tables import table_name
from cmlib.study.family_names import family_names
from cmlib.study.family_tables import category_cycles, category_of, directions

_SETS = ["ocoe", "sweep"]
_LISTED = 8
_SEEN_IN = 0.1  # share of the steps in which an event must have happened
_FEWEST_STEPS, _BLOCKS, _FOLDS = 20, 12, 4
_QUIET, _BUSY = 0.1, 0.9
_FARTHEST = 3.0  # standard deviations from an event's mean: what lies beyond is set to that
_FIRST = 5


@dataclass(frozen=True)
class Families:
    """Families of one program's events, the most important first.

    Attributes
    ----------
    table : DataFrame
        A row a family: ``family`` (place, from 1), ``name``, ``kind`` and ``class`` ("stall", "miss", "mix",
        "other": :func:`cmlib.events.kinds`), ``n_events``; ``importance``, its mean over resampled models,
        with ``low`` and ``high`` (90 % interval) [%]; ``direction`` ("more" or "fewer" of the leading event
        where cycles per instruction are high, or empty); ``cycles_per_kilo_instruction`` that the family adds
        from its quiet to its busy steps (10th to 90th percentile), predicted on steps that the model never saw,
        with ``cycles_low`` and ``cycles_high``; ``category`` of the top-down account that goes with it and
        ``category_r``, their correlation (empty and NaN without an account); ``members``, the first
        eight events by falling weight, separated by "; ".
    members : DataFrame
        A row an event: ``family``, ``event``, ``weight`` (share of its family [%]), ``direction``.
    ways : DataFrame
        A row a family: ``family``, ``name``, and its importance [%] by the linear ``model``, by the summed influence
        of a ``boosted`` model, by ``permutation`` on held-out steps, and by ``conditional`` Shapley values
        (NaN beyond the first eight).
    draws : DataFrame
        Importances [%]: a row a resampled model, a column a family ("1", "2", …).
    cuts : DataFrame
        ``distance`` and ``alike``, as of :func:`cmlib.families.choose_cut`, and which one was ``chosen``.
    stability : DataFrame
        One row: ``families``, ``distance``, ``overlap`` of the first five between resampled models,
        ``random rankings`` that of two random rankings, ``members alike`` where every resample groups for itself,
        and ``between passes`` (NaN where there is one pass).
    errors : DataFrame
        Mean relative errors [%], a row a test (``held-out blocks``, ``another pass``): of the ``families``,
        of a boosted model of ``single events``, and of the ``mean``.
    contributions : DataFrame
        Cycles per instruction that each family adds, a row a step of progress, by models that never saw it.
    cpi : DataFrame
        One column, ``cpi``: cycles per instruction in the same steps.
    categories : DataFrame
        ``category`` of the top-down account's level 1, and ``cycles`` per 1,000 instructions that it takes more in
        its busy than in its quiet steps; no row without an account.
    """

    table: pd.DataFrame
    members: pd.DataFrame
    ways: pd.DataFrame
    draws: pd.DataFrame
    cuts: pd.DataFrame
    stability: pd.DataFrame
    errors: pd.DataFrame
    contributions: pd.DataFrame
    cpi: pd.DataFrame
    categories: pd.DataFrame


def families(url, program, *, table, method="joint", n_models=20, seed=0):
    """Explain a program's cycles per instruction by families of events.

    Parameters
    ----------
    url : str
    program : str
    table : DataFrame
        Event table, for what events count.
    method : str, default "joint"
        Cleaning of the runs (:func:`cmlib.study.cleaned_runs`).
    n_models : int, default 20
        Resampled models behind intervals and overlaps; half as many more choose the cut.
    seed : int, default 0

    Returns
    -------
    Families

    Raises
    ------
    UnfitRecordingError
        With fewer than 20 steps, or without an event that varies.
    """
    runs = cleaned_runs(url, program, _SETS, method=method, workers=Workers(1))
    data = matrix(runs, per="instructions")
    cycles = category_cycles(runs, table_name(url, program), data.X.index)
    return explain(data, table, cycles=cycles, n_models=n_models, seed=seed)


def explain(data, table, *, cycles=None, n_models=20, seed=0):
    """Explain cycles per instruction by families of the events of a matrix.

    Parameters
    ----------
    data : Matrix
        Events per instruction: :func:`cmlib.study.matrix` with ``per="instructions"``.
    table, n_models, seed
        As of :func:`families`.
    cycles : DataFrame, shape (n_steps, n_categories), optional
        Cycles per instruction of the top-down account's categories, to name the one that goes with each family.

    Returns
    -------
    Families

    Raises
    ------
    UnfitRecordingError
        As of :func:`families`.
    """
    cycles = pd.DataFrame() if cycles is None else cycles
    frames = (table["description"], data.X, data.ipc, *(data.holdout or ()), cycles)

    def compute():
        return _computed(data, table, cycles, n_models, seed)

    found = kept(("families", n_models, seed, *frames), compute)
    return Families(**{field.name: found[field.name] for field in fields(Families)})


def _computed(data, table, categories, n_models, seed):
    what = events.kinds(data.X.columns, table)
    X, cpi = _usable(data.X, what["class"]), 1 / data.ipc
    holdout = None if data.holdout is None else (_standardized(data.holdout[0], X), 1 / data.holdout[1])
    counted, X, kinds = X, _standardized(X, X), what["kind"].reindex(X.columns)
    fold = blocks(X.index, _BLOCKS) % _FOLDS
    penalty = choose_penalty(X, cpi, fold)
    seeds = range(seed, seed + n_models + max(2, n_models // 2))
    resampled = resample(X, cpi, kinds, penalty, seeds=seeds)
    judging, choosing = resampled[:n_models], resampled[n_models:]
    distance, alike = choose_cut(X, choosing)
    grouped = cut(trees(X, kinds), distance)
    draws = pd.DataFrame([shares(one.model.contributions(X), grouped) for one in judging])
    order = draws.mean().sort_values(ascending=False, kind="stable").index
    grouped = grouped.map({family: place for place, family in enumerate(order)})
    draws = draws[order].set_axis(range(len(order)), axis=1)

    added, predicted = contributions_held_out(X, cpi, fold)
    boosted, errors = _boosted(counted, cpi, fold, seed)
    errors = {"held-out blocks": {"families": relative_error(cpi, predicted), **errors}}
    if holdout:
        linear, single = (
            fit(X, cpi, penalty).predict(holdout[0]),
            _single(counted, cpi, data.holdout[0], seed),
        )
        predicted_there = {"families": linear, "single events": single, "mean": cpi.mean()}
        errors["another pass"] = {
            name: relative_error(holdout[1], values) for name, values in predicted_there.items()
        }
    cycles = _cycles(judging, X, grouped, holdout)
    weights = fit(X, cpi, penalty).contributions(X).std(ddof=0)
    members = _members(grouped, weights, X, cpi)
    ways = pd.DataFrame(
        {
            "model": draws.mean(),
            "boosted": by_influence(boosted, grouped),
            "permutation": by_permutation(added, grouped, cpi - predicted),
            "conditional": conditional_shapley(added, grouped, cpi),
        }
    )
    own = by_family(added, grouped)
    first = members.drop_duplicates("family").set_index("family")
    described = pd.DataFrame(
        {
            "family": draws.columns + 1,
            "name": family_names(members, what, table),
            "kind": first["event"].map(what["kind"]),
            "class": first["event"].map(what["class"]),
            "n_events": members.groupby("family").size(),
            "importance": draws.mean(),
            "low": draws.quantile(0.05),
            "high": draws.quantile(0.95),
            "direction": first["direction"],
            "cycles_per_kilo_instruction": cycles.mean(),
            "cycles_low": cycles.quantile(0.05),
            "cycles_high": cycles.quantile(0.95),
        }
    ).join(category_of(own, categories))
    described["members"] = members.groupby("family")["event"].agg(_listed)
    stability = {
        "families": len(described),
        "distance": distance,
        "overlap": overlap(draws, n_first=_FIRST),
        "random rankings": chance_overlap(len(described), _FIRST),
        "members alike": choose_cut(X, judging, cuts=[distance])[1].iloc[0],
        "between passes": _between_passes(draws, holdout, kinds, penalty, grouped, n_models, seed),
    }
    return {
        "table": described.reset_index(drop=True),
        "members": members.assign(family=members["family"] + 1),
        "ways": ways.assign(family=ways.index + 1, name=described["name"])[["family", "name", *ways]],
        "draws": draws.set_axis([str(place + 1) for place in draws], axis=1).reset_index(drop=True),
        "cuts": alike.reset_index().assign(chosen=(alike.index == distance)),
        "stability": pd.DataFrame([stability]),
        "errors": pd.DataFrame(errors).T.rename_axis("test").reset_index(),
        "contributions": own.set_axis([str(place + 1) for place in own], axis=1),
        "cpi": cpi.rename("cpi").to_frame(),
        "categories": _range(categories).rename("cycles").rename_axis("category").reset_index(),
    }


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


def _boosted(X, cpi, fold, seed):
    """Mean influence of boosted models of the folds, and their error beside the mean's."""
    ordered = X[sorted(X)]
    found, predicted, mean = [], cpi.copy(), cpi.copy()
    for held in np.unique(fold):
        seen = fold != held
        model = regressor(seed=seed).fit(ordered[seen], cpi[seen])
        predicted[~seen], mean[~seen] = model.predict(ordered[~seen]), cpi[seen].mean()
        found.append(influence(model))
    errors = {"single events": relative_error(cpi, predicted), "mean": relative_error(cpi, mean)}
    return pd.concat(found, axis=1).mean(axis=1), errors


def _standardized(X, like):
    """Events in units of their spread, outliers that cleaning left drawn in."""
    return ((X[like.columns] - like.mean()) / like.std(ddof=0)).clip(-_FARTHEST, _FARTHEST)


def _single(X, cpi, other, seed):
    """What a boosted model of all events of one pass predicts for another."""
    return regressor(seed=seed).fit(X[sorted(X)], cpi).predict(other[sorted(X)])


def _cycles(resampled, X, grouped, holdout):
    """Cycles per 1,000 instructions from quiet to busy steps, a row a model: on another pass, or on steps not drawn."""
    rows = []
    for one in resampled:
        unseen = X[one.unseen] if holdout is None else holdout[0]
        added = by_family(one.model.contributions(unseen), grouped)
        rows.append(_range(added))
    return pd.DataFrame(rows)


def _range(cycles):
    """What each column has more in its busy than in its quiet steps, per 1,000 instructions."""
    return 1000 * (cycles.quantile(_BUSY) - cycles.quantile(_QUIET)).astype(float)


def _members(grouped, weights, X, cpi):
    frame = pd.DataFrame({"family": grouped, "event": grouped.index, "weight": weights[grouped.index]})
    frame["weight"] *= 100 / frame.groupby("family")["weight"].transform("sum").replace(0.0, np.inf)
    frame["direction"] = directions(X[grouped.index], cpi)
    return frame.sort_values(["family", "weight"], ascending=[True, False], kind="stable").reset_index(
        drop=True
    )


def _listed(events):
    named = "; ".join(events[:_LISTED])
    return named if len(events) <= _LISTED else f"{named}; and {len(events) - _LISTED} more"


def _between_passes(draws, holdout, kinds, penalty, grouped, n_models, seed):
    if holdout is None:
        return np.nan
    other, cpi = holdout
    again = resample(other, cpi, kinds, penalty, seeds=range(seed, seed + n_models))
    theirs = pd.DataFrame([shares(one.model.contributions(other), grouped) for one in again])
    return overlap(draws, theirs, n_first=_FIRST)
