"""Online linear regression (Wu and Mencer): a line ends where a sample departs from it."""

import numpy as np
from numba import njit

from cmlib.compress import running
from cmlib.compress.stream import LineStream

# Rounding of the running sums, as a share of the line's rise, and of the counts themselves.
_ROUNDING = 1e-13
_RESOLUTION = 1e-15
# Slack of the drift test: it gathers what lies further off than half a standard deviation.
_SLACK = 0.5


class OnlineRegression(LineStream):
    """The procedure of §3.5, one sample at a time, in bounded time and memory.

    A line ends before a sample that lies more than `n_sigma` of the line's
    standard deviations (Eq. 7) from its prolongation; the third sample of a
    line, for which there is no deviation yet, may lie off by the share `alpha`
    of the predicted count (§3.4). The next line starts from the last sample of
    the old one. Of several events, the first to depart ends the line of all.

    Parameters
    ----------
    events : sequence of str, optional
        Names of the events that share their line ends; without, one event
        without a name.
    alpha : float >= 0, default 0.01
        Tolerance for the third sample [share of the predicted count].
    n_sigma : float > 0, default 3
        Tolerance for all later ones [standard deviations].
    drift : float > 0, optional
        Also end a line that its samples leave slowly: when the residuals, in
        standard deviations, have added up to `drift` on one side of the line
        (Page's cumulative sum with a slack of 1/2). 20 is a good choice: a
        fifth more lines, half the largest distance. Not in the paper, which
        names the fault (§4.2) and leaves it.

    Raises
    ------
    ValueError
        If a tolerance is negative or not a number.

    Notes
    -----
    The paper divides all counts by the first ones (§3.2). No decision depends
    on that: each compares lengths that scale alike. It is left out, so counts
    stay exact integers, and a counter may start at zero. "Too big" is read as
    larger than the tolerance, so a counter that stays at zero is one line.
    """

    def __init__(self, events=None, *, alpha=0.01, n_sigma=3.0, drift=None):
        super().__init__(events)
        for name, value in (("alpha", alpha), ("n_sigma", n_sigma), ("drift", drift)):
            if value is not None and not value >= 0:
                raise ValueError(f"{name} must not be negative; got {value!r}")
        self._limits = float(alpha), float(n_sigma), np.inf if drift is None else float(drift)

    def _advance(self, x, y, rows):
        return _advance(self._line, self._fits, x, y, *self._limits, rows)


@njit(cache=True)
def _advance(line, events, x, y, alpha, n_sigma, drift, rows):
    finished = 0
    for i in range(x.size):
        if line.n == 0:
            running.start(line, events, x[i], y[i])
            continue
        if line.n > 1 and _departs(line, events, x[i], y[i], alpha, n_sigma, drift):
            running.write(line, events, rows[finished])
            finished += 1
            running.restart(line, events)
        running.include(line, events, x[i], y[i])
    return finished


@njit(cache=True)
def _departs(line, events, x, y, alpha, n_sigma, drift):
    for j in range(events.size):
        event = events[j]
        off = running.residual(line, event, x, y[j])
        slack = _ROUNDING * abs(y[j] - event.y_start) + _RESOLUTION * abs(y[j])
        if line.n == 2:
            if abs(off) > alpha * abs(y[j] - off) + slack:
                return True
            continue
        sigma = np.sqrt(event.sse / (line.n - 2))
        if abs(off) > n_sigma * sigma + slack:
            return True
        if drift < np.inf and sigma > slack and _drifts(event, off / sigma, drift):
            return True
    return False


@njit(cache=True)
def _drifts(event, deviation, limit):
    event.rising = max(0.0, event.rising + deviation - _SLACK)
    event.falling = max(0.0, event.falling - deviation - _SLACK)
    return max(event.rising, event.falling) > limit
