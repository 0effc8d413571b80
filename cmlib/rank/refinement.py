"""Rank events by event importance refinement.

A model of IPC (instructions per cycle) is fitted to all events, the least important events are dropped, and the model
is fitted again, until few events are left. :func:`refine` takes event rates and IPC, and returns a
:class:`Refinement`. It contains the error at each number of events, the best model, and the importances of its
events.
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
# One event predicts about as well as the model if its error is at most this multiple of the model's error.
NEAR = 1.5


@dataclass(frozen=True)
class Refinement:
    """A refined ranking and its errors.

    All errors are in percent, see `error` of :func:`refine`.

    Attributes
    ----------
    history : DataFrame
        One row per model, with fewer and fewer events. Columns:

        - ``n_events``: number of events.
        - ``error``: error on a random share of the rows, predicted by a model of the other rows.
        - ``blocks_error``: error on blocks of neighboring rows, predicted by models of the other blocks.
        - ``holdout_error``: error on the hold-out, predicted by a model of all rows. NaN without a hold-out.
        - ``mean_baseline``, ``blocks_mean_baseline``: error of the mean on the same rows.
        - ``one_event_baseline``, ``blocks_one_event_baseline``: error of a straight line through one event.
    nested : DataFrame
        Nested cross-validation, one row per fold of blocks. The number of events is chosen without this fold. Empty if
        there are fewer than three folds. Columns:

        - ``rows``, ``n_events``: number of rows and number of events.
        - ``error``, ``mean``: error of the model and of the mean of the other folds.
    baselines : Series
        Errors of simple predictions. Keys:

        - ``mean``, ``one_event``: mean and line through one event, on the random share.
        - ``neighbours``: interpolation between the nearest training rows, on the random share.
        - ``blocks_mean``, ``blocks_one_event``: mean and line through one event, on blocks.
        - ``holdout_mean``, ``holdout_one_event``: the same on the hold-out.
        - ``holdout_repeat``: IPC of the same step in X, on the hold-out. NaN if the indexes differ.
    chosen : int
        Row number of the best model in `history`.
    model : fitted estimator
        Model with the smallest ``blocks_error``, fitted to all rows.
    importances : Series
        Importance of each event in `model` [%], in descending order. The sum is 100.
    rankings : list of Series
        Importances of the models in `history`, fitted to all rows.
    one_event : str
        Event that correlates best with IPC in all rows.
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
        """Events of `model` (list of str), the most important first."""
        return list(self.importances.index)

    @property
    def errors(self) -> pd.Series:
        """Row of `model` in `history` (Series)."""
        return self.history.iloc[self.chosen]

    @property
    def nested_error(self) -> float:
        """Error of nested cross-validation [%], mean over rows (float). NaN if `nested` is empty."""
        rows = self.nested["rows"]
        return float((self.nested["error"] * rows).sum() / rows.sum()) if len(rows) else np.nan

    @property
    def unseen_error(self) -> float:
        """Error of the refined model on unseen blocks [%] (float): `nested_error`, or ``blocks_error`` without it."""
        return self.nested_error if len(self.nested) else float(self.errors["blocks_error"])

    @property
    def beats_mean(self) -> bool:
        """True if the refined model has a smaller error than the mean on unseen blocks."""
        return bool(self.unseen_error < self.baselines["blocks_mean"])

    @property
    def one_event_suffices(self) -> bool:
        """True if the error of one event on unseen blocks is at most 1.5 times the error of the refined model."""
        return bool(self.baselines["blocks_one_event"] <= NEAR * self.unseen_error)

    @property
    def as_printed(self) -> pd.Series:
        """Row of `history` with the smallest ``error`` (Series), as in the papers.

        This error is too small, because the same rows select the model.
        """
        return self.history.loc[self.history["error"].idxmin()]


