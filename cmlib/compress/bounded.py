"""Lines with a promise: no sample lies further from its line than a given distance."""

from typing import NamedTuple

import numpy as np
from numba import njit

from cmlib.compress.online import (
    LineStream,
    include_x,
    include_y,
    load_fit,
    load_span,
    start_fit,
    start_span,
    store,
    write_fit,
    write_span,
)

# Corners kept an event and wall. A tube around straight or ragged counts has about ten; one that
# bends smoothly for thousands of samples fills them, and its line ends.
_CORNERS = 1024
_SIDES = (1.0, -1.0)


class Wall(NamedTuple):
    """One wall of the tube of all lines that pass within the bound of every sample.

    The floor goes below the samples, and the steepest line of the tube leans on
    its first corner; the ceiling goes above, with the flattest one: `side` is 1
    and -1. Places are about the line's first sample.
    """

    slope: float
    at_0: float
    n_corners: float


class BoundedRegression(LineStream):
    """As few lines as keep every sample within `bound` of its line, one sample at a time.

    A line goes on as long as some straight line passes within `bound` of all
    its samples. That is decided exactly, from the corners of the two convex
    hulls such a line must pass between, without the samples (O'Rourke, "An
    on-line algorithm for fitting straight lines between data ranges", 1981).
    Stored is the least-squares line or, where that leaves the bound, the first
    line that keeps it on the way to the middle of the tube. The next line
    starts at the sample that did not fit, so a step in the counts costs one
    line.

    Parameters
    ----------
    bound : float > 0, or sequence of float
        Largest distance of a sample from its line [counts], for all events or
        one each. The count over any stretch of the run is then known to within
        twice as much.
    events : sequence of str, optional
        Names of the events that share their line ends; without, one event
        without a name.

    Raises
    ------
    ValueError
        If a bound is not positive, or there are not as many as events.

    Notes
    -----
    Memory is bounded too: a line also ends when the hull of a smooth bend
    outgrows 1024 corners. The bound holds up to the rounding of ``slope * x``.
    """

    def __init__(self, bound, events=None):
        super().__init__(events)
        n_events = len(self._fits)
        bounds = np.asarray(bound, dtype=float)
        if bounds.shape not in {(), (n_events,)} or not (np.isfinite(bounds) & (bounds > 0)).all():
            raise ValueError(
                f"bound must be positive, one number or one for each of {n_events} event(s); got {bound!r}"
            )
        self._bounds = np.broadcast_to(bounds, n_events).copy()
        self._walls = np.zeros((n_events, 2, len(Wall._fields)))
        self._corners = np.empty((n_events, 2, _CORNERS, 2))

    def _advance(self, x, y, rows):
        return _advance(self._span, self._fits, self._walls, self._corners, self._bounds, x, y, rows)

    def _write(self, rows):
        _write(load_span(self._span), self._fits, self._walls, self._corners, rows, 0)


@njit(cache=True)
def _advance(resting_span, fits, walls, corners, bounds, x, y, rows):
    finished, n_events = 0, len(fits)
    span = load_span(resting_span)
    for i in range(x.size):
        belongs = span.n > 0.0
        for j in range(n_events):
            belongs = belongs and _belongs(span, load_fit(fits, j), walls[j], x[i], y[i, j], bounds[j])
        if belongs:
            span, step = include_x(span, x[i])
            for j in range(n_events):
                store(fits, j, include_y(load_fit(fits, j), step, y[i, j]))
        else:
            if span.n > 0.0:
                _write(span, fits, walls, corners, rows, finished)
                finished += 1
            span = start_span(x[i])
            for j in range(n_events):
                store(fits, j, start_fit(y[i, j]))
        for j in range(n_events):
            _narrow(span, load_fit(fits, j), walls[j], corners[j], x[i], y[i, j], bounds[j])
    store(resting_span, 0, span)
    return finished


@njit(cache=True)
def _load_wall(rest, j):
    return Wall(rest[j, 0], rest[j, 1], rest[j, 2])


