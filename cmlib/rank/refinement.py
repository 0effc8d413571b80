"""Event importance refinement: fit a model of IPC, drop the events that matter least in it, and fit again.

:func:`refine` takes X (DataFrame of rates, a column per event) and y (Series of IPC, instructions per cycle), and
returns a :class:`Refinement`: errors at each number of events, the model that was kept, and the importances of its
events. Raises a ValueError if X holds an event that contains IPC (target leakage), a gap, or fewer than 20 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import clone

from cmlib.errors import InputError, UnfitRecordingError
from cmlib.rank.boosting import regressor
from cmlib.rank.importance import influence
from cmlib.rank.leaks import is_named_leak

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from cmlib.rank.boosting import Boosting

__all__ = ["drop_least"]

_FEWEST_ROWS = 20
# One event predicts as well as the model if its error is at most this many times the model's.
NEAR = 1.5


@dataclass(frozen=True)
class Refinement:
    """A refined ranking and the errors that led to it.

    Attributes
    ----------
    history : DataFrame
        A row per step. Columns: ``n_events``; ``error`` on a random share of the rows, which a model of the other rows
        predicts, with ``mean_baseline``, the error of these rows' mean, and ``one_event_baseline``, that of a straight
        line through one event (:func:`predict_by_one_event`); ``blocks_error`` on blocks of neighboring rows (blocked
        cross-validation), with ``blocks_mean_baseline`` and ``blocks_one_event_baseline``, the errors of the other
        blocks' mean and of a line fitted to the other blocks;
        ``holdout_error`` of models of all rows on the hold-out (NaN if there is none). All are mean relative errors
        [%] (Eq. 14), unless `error` was given to :func:`refine`.
    nested : DataFrame
        Nested cross-validation, a row per fold of blocks: ``rows``, number of rows; ``n_events``, chosen by the other
        folds among themselves; ``error`` on this fold of the model trained on the others [%]; ``mean``, error of the
        others' mean [%]. Empty if there are fewer than three folds.
    baselines : Series
        Errors [%] of predictions that use at most one event. On the random share: ``mean`` of the other rows,
        ``neighbours``, interpolated between the nearest of these, and ``one_event``; on blocks: ``blocks_mean`` and
        ``blocks_one_event``; on the hold-out: ``holdout_mean``, ``holdout_one_event``, and ``holdout_repeat``, the IPC
        of the same step in X (NaN unless both have the same index).
    chosen : int
        Row number in `history` of the model that was kept.
    model : fitted estimator
        The model with the smallest ``blocks_error``, trained on all rows.
    importances : Series
        Importance of each event in `model` [%], descending; sums to 100.
    rankings : list of Series
        Such importances at every step of `history`, in models trained on all rows.
    one_event : str
        The event whose straight line is compared with the model: the one that correlates best with IPC in all rows.
    """

    history: pd.DataFrame
    nested: pd.DataFrame
    baselines: pd.Series
    chosen: int
    model: Any
    importances: pd.Series
    rankings: list
    one_event: str = ""

    @property
    def events(self) -> list[str]:
        """Names (list of str) of the events of `model`, the most important first."""
        return list(self.importances.index)

    @property
    def errors(self) -> pd.Series:
        """Errors of `model` [%]: its row of `history`, a Series."""
        return self.history.iloc[self.chosen]

    @property
    def nested_error(self) -> float:
        """Error [%] (float) of nested cross-validation, mean over rows; NaN if `nested` is empty."""
        rows = self.nested["rows"]
        return float((self.nested["error"] * rows).sum() / rows.sum()) if len(rows) else np.nan

    @property
    def unseen_error(self) -> float:
        """Error [%] (float) of the refined model on unseen blocks: `nested_error`, or ``blocks_error`` without one."""
        return self.nested_error if len(self.nested) else float(self.errors["blocks_error"])

    @property
    def beats_mean(self) -> bool:
        """True if the refined model errs by less than the mean on unseen blocks."""
        return bool(self.unseen_error < self.baselines["blocks_mean"])

    @property
    def one_event_suffices(self) -> bool:
        """True if a line through one event errs by at most 1.5 times as much as the refined model on unseen blocks."""
        return bool(self.baselines["blocks_one_event"] <= NEAR * self.unseen_error)

    @property
    def as_printed(self) -> pd.Series:
        """Row (Series) of `history` with the smallest ``error``, as papers report; too good, as these rows chose it."""
        return self.history.loc[self.history["error"].idxmin()]


def refine(
    X: pd.DataFrame,
    y: pd.Series,
    *,
    step: int = 10,
    test_share: float = 0.2,
    model: BaseEstimator | None = None,
    boosting: Boosting | None = None,
    n_blocks: int = 12,
    n_folds: int = 4,
    holdout: tuple[pd.DataFrame, pd.Series] | None = None,
    leaks_target: Callable = is_named_leak,
    error: Callable | None = None,
    seed: int = 0,
) -> Refinement:
    """Fit, rank, drop the least important events, and fit again (event importance refinement).

    From all events down to `step` or fewer, `step` at a time; the most accurate
    model is kept, and its importances are the ranking (CounterMiner, §III-C and
    §V-B; GBRT paper, §3.2, Fig. 4).

    A random share of rows is easy to predict, because their neighbors are in the training data. So a second error
    decides the number of events: rows are cut into blocks of neighbors, and each fold of blocks is predicted by a
    refinement on the other folds (blocked cross-validation). The smallest of these errors is still too good, as it
    is the smallest of several; nested cross-validation chooses the number of events without the fold that tests it.
    The model that is kept comes from a refinement on all rows. Another pass over the events, given as `holdout`,
    takes no part in training or selection.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events (counts per cycle), as :func:`cmlib.merge.align_runs` makes them.
    y : Series of float > 0, shape (n_rows,)
        IPC; with another `error`, any quantity that `error` is defined for.
    step : int, default 10
        Events dropped at a time.
    test_share : float, default 0.2
        Random share of rows that are predicted for the column ``error``: a fifth, as in both papers (CounterMiner,
        §V-B: m training examples and a quarter of m for the test; GBRT paper, §4.2: 80 % for training).
    model : estimator, optional
        A scikit-learn regressor to clone. Default: LightGBM's gradient boosting.
    boosting : cmlib.rank.boosting.Boosting, optional
        Settings of the default model.
    n_blocks : int, default 12
        Number of blocks: equal parts of the index level ``progress`` if there is one, else of
        the rows in their order.
    n_folds : int >= 2, default 4
        Number of folds; block b is held out in fold b modulo `n_folds`. Nested
        cross-validation takes n_folds·(n_folds - 1)/2 refinements more.
    holdout : tuple (DataFrame, Series), optional
        Another matrix and its IPC, such as another pass over the events
        (:func:`cmlib.merge.align_passes`).
    leaks_target : callable, default :func:`cmlib.rank.leaks.is_named_leak`
        True for the name of a column that contains y, which raises an error; to be replaced where y is not IPC.
    error : callable, default :func:`relative_error`
        ``error(measured, predicted)``, the error of some rows [%]. It must be a mean over rows, as errors of folds
        are averaged by their numbers of rows.
    seed : int, default 0
        Seed of the random share and of the models.

    Returns
    -------
    Refinement
        The errors of every step (`history`), the model that was kept (`model`) and its ranking (`importances`).

    Raises
    ------
    ValueError
        If X holds a column with target leakage, a gap or too few rows; if IPC is not
        positive, or another y not finite, everywhere; if the holdout lacks a column of X; or if `n_folds`,
        `step` or `test_share` is out of its range.

    Examples
    --------
    Six events of gcc, dropped two at a time:

    >>> import gzip
    >>> from cmlib import merge
    >>> from cmlib.io import perf
    >>> files = [f"data/recordings/gcc/ocoe-p0-0{run}.csv.gz" for run in range(2)]
    >>> texts = [gzip.open(file, "rt").read() for file in files]
    >>> runs = [perf.series(perf.parse_stat(text))[0] for text in texts]
    >>> ranking = refine(*merge.align_runs(runs), step=2)
    >>> ranking.history["n_events"].tolist(), ranking.events[0]
    ([6, 4, 2], 'ls_any_fills_from_sys.dram_io_near')
    """
    _check_settings(test_share, step, n_folds)
    error = error or relative_error
    checks = {"leaks_target": leaks_target, "positive": error is relative_error}
    X, y = _check_data(X, y, "X", **checks)
    if holdout is not None:
        holdout = _check_data(*holdout, "holdout", **checks, columns=X.columns)
    train, test = _split_randomly(len(X), test_share, seed)
    blank = regressor(model, boosting=boosting, seed=seed)

    def path(rows):
        """Yield the steps of :func:`drop_least` on some rows, given by their numbers."""
        # LightGBM tries every event at every split in a fixed order, so that the model stays the same if events without
        # a split are dropped; scikit-learn tries them in random order, which decides ties.
        return drop_least(blank, X.iloc[rows], y.iloc[rows], step=step, reusable=model is None)

    steps = list(path(np.arange(len(X))))
    fold = blocks(X.index, n_blocks) % n_folds
    history = pd.DataFrame({"n_events": [len(ranking) for _, ranking in steps]})
    history["error"] = _compute_errors(path(train), X.iloc[test], y.iloc[test], error)
    history["blocks_error"], nested = _cross_validate(path, X, y, fold, history["n_events"], error)
    history["holdout_error"] = np.nan
    if holdout is not None:
        X_other, y_other = holdout
        history["holdout_error"] = _compute_errors(steps, X_other, y_other, error)
    baselines = _compute_baselines(X, y, train, test, fold, holdout, error)
    for name in ("mean", "one_event", "blocks_mean", "blocks_one_event"):
        history[f"{name}_baseline"] = baselines[name]
    chosen = _find_best(history["blocks_error"])
    rankings = [ranking for _, ranking in steps]
    fitted = clone(blank).fit(X[sorted(rankings[chosen].index)], y)
    return Refinement(
        history, nested, baselines, chosen, fitted, rankings[chosen], rankings, best_event(X, y)
    )


def _check_settings(test_share, step, n_folds):
    """Raise an InputError if a setting of :func:`refine` is out of its range."""
    if not 0 < test_share < 1 or step < 1:
        raise InputError(
            f"test_share is {test_share} and step {step}; a share is between 0 and 1, a step 1 or more."
        )
    if n_folds < 2:
        raise InputError(f"n_folds is {n_folds}; blocks are held out in 2 folds or more.")


def relative_error(measured: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean of ``|measured - predicted| / measured``, in percent (CounterMiner, Eq. 14).

    Parameters
    ----------
    measured : array-like of float > 0, shape (n_rows,)
        IPC, or another quantity.
    predicted : array-like of float, shape (n_rows,), or float
        In the same unit.

    Returns
    -------
    float
        Mean relative error [%].
    """
    measured = np.asarray(measured)
    return 100 * np.mean(np.abs(measured - np.asarray(predicted)) / measured)