@dataclass(frozen=True)
class _Data:
    """The data of a refinement, and their division for tests.

    Attributes
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events.
    y : Series of float, shape (n_rows,)
        IPC or another rate.
    train, test : ndarray of int
        Positions of the training rows and of a random share of test rows.
    fold : ndarray of int, shape (n_rows,)
        Number of the fold of each row in blocked cross-validation.
    holdout : tuple (DataFrame, Series) or None
        X and y of another recording.
    error : callable
        Function ``error(measured, predicted)`` that returns a mean error over rows [%].
    """

    X: pd.DataFrame
    y: pd.Series
    train: np.ndarray
    test: np.ndarray
    fold: np.ndarray
    holdout: tuple[pd.DataFrame, pd.Series] | None
    error: Callable


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
    """Rank events by event importance refinement.

    A model is fitted to all events, the least important events are dropped, and the model is fitted again, until at
    most `step` events are left. The importances of the most accurate model are the ranking (CounterMiner, §III-C and
    §V-B; GBRT paper, §3.2, Fig. 4).

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events, for example counts per cycle from :func:`cmlib.merge.align_runs`.
    y : Series of float > 0, shape (n_rows,)
        IPC, or another rate if `error` is given.
    step : int, default 10
        Number of events that are dropped at a time.
    test_share : float, default 0.2
        Random share of the rows that are tested as in the papers (0-1). Both papers use a fifth.
    model : estimator, optional
        A scikit-learn regressor to clone. Default: LightGBM's gradient boosting.
    boosting : cmlib.rank.boosting.Boosting, optional
        Settings of the default model.
    n_blocks : int, default 12
        Number of blocks, see :func:`blocks`.
    n_folds : int >= 2, default 4
        Number of folds. Block b belongs to fold b modulo `n_folds`.
    holdout : tuple (DataFrame, Series), optional
        Rates and IPC of another recording, for tests only. For example, a second pass of
        :func:`cmlib.merge.align_passes`.
    leaks_target : callable, default :func:`cmlib.rank.leaks.is_named_leak`
        Takes an event name, and returns True if the event contains y. Required if y is not IPC.
    error : callable, default :func:`relative_error`
        Function ``error(measured, predicted)`` that returns a mean error over rows [%].
    seed : int, default 0
        Seed of the random share and of the models.

    Returns
    -------
    Refinement
        The errors, the best model and its ranking.

    Raises
    ------
    ValueError
        If X has an event that contains y, a gap, or fewer than 20 rows. Also if y is not finite and positive, if the
        hold-out does not have all columns of X, or if a parameter is out of its range.

    Notes
    -----
    The best number of events is chosen by blocked cross-validation: rows are divided into blocks of neighbors, and each
    fold of blocks is predicted by a refinement on the other folds. A random share of the rows is easier to predict,
    because the neighbors of a test row are in the training data.

    The smallest of these errors is still too small, because it is the smallest of several. Nested cross-validation
    chooses the number of events without the tested fold. This needs n_folds·(n_folds - 1)/2 additional refinements.

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
    data = _Data(X, y, train, test, blocks(X.index, n_blocks) % n_folds, holdout, error)
    blank = regressor(model, boosting=boosting, seed=seed)

    def refine_rows(rows):
        """Yield the models of :func:`drop_least`, fitted to some rows (positions)."""
        # LightGBM tries all events at each split in a fixed order. So the model does not change if events without a
        # split are dropped. scikit-learn uses a random order, which decides between equally good splits.
        return drop_least(blank, X.iloc[rows], y.iloc[rows], step=step, reusable=model is None)

    models = list(refine_rows(np.arange(len(X))))
    baselines = _compute_baselines(data)
    history, nested = _test_models(models, refine_rows, data, baselines)
    chosen = _find_best(history["blocks_error"])
    rankings = [ranking for _, ranking in models]
    return Refinement(
        history=history,
        nested=nested,
        baselines=baselines,
        chosen=chosen,
        model=clone(blank).fit(X[sorted(rankings[chosen].index)], y),
        importances=rankings[chosen],
        rankings=rankings,
        one_event=best_event(X, y),
    )


def _check_settings(test_share, step, n_folds):
    """Raise an InputError if a setting of :func:`refine` is out of its range."""
    if not 0 < test_share < 1 or step < 1:
        raise InputError(
            f"test_share is {test_share} and step is {step}; test_share must be between 0 and 1, and step at least 1."
        )
    if n_folds < 2:
        raise InputError(f"n_folds is {n_folds}; use 2 folds or more.")


def relative_error(measured: ArrayLike, predicted: ArrayLike) -> float:
    """Return the mean relative error in percent (CounterMiner, Eq. 14).

    Parameters
    ----------
    measured : array-like of float > 0, shape (n_rows,)
        IPC or another rate.
    predicted : array-like of float, shape (n_rows,), or float
        Predictions in the same unit.

    Returns
    -------
    float
        Mean of ``|measured - predicted| / measured`` [%].
    """
    measured = np.asarray(measured)
    return 100 * np.mean(np.abs(measured - np.asarray(predicted)) / measured)


def error_of_mean(measured, predicted, *, mean):
    """Return the mean absolute error in percent of the mean rate.

    Unlike the relative error, it is defined for rates of zero.

    Parameters
    ----------
    measured, predicted : array-like of float, shape (n_rows,)
        Rates in one unit.
    mean : float
        Mean rate.

    Returns
    -------
    float
        Mean of ``|measured - predicted| / mean`` [%].
    """
    return 100 * np.mean(np.abs(np.asarray(measured) - np.asarray(predicted))) / mean


def best_event(X, y):
    """Find the event with the largest absolute correlation (Pearson) with y.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events.
    y : Series of float, shape (n_rows,)
        IPC or another rate.

    Returns
    -------
    str
        Name of the column.
    """
    centered = (X - X.mean()).to_numpy()
    spread = np.sqrt((centered**2).sum(axis=0))
    covariance = np.abs(centered.T @ (y - y.mean()).to_numpy())
    correlation = np.divide(covariance, spread, out=np.zeros(len(spread)), where=spread > 0)
    return X.columns[int(correlation.argmax())]


def predict_by_one_event(X: pd.DataFrame, y: pd.Series, X_new: pd.DataFrame) -> np.ndarray:
    """Predict y with a straight line through the event that correlates best with it.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events in the training rows.
    y : Series of float, shape (n_rows,)
        IPC or another rate in the training rows.
    X_new : DataFrame, shape (n_new, n_events)
        Rates of the same events in the rows to predict.

    Returns
    -------
    ndarray of float, shape (n_new,)
        Predictions [unit of y]. The mean of y if no event varies.
    """
    event = best_event(X, y)
    x = X[event].to_numpy()
    variance = x.var()
    if variance == 0:
        return np.full(len(X_new), y.mean())
    slope = ((x - x.mean()) * (y - y.mean()).to_numpy()).mean() / variance
    return y.mean() + slope * (X_new[event].to_numpy() - x.mean())


def hold_out_one_event(X: pd.DataFrame, y: pd.Series, fold: np.ndarray) -> np.ndarray:
    """Predict each fold with a straight line through one event of the other folds.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events.
    y : Series of float, shape (n_rows,)
        IPC or another rate.
    fold : ndarray of int, shape (n_rows,)
        Number of the fold of each row. For example, from :func:`blocks`.

    Returns
    -------
    ndarray of float, shape (n_rows,)
        Predictions [unit of y].
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
        Index of the rows. If it has a level ``progress`` (0-1), blocks are equal parts of the progress. Otherwise, they
        have equal numbers of rows.
    n_blocks : int
        Number of blocks.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Number of the block of each row, from 0 to n_blocks - 1.
    """
    progress = np.arange(len(index)) / len(index)
    if "progress" in index.names:
        progress = index.get_level_values("progress").to_numpy()
    return np.minimum((progress * n_blocks).astype(int), n_blocks - 1)


def _check_data(X, y, name, leaks_target, positive, columns=None):
    """Check X and y, and return them with sorted columns, or with the given `columns`.

    `name` is the name of X in messages.
    """
    columns = sorted(X.columns) if columns is None else columns
    if missing := [event for event in columns if event not in X]:
        raise InputError(
            f"{name} lacks {len(missing)} events of X, such as {missing[0]!r}; "
            "align both at once with cmlib.merge.align_passes."
        )
    if leaking := [event for event in columns if leaks_target(event)]:
        raise InputError(
            f"{name} has the event {leaking[0]!r}, which contains the target (target leakage): drop this column. "
            "cmlib.rank.leaks lists such events for IPC."
        )
    if len(X) != len(y) or len(X) < _FEWEST_ROWS:
        raise UnfitRecordingError(
            f"{name} has {len(X)} rows and {len(y)} values of y; the numbers must be equal and at least {_FEWEST_ROWS}."
        )
    X = X[columns]  # sorted, so that the ranking does not depend on the order of the columns
    n_gaps = X.isna().sum()
    if n_gaps.any():
        raise UnfitRecordingError(
            f"{name}: event {n_gaps.idxmax()!r} has {n_gaps.max()} gaps in {len(X)} rows; "
            "clean the runs before merging them."
        )
    if not (np.isfinite(y) & (not positive or y > 0)).all():
        kind = "positive and finite" if positive else "finite"
        raise UnfitRecordingError(f"{name}: y is {y.min()} to {y.max()}; it must be {kind} in all rows.")
    return X, y


def _split_randomly(n_rows, share, seed):
    """Return the sorted numbers of training and test rows; the test rows are a random share."""
    order = np.random.default_rng(seed).permutation(n_rows)
    n_test = max(1, round(n_rows * share))
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def drop_least(
    blank: BaseEstimator, X: pd.DataFrame, y: pd.Series, *, step: int, reusable: bool = True
) -> Iterator[tuple[BaseEstimator, pd.Series]]:
    """Yield models of fewer and fewer events.

    Parameters
    ----------
    blank : estimator
        Unfitted estimator, which is cloned.
    X : DataFrame, shape (n_rows, n_events)
        Rates of events, for example counts per cycle.
    y : Series of float, shape (n_rows,)
        IPC or another rate.
    step : int
        Number of events that are dropped at a time.
    reusable : bool, default True
        If True, the model is not fitted again when only events without a split are dropped. Use False for estimators
        that try events in random order.

    Yields
    ------
    model : fitted estimator
        Model of the remaining events.
    ranking : Series of float
        Importance of the remaining events [%], in descending order.
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


