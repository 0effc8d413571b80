"""Online linear regression (Wu and Mencer): samples extend a line until one departs from it, which ends the line.

:class:`OnlineRegression` takes samples, and returns finished lines (x_start, x_end, slope, intercept, sigma, n). x is
a count that grows from sample to sample, such as the cumulative count of the event that triggers the samples; y are
cumulative counts of one or several events at the same moments. Sums are stored relative to the line's first sample,
as means and centered sums: the paper's plain sums (Eq. 3-8) lose precision when counts become large, so that ends
of lines late in a long run are missed. Raises a ValueError if x does not grow or a tolerance is negative; samples
that are not finite are left out.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numba import njit

from cmlib.errors import InputError

# Rounding errors of the sums, as a share of the line's rise, and of the counts themselves.
_ROUNDING = 1e-13
_RESOLUTION = 1e-15
# Slack of the drift test [standard deviations]: this is subtracted from each residual before it is added up.
_SLACK = 0.5


class Span(NamedTuple):
    """Sums over x of the current line's samples.

    Attributes
    ----------
    n, x_start, x_last : float
        Number of samples, and their first and last x.
    mean : float
        Mean of x, relative to x_start.
    scatter : float
        Sum of (x - mean)².
    """

    n: float
    x_start: float
    x_last: float
    mean: float
    scatter: float


class Fit(NamedTuple):
    """Sums over the same samples of one event's y.

    Attributes
    ----------
    y_start, y_last : float
        First and last y.
    mean : float
        Mean of y, relative to y_start.
    joint : float
        Sum of (x - mean)(y - mean).
    slope : float
        Slope of the least-squares line (Eq. 3); 0 for a single sample.
    sse : float
        Sum of the line's squared residuals (Eq. 8).
    rising, falling : float
        Cumulative sums of the drift test.
    """

    y_start: float
    y_last: float
    mean: float
    joint: float
    slope: float
    sse: float
    rising: float
    falling: float


SPAN, FIT = (np.dtype([(name, float) for name in kind._fields]) for kind in (Span, Fit))


@njit(cache=True)
def start(span, fits, x, y):
    """Start a line with its first sample, x and y (one value an event): set `span`, and `fits` by event, in place."""
    span.n, span.x_start, span.x_last, span.mean, span.scatter = 1.0, x, x, 0.0, 0.0
    for j in range(len(fits)):
        fit = fits[j]
        fit.y_start, fit.y_last, fit.mean = y[j], y[j], 0.0
        fit.joint, fit.slope, fit.sse, fit.rising, fit.falling = 0.0, 0.0, 0.0, 0.0, 0.0


@njit(cache=True, error_model="numpy")
def include(span, fits, x, y):
    """Add a sample, x and y (one value an event), to the line: update `span` and `fits` in place."""
    step, (span.n, span.x_last, span.mean, span.scatter) = include_x(span, x)
    for j in range(len(fits)):
        fit = fits[j]
        fit.y_last, fit.mean, fit.joint, fit.slope, fit.sse = include_y(fit, step, y[j])


@njit(cache=True, error_model="numpy")
def include_x(span, x):
    """Add a sample to the sums over x; return a tuple of factors for :func:`include_y`, and of the new sums.

    The sums are n, x_last, mean and scatter; `span` (a Span) has them without the sample.
    """
    share = 1.0 / (span.n + 1.0)
    weight = span.n * share
    run = (x - span.x_start) - span.mean
    scatter = span.scatter + weight * run * run
    inverse = 1.0 / scatter
    step = run, share, weight * run, inverse, weight * span.scatter * inverse
    return step, (span.n + 1.0, x, span.mean + run * share, scatter)


@njit(cache=True, error_model="numpy")
def include_y(fit, step, y):
    """Add a sample to the sums of one event: return the new y_last, mean, joint, slope and sse.

    `fit` (a Fit) has the sums without it; `step` is from :func:`include_x`, `y` is the event's value.
    """
    run, share, weighted, inverse, shrink = step
    rise = (y - fit.y_start) - fit.mean
    off = rise - fit.slope * run
    joint = fit.joint + weighted * rise
    return y, fit.mean + rise * share, joint, joint * inverse, fit.sse + off * off * shrink


@njit(cache=True, error_model="numpy")
def sigma(span, fit):
    """Compute the standard deviation of the line of a `span` and a `fit` (Eq. 7); 0 for fewer than three samples."""
    return np.sqrt(fit.sse / (span.n - 2.0)) if span.n > 2.0 else 0.0


@njit(cache=True)
def write(span, fits, row):
    """Write a finished line to `row`: x_start, x_end, n, and slope, intercept, sigma of each event (Eq. 3, 4, 7).

    `span` and `fits` (one for each event) are its sums; `row` is an array of 3 + 3 n_events.
    """
    row[0], row[1], row[2] = span.x_start, span.x_last, span.n
    for j in range(len(fits)):
        fit = fits[j]
        row[3 + 3 * j] = fit.slope
        row[4 + 3 * j] = (fit.y_start + fit.mean) - fit.slope * (span.x_start + span.mean)
        row[5 + 3 * j] = sigma(span, fit)


class LineStream:
    """Base class of online fits: takes samples and returns finished lines.

    Subclasses implement ``_advance(x, y, rows)``: it processes samples (arrays of shapes (n,) and (n, n_events)),
    writes the lines that they end to the first rows of the array `rows`, in the form of :func:`write`, and returns
    their number.

    Parameters
    ----------
    events : sequence of str, optional
        Names of the events that share their line ends; without, one event
        without a name. Raises a ValueError if it is empty or has a name twice.
    """

    def __init__(self, events=None):
        self.events = None if events is None else tuple(events)
        n_events = 1 if events is None else len(self.events)
        if n_events == 0 or len(set(self.events or "y")) != n_events:
            raise InputError(f"events must be different names, at least one; got {list(self.events)}")
        self._span, self._fits = np.zeros(1, SPAN), np.zeros(n_events, FIT)

    def extend(self, x, y):
        """Take samples, one or more; return the lines that they end, as a DataFrame.

        `x` has shape (n,), `y` (n,) or (n, n_events). A row per line: x_start, x_end, slope, intercept and sigma
        (of each event, as ``slope:EVENT``, if events are named), n; no rows if no line ended. Raises a ValueError
        if shapes differ or x does not grow; samples that are not finite are left out.
        """
        return self.as_frame(self.feed(x, y))

    def finish(self):
        """End the last line, and return it as a DataFrame of one row; the next sample starts a new stream.

        The columns are those of `extend`: x_start, x_end, slope, intercept, sigma, n. Without a sample there are no
        rows.
        """
        return self.as_frame(self.end())

    def feed(self, x, y):
        """Take many samples, as `extend` does; return finished lines as an array, a row per line.

        Columns: x_start, x_end, n, and slope, intercept, sigma of each event. `x` has shape (n,), `y` (n,) or (n,
        n_events). Raises a ValueError if shapes differ or x does not grow; samples that are not finite are left
        out.
        """
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        table = y[:, np.newaxis] if y.ndim == 1 else y
        if table.shape != (*x.shape, len(self._fits)):
            raise InputError(
                f"expected are samples of {len(self._fits)} event(s); got x of shape {x.shape} and y of shape {y.shape}"
            )
        if not (np.isfinite(x).all() and np.isfinite(table).all()):
            finite = np.isfinite(x) & np.isfinite(table).all(axis=1)
            x, table = x[finite], table[finite]
        # Loops are compiled anew for arrays that are not contiguous (C) or not writable (W).
        x, table = np.require(x, requirements="CW"), np.require(table, requirements="CW")
        self._check_growth(x)
        rows = np.empty((x.size, 3 + 3 * len(self._fits)))
        return rows[: self._advance(x, table, rows)]

    def end(self):
        """End the last line, as `finish` does, and return it as an array of one row, or none without a sample.

        Columns: x_start, x_end, n, and slope, intercept, sigma of each event.
        """
        rows = np.empty((int(self._span["n"][0] > 0), 3 + 3 * len(self._fits)))
        if len(rows):
            self._write(rows[0])
        self._span["n"] = 0.0
        return rows

    def as_frame(self, rows):
        """Convert lines to a DataFrame, a row per line: x_start, x_end, slope, intercept and sigma of each event, n.

        `rows` is an array from `feed` or `end`.
        """
        suffixes = [""] if self.events is None else [f":{event}" for event in self.events]
        fitted = [f"{name}{suffix}" for suffix in suffixes for name in ("slope", "intercept", "sigma")]
        columns = {"x_start": rows[:, 0], "x_end": rows[:, 1]}
        columns |= {name: rows[:, 3 + k] for k, name in enumerate(fitted)}
        return pd.DataFrame(columns | {"n": rows[:, 2].astype(int)})

    def _write(self, row):
        """Write the line that ends to `row`, in the form of :func:`write`."""
        write(self._span[0], self._fits, row)

    def _check_growth(self, x):
        """Raise a ValueError unless x increases, also from the last sample of the previous call."""
        last = self._span["x_last"] if self._span["n"][0] else -np.inf
        if not ((x[:1] > last).all() and (x[1:] > x[:-1]).all()):
            before = np.append(last, x[:-1])
            at = np.argmin(x > before)
            raise InputError(
                f"x must grow from sample to sample: at position {at} it is {x[at]:.17g} after {before[at]:.17g}. "
                "A counter that was reset begins a new stream: call finish() first."
            )


class OnlineRegression(LineStream):
    """Piecewise-linear fit of samples that come one at a time, in bounded time and memory (Wu and Mencer, §3.5).

    A line ends before a sample that is more than `n_sigma` of the line's
    standard deviations (Eq. 7) from its continuation; the third sample of a
    line, for which there is no deviation yet, may differ by the share `alpha`
    of the predicted count (§3.4). The next line starts with the last sample of
    the old one. A sample of any event that departs ends the lines of all.

    Parameters
    ----------
    events : sequence of str, optional
        Names of the events that share their line ends; without, one event
        without a name.
    alpha : float >= 0, default 0.01
        Tolerance for the third sample [share of the predicted count].
    n_sigma : float >= 0, default 3
        Tolerance for all later ones [standard deviations].
    drift : float >= 0, optional
        Also end a line from which samples drift away slowly: when the residuals
        [standard deviations] on one side of the line add up to `drift`
        (Page's cumulative sum with a slack of 1/2). 20 is a good choice: on 26
        sample streams of seven programs it took a third more lines and halved
        the largest distance. Not in the paper, which names the problem (§4.2).

    Raises
    ------
    ValueError
        If a tolerance is negative or not a number.

    Notes
    -----
    The paper divides all counts by the first ones (§3.2). No result depends
    on that, as both sides of each comparison are scaled. It is left out, so that
    counts stay exact integers, and a counter may start at zero. "Too big" is read
    as larger than the tolerance, so that a counter that stays at zero is one line.
    """

    def __init__(
        self,
        events: Sequence[str] | None = None,
        *,
        alpha: float = 0.01,
        n_sigma: float = 3.0,
        drift: float | None = None,
    ) -> None:
        super().__init__(events)
        for name, value in (("alpha", alpha), ("n_sigma", n_sigma), ("drift", drift)):
            if value is not None and not value >= 0:
                raise InputError(f"{name} must not be negative; got {value!r}")
        self._limits = float(alpha), float(n_sigma), np.inf if drift is None else float(drift)

    def _advance(self, x, y, rows):
        """Process samples; write finished lines to `rows` and return their number."""
        return _advance(self._span, self._fits, x, y, *self._limits, rows)


@njit(cache=True, error_model="numpy")
def _advance(state, fits, x, y, alpha, n_sigma, drift, rows):
    """Process samples; write finished lines to `rows` and return their number.

    `state` and `fits` hold Span and Fit of the current line between calls. During the call the span and the sums of the
    first event, usually the only one, are in local variables, which halves the time for one event.
    """
    finished, resting, others = 0, state[0], fits[1:]
    span = Span(resting.n, resting.x_start, resting.x_last, resting.mean, resting.scatter)
    fit = fits[0]
    first = Fit(fit.y_start, fit.y_last, fit.mean, fit.joint, fit.slope, fit.sse, fit.rising, fit.falling)
    for i in range(x.size):
        if span.n == 0.0:
            start(resting, others, x[i], y[i, 1:])
            span, first = _started(x[i], y[i, 0])
            continue
        rising, falling = first.rising, first.falling
        if span.n > 1.0:
            departs, rising, falling = _departs(span, first, x[i], y[i, 0], alpha, n_sigma, drift)
            for j in range(len(others)):
                fit = others[j]
                too, fit.rising, fit.falling = _departs(span, fit, x[i], y[i, j + 1], alpha, n_sigma, drift)
                departs |= too
            if departs:
                _store(fits[0], first)
                write(span, fits, rows[finished])
                finished += 1
                start(resting, others, span.x_last, others.y_last)
                span, first = _started(span.x_last, first.y_last)
                rising = falling = 0.0
        step, (n, x_last, mean, scatter) = include_x(span, x[i])
        span = Span(n, span.x_start, x_last, mean, scatter)
        y_last, mean, joint, slope, sse = include_y(first, step, y[i, 0])
        first = Fit(first.y_start, y_last, mean, joint, slope, sse, rising, falling)
        for j in range(len(others)):
            fit = others[j]
            fit.y_last, fit.mean, fit.joint, fit.slope, fit.sse = include_y(fit, step, y[i, j + 1])
    resting.n, resting.x_start, resting.x_last, resting.mean, resting.scatter = span
    _store(fits[0], first)
    return finished


@njit(cache=True)
def _started(x, y):
    """Start a line with its first sample; return its Span and Fit."""
    return Span(1.0, x, x, 0.0, 0.0), Fit(y, y, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@njit(cache=True)
def _store(fit, values):
    """Write a Fit to a record of `fits`."""
    fit.y_start, fit.y_last, fit.mean, fit.joint, fit.slope, fit.sse, fit.rising, fit.falling = values


@njit(cache=True, error_model="numpy")
def _departs(span, fit, x, y, alpha, n_sigma, drift):
    """Test whether the sample (x, y) departs from the line; return the result and both sums of the drift test."""
    off = (y - fit.y_start) - fit.mean - fit.slope * ((x - span.x_start) - span.mean)
    beyond = abs(off) - _ROUNDING * abs(y - fit.y_start) - _RESOLUTION * abs(y)
    if span.n == 2.0:
        return beyond > alpha * abs(y - off), fit.rising, fit.falling
    if beyond > 0.0 and beyond * beyond * (span.n - 2.0) > n_sigma * n_sigma * fit.sse:
        return True, fit.rising, fit.falling
    if drift == np.inf:
        return False, fit.rising, fit.falling
    deviation = off / sigma(span, fit) if beyond > 0.0 else 0.0
    rising = max(0.0, fit.rising + deviation - _SLACK)
    falling = max(0.0, fit.falling - deviation - _SLACK)
    return max(rising, falling) > drift, rising, falling