def error_of_mean(measured, predicted, *, mean):
    """Return the mean of ``|measured - predicted|`` in percent of `mean` (a float), for rates that may be nearly zero.

    `measured` and `predicted` are array-likes of one shape and unit.
    """
    return 100 * np.mean(np.abs(np.asarray(measured) - np.asarray(predicted))) / mean


def best_event(X, y):
    """Find the column of X (DataFrame) that correlates best with y (Series), by Pearson's r without its sign."""
    centered = (X - X.mean()).to_numpy()
    spread = np.sqrt((centered**2).sum(axis=0))
    covariance = np.abs(centered.T @ (y - y.mean()).to_numpy())
    correlation = np.divide(covariance, spread, out=np.zeros(len(spread)), where=spread > 0)
    return X.columns[int(correlation.argmax())]


def predict_by_one_event(X: pd.DataFrame, y: pd.Series, X_new: pd.DataFrame) -> np.ndarray:
    """Predict y by a straight line through the one event that correlates best with it.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events.
    y : Series of float, shape (n_rows,)
        IPC, or another quantity.
    X_new : DataFrame, shape (n_new, n_events)
        Rates of the same events in the rows to predict.

    Returns
    -------
    ndarray of float, shape (n_new,)
        Predictions [unit of y]; the mean of y if no event varies.
    """
    event = best_event(X, y)
    x = X[event].to_numpy()
    variance = x.var()
    if variance == 0:
        return np.full(len(X_new), y.mean())
    slope = ((x - x.mean()) * (y - y.mean()).to_numpy()).mean() / variance
    return y.mean() + slope * (X_new[event].to_numpy() - x.mean())


