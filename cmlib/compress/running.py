"""A straight line that grows by one sample at a time: least squares without the samples.

Everything is kept about the line's first sample, as means and centred sums.
The plain sums of Wu and Mencer (Eq. 3-8), taken about zero, lose their last
digits to counts that have become large, and with them the breaks that come late
in a long run; these do not.
"""

import numpy as np
from numba import njit

# What the samples of the current line say about x, `scatter` being the sum of (x - mean)² ...
LINE = np.dtype(
    [
        ("n", np.int64),
        ("x_start", np.float64),
        ("x_last", np.float64),
        ("mean", np.float64),
        ("scatter", np.float64),
    ]
)
# ... and about each event's y: `joint` is the sum of (x - mean)(y - mean), `sse` that of the squared
# residuals (Eq. 8), `rising` and `falling` what the drift test has gathered.
EVENT = np.dtype(
    [
        ("y_start", np.float64),
        ("y_last", np.float64),
        ("mean", np.float64),
        ("joint", np.float64),
        ("sse", np.float64),
        ("rising", np.float64),
        ("falling", np.float64),
    ]
)


@njit(cache=True)
def start(line, events, x, y):
    """Begin a line at the sample (x, y)."""
    line.x_last = x
    for j in range(events.size):
        events[j].y_last = y[j]
    restart(line, events)


@njit(cache=True)
def restart(line, events):
    """Begin a line at the last sample of the current one."""
    line.n = 1
    line.x_start = line.x_last
    line.mean = 0.0
    line.scatter = 0.0
    for j in range(events.size):
        event = events[j]
        event.y_start = event.y_last
        event.mean = 0.0
        event.joint = 0.0
        event.sse = 0.0
        event.rising = 0.0
        event.falling = 0.0


@njit(cache=True)
def residual(line, event, x, y):
    """How far y lies above the line of all samples before it."""
    return (y - event.y_start) - event.mean - slope(line, event) * ((x - line.x_start) - line.mean)


@njit(cache=True)
def include(line, events, x, y):
    """Let the sample (x, y) into the line."""
    n = line.n + 1
    weight = line.n / n
    run = (x - line.x_start) - line.mean
    scatter = line.scatter + weight * run * run
    for j in range(events.size):
        event = events[j]
        off = residual(line, event, x, y[j])
        rise = (y[j] - event.y_start) - event.mean
        event.sse += off * off * weight * line.scatter / scatter
        event.joint += weight * run * rise
        event.mean += rise / n
        event.y_last = y[j]
    line.mean += run / n
    line.scatter = scatter
    line.x_last = x
    line.n = n


@njit(cache=True)
def slope(line, event):
    """Slope of the least-squares line (Eq. 3); 0 with a single sample."""
    return event.joint / line.scatter if line.n > 1 else 0.0


@njit(cache=True)
def write(line, events, row):
    """Lay the line out as x_start, x_end, n and, for each event, slope, intercept and sigma (Eq. 3, 4, 7)."""
    row[0] = line.x_start
    row[1] = line.x_last
    row[2] = line.n
    for j in range(events.size):
        event = events[j]
        k = slope(line, event)
        row[3 + 3 * j] = k
        row[4 + 3 * j] = (event.y_start + event.mean) - k * (line.x_start + line.mean)
        row[5 + 3 * j] = np.sqrt(event.sse / (line.n - 2)) if line.n > 2 else 0.0
