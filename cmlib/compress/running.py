"""A straight line that grows by one sample at a time: least squares without the samples.

Everything is kept about the line's first sample, as means and centred sums.
The plain sums of Wu and Mencer (Eq. 3-8), taken about zero, lose their last
digits to counts that have become large, and with them the breaks that come late
in a long run; these do not.

A state is a tuple of numbers, so that the compiler keeps it in registers, and
each step makes a new one; between two blocks of samples it rests in an array.
"""

from typing import NamedTuple

import numpy as np
from numba import njit


class Span(NamedTuple):
    """What the current line's samples say about x: `scatter` is the sum of (x - mean)²."""

    n: float
    x_start: float
    x_last: float
    mean: float
    scatter: float


class Fit(NamedTuple):
    """What they say about one event's y.

    `joint` is the sum of (x - mean)(y - mean), `slope` that of the least-squares
    line (Eq. 3), 0 for a single sample, `sse` the sum of its squared residuals
    (Eq. 8); `rising` and `falling` is what the drift test has gathered.
    """

    y_start: float
    y_last: float
    mean: float
    joint: float
    slope: float
    sse: float
    rising: float
    falling: float


class Step(NamedTuple):
    """What a new sample's x means for every event: its distance from the mean, and factors that all share."""

    run: float
    share: float
    weight: float
    shrink: float
    inverse: float


@njit(cache=True)
def load_span(rest):
    """The state that rests in the only row of an array."""
    return Span(rest[0, 0], rest[0, 1], rest[0, 2], rest[0, 3], rest[0, 4])


@njit(cache=True)
def load_fit(rest, j):
    """The state that rests in row j."""
    return Fit(rest[j, 0], rest[j, 1], rest[j, 2], rest[j, 3], rest[j, 4], rest[j, 5], rest[j, 6], rest[j, 7])


@njit(cache=True)
def store(rest, j, state):
    """Lay a state to rest in row j."""
    for k in range(len(state)):
        rest[j, k] = state[k]


@njit(cache=True)
def start_span(x):
    """A line's first sample."""
    return Span(1.0, x, x, 0.0, 0.0)


@njit(cache=True)
def start_fit(y):
    """A line's first sample."""
    return Fit(y, y, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@njit(cache=True, error_model="numpy")
def include_x(span, x):
    """Let a sample into the line: its x, and what that means for each event."""
    n = span.n + 1.0
    share = 1.0 / n
    weight = span.n * share
    run = (x - span.x_start) - span.mean
    scatter = span.scatter + weight * run * run
    inverse = 1.0 / scatter
    step = Step(run, share, weight, weight * span.scatter * inverse, inverse)
    return Span(n, span.x_start, x, span.mean + run * share, scatter), step


@njit(cache=True)
def include_y(fit, step, y):
    """Let a sample into the line: the y of one event."""
    rise = (y - fit.y_start) - fit.mean
    off = rise - fit.slope * step.run
    joint = fit.joint + step.weight * step.run * rise
    return Fit(
        fit.y_start,
        y,
        fit.mean + rise * step.share,
        joint,
        joint * step.inverse,
        fit.sse + off * off * step.shrink,
        fit.rising,
        fit.falling,
    )


@njit(cache=True)
def gather(fit, rising, falling):
    """Remember what the drift test has gathered."""
    return Fit(fit.y_start, fit.y_last, fit.mean, fit.joint, fit.slope, fit.sse, rising, falling)


@njit(cache=True)
def residual(span, fit, x, y):
    """How far y lies above the line of all samples before it."""
    return (y - fit.y_start) - fit.mean - fit.slope * ((x - span.x_start) - span.mean)


@njit(cache=True, error_model="numpy")
def sigma(span, fit):
    """Standard deviation of the line (Eq. 7); 0 for fewer than three samples."""
    return np.sqrt(fit.sse / (span.n - 2.0)) if span.n > 2.0 else 0.0


@njit(cache=True)
def write_span(span, rows, i):
    """Begin row i, a finished line: x_start, x_end, n."""
    rows[i, 0] = span.x_start
    rows[i, 1] = span.x_last
    rows[i, 2] = span.n


@njit(cache=True)
def write_fit(span, fit, rows, i, j):
    """Go on with event j: slope, intercept, sigma (Eq. 3, 4, 7)."""
    rows[i, 3 + 3 * j] = fit.slope
    rows[i, 4 + 3 * j] = (fit.y_start + fit.mean) - fit.slope * (span.x_start + span.mean)
    rows[i, 5 + 3 * j] = sigma(span, fit)
