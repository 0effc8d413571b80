"""Fit piecewise-linear segments with an error bound: no sample is farther from its line than a given distance.

:class:`BoundedRegression` takes samples (x and y, cumulative counts), and returns lines, as a DataFrame with a row
for each: x_start, x_end, slope, intercept, sigma, n. All lines that pass within the bound of every sample so far
form a tube between two convex hulls, its walls: the floor, below the samples, and the ceiling, above them. Raises a
ValueError if a bound is not positive, or x does not grow.
"""

import numpy as np
from numba import njit

from cmlib.compress.online import LineStream, include, start, write
from cmlib.errors import InputError

# Most corners of a wall's hull, for each event. Straight or noisy counts have about ten; a smooth bend of thousands of
# samples can have as many as this, and then its line ends.
_CORNERS = 1024
_SIDES = (1.0, -1.0)  # of the floor and of the ceiling


# One wall of the tube: slope and value at 0 of its extreme line (the steepest one, which touches the floor's first
# corner; the flattest one, which touches the ceiling's), and number of corners. All relative to the line's first
# sample.
WALL = np.dtype([("slope", float), ("at_0", float), ("n_corners", int)])


class BoundedRegression(LineStream):
    """Fewest lines that keep every sample within `bound` of its line, one sample at a time.

    A line is continued as long as some straight line passes within `bound` of
    all its samples. That is decided exactly, from the corners of the two convex
    hulls such a line must pass between, without the samples (O'Rourke, "An
    on-line algorithm for fitting straight lines between data ranges", 1981).
    The least-squares line is stored or, if that is outside the bound, the
    nearest line inside between it and the middle of the tube. The next line
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
            raise InputError(
                f"bound must be positive, one number or one for each of {n_events} event(s); got {bound!r}"
            )
        self._bounds = np.broadcast_to(bounds, n_events).copy()
        self._walls = np.zeros((n_events, 2), WALL)
        self._corners = np.empty((n_events, 2, _CORNERS, 2))

    def _advance(self, x, y, rows):
        """Process samples; write finished lines to `rows` and return their number."""
        return _advance(self._span, self._fits, self._walls, self._corners, self._bounds, x, y, rows)

    def _write(self, row):
        """Write the finished line to `row`, in the form of :func:`cmlib.compress.online.write`."""
        _write(self._span[0], self._fits, self._walls, self._corners, row)


@njit(cache=True)
def _advance(state, fits, walls, corners, bounds, x, y, rows):
    """Process samples; write finished lines to `rows` and return their number."""
    span, finished = state[0], 0
    for i in range(x.size):
        belongs = span.n > 0.0
        for j in range(len(fits)):
            belongs = belongs and _belongs(span, fits[j], walls[j], x[i], y[i, j], bounds[j])
        if belongs:
            include(span, fits, x[i], y[i])
        else:
            if span.n > 0.0:
                _write(span, fits, walls, corners, rows[finished])
                finished += 1
            start(span, fits, x[i], y[i])
        for j in range(len(fits)):
            _narrow(span, fits[j], walls[j], corners[j], x[i], y[i, j], bounds[j])
    return finished


@njit(cache=True)
def _belongs(span, fit, walls, x, y, bound):
    """Return True if a line of the tube passes within the bound of (x, y), and the hulls have room for a corner."""
    if span.n == 1.0:
        return True
    run, rise = x - span.x_start, y - fit.y_start
    for j in range(2):
        wall, side = walls[j], _SIDES[j]
        if side * rise - bound > side * (wall.slope * run + wall.at_0) or wall.n_corners == _CORNERS:
            return False
    return True


@njit(cache=True)
def _narrow(span, fit, walls, corners, x, y, bound):
    """Narrow the tube to those lines that pass within the bound of the line's newest sample, (x, y)."""
    run, rise = x - span.x_start, y - fit.y_start
    for j in range(2):
        wall, hull, side = walls[j], corners[j], _SIDES[j]
        near, far = rise - side * bound, rise + side * bound
        if span.n == 1.0:
            wall.n_corners = 0
        if span.n == 2.0 or (span.n > 2.0 and side * far < side * (wall.slope * run + wall.at_0)):
            wall.n_corners = _turn(hull, wall.n_corners, run, far, side)
            wall.slope = (far - hull[0, 1]) / (run - hull[0, 0])
            wall.at_0 = hull[0, 1] - wall.slope * hull[0, 0]
        wall.n_corners = _push(hull, wall.n_corners, run, near, side)


@njit(cache=True)
def _turn(hull, n, run, level, side):
    """Turn the extreme line, which touches the first corner, so that it passes through (run, level).

    Corners that it no longer touches are dropped; returns the number that is left.
    """
    first = 0
    while first + 1 < n:
        # Slopes from both corners to (run, level), multiplied by the same positive number to avoid divisions.
        first_slope = (level - hull[first, 1]) * (run - hull[first + 1, 0])
        next_slope = (level - hull[first + 1, 1]) * (run - hull[first, 0])
        if side * next_slope > side * first_slope:
            break
        first += 1
    if first > 0:
        for corner in range(first, n):
            hull[corner - first] = hull[corner]
    return n - first


@njit(cache=True)
def _push(hull, n, run, level, side):
    """Add a corner to a hull, and drop those that are inside then; return the number of corners."""
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
def _write(span, fits, walls, corners, row):
    """Write the finished line to `row`, moved towards the middle of its tube as far as the bound needs."""
    write(span, fits, row)
    for j in range(len(fits) if span.n > 2.0 else 0):
        fit, floor, ceiling = fits[j], walls[j, 0], walls[j, 1]
        at_0 = fit.mean - fit.slope * span.mean
        turn = (floor.slope + ceiling.slope) / 2.0 - fit.slope
        shift = (floor.at_0 + ceiling.at_0) / 2.0 - at_0
        pull = max(
            _pull(floor, corners[j, 0], fit.slope, at_0, turn, shift, 1.0),
            _pull(ceiling, corners[j, 1], fit.slope, at_0, turn, shift, -1.0),
        )
        off = pull * (shift + turn * span.mean)
        sse = fit.sse + span.n * off * off + pull * turn * pull * turn * span.scatter
        row[3 + 3 * j] += pull * turn
        row[4 + 3 * j] += pull * (shift - turn * span.x_start)
        row[5 + 3 * j] = np.sqrt(sse / (span.n - 2.0))


@njit(cache=True)
def _pull(wall, hull, slope, at_0, turn, shift, side):
    """Compute how far a line must be moved to be inside this wall: a share (0-1) of the way to the tube's middle."""
    over = side * (slope - wall.slope)
    pull = over / (-side * turn) if over > 0.0 else 0.0
    for corner in range(wall.n_corners):
        run, level = hull[corner]
        beyond = side * (level - (slope * run + at_0))
        if beyond > 0.0:
            gain = side * (turn * run + shift)
            pull = max(pull, beyond / gain if gain > beyond else 1.0)
    return pull
