"""Fit lines to samples that arrive one after another (Wu and Mencer).

:class:`OnlineRegression` takes samples and returns finished lines. Samples extend a line until one departs from it.
x is a cumulative count that increases, usually of the event that triggers the samples. y are cumulative counts of one
or several events. Sums are means and centered sums relative to the first sample of the line. The paper's plain sums
(Eq. 3-8) lose precision for large counts and miss line ends late in a long run.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numba import njit

from cmlib.errors import InputError

# Rounding errors of the sums, relative to the rise of the line, and of the counts, relative to the count.
_ROUNDING = 1e-13
_RESOLUTION = 1e-15
# Slack of the drift test [standard deviations], which is subtracted from each residual before summation.
_SLACK = 0.5


class Span(NamedTuple):
    """Sums over the x of the samples of the current line.

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
    """Sums over the y of one event of the samples of the current line.

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
    """Start a line with its first sample, x and y (one value per event), by setting `span` and `fits` in place."""
    span.n, span.x_start, span.x_last, span.mean, span.scatter = 1.0, x, x, 0.0, 0.0
    for j in range(len(fits)):
        fit = fits[j]
        fit.y_start, fit.y_last, fit.mean = y[j], y[j], 0.0
        fit.joint, fit.slope, fit.sse, fit.rising, fit.falling = 0.0, 0.0, 0.0, 0.0, 0.0


@njit(cache=True, error_model="numpy")
def include(span, fits, x, y):
    """Add a sample, x and y (one value per event), to the line by updating `span` and `fits` in place."""
    step, (span.n, span.x_last, span.mean, span.scatter) = include_x(span, x)
    for j in range(len(fits)):
        fit = fits[j]
        fit.y_last, fit.mean, fit.joint, fit.slope, fit.sse = include_y(fit, step, y[j])


@njit(cache=True, error_model="numpy")
def include_x(span, x):
    """Add a sample to the sums over x.

    `span` is the Span without the sample. Returns factors for :func:`include_y`, and the new n, x_last, mean and
    scatter.
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
    """Add a sample to the sums of one event.

    `fit` is the Fit without the sample, and `step` are the factors from :func:`include_x`. Returns the new y_last,
    mean, joint, slope and sse.
    """
    run, share, weighted, inverse, shrink = step
    rise = (y - fit.y_start) - fit.mean
    off = rise - fit.slope * run
    joint = fit.joint + weighted * rise
    return y, fit.mean + rise * share, joint, joint * inverse, fit.sse + off * off * shrink


@njit(cache=True, error_model="numpy")
def sigma(span, fit):
    """Compute the standard deviation of the samples from their line (Eq. 7); 0 for fewer than three samples."""
    return np.sqrt(fit.sse / (span.n - 2.0)) if span.n > 2.0 else 0.0


@njit(cache=True)
def write(span, fits, row):
    """Write a finished line to `row`, an array of 3 + 3 n_events values.

    They are x_start, x_end and n, then slope, intercept and sigma of each event (Eq. 3, 4, 7).
    """
    row[0], row[1], row[2] = span.x_start, span.x_last, span.n
    for j in range(len(fits)):
        fit = fits[j]
        row[3 + 3 * j] = fit.slope
        row[4 + 3 * j] = (fit.y_start + fit.mean) - fit.slope * (span.x_start + span.mean)
        row[5 + 3 * j] = sigma(span, fit)