def hold_out_one_event(X: pd.DataFrame, y: pd.Series, fold: np.ndarray) -> np.ndarray:
    """Predict each fold by a straight line through one event, chosen and fitted in the other folds.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events.
    y : Series of float, shape (n_rows,)
        IPC, or another quantity.
    fold : ndarray of int, shape (n_rows,)
        Number of each row's fold, such as :func:`blocks` gives.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        Predictions [unit of y], each by a line that was fitted without the row's fold.
    """
    predicted = np.empty(len(y))
    for held in np.unique(fold):
        rows = fold == held
        predicted[rows] = predict_by_one_event(X[~rows], y[~rows], X[rows])
    return predicted


def blocks(index: pd.Index, n_blocks: int) -> np.ndarray:
    """Assign each row to one of several blocks of neighboring rows.

    Parameters
    ----------
    index : Index, shape (n_rows,)
        Index of a matrix. Blocks are equal parts of its level ``progress`` (0 to 1) if there is one, else of the rows
        in their order.
    n_blocks : int
        Number of blocks.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Number of the block, 0 to n_blocks - 1.
    """
    progress = np.arange(len(index)) / len(index)
    if "progress" in index.names:
        progress = index.get_level_values("progress").to_numpy()
    return np.minimum((progress * n_blocks).astype(int), n_blocks - 1)