def _test_models(models, refine_rows, data, baselines):
    """Return the tables `history` and `nested` of a Refinement.

    `models` are fitted to all rows. `refine_rows` takes positions of rows, and returns the models fitted to them.
    """
    history = pd.DataFrame({"n_events": [len(ranking) for _, ranking in models]})
    X_test, y_test = data.X.iloc[data.test], data.y.iloc[data.test]
    history["error"] = _compute_errors(refine_rows(data.train), X_test, y_test, data.error)
    errors_by_fold = _cross_validate(refine_rows, data)
    history["blocks_error"] = _average_over_rows(errors_by_fold, data.fold)
    nested = _cross_validate_nested(refine_rows, data, errors_by_fold, history["n_events"])
    history["holdout_error"] = np.nan
    if data.holdout is not None:
        history["holdout_error"] = _compute_errors(models, *data.holdout, data.error)
    for name in ("mean", "one_event", "blocks_mean", "blocks_one_event"):
        history[f"{name}_baseline"] = baselines[name]
    return history, nested


def _compute_errors(models, X, y, error):
    """Return the error of each model on X and y as a list."""
    return [error(y, fitted.predict(X[fitted.feature_names_in_])) for fitted, _ in models]


def _compute_fold_errors(models, data, tested):
    """Return the error of each model on a fold as a list."""
    rows = data.fold == tested
    return _compute_errors(models, data.X[rows], data.y[rows], data.error)