class LineStream:
    """Base class of online fits, which take samples and return finished lines.

    Subclasses implement ``_advance(x, y, rows)``. It processes samples, arrays of shapes (n,) and (n, n_events). It
    writes finished lines to the first rows of `rows`, with the columns of :func:`write`, and returns their number.

    Parameters
    ----------
    events : sequence of str, optional
        Names of the events, which all get the same line ends. The default is one event without a name.

    Raises
    ------
    ValueError
        If `events` is empty or contains a name twice.
    """

    def __init__(self, events=None):
        self.events = None if events is None else tuple(events)
        n_events = 1 if events is None else len(self.events)
        if n_events == 0 or len(set(self.events or "y")) != n_events:
            raise InputError(f"events must be different names, at least one; got {list(self.events)}")
        self._span, self._fits = np.zeros(1, SPAN), np.zeros(n_events, FIT)

    def extend(self, x, y):
        """Process samples and return the lines that ended.

        Samples with a value that is not finite are ignored.

        Parameters
        ----------
        x : array-like of float, shape (n,)
            Cumulative counts of the timing event, larger than all previous ones.
        y : array-like of float, shape (n,) or (n, n_events)
            Cumulative counts of the events.

        Returns
        -------
        DataFrame
            One row per line, with the columns of :func:`cmlib.compress.compress`. Empty if no line ended.

        Raises
        ------
        ValueError
            If the shapes differ or x does not increase.
        """
        return self.as_frame(self.feed(x, y))

    def finish(self):
        """End the last line and return it.

        The next sample starts a new stream.

        Returns
        -------
        DataFrame
            One row, with the columns of `extend`. Empty if there was no sample.
        """
        return self.as_frame(self.end())

    def feed(self, x, y):
        """Process samples like `extend`, and return the lines that ended as an array.

        Parameters
        ----------
        x : array-like of float, shape (n,)
            Cumulative counts of the timing event, larger than all previous ones.
        y : array-like of float, shape (n,) or (n, n_events)
            Cumulative counts of the events.

        Returns
        -------
        ndarray, shape (n_lines, 3 + 3 n_events)
            Columns: x_start, x_end, n, and slope, intercept, sigma of each event.

        Raises
        ------
        ValueError
            If the shapes differ or x does not increase.
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
        # Numba would compile the loops again for arrays that are not contiguous (C) or not writable (W).
        x, table = np.require(x, requirements="CW"), np.require(table, requirements="CW")
        self._check_growth(x)
        rows = np.empty((x.size, 3 + 3 * len(self._fits)))
        return rows[: self._advance(x, table, rows)]

    def end(self):
        """End the last line like `finish`, and return it as an array.

        Returns
        -------
        ndarray, shape (1, 3 + 3 n_events)
            The columns are those of `feed`. No row if there was no sample.
        """
        rows = np.empty((int(self._span["n"][0] > 0), 3 + 3 * len(self._fits)))
        if len(rows):
            self._write(rows[0])
        self._span["n"] = 0.0
        return rows

    def as_frame(self, rows):
        """Convert lines from `feed` or `end` to a DataFrame with the columns of `extend`."""
        suffixes = [""] if self.events is None else [f":{event}" for event in self.events]
        fitted = [f"{name}{suffix}" for suffix in suffixes for name in ("slope", "intercept", "sigma")]
        columns = {"x_start": rows[:, 0], "x_end": rows[:, 1]}
        columns |= {name: rows[:, 3 + k] for k, name in enumerate(fitted)}
        return pd.DataFrame(columns | {"n": rows[:, 2].astype(int)})

    def _write(self, row):
        """Write the finished line to `row`, with the columns of :func:`write`."""
        write(self._span[0], self._fits, row)

    def _check_growth(self, x):
        """Raise a ValueError unless x increases, from the last sample of the previous call on."""
        last = self._span["x_last"] if self._span["n"][0] else -np.inf
        if not ((x[:1] > last).all() and (x[1:] > x[:-1]).all()):
            before = np.append(last, x[:-1])
            at = np.argmin(x > before)
            raise InputError(
                f"x must grow from sample to sample: at position {at} it is {x[at]:.17g} after {before[at]:.17g}. "
                "A counter that was reset begins a new stream: call finish() first."
            )


class OnlineRegression(LineStream):
    """Fit lines to samples that arrive one after another, in bounded time and memory (Wu and Mencer, §3.5).

    A line ends before a sample that is more than `n_sigma` standard deviations of the line (Eq. 7) away from it. The
    third sample of a line has no standard deviation yet. It may differ by the share `alpha` of the predicted count
    (§3.4). The next line starts at the last sample of the old line. If a sample of one event departs, the lines of
    all events end.

    Parameters
    ----------
    events : sequence of str, optional
        Names of the events, which all get the same line ends. The default is one event without a name.
    alpha : float >= 0, default 0.01
        Tolerance for the third sample [share of the predicted count].
    n_sigma : float >= 0, default 3
        Tolerance for all later samples [standard deviations].
    drift : float >= 0, optional
        Also end a line when its samples slowly drift away: when the residuals on one side add up to this number
        [standard deviations] (Page's cumulative sum with a slack of 1/2). 20 is a good choice. On 26 sample streams
        of seven programs it needed a third more lines and halved the largest distance. The paper names the problem
        (§4.2) but has no such test.

    Raises
    ------
    ValueError
        If a tolerance is negative or not a number.

    Notes
    -----
    The paper divides all counts by the first ones (§3.2). This changes no result, because both sides of each
    comparison are scaled, and it is not done here. Counts stay exact integers, and a counter may start at zero. "Too
    big" means larger than the tolerance. A counter that stays at zero is therefore one line.
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

    `state` and `fits` contain the sums of the current line between calls. During a call the sums over x and those of
    the first event, usually the only one, are in local variables. This halves the time for one event.
    """
    finished, resting, others = 0, state[0], fits[1:]
    span, first = _load_span(resting), _load_fit(fits[0])
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
                other_departs, fit.rising, fit.falling = _departs(
                    span, fit, x[i], y[i, j + 1], alpha, n_sigma, drift
                )
                departs |= other_departs
            if departs:
                _store(fits[0], first)
                write(span, fits, rows[finished])
                finished += 1
                start(resting, others, span.x_last, others.y_last)
                span, first = _started(span.x_last, first.y_last)
                rising = falling = 0.0
        step, sums = include_x(span, x[i])
        span = Span(sums[0], span.x_start, sums[1], sums[2], sums[3])
        fitted = include_y(first, step, y[i, 0])
        first = Fit(first.y_start, fitted[0], fitted[1], fitted[2], fitted[3], fitted[4], rising, falling)
        for j in range(len(others)):
            fit = others[j]
            fit.y_last, fit.mean, fit.joint, fit.slope, fit.sse = include_y(fit, step, y[i, j + 1])
    resting.n, resting.x_start, resting.x_last, resting.mean, resting.scatter = span
    _store(fits[0], first)
    return finished


@njit(cache=True)
def _load_span(record):
    """Read a Span from a record of `state`."""
    return Span(record.n, record.x_start, record.x_last, record.mean, record.scatter)


@njit(cache=True)
def _load_fit(record):
    """Read a Fit from a record of `fits`."""
    return Fit(
        record.y_start,
        record.y_last,
        record.mean,
        record.joint,
        record.slope,
        record.sse,
        record.rising,
        record.falling,
    )


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
    """Return True if the sample (x, y) departs from the line, and both new sums of the drift test."""
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