@njit(cache=True)
def _belongs(span, fit, walls, x, y, bound):
    """Whether a line of the tube passes within the bound of (x, y), and there is room for its corners."""
    if span.n == 1.0:
        return True
    run, rise = x - span.x_start, y - fit.y_start
    for j in range(2):
        wall, side = _load_wall(walls, j), _SIDES[j]
        if side * rise - bound > side * (wall.slope * run + wall.at_0) or wall.n_corners == _CORNERS:
            return False
    return True


@njit(cache=True)
def _narrow(span, fit, walls, corners, x, y, bound):
    """Leave those lines in the tube that pass within the bound of the line's newest sample, (x, y)."""
    run, rise = x - span.x_start, y - fit.y_start
    for j in range(2):
        wall, hull, side = _load_wall(walls, j), corners[j], _SIDES[j]
        near, far = rise - side * bound, rise + side * bound
        slope, at_0, n = wall.slope, wall.at_0, 0 if span.n == 1.0 else int(wall.n_corners)
        if span.n == 2.0 or (span.n > 2.0 and side * far < side * (slope * run + at_0)):
            n = _turn(hull, n, run, far, side)
            slope = (far - hull[0, 1]) / (run - hull[0, 0])
            at_0 = hull[0, 1] - slope * hull[0, 0]
        n = _push(hull, n, run, near, side)
        store(walls, j, Wall(slope, at_0, float(n)))


@njit(cache=True)
def _turn(hull, n, run, level, side):
    """Turn the line that leans on the first corner through (run, level); drop the corners that it leaves."""
    first = 0
    while first + 1 < n:
        here = (level - hull[first, 1]) * (run - hull[first + 1, 0])
        there = (level - hull[first + 1, 1]) * (run - hull[first, 0])
        if side * there > side * here:
            break
        first += 1
    if first > 0:
        for corner in range(first, n):
            hull[corner - first, 0] = hull[corner, 0]
            hull[corner - first, 1] = hull[corner, 1]
    return n - first


@njit(cache=True)
def _push(hull, n, run, level, side):
    """Add a corner, and take out those that it leaves behind the wall."""
    while n >= 2:
        before = (hull[n - 1, 1] - hull[n - 2, 1]) * (run - hull[n - 2, 0])
        after = (level - hull[n - 2, 1]) * (hull[n - 1, 0] - hull[n - 2, 0])
        if side * before > side * after:
            break
        n -= 1
    hull[n, 0] = run
    hull[n, 1] = level
    return n + 1


@njit(cache=True)
def _write(span, fits, walls, corners, rows, i):
    """Lay the line out, drawn towards the middle of its tube as far as the bound demands."""
    write_span(span, rows, i)
    for j in range(len(fits)):
        fit = load_fit(fits, j)
        write_fit(span, fit, rows, i, j)
        if span.n > 2.0:
            floor, ceiling = _load_wall(walls[j], 0), _load_wall(walls[j], 1)
            at_0 = fit.mean - fit.slope * span.mean
            turn = (floor.slope + ceiling.slope) / 2.0 - fit.slope
            shift = (floor.at_0 + ceiling.at_0) / 2.0 - at_0
            pull = max(
                _pull(floor, corners[j, 0], fit.slope, at_0, turn, shift, 1.0),
                _pull(ceiling, corners[j, 1], fit.slope, at_0, turn, shift, -1.0),
            )
            off = pull * (shift + turn * span.mean)
            sse = fit.sse + span.n * off * off + pull * turn * pull * turn * span.scatter
            rows[i, 3 + 3 * j] += pull * turn
            rows[i, 4 + 3 * j] += pull * (shift - turn * span.x_start)
            rows[i, 5 + 3 * j] = np.sqrt(sse / (span.n - 2.0))


@njit(cache=True)
def _pull(wall, hull, slope, at_0, turn, shift, side):
    """Share of the way to the middle after which the line leans on this wall, or passes inside of it."""
    over = side * (slope - wall.slope)
    pull = over / (-side * turn) if over > 0.0 else 0.0
    for corner in range(int(wall.n_corners)):
        run, level = hull[corner]
        beyond = side * (level - (slope * run + at_0))
        if beyond > 0.0:
            gain = side * (turn * run + shift)
            pull = max(pull, beyond / gain if gain > beyond else 1.0)
    return pull
