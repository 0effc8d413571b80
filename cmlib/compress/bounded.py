"""Lines with a promise: no sample lies further from its line than a given distance."""

import numpy as np
from numba import njit

from cmlib.compress import running
from cmlib.compress.stream import LineStream

# Corners kept an event and side. A tube around straight or ragged counts has about ten; one that
# bends smoothly for thousands of samples fills them, and its line ends.
_CORNERS = 1024

# All lines that pass within the bound of every sample form a tube. Its steepest and its flattest
# member, about the line's first sample, and the corners of its floor and of its ceiling.
TUBE = np.dtype(
    [
        ("steepest", np.float64),
        ("steepest_at_0", np.float64),
        ("flattest", np.float64),
        ("flattest_at_0", np.float64),
        ("n_floor", np.int64),
        ("n_ceiling", np.int64),
    ]
)


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
    outgrows 1024 corners.
    """

    def __init__(self, bound, events=None):
        super().__init__(events)
        n_events = self._fits.size
        bounds = np.asarray(bound, dtype=float)
        if bounds.shape not in {(), (n_events,)} or not (np.isfinite(bounds) & (bounds > 0)).all():
            raise ValueError(
                f"bound must be positive, one number or one for each of {n_events} event(s); got {bound!r}"
            )
        self._bounds = np.broadcast_to(bounds, n_events).copy()
        self._tubes = np.zeros(n_events, TUBE)
        self._hulls = np.empty((n_events, 2, _CORNERS, 2))

    def _advance(self, x, y, rows):
        return _advance(self._line, self._fits, self._tubes, self._hulls, self._bounds, x, y, rows)

    def _write(self, row):
        _write(self._line, self._fits, self._tubes, self._hulls, row)


@njit(cache=True)
def _advance(line, events, tubes, hulls, bounds, x, y, rows):
    finished = 0
    for i in range(x.size):
        fits = line.n > 0
        for j in range(events.size):
            fits = fits and _fits(line, events[j], tubes[j], x[i], y[i, j], bounds[j])
        if fits:
            running.include(line, events, x[i], y[i])
        else:
            if line.n > 0:
                _write(line, events, tubes, hulls, rows[finished])
                finished += 1
            running.start(line, events, x[i], y[i])
        for j in range(events.size):
            _narrow(line, events[j], tubes[j], hulls[j], x[i], y[i, j], bounds[j])
    return finished


@njit(cache=True)
def _fits(line, event, tube, x, y, bound):
    """Whether a line of the tube passes within the bound of (x, y), and there is room for its corners."""
    if line.n == 1:
        return True
    run = x - line.x_start
    rise = y - event.y_start
    return (
        rise - bound <= tube.steepest * run + tube.steepest_at_0
        and rise + bound >= tube.flattest * run + tube.flattest_at_0
        and max(tube.n_floor, tube.n_ceiling) < _CORNERS
    )


@njit(cache=True)
def _narrow(line, event, tube, hulls, x, y, bound):
    """Keep those lines in the tube that pass within the bound of the line's newest sample, (x, y)."""
    floor, ceiling = hulls[0], hulls[1]
    run = x - line.x_start
    low = (y - event.y_start) - bound
    high = (y - event.y_start) + bound
    if line.n == 1:
        tube.n_floor = 0
        tube.n_ceiling = 0
    if line.n == 2 or (line.n > 2 and high < tube.steepest * run + tube.steepest_at_0):
        tube.n_floor = _turn(floor, tube.n_floor, run, high, 1.0)
        tube.steepest = (high - floor[0, 1]) / (run - floor[0, 0])
        tube.steepest_at_0 = floor[0, 1] - tube.steepest * floor[0, 0]
    if line.n == 2 or (line.n > 2 and low > tube.flattest * run + tube.flattest_at_0):
        tube.n_ceiling = _turn(ceiling, tube.n_ceiling, run, low, -1.0)
        tube.flattest = (low - ceiling[0, 1]) / (run - ceiling[0, 0])
        tube.flattest_at_0 = ceiling[0, 1] - tube.flattest * ceiling[0, 0]
    tube.n_floor = _push(floor, tube.n_floor, run, low, 1.0)
    tube.n_ceiling = _push(ceiling, tube.n_ceiling, run, high, -1.0)


@njit(cache=True)
def _turn(hull, n, run, level, side):
    """Turn the line that leans on the hull's first corner through (run, level); drop the corners it leaves."""
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
    """Add a corner, and take out those that it leaves inside the hull."""
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
def _write(line, events, tubes, hulls, row):
    """Lay the line out, drawn towards the middle of its tube as far as the bound demands."""
    running.write(line, events, row)
    if line.n <= 2:
        return
    for j in range(events.size):
        event, tube = events[j], tubes[j]
        k = running.slope(line, event)
        at_0 = event.mean - k * line.mean
        k_aim = (tube.steepest + tube.flattest) / 2
        at_0_aim = (tube.steepest_at_0 + tube.flattest_at_0) / 2
        pull = max(
            _pull_of_slope(k, k_aim, tube.flattest, tube.steepest),
            _pull_of_wall(hulls[j, 0, : tube.n_floor], k, at_0, k_aim, at_0_aim, 1.0),
            _pull_of_wall(hulls[j, 1, : tube.n_ceiling], k, at_0, k_aim, at_0_aim, -1.0),
        )
        if pull > 0:
            turn, shift = pull * (k_aim - k), pull * (at_0_aim - at_0)
            off = shift + turn * line.mean
            sse = event.sse + line.n * off * off + turn * turn * line.scatter
            row[3 + 3 * j] += turn
            row[4 + 3 * j] += shift - turn * line.x_start
            row[5 + 3 * j] = np.sqrt(sse / (line.n - 2))


@njit(cache=True)
def _pull_of_slope(k, k_aim, flattest, steepest):
    if k > steepest:
        return (k - steepest) / (k - k_aim)
    if k < flattest:
        return (flattest - k) / (k_aim - k)
    return 0.0


@njit(cache=True)
def _pull_of_wall(corners, k, at_0, k_aim, at_0_aim, side):
    """Share of the way to the aimed line after which no corner lies beyond the line any more."""
    pull = 0.0
    for corner in range(len(corners)):
        run, level = corners[corner]
        beyond = side * (level - (k * run + at_0))
        if beyond > 0:
            gain = side * ((k_aim - k) * run + (at_0_aim - at_0))
            pull = max(pull, beyond / gain if gain > beyond else 1.0)
    return pull
