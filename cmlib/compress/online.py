"""Online linear regression (Wu and Mencer): a line grows sample by sample, and ends where one departs from it.

Everything is kept about the line's first sample, as means and centred sums: the plain sums of the paper (Eq. 3-8),
taken about zero, lose their last digits to counts that have become large, and with them breaks late in a long run.
A state is a tuple of numbers, which the compiler keeps in registers; between two blocks of samples it rests in an
array.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
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


class Line(NamedTuple):
    """One finished line: ``y = slope * x + intercept`` for x_start <= x <= x_end.

    `slope`, `intercept` and `sigma` hold one number an event.
    """

    x_start: float
    x_end: float
    n: int
    slope: tuple
    intercept: tuple
    sigma: tuple


class LineStream:
    """Samples in, finished lines out; the algorithm is the subclass's `_advance`.

    Parameters
    ----------
    events : sequence of str, optional
        Names of the events that share their line ends; without, one event
        without a name.
    """

    def __init__(self, events=None):
        self.events = None if events is None else tuple(events)
        n_events = 1 if events is None else len(self.events)
        if n_events == 0 or len(set(self.events or "y")) != n_events:
            raise ValueError(f"events must be different names, at least one; got {list(self.events)}")
        self._span = np.zeros((1, len(Span._fields)))
        self._fits = np.zeros((n_events, len(Fit._fields)))

    def add(self, x, y):
        """Take one sample."""
        rows = self.feed(np.array([x]), np.array([y], dtype=float))
        return self._as_line(rows[0]) if len(rows) else None

    def extend(self, x, y):
        """Take many samples; the same as `add` for each, in compiled code."""
        return self.as_frame(self.feed(x, y))

    def finish(self):
        """End the last line."""
        return self.as_frame(self.end())

    def feed(self, x, y):
        """Take many samples, as `extend` does; the finished lines come as plain rows."""
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        table = y[:, np.newaxis] if y.ndim == 1 else y
        if table.shape != (*x.shape, len(self._fits)):
            raise ValueError(
                f"expected are samples of {len(self._fits)} event(s); got x of shape {x.shape} and y of shape {y.shape}"
            )
        finite = np.isfinite(x) & np.isfinite(table).all(axis=1)
        if not finite.all():
            x, table = x[finite], table[finite]
        x, table = np.ascontiguousarray(x), np.ascontiguousarray(table)
        self._check_growth(x)
        rows = np.empty((x.size, 3 + 3 * len(self._fits)))
        return rows[: self._advance(x, table, rows)]

    def end(self):
        """End the last line, as `finish` does; it comes as rows of the same form as `feed`'s."""
        rows = np.empty((int(load_span(self._span).n > 0), 3 + 3 * len(self._fits)))
        if len(rows):
            self._write(rows)
        self._span[:] = 0.0
        return rows

    def as_frame(self, rows):
        """Rows of `feed` and `end` as :func:`cmlib.compress.compress` gives them."""
        suffixes = [""] if self.events is None else [f":{event}" for event in self.events]
        fitted = [f"{what}{suffix}" for suffix in suffixes for what in ("slope", "intercept", "sigma")]
        columns = {"x_start": rows[:, 0], "x_end": rows[:, 1]}
        columns |= {name: rows[:, 3 + k] for k, name in enumerate(fitted)}
        return pd.DataFrame(columns | {"n": rows[:, 2].astype(int)})

    def _write(self, rows):
        span = load_span(self._span)
        write_span(span, rows, 0)
        for j in range(len(self._fits)):
            write_fit(span, load_fit(self._fits, j), rows, 0, j)

    def _check_growth(self, x):
        span = load_span(self._span)
        at = _first_stuck(x, span.x_last if span.n else -np.inf)
        if at < x.size:
            before = x[at - 1] if at else span.x_last
            raise ValueError(
                f"x must grow from sample to sample: at position {at} it is {x[at]:.17g} after {before:.17g}. "
                "A counter that was reset begins a new stream: call finish() first."
            )

    def _as_line(self, row):
        start, end, n, *fitted = row.tolist()
        return Line(start, end, int(n), tuple(fitted[0::3]), tuple(fitted[1::3]), tuple(fitted[2::3]))


@njit(cache=True)
def _first_stuck(x, last):
    for i in range(x.size):
        if not x[i] > last:
            return i
        last = x[i]
    return x.size


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
    span, first = load_span(resting_span), load_fit(fits, 0)
    for i in range(x.size):
        if span.n == 0.0:
            span, first = start_span(x[i]), start_fit(y[i, 0])
            for j in range(1, n_events):
                store(fits, j, start_fit(y[i, j]))
            continue
        if span.n > 1.0:
            departs, first = _departs(span, first, x[i], y[i, 0], alpha, n_sigma, drift)
            for j in range(1, n_events):
                too, fit = _departs(span, load_fit(fits, j), x[i], y[i, j], alpha, n_sigma, drift)
                store(fits, j, fit)
                departs = departs or too
            if departs:
                write_span(span, rows, finished)
                write_fit(span, first, rows, finished, 0)
                for j in range(1, n_events):
                    fit = load_fit(fits, j)
                    write_fit(span, fit, rows, finished, j)
                    store(fits, j, start_fit(fit.y_last))
                span, first = start_span(span.x_last), start_fit(first.y_last)
                finished += 1
        span, step = include_x(span, x[i])
        first = include_y(first, step, y[i, 0])
        for j in range(1, n_events):
            store(fits, j, include_y(load_fit(fits, j), step, y[i, j]))
    store(resting_span, 0, span)
    store(fits, 0, first)
    return finished


@njit(cache=True, error_model="numpy")
def _departs(span, fit, x, y, alpha, n_sigma, drift):
    """Whether (x, y) does not belong to the line any more, and what the drift test has gathered with it."""
    off = residual(span, fit, x, y)
    beyond = abs(off) - _ROUNDING * abs(y - fit.y_start) - _RESOLUTION * abs(y)
    if span.n == 2.0:
        return beyond > alpha * abs(y - off), fit
    if beyond > 0.0 and beyond * beyond * (span.n - 2.0) > n_sigma * n_sigma * fit.sse:
        return True, fit
    if drift == np.inf:
        return False, fit
    deviation = off / sigma(span, fit) if beyond > 0.0 else 0.0
    rising = max(0.0, fit.rising + deviation - _SLACK)
    falling = max(0.0, fit.falling - deviation - _SLACK)
    return max(rising, falling) > drift, gather(fit, rising, falling)