def _check_data(X, y, name, leaks_target, positive, columns=None):
    """Check X and y as :func:`refine` does, and return them; X has its columns sorted, or those of `columns`.

    `name` is X's name in messages.
    """
    columns = sorted(X.columns) if columns is None else columns
    if missing := [event for event in columns if event not in X]:
        raise InputError(
            f"{name} lacks {len(missing)} events of X, such as {missing[0]!r}; "
            "align both at once with cmlib.merge.align.align_passes."
        )
    if leaking := [event for event in columns if leaks_target(event)]:
        raise InputError(
            f"{name} holds {leaking[0]!r}, which contains what is to be explained (target leakage): drop it; "
            "of IPC, cmlib.rank.leaks lists such events."
        )
    if len(X) != len(y) or len(X) < _FEWEST_ROWS:
        raise UnfitRecordingError(
            f"{name} has {len(X)} rows and {len(y)} values of y; as many of both are needed, {_FEWEST_ROWS} at least."
        )
    # In order of their names: the ranking must not depend on how the columns came.
    X = X[columns]
    holes = X.isna().sum()
    if holes.any():
        raise UnfitRecordingError(
            f"{name}: event {holes.idxmax()!r} has {holes.max()} gaps in {len(X)} rows; clean the runs before fusing."
        )
    if not (np.isfinite(y) & (not positive or y > 0)).all():
        kind = "positive and finite" if positive else "finite"
        raise UnfitRecordingError(f"{name}: y is {y.min()} to {y.max()}; it must be {kind} in every row.")
    return X, y


