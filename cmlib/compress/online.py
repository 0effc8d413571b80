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
    n_sigma : float >= 0, default 3
        Tolerance for all later ones [standard deviations].
    drift : float > 0, optional
        Also end a line that its samples leave slowly: when the residuals, in
        standard deviations, have added up to `drift` on one side of the line
        (Page's cumulative sum with a slack of 1/2). 20 is a good choice: on 26
        sample streams of seven programs it took a third more lines and halved
        the largest distance. Not in the paper, which names the fault (§4.2).

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
        return _advance(self._span, self._fits, x, y, *self._limits, rows)


@njit(cache=True)
def _advance(resting_span, fits, x, y, alpha, n_sigma, drift, rows):
    """The first event's state is kept in registers: most often it is the only one."""
    finished, n_events = 0, len(fits)
    span, first = running.load_span(resting_span), running.load_fit(fits, 0)
    for i in range(x.size):
        if span.n == 0.0:
            span, first = running.start_span(x[i]), running.start_fit(y[i, 0])
            for j in range(1, n_events):
                running.store(fits, j, running.start_fit(y[i, j]))
            continue
        if span.n > 1.0:
            departs, first = _departs(span, first, x[i], y[i, 0], alpha, n_sigma, drift)
            for j in range(1, n_events):
                too, fit = _departs(span, running.load_fit(fits, j), x[i], y[i, j], alpha, n_sigma, drift)
                running.store(fits, j, fit)
                departs = departs or too
            if departs:
                running.write_span(span, rows, finished)
                running.write_fit(span, first, rows, finished, 0)
                for j in range(1, n_events):
                    fit = running.load_fit(fits, j)
                    running.write_fit(span, fit, rows, finished, j)
                    running.store(fits, j, running.start_fit(fit.y_last))
                span, first = running.start_span(span.x_last), running.start_fit(first.y_last)
                finished += 1
        span, step = running.include_x(span, x[i])
        first = running.include_y(first, step, y[i, 0])
        for j in range(1, n_events):
            running.store(fits, j, running.include_y(running.load_fit(fits, j), step, y[i, j]))
    running.store(resting_span, 0, span)
    running.store(fits, 0, first)
    return finished


@njit(cache=True, error_model="numpy")
def _departs(span, fit, x, y, alpha, n_sigma, drift):
    """Whether (x, y) does not belong to the line any more, and what the drift test has gathered with it."""
    off = running.residual(span, fit, x, y)
    beyond = abs(off) - _ROUNDING * abs(y - fit.y_start) - _RESOLUTION * abs(y)
    if span.n == 2.0:
        return beyond > alpha * abs(y - off), fit
    if beyond > 0.0 and beyond * beyond * (span.n - 2.0) > n_sigma * n_sigma * fit.sse:
        return True, fit
    if drift == np.inf:
        return False, fit
    deviation = off / running.sigma(span, fit) if beyond > 0.0 else 0.0
    rising = max(0.0, fit.rising + deviation - _SLACK)
    falling = max(0.0, fit.falling - deviation - _SLACK)
    return max(rising, falling) > drift, running.gather(fit, rising, falling)