def _cross_validate(refine_rows, data):
    """Return the errors of blocked cross-validation, as a dict of lists keyed by the tested fold."""
    errors_by_fold = {}
    for tested in np.unique(data.fold):
        models = refine_rows(np.flatnonzero(data.fold != tested))
        errors_by_fold[tested] = _compute_fold_errors(models, data, tested)
    return errors_by_fold


def _cross_validate_nested(refine_rows, data, errors_by_fold, n_events):
    """Return the table `nested` of a Refinement.

    The number of events for a fold is chosen by models that were fitted without this fold. `errors_by_fold` is the
    result of :func:`_cross_validate`. `n_events` contains the number of events of each model.
    """
    folds = np.unique(data.fold)
    inner_errors = {held: {} for held in folds}
    if len(folds) > 2:
        for pair in combinations(folds, 2):
            models = list(refine_rows(np.flatnonzero(~np.isin(data.fold, pair))))
            for held, tested in (pair, pair[::-1]):
                inner_errors[held][tested] = _compute_fold_errors(models, data, tested)
    table = []
    for held, errors in inner_errors.items():
        if errors:
            rows = data.fold == held
            best = _find_best(_average_over_rows(errors, data.fold))
            mean_baseline = data.error(data.y[rows], data.y[~rows].mean())
            table.append((rows.sum(), n_events[best], errors_by_fold[held][best], mean_baseline))
    return pd.DataFrame(table, columns=["rows", "n_events", "error", "mean"])


def _average_over_rows(errors, fold):
    """Average the errors of several folds, weighted by their numbers of rows."""
    rows = [(fold == tested).sum() for tested in errors]
    return np.average(list(errors.values()), axis=0, weights=rows)


def _find_best(errors):
    """Return the position of the smallest error. If several are equal, return the last, which has the fewest events."""
    return int(np.flatnonzero(errors == errors.min())[-1])


def _compute_baselines(data):
    """Return the Series `baselines` of a Refinement."""
    X, y, train, test, fold, error = data.X, data.y, data.train, data.test, data.fold, data.error
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
    if data.holdout is not None:
        X_holdout, y_holdout = data.holdout
        errors["holdout_mean"] = error(y_holdout, values.mean())
        errors["holdout_one_event"] = error(y_holdout, predict_by_one_event(X, y, X_holdout))
        if y_holdout.index.equals(y.index):
            errors["holdout_repeat"] = error(y_holdout, values)
    return pd.Series(errors, name="error")