def _split_randomly(n_rows, share, seed):
    """Draw a random share of the rows for the test; return the sorted numbers of training and test rows."""
    order = np.random.default_rng(seed).permutation(n_rows)
    n_test = max(1, round(n_rows * share))
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def drop_least(
    blank: BaseEstimator, X: pd.DataFrame, y: pd.Series, *, step: int, reusable: bool = True
) -> Iterator[tuple[BaseEstimator, pd.Series]]:
    """Yield a model and its ranking for all events, then for fewer and fewer.

    Parameters
    ----------
    blank : estimator
        Unfitted; cloned at each step.
    X : DataFrame, shape (n_rows, n_events)
        Rates of events (counts per cycle, or per another event).
    y : Series of float, shape (n_rows,)
        IPC.
    step : int
        Events dropped at a time.
    reusable : bool, default True
        True to drop events that no split uses without fitting again: valid if the model tries all events at every
        split, in a fixed order.

    Yields
    ------
    model : fitted estimator
        Model of the events that are left.
    ranking : Series of float
        Their importance [%], descending.
    """
    while True:
        fitted = clone(blank).fit(X, y)
        ranking = influence(fitted)
        yield fitted, ranking
        while reusable and len(ranking) > step and ranking.iloc[-step:].sum() == 0:
            ranking = ranking.iloc[:-step]
            yield fitted, ranking
        if len(ranking) <= step:
            return
        X = X[sorted(ranking.index[:-step])]


def _compute_errors(steps, X, y, error):
    """Compute the errors on X and y of the models of each step (list)."""
    return [error(y, fitted.predict(X[fitted.feature_names_in_])) for fitted, _ in steps]


def _cross_validate(path, X, y, fold, n_events, error):
    """Cross-validate every step on blocks of rows.

    Returns an array of errors, and the DataFrame `nested` of nested cross-validation.
    """
    folds = np.unique(fold)

    def errors_on(rows, steps):
        """Compute the errors of the models of each step on some rows (mask)."""
        return _compute_errors(steps, X[rows], y[rows], error)

    outer = {held: errors_on(fold == held, path(np.flatnonzero(fold != held))) for held in folds}
    inner = {held: {} for held in folds}
    for pair in combinations(folds, 2) if len(folds) > 2 else ():
        fitted = list(path(np.flatnonzero(~np.isin(fold, pair))))
        for held, tested in (pair, pair[::-1]):
            inner[held][tested] = errors_on(fold == tested, fitted)
    return _average_over_rows(outer, fold), _summarize_nested(y, fold, outer, inner, n_events, error)


def _summarize_nested(y, fold, outer, inner, n_events, error):
    """Make the table ``nested`` of :class:`Refinement`: each fold's error at the step that the other folds choose.

    `outer` has the errors of every step by fold. `inner` has, by fold left out, the errors of each other fold,
    predicted by refinements without both.
    """
    steps = []
    for held, errors in inner.items():
        if errors:
            rows = fold == held
            step = _find_best(_average_over_rows(errors, fold))
            mean_baseline = error(y[rows], y[~rows].mean())
            steps.append((rows.sum(), n_events[step], outer[held][step], mean_baseline))
    return pd.DataFrame(steps, columns=["rows", "n_events", "error", "mean"])


def _average_over_rows(errors, fold):
    """Average several folds' errors at each step, weighted by their numbers of rows."""
    rows = [(fold == tested).sum() for tested in errors]
    return np.average(list(errors.values()), axis=0, weights=rows)


def _find_best(errors):
    """Find the step of the smallest error; the last of several, which has the fewest events."""
    return int(np.flatnonzero(errors == errors.min())[-1])


def _compute_baselines(X, y, train, test, fold, holdout, error):
    """Compute the errors of predictions by one event or none: the Series ``baselines`` of :class:`Refinement`."""
    values = y.to_numpy()
    mean = values[train].mean()
    errors = {
        "mean": error(values[test], mean),
        "neighbours": error(values[test], np.interp(test, train, values[train])),
        "one_event": error(values[test], predict_by_one_event(X.iloc[train], y.iloc[train], X.iloc[test])),
        "blocks_mean": error(values, [values[fold != held].mean() for held in fold]),
        "blocks_one_event": error(values, hold_out_one_event(X, y, fold)),
        "holdout_mean": np.nan,
        "holdout_one_event": np.nan,
        "holdout_repeat": np.nan,
    }
    if holdout is not None:
        other = holdout[1]
        errors["holdout_mean"] = error(other, values.mean())
        errors["holdout_one_event"] = error(other, predict_by_one_event(X, y, holdout[0]))
        if other.index.equals(y.index):
            errors["holdout_repeat"] = error(other, values)
    return pd.Series(errors, name="error")
