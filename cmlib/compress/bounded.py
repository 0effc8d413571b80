"""Lines that keep a promise: no sample lies further from its line than a given distance."""

import numpy as np
from numba import njit

from cmlib.compress.online import LineStream, include, start, write

# Corners kept an event and wall. A tube around straight or ragged counts has about ten; one that
# bends smoothly for thousands of samples fills them, and its line ends.
_CORNERS = 1024
_SIDES = (1.0, -1.0)


# One wall of the tube of all lines that pass within the bound of every sample. The floor goes below the samples, and
# the steepest line of the tube leans on its first corner; the ceiling goes above, with the flattest one: side 1 and -1.
# Places are about the line's first sample.
WALL = np.dtype([("slope", float), ("at_0", float), ("n_corners", int)])


class BoundedRegression(LineStream):
    """Fewest lines that keep every sample within `bound` of its line, one sample at a time.

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
        self._walls = np.zeros((n_events, 2), WALL)
        self._corners = np.empty((n_events, 2, _CORNERS, 2))

    def _advance(self, x, y, rows):
        return _advance(self._span, self._fits, self._walls, self._corners, self._bounds, x, y, rows)

    def _write(self, row):
        _write(self._span[0], self._fits, self._walls, self._corners, row)


@njit(cache=True)
def _advance(state, fits, walls, corners, bounds, x, y, rows):
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
    """Whether a line of the tube passes within the bound of (x, y), and there is room for its corners."""
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
    """Leave those lines in the tube that pass within the bound of the line's newest sample, (x, y)."""
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
            hull[corner - first] = hull[corner]
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
def _write(span, fits, walls, corners, row):
    """Lay the line out, drawn towards the middle of its tube as far as the bound demands."""
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
    """Share of the way to the middle after which the line leans on this wall, or passes inside of it."""
    over = side * (slope - wall.slope)
    pull = over / (-side * turn) if over > 0.0 else 0.0
    for corner in range(wall.n_corners):
        run, level = hull[corner]
        beyond = side * (level - (slope * run + at_0))
        if beyond > 0.0:
            gain = side * (turn * run + shift)
            pull = max(pull, beyond / gain if gain > beyond else 1.0)
    return pull
