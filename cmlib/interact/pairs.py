"""Measure the interaction of pairs of events in a model of IPC (instructions per cycle), by three published measures.

:func:`rank_pairs` takes rates, IPC and events, and returns a DataFrame, a row per pair, the strongest first. Raises a
ValueError if an event is no column of the model, or there is nothing to pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cmlib.errors import InputError
from cmlib.interact.dependence import partial_dependences
from cmlib.rank.boosting import regressor

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from cmlib.rank.boosting import Boosting

# Intensities below this share of the sum of squared predictions are rounding errors, and set to 0.
_ROUNDING = 1e-20


def rank_pairs(
    X: pd.DataFrame,
    y: pd.Series,
    events: Sequence[str],
    *,
    partners: Sequence[str] | None = None,
    method: str = "residual_variance",
    fitted: BaseEstimator | None = None,
    model: BaseEstimator | None = None,
    boosting: Boosting | None = None,
    n_points: int = 60,
    seed: int = 0,
) -> pd.DataFrame:
    """Rank pairs of events by the strength of their interaction in one model of IPC.

    ``residual_variance``: all other events are held at their means, the model predicts
    IPC at the pair's values in every row of X, and a plane is fitted to the
    predictions; the intensity is the sum of its squared residuals (Elith, Leathwick
    and Hastie 2008, and, with observed IPC in its formula, CounterMiner, §III-D).
    ``printed``: Eq. 12 as printed, the squared residuals of a plane fitted to the
    observed IPC. ``h_statistic`` is Friedman and Popescu's (2008): the part of the partial
    dependence on the pair that is not the sum of the partial dependences on either event. In all of
    them, importances are intensities normalized to 100 % (Eq. 13).

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Rates of events (counts per cycle), as :func:`cmlib.merge.align_runs` makes them.
    y : Series, shape (n_rows,)
        IPC; used by ``printed``, and to fit a model where none is given.
    events : sequence of str
        Events to pair, such as the ten most important.
    partners : sequence of str, optional
        Columns that each event is paired with, such as a program's parameters, instead
        of the other events.
    method : {"residual_variance", "printed", "h_statistic"}, default "residual_variance"
        The measure of intensity. The default follows the paper's text; but only ``h_statistic`` finds products
        that were planted in synthetic data (notebook 04), and should be used where it matters which pair is first.
    fitted : fitted estimator, optional
        A model of some columns of X, such as that of :func:`cmlib.rank.refine`.
        Without it, one is fitted to all of X.
    model : estimator, optional
        Model to fit if `fitted` is not given, as :func:`cmlib.rank.regressor` takes it.
    boosting : cmlib.rank.boosting.Boosting, optional
        Settings of the boosted trees that are fitted if neither is given.
    n_points : int, default 60
        For ``h_statistic``: number of rows, drawn at random, that H is computed on; its cost grows with the square.
    seed : int, default 0
        Seed of the model, and of the rows drawn.

    Returns
    -------
    DataFrame
        A row per pair, the strongest first: ``pair`` ("a × b"), ``event_a`` and
        ``event_b`` (in order of their names, or event and partner), ``intensity`` (sum of the squared
        residuals [IPC²]; for ``h_statistic`` of the part that is no sum of both events) and
        ``importance`` [%]. ``h_statistic`` adds ``h``: root of the share of that part in the sum of squares of the
        pair's centered partial dependence (0: no interaction, 1: nothing but interaction).

    Raises
    ------
    ValueError
        If the method is unknown, there is nothing to pair, or an event is not a
        column of the model.

    Notes
    -----
    The text around Eq. 12 asks for IPC with the other events at their means, which
    was never observed. Eq. 12 as printed takes the observed IPC; then the residuals hold
    the effects of all other events: pairs that matter least come first, and all have nearly
    the same share, where the first pairs of the paper's figures have 19 to 64 %. Predictions
    avoid that, but any non-linear effect of a single event is taken for an interaction, so that
    pairs with a strong, non-linear event rank high, and planted products rank low.
    Pairs are ranked by intensity, not by `h`, which is also large for pairs that hardly matter.

    Examples
    --------
    A pair whose product was planted in synthetic data comes first:

    >>> from cmlib.synthetic import product_pair_data
    >>> data = product_pair_data(n_steps=60, n_events=4, n_pairs=1, seed=2)
    >>> pairs = rank_pairs(data.X, data.ipc, list(data.X), method="h_statistic")
    >>> pairs["pair"][0], data.pairs
    ('event_0 × event_3', (('event_0', 'event_3'),))
    """
    events = sorted(dict.fromkeys(events))
    pairs = list(combinations(events, 2) if partners is None else product(events, sorted(set(partners))))
    if not pairs:
        raise InputError(f"{len(events)} event(s) given; pairs need at least 2, or partners beside them.")
    if fitted is None:
        X = X[sorted(X.columns)]
        fitted = regressor(model, boosting=boosting, seed=seed).fit(X, y)
    members = list(dict.fromkeys(chain.from_iterable(pairs)))
    if unknown := [event for event in members if event not in fitted.feature_names_in_]:
        raise InputError(f"{unknown[0]!r} is no column of the model's {len(fitted.feature_names_in_)}.")
    X = X[fitted.feature_names_in_]
    if method == "residual_variance":
        measures = _residual_variances(fitted, X, pairs)
    elif method == "printed":
        measures = (
            {"intensity": _measure_beyond_plane(X[list(pair)].to_numpy(), y.to_numpy())} for pair in pairs
        )
    elif method == "h_statistic":
        measures = _h_statistics(fitted, _draw_rows(X, n_points, seed), pairs)
    else:
        raise InputError(f"method is {method!r}; it can be 'residual_variance', 'printed' or 'h_statistic'.")
    return _make_table(pairs, measures, negligible=_ROUNDING * np.sum(fitted.predict(X) ** 2))


def _residual_variances(fitted, X, pairs):
    """Yield a dict with the intensity of each pair by predictions at the means of the other events."""
    at_means, values = X.mean().to_frame().T, X.to_numpy()
    places = _find_columns(X, pairs)
    held = ((place, values[:, place]) for place in places)
    for place, predicted in zip(places, partial_dependences(fitted, at_means, held), strict=True):
        yield {"intensity": _measure_beyond_plane(values[:, place], predicted)}


def _measure_beyond_plane(pair, values):
    """Sum the squared residuals of a plane fitted to `values` over a pair of events, array (n_rows, 2)."""
    # Centred and scaled, because events differ in size (1e-6 … 1), which makes the fit ill-conditioned.
    centred = pair - pair.mean(axis=0)
    spread = centred.std(axis=0)
    plane = np.column_stack([np.ones(len(pair)), centred / np.where(spread > 0, spread, 1.0)])
    coefficients = np.linalg.lstsq(plane, values, rcond=None)[0]
    return np.sum((plane @ coefficients - values) ** 2)


def _h_statistics(fitted, X, pairs):
    """Yield a dict with intensity and h of each pair, from the partial dependences at the rows of X."""
    held = [(event,) for event in dict.fromkeys(chain.from_iterable(pairs))] + pairs
    values = X.to_numpy()
    points = ((place, values[:, place]) for place in _find_columns(X, held))
    dependences = partial_dependences(fitted, X, points)
    centred = {events: mean - mean.mean() for events, mean in zip(held, dependences, strict=True)}
    for a, b in pairs:
        joint = centred[a, b]
        beyond = np.sum((joint - centred[a,] - centred[b,]) ** 2)
        whole = np.sum(joint**2)
        yield {"intensity": beyond, "h": np.sqrt(beyond / whole) if whole > 0 else 0.0}


def _find_columns(X, several):
    """Find the column numbers of several tuples of events, as arrays.

    A dict is used because the index is slow for many pairs.
    """
    position = {event: place for place, event in enumerate(X.columns)}
    return [np.array([position[event] for event in events]) for events in several]


def _draw_rows(X, n_points, seed):
    """Draw rows of X at random, in their order; return all of them if there are no more than n_points."""
    if n_points >= len(X):
        return X
    return X.iloc[np.sort(np.random.default_rng(seed).choice(len(X), n_points, replace=False))]


def _make_table(pairs, rows, negligible):
    """Make the table that :func:`rank_pairs` returns from each pair's dict of measures."""
    pairs = pd.DataFrame(pairs, columns=["event_a", "event_b"])
    pairs.insert(0, "pair", pairs["event_a"] + " × " + pairs["event_b"])
    measures = pd.DataFrame(list(rows))
    pairs = pairs.join(measures.mask(measures["intensity"] < negligible, 0.0))
    total = pairs["intensity"].sum()
    pairs.insert(4, "importance", 100 * pairs["intensity"] / total if total > 0 else 0.0)
    return pairs.sort_values("intensity", ascending=False, kind="stable", ignore_index=True)
