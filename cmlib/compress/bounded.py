"""Fit lines with an error bound to samples.

No sample is farther from its line than the bound. :class:`BoundedRegression` takes samples one after another and
returns finished lines. The lines that are possible for the samples so far form a tube between two convex hulls. The
hulls are its walls: the floor below the samples and the ceiling above them.
"""

import numpy as np
from numba import njit

from cmlib.compress.online import LineStream, include, start, write
from cmlib.errors import InputError

# Largest number of corners of a hull. Straight or noisy counts have about ten. A smooth bend of thousands of samples
# can reach this number, and then its line ends.
_CORNERS = 1024
_SIDES = (1.0, -1.0)  # signs of the floor and of the ceiling


# One wall of the tube: slope and value at 0 of its extreme line, and number of corners of its hull. The extreme line of
# the floor is the steepest possible line and touches the first corner of the floor. The extreme line of the ceiling is
# the flattest possible line and touches the first corner of the ceiling. All values are relative to the first sample.
WALL = np.dtype([("slope", float), ("at_0", float), ("n_corners", int)])


class BoundedRegression(LineStream):
    """Fit the fewest lines that keep every sample within a bound of its line.

    A line continues as long as some straight line passes within the bound of all its samples. This is decided exactly
    (O'Rourke, "An on-line algorithm for fitting straight lines between data ranges", 1981). The stored line is the
    least-squares line. If it breaks the bound, it is moved towards the middle of the possible lines. The next line
    starts at the sample that did not fit.

    Parameters
    ----------
    bound : float > 0, or sequence of float
        Largest distance of a sample from its line [counts], for all events or one per event.
    events : sequence of str, optional
        Names of the events, which all get the same line ends. The default is one event without a name.

    Raises
    ------
    ValueError
        If a bound is not positive, or if the numbers of bounds and events differ.

    Notes
    -----
    The count between any two points of the run has an error of at most twice the bound, up to the rounding of
    ``slope * x``. Memory is bounded: a line also ends when the hull of a smooth bend has 1024 corners.
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
        """Write the finished line to `row`, with the columns of :func:`cmlib.compress.online.write`."""
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
    """Return True if a line of the tube passes within the bound of (x, y) and the hulls have room for a corner."""
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
    """Narrow the tube to the lines that pass within the bound of the newest sample, (x, y)."""
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
    """Find the corner that the extreme line through (run, level) touches, and remove the corners before it.

    Returns the number of remaining corners.
    """
    first = 0
    while first + 1 < n:
        # Slopes from both corners to (run, level), times the same positive number to avoid divisions.
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
    """Add a corner to a hull and remove the corners inside it; return the number of corners."""
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
    """Write the finished line to `row`, moved towards the middle of its tube as far as the bound requires."""
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
    """Compute how far a line must move to be inside this wall, as a share (0-1) of the way to the tube's middle."""
    over = side * (slope - wall.slope)
    pull = over / (-side * turn) if over > 0.0 else 0.0
    for corner in range(wall.n_corners):
        run, level = hull[corner]
        beyond = side * (level - (slope * run + at_0))
        if beyond > 0.0:
            gain = side * (turn * run + shift)
            pull = max(pull, beyond / gain if gain > beyond else 1.0)
    return pull
