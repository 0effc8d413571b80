"""Partial dependence: a model's mean prediction with one event or two held at chosen values."""

from dataclasses import dataclass
from itertools import islice

import numpy as np
import pandas as pd

_ROWS = 40_000  # predicted in one call: of a few hundred rows, the call costs more than the trees


@dataclass(frozen=True)
class Surface:
    """Partial dependence of IPC on a pair of events, and on each alone.

    Attributes
    ----------
    joint : DataFrame, shape (n_values of a, n_values of b)
        Partial dependence on both [IPC]; index and columns: the values.
    single : dict of str to Series
        Partial dependence on each alone [IPC], by its values.
    mean : float
        Mean prediction over the rows [IPC].
    """

    joint: pd.DataFrame
    single: dict
    mean: float

    @property
    def summed(self):
        """The sum of the two single effects around the mean: the surface if neither heeded the other."""
        down, across = self.single[self.joint.index.name], self.single[self.joint.columns.name]
        both = np.add.outer(down.to_numpy(), across.to_numpy()) - self.mean
        return pd.DataFrame(both, self.joint.index, self.joint.columns)

    @property
    def beyond(self):
        """What is left of the joint effect without that sum: 0 everywhere for an additive model."""
        return self.joint - self.summed


def partial_dependence(fitted, X, points):
    """Compute the mean prediction with some events held at given values and the others as in every row.

    Parameters
    ----------
    fitted : fitted estimator
        With `predict`.
    X : DataFrame, shape (n_rows, n_events)
        The columns of the model, in its order.
    points : DataFrame, shape (n_points, events held)
        Values at which they are held.

    Returns
    -------
    ndarray of float64, shape (n_points,)
        Friedman (2001), Eq. 53, by brute force: n_points times n_rows predictions.

    Raises
    ------
    ValueError
        If an event held is no column of X.
    """
    places = X.columns.get_indexer(points.columns)
    if (places < 0).any():
        raise ValueError(
            f"event {points.columns[places < 0][0]!r} is no column of the model, which has {X.shape[1]}."
        )
    return next(partial_dependences(fitted, X, [(places, points.to_numpy())]))


def partial_dependences(fitted, X, point_sets):
    """:func:`partial_dependence` at many sets of points, several of them in a call of the model."""
    values, rest = X.to_numpy(), iter(point_sets)
    while held := list(islice(rest, 1)):
        held += islice(rest, max(0, _ROWS // max(1, len(held[0][1]) * len(X)) - 1))
        rows = np.concatenate([_held(values, *points) for points in held])
        predicted = fitted.predict(pd.DataFrame(rows, columns=X.columns))
        yield from predicted.reshape(len(held), -1, len(X)).mean(axis=2)


def pair_surface(fitted, X, event_a, event_b, *, n_values=10, n_rows=100):
    """Compute the partial dependence of IPC on two events, over the middle nine tenths of their values.

    Parameters
    ----------
    fitted : fitted estimator
        With `feature_names_in_`, such as that of :func:`cmlib.rank.refine`.
    X : DataFrame, shape (rows, events)
        Holds at least the model's columns.
    event_a, event_b : str
        Down and across.
    n_values : int, default 10
        Values of each event at most: quantiles from 5 to 95 %, so that each
        stands for as many rows. An event that mostly reads the same has fewer.
    n_rows : int, default 100
        Rows averaged over at most, evenly spaced.

    Returns
    -------
    Surface
        The surface, each event's own curve, and what the pair does beyond their sum (`beyond`) [IPC].

    Raises
    ------
    ValueError
        If both are one event, or one is no column of the model.

    Notes
    -----
    All pairs of values are asked for, also those that never occur together: there
    the model extrapolates, and a figure should show where the rows lie.
    """
    if event_a == event_b:
        raise ValueError(f"both events are {event_a!r}; a surface needs two different ones.")
    missing = [event for event in (event_a, event_b) if event not in fitted.feature_names_in_]
    if missing:
        raise ValueError(
            f"event {missing[0]!r} is no column of the model, which has {len(fitted.feature_names_in_)}."
        )
    X = X[fitted.feature_names_in_]
    values = {
        event: np.unique(X[event].quantile(np.linspace(0.05, 0.95, n_values))) for event in (event_a, event_b)
    }
    rows = X.iloc[np.unique(np.linspace(0, len(X) - 1, n_rows).round().astype(int))]
    single = {
        event: pd.Series(
            partial_dependence(fitted, rows, pd.DataFrame({event: at})), pd.Index(at, name=event)
        )
        for event, at in values.items()
    }
    grid = pd.MultiIndex.from_product(values.values(), names=values.keys())
    joint = pd.Series(partial_dependence(fitted, rows, grid.to_frame(index=False)), grid).unstack()
    return Surface(joint, single, float(fitted.predict(rows).mean()))


def _held(values, places, points):
    """The rows once for each point, with the events held at its values."""
    rows = np.tile(values, (len(points), 1))
    rows[:, places] = np.repeat(points, len(values), axis=0)
    return rows
