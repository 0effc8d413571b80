"""Generate data with a known answer, to test methods on.

:func:`product_pair_data` returns rates of events (DataFrame), IPC (instructions per cycle, Series), and the pairs of
events that act on IPC together. Raises a ValueError if there are too few events for the pairs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.errors import InputError

__all__ = ["product_pair_data"]


class PlantedPairs(NamedTuple):
    """Rates of events, their IPC, and the pairs of events that act on it together.

    Attributes
    ----------
    X : DataFrame, shape (n_steps, n_events)
        Events per cycle.
    ipc : Series, shape (n_steps,)
        Instructions per cycle.
    pairs : tuple of (str, str)
        Names of the events of each pair.
    """

    X: pd.DataFrame
    ipc: pd.Series
    pairs: tuple


def product_pair_data(
    n_steps: int = 300, n_events: int = 10, n_pairs: int = 2, *, noise: float = 0.02, seed: int = 0
) -> PlantedPairs:
    """Make rates of events that all act on IPC, some pairs of them as a product.

    Parameters
    ----------
    n_steps : int, default 300
        Rows.
    n_events : int, default 10
        Columns.
    n_pairs : int, default 2
        Pairs whose product acts on IPC; no event is in two.
    noise : float, default 0.02
        Standard deviation of the noise [IPC].
    seed : int, default 0
        Of all that is drawn.

    Returns
    -------
    PlantedPairs
        X (DataFrame, shape (n_steps, n_events), events per cycle), ipc (Series) and pairs (tuple of pairs of names).

    Raises
    ------
    ValueError
        If there are too few events for the pairs.
    """
    if 2 * n_pairs > n_events:
        raise InputError(f"{n_pairs} pairs need {2 * n_pairs} events; there are {n_events}.")
    rng = np.random.default_rng(seed)
    levels = _phases(rng, n_steps, n_events)
    signs = rng.choice([-1.0, 1.0], size=n_events)
    ipc = 2.0 + np.tanh(2 * levels) @ (0.12 * signs)
    members = rng.permutation(n_events)[: 2 * n_pairs].reshape(n_pairs, 2)
    for a, b in members:
        ipc += 0.15 * np.clip(levels[:, a] * levels[:, b], -4, 4)
    X = _rates(rng, levels)
    pairs = tuple(tuple(sorted(X.columns[pair])) for pair in members)
    return PlantedPairs(X, _ipc(rng, ipc, noise, X.index), pairs)


def _phases(rng, n_steps, n_events):
    """Make standardized levels of shape (n_steps, n_events).

    Each is the sum of a slow and a fast part of its own, and of two causes common to all events.
    """
    common = _slow(rng, n_steps, 2) @ rng.normal(size=(2, n_events))
    levels = 0.4 * common + 0.6 * _slow(rng, n_steps, n_events) + 0.7 * rng.normal(size=(n_steps, n_events))
    return (levels - levels.mean(axis=0)) / levels.std(axis=0)


def _slow(rng, n_steps, n_series):
    """Make standardized random walks, shape (n_steps, n_series)."""
    walk = np.cumsum(rng.normal(size=(n_steps, n_series)), axis=0)
    return (walk - walk.mean(axis=0)) / walk.std(axis=0)


def _rates(rng, levels):
    """Convert levels to rates of events (DataFrame), each event of a size of its own: 1e-6 to 0.1 per cycle."""
    n_steps, n_events = levels.shape
    sizes = 10.0 ** rng.uniform(-6, -1, size=n_events)
    progress = pd.Index((np.arange(n_steps) + 0.5) / n_steps, name="progress")
    names = [f"event_{number:0{len(str(n_events - 1))}d}" for number in range(n_events)]
    return pd.DataFrame(sizes * np.exp(0.4 * levels), index=progress, columns=names)


def _ipc(rng, values, noise, index):
    """Return the IPC (Series) with normal noise, at least 0.1."""
    return pd.Series(np.maximum(values + rng.normal(0, noise, len(values)), 0.1), index=index, name="ipc")
