"""Multiplexed series and runs, and rates of events one of which drives IPC: what was planted must be found."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.synthetic import _ipc, _phases, _rates, _slow


class PlantedSeries(NamedTuple):
    """A multiplexed series, what it should have been, and where it was spoilt."""

    values: np.ndarray
    running: np.ndarray
    truth: np.ndarray
    spikes: np.ndarray
    gaps: np.ndarray
    zeros: np.ndarray


class PlantedRun(NamedTuple):
    """Estimates of a multiplexed run, the running shares, and the true counts."""

    counts: pd.DataFrame
    running: pd.DataFrame
    truth: pd.DataFrame


class PlantedDriver(NamedTuple):
    """Rates of events, the IPC that one of them drives, and its name."""

    X: pd.DataFrame
    ipc: pd.Series
    driver: str


def multiplexed_series(n=300, *, n_spikes=4, n_gaps=12, n_zeros=6, in_gaps=np.nan, seed=0):
    """A series with spikes, gaps and true zeros at known places."""
    rng = np.random.default_rng(seed)
    places = rng.permutation(n)[: n_spikes + n_gaps + n_zeros]
    spikes, gaps, zeros = (
        np.isin(np.arange(n), part) for part in np.split(places, [n_spikes, n_spikes + n_gaps])
    )
    truth = 1e6 * (1 + 0.15 * np.sin(np.linspace(0, rng.uniform(6, 12), n)) + rng.normal(0, 0.03, n))
    truth[zeros] = 0
    values = truth.copy()
    values[spikes] = 1e6 * rng.uniform(12, 20, n_spikes)
    values[gaps] = in_gaps
    running = np.where(gaps, 0.0, rng.choice([0.23, 0.24, 0.27], n))
    return PlantedSeries(values, running, truth, spikes, gaps, zeros)


def multiplexed_run(n_intervals=200, n_groups=4, *, n_slices=25, restless=0.35, seed=0):
    """A run whose groups of three events take turns, slice by slice, on the counters."""
    rng = np.random.default_rng(seed)
    n = n_intervals * n_slices
    slow = np.repeat(_slow(rng, n_intervals, 3), n_slices, axis=0)
    activities = np.exp(0.5 * slow + restless * rng.normal(size=(n, 3)))
    mixture = rng.dirichlet(np.full(3, 0.7), size=2 + 3 * n_groups).T
    sizes = np.concatenate([[8e6, 1e7], 10.0 ** rng.uniform(2, 6, size=3 * n_groups)])
    slices = activities @ mixture * sizes
    turn = np.arange(n) % n_groups
    seen = np.column_stack([np.ones((n, 2)), np.repeat(turn[:, None] == np.arange(n_groups), 3, axis=1)])
    truth, counted, turns = (
        part.reshape(n_intervals, n_slices, -1).sum(axis=1) for part in (slices, slices * seen, seen)
    )
    share = turns / n_slices
    index = pd.Index(0.1 * np.arange(1, n_intervals + 1), name="time_s")
    names = ["instructions", "cycles", *(f"group_{g}_event_{e}" for g in range(n_groups) for e in range(3))]
    return PlantedRun(*(pd.DataFrame(part, index, names) for part in (counted / share, share, truth)))


def driver_data(n_steps=200, n_events=60, *, noise=0.02, seed=0):
    """Rates of many events, one of which drives IPC."""
    rng = np.random.default_rng(seed)
    levels = _phases(rng, n_steps, n_events)
    acting = rng.permutation(n_events)[:6]
    ipc = 2.0 - 0.5 * np.tanh(levels[:, acting[0]]) - 0.05 * np.tanh(levels[:, acting[1:]]).sum(axis=1)
    X = _rates(rng, levels)
    return PlantedDriver(X, _ipc(rng, ipc, noise, X.index), X.columns[acting[0]])
