"""Cumulated counts that tests compress: any at all, and some whose rates change where planted."""

import math

import numpy as np
from hypothesis import strategies as st

from cmlib.compress import OnlineRegression
from cmlib.compress.bounded import BoundedRegression

COMPRESSORS = {
    "printed": OnlineRegression,
    "drift": lambda events=None: OnlineRegression(events, drift=5.0),
    "bounded": lambda events=None: BoundedRegression(4.0, events),
}


@st.composite
def counters(draw, max_size=40, n_events=None):
    """Cumulated counts: x grows with every sample, y may stand still and may start at zero."""
    n = draw(st.integers(1, max_size))
    unit = draw(st.sampled_from([1, 7, 1_000_000]))
    largest = draw(st.sampled_from([1, 3, 100, 10**6]))
    x = np.cumsum(draw(st.lists(st.integers(1, 5), min_size=n, max_size=n))) * unit
    shape = (n, n_events or 1)
    steps = draw(st.lists(st.integers(0, largest), min_size=math.prod(shape), max_size=math.prod(shape)))
    y = np.cumsum(np.reshape(steps, shape), axis=0)
    return x, y if n_events else y[:, 0]


def phases(n, seed):
    """Constant rates that change at known samples, with a little jitter on each count."""
    rng = np.random.default_rng(seed)
    rates = rng.permutation(np.arange(1000, 1000 + 40 * 157, 40))
    x = np.arange(1, n + 1) * 1_000_000
    return x, np.cumsum(np.repeat(rates, n // 157 + 1)[:n]) + rng.integers(-3, 4, n)


def starts(lines, x):
    return np.searchsorted(x, lines["x_start"]).tolist()


def members(line, x):
    return (x >= line.x_start) & (x <= line.x_end)
