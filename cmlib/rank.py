"""Rank events by what they tell about IPC, and refine the ranking by dropping the least important."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from cmlib.boosting import regressor
from cmlib.errors import UnfitRecordingError
from cmlib.importance import influence
from cmlib.leaks import is_named_leak

_FEWEST_ROWS = 20


@dataclass(frozen=True)
class Refinement:
    """A refined ranking and the errors that led to it.

    Attributes
    ----------
    history : DataFrame
        A row a step. Columns: ``n_events``; ``error``, where a random share of rows is
        predicted from the others; ``blocks_error``, where blocks of neighbouring rows
        are; ``holdout_error``, of models of all rows on the other matrix (NaN if there
        is none); ``trivial``, that of the mean on the random share. All are mean
        relative errors [%] (Eq. 14).
    baselines : Series
        Errors [%] of predictions that look at no event: ``mean`` of the other rows and
        ``neighbours`` (interpolated from the nearest of them) on the random share;
        ``blocks_mean``; ``holdout_mean``; and ``holdout_repeat``, the IPC of the same
        step in X (NaN unless both were aligned alike).
    chosen : int
        Place in `history` of the model that was kept.
    model : fitted estimator
        The most accurate performance model, trained on all rows.
    importances : Series
        Its importance of every event [%], descending; sums to 100.
    rankings : list of Series
        The same of the model of all rows at every step of `history`.
    """

    history: pd.DataFrame
    baselines: pd.Series
    chosen: int
    model: Any
    importances: pd.Series
    rankings: list

    @property
    def events(self):
        """Events of the model kept, the most important first."""
        return list(self.importances.index)

    @property
    def errors(self):
        """Errors of the model kept: its row of `history`."""
        return self.history.iloc[self.chosen]

    @property
    def as_printed(self):
        """The row of `history` that the papers report: chosen by the rows it is judged on, hence too good."""
        return self.history.loc[self.history["error"].idxmin()]


def refine(
    X,
    y,
    *,
    step=10,
    test_share=0.25,
    model="lightgbm",
    boosting=None,
    importance="friedman",
    select="blocks",
    tolerance=0.0,
    n_blocks=10,
    n_folds=5,
    holdout=None,
    seed=0,
):
    """Event importance refinement: fit, rank, drop the least important, fit again.

    From all events down to `step` or fewer, `step` at a time; the most accurate
    model is kept, and its importances are the ranking (CounterMiner, §III-C and
    §V-B; GBRT paper, §3.2, Fig. 4).

    A random share of neighbouring rows is easy to predict, and a model chosen by
    its error on them looks better than it is. So a second error is taken, and picks
    the number of events: rows are cut into blocks of progress. The random share,
    and each fold of blocks, is predicted by a refinement of its own that never saw
    it; the model that is kept comes from a refinement on all rows. Another pass
    over the events, given as `holdout`, is the test that takes no part in anything.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        As :mod:`cmlib.fuse` makes it.
    y : Series of float > 0, shape (n_rows,)
        IPC.
    step : int, default 10
        Events dropped at a time.
    test_share : float, default 0.25
        Random share of rows that ``error`` is taken on.
    model, boosting
        What :func:`cmlib.boosting.regressor` takes.
    importance : "friedman" or "printed", default "friedman"
        See :func:`cmlib.importance.influence`.
    select : "blocks" or "random", default "blocks"
        Which error picks the model; ``random`` is the papers' choice and optimistic.
    tolerance : float >= 0, default 0.0
        The model with the fewest events is kept whose error is at most this share
        above the lowest. 0: the most accurate, as in the papers.
    n_blocks : int, default 10
        Blocks: equal parts of the index level ``progress`` if there is one, else of
        the rows in their order.
    n_folds : int, default 5
        Block b is held out in fold b modulo `n_folds`; 0 skips this error.
    holdout : tuple (DataFrame, Series), optional
        Another matrix and its IPC, such as another pass over the events
        (:func:`cmlib.fuse.align_passes`).
    seed : int, default 0

    Returns
    -------
    Refinement

    Raises
    ------
    ValueError
        If X holds a column that gives IPC away, a gap or too few rows; if IPC is
        not positive everywhere; if the holdout lacks a column of X; or if `select`
        is ``blocks`` and `n_folds` is below 2.
    """
    if select not in ("blocks", "random") or (select == "blocks" and n_folds < 2):
        raise ValueError(
            f"select is {select!r} with n_folds={n_folds}; choose 'random', or 'blocks' with 2 folds or more."
        )
    if not 0 < test_share < 1 or step < 1:
        raise ValueError(
            f"test_share is {test_share} and step {step}; a share is between 0 and 1, a step 1 or more."
        )
    X, y = _checked(X, y, "X")
    if holdout is not None:
        holdout = _checked(*holdout, "holdout", columns=X.columns)
    train, test = _random_split(len(X), test_share, seed)

    blank = regressor(model, boosting=boosting, seed=seed)

    # LightGBM looks at every event at every split, in a fixed order, so that events without a split can go
    # without a change of the model; scikit-learn looks in random order, where ties then fall differently.
    reusable = model == "lightgbm"

    def path(rows):
        return _eliminate(blank, X.iloc[rows], y.iloc[rows], step, importance, reusable)

    kept = list(path(np.arange(len(X))))
    fold = _blocks(X.index, n_blocks) % max(n_folds, 1)
    history = pd.DataFrame({"n_events": [len(ranking) for _, ranking in kept]})
    history["error"] = _errors(path(train), X.iloc[test], y.iloc[test])
    history["blocks_error"] = _folded_errors(path, X, y, fold) if n_folds else np.nan
    history["holdout_error"] = _errors(kept, *holdout) if holdout else np.nan
    baselines = _baselines(y, train, test, fold, holdout)
    history["trivial"] = baselines["mean"]
    chosen = _fewest_within(history["blocks_error" if select == "blocks" else "error"], tolerance)
    ranking = kept[chosen][1]
    fitted = clone(blank).fit(X[sorted(ranking.index)], y)
    return Refinement(history, baselines, chosen, fitted, ranking, [step_ranking for _, step_ranking in kept])


def relative_error(measured, predicted):
    """Mean of |measured - predicted| / measured, in percent (CounterMiner, Eq. 14)."""
    measured = np.asarray(measured)
    return 100 * np.mean(np.abs(measured - np.asarray(predicted)) / measured)


def _checked(X, y, name, columns=None):
    columns = sorted(X.columns) if columns is None else columns
    missing = [event for event in columns if event not in X]
    if missing:
        raise ValueError(
            f"{name} lacks {len(missing)} events of X, such as {missing[0]!r}; "
            "align both at once with cmlib.fuse.align_passes."
        )
    leaking = [event for event in columns if is_named_leak(event)]
    if leaking:
        raise ValueError(
            f"{name} holds {leaking[0]!r}, which gives IPC away; drop it (cmlib.leaks says what leaks)."
        )
    if len(X) != len(y) or len(X) < _FEWEST_ROWS:
        raise UnfitRecordingError(
            f"{name} has {len(X)} rows and {len(y)} values of IPC; "
            f"as many of both are needed, {_FEWEST_ROWS} at least."
        )
    # In order of their names: the ranking must not depend on how the columns came.
    X = X[columns]
    holes = X.isna().sum()
    if holes.any():
        raise UnfitRecordingError(
            f"{name}: event {holes.idxmax()!r} has {holes.max()} gaps in {len(X)} rows; "
            "clean the runs before fusing."
        )
    if not (np.isfinite(y) & (y > 0)).all():
        raise UnfitRecordingError(
            f"{name}: IPC runs from {y.min()} to {y.max()}; it must be positive and finite in every row."
        )
    return X, y


def _random_split(n_rows, share, seed):
    order = np.random.default_rng(seed).permutation(n_rows)
    n_test = max(1, round(n_rows * share))
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def _blocks(index, n_blocks):
    progress = np.arange(len(index)) / len(index)
    if "progress" in index.names:
        progress = index.get_level_values("progress").to_numpy()
    return np.minimum((progress * n_blocks).astype(int), n_blocks - 1)


def _eliminate(blank, X, y, step, importance, reusable):
    """Yield (model, ranking) with fewer and fewer events."""
    while True:
        fitted = clone(blank).fit(X, y)
        ranking = influence(fitted, method=importance, X=X)
        yield fitted, ranking
        while reusable and len(ranking) > step and ranking.iloc[-step:].sum() == 0:
            ranking = ranking.iloc[:-step]
            yield fitted, ranking
        if len(ranking) <= step:
            return
        X = X[sorted(ranking.index[:-step])]


def _errors(kept, X, y):
    return [relative_error(y, fitted.predict(X[fitted.feature_names_in_])) for fitted, _ in kept]


def _folded_errors(path, X, y, fold):
    totals = 0
    for held in np.unique(fold):
        inside, outside = np.flatnonzero(fold == held), np.flatnonzero(fold != held)
        totals = totals + len(inside) * np.array(_errors(path(outside), X.iloc[inside], y.iloc[inside]))
    return totals / len(y)


def _fewest_within(errors, tolerance):
    return int(np.flatnonzero(errors <= (1 + tolerance) * errors.min())[-1])


def _baselines(y, train, test, fold, holdout):
    values = y.to_numpy()
    mean = values[train].mean()
    found = {
        "mean": relative_error(values[test], mean),
        "neighbours": relative_error(values[test], np.interp(test, train, values[train])),
        "blocks_mean": np.nan,
        "holdout_mean": np.nan,
        "holdout_repeat": np.nan,
    }
    if len(np.unique(fold)) > 1:
        found["blocks_mean"] = relative_error(values, [values[fold != held].mean() for held in fold])
    if holdout is not None:
        other = holdout[1]
        found["holdout_mean"] = relative_error(other, values.mean())
        if other.index.equals(y.index):
            found["holdout_repeat"] = relative_error(other, values)
    return pd.Series(found, name="error")
