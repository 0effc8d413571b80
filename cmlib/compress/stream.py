"""What every compressor of a stream does: check samples, hand out finished lines."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numba import njit

from cmlib.compress import running


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
        self._span = np.zeros((1, len(running.Span._fields)))
        self._fits = np.zeros((n_events, len(running.Fit._fields)))

    def add(self, x, y):
        """Take one sample.

        Parameters
        ----------
        x : float
            Count of the event that times the sampling; it must have grown.
        y : float, or sequence of float
            Counts of the events so far, one each.

        Returns
        -------
        Line or None
            The line that this sample ended, if it did.

        Raises
        ------
        ValueError
            If `x` has not grown. The sample is not taken; the stream can go on.
        """
        rows = self.feed(np.array([x]), np.array([y], dtype=float))
        return self._as_line(rows[0]) if len(rows) else None

    def extend(self, x, y):
        """Take many samples; the same as `add` for each, in compiled code.

        Parameters
        ----------
        x : array of float, shape (n,)
            Strictly increasing.
        y : array of float, shape (n,) or (n, n_events)
            A sample with a value that is not finite, here or in `x`, is left out.

        Returns
        -------
        DataFrame
            A row a finished line; see :func:`cmlib.compress.compress`.

        Raises
        ------
        ValueError
            If `x` does not increase. No sample is taken then.
        """
        return self.as_frame(self.feed(x, y))

    def finish(self):
        """End the last line.

        Returns
        -------
        DataFrame
            The last line, or no row if there was no sample. What is added
            later begins a new stream.
        """
        return self.as_frame(self.end())

    def feed(self, x, y):
        """Take many samples, as `extend` does; the finished lines come as plain rows.

        Returns
        -------
        ndarray, shape (n_lines, 3 + 3 * n_events)
            x_start, x_end, n, and an event after the other slope, intercept, sigma.
        """
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
        rows = np.empty((int(running.load_span(self._span).n > 0), 3 + 3 * len(self._fits)))
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
        span = running.load_span(self._span)
        running.write_span(span, rows, 0)
        for j in range(len(self._fits)):
            running.write_fit(span, running.load_fit(self._fits, j), rows, 0, j)

    def _check_growth(self, x):
        span = running.load_span(self._span)
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
