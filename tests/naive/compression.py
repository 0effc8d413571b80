"""Lines instead of samples, as defined: the printed procedure in exact arithmetic, and plain loops.

All take sequences of int and return the positions at which a new line starts.
"""

import math
from fractions import Fraction


def online_lines(x, y, alpha=Fraction(1, 100), n_sigma=3):
    """The procedure of §3.5 with Eq. 3, 4, 7 and 8 and the scaling of §3.2, in fractions.

    Returns the lines as (position of the first sample, slope, intercept), unscaled.
    """
    x_unit, y_unit = (Fraction(int(first) or 1) for first in (x[0], y[0]))
    samples = [(int(a) / x_unit, int(b) / y_unit) for a, b in zip(x, y, strict=True)]
    lines, start, members = [], 0, []
    for i, (a, b) in enumerate(samples):
        if len(members) > 1 and _too_big(members, a, b, alpha, n_sigma):
            lines.append((start, *_fit(members)))
            start, members = i - 1, [samples[i - 1]]
        members.append((a, b))
    lines.append((start, *_fit(members)))
    return [(start, float(k * y_unit / x_unit), float(b * y_unit)) for start, k, b in lines]


def _sums(members):
    s_x = sum(a for a, _ in members)
    s_y = sum(b for _, b in members)
    s_xx = sum(a * a for a, _ in members)
    s_yy = sum(b * b for _, b in members)
    s_xy = sum(a * b for a, b in members)
    return s_x, s_y, s_xx, s_yy, s_xy


def _fit(members):
    n = len(members)
    if n == 1:
        return Fraction(0), members[0][1]
    s_x, s_y, s_xx, _, s_xy = _sums(members)
    below = n * s_xx - s_x**2
    return (n * s_xy - s_x * s_y) / below, (s_y * s_xx - s_x * s_xy) / below


def _too_big(members, x, y, alpha, n_sigma):
    n = len(members)
    k, b = _fit(members)
    predicted = k * x + b
    residual = abs(y - predicted)
    if n == 2:
        return residual > alpha * abs(predicted)
    s_x, s_y, s_xx, s_yy, s_xy = _sums(members)
    squares = s_yy + k**2 * s_xx + n * b**2 - 2 * k * s_xy - 2 * b * s_y + 2 * k * b * s_x
    return residual**2 > n_sigma**2 * squares / (n - 2)


def online_starts(x, y, number=int, alpha=(1, 100), n_sigma=3):
    """The same procedure with running sums about zero; exact with ``number=int``, and fast enough for long
    runs.

    Both sides of each comparison are multiplied by their denominators. With
    ``number=float`` it is what one would write first: it loses its digits.
    """
    x, y = [number(a) for a in x], [number(b) for b in y]
    part, whole = number(alpha[0]), number(alpha[1])
    starts, n, s_x, s_y, s_xx, s_yy, s_xy = [0], 0, 0, 0, 0, 0, 0
    for i in range(len(x)):
        a, b = x[i], y[i]
        if n > 1:
            below = n * s_xx - s_x * s_x
            k = n * s_xy - s_x * s_y
            predicted = k * a + (s_y * s_xx - s_x * s_xy)
            residual = abs(b * below - predicted)
            if n == 2:
                too_big = whole * residual > part * abs(predicted)
            else:
                squares = n * (s_yy * below) - s_y * s_y * below - k * k
                too_big = n * (n - 2) * residual * residual > n_sigma * n_sigma * squares * below
            if too_big:
                starts.append(i - 1)
                a_, b_ = x[i - 1], y[i - 1]
                n, s_x, s_y, s_xx, s_yy, s_xy = 1, a_, b_, a_ * a_, b_ * b_, a_ * b_
        n += 1
        s_x += a
        s_y += b
        s_xx += a * a
        s_yy += b * b
        s_xy += a * b
    return starts


def drifting_starts(x, y, limit, alpha=0.01, n_sigma=3.0):
    """The procedure with Page's test on the residuals, every fit made anew from the line's samples."""
    starts, begin, rising, falling = [0], 0, 0.0, 0.0
    for i in range(len(x)):
        n = i - begin
        if n > 1:
            k, b = _fit([(Fraction(int(x[j])), Fraction(int(y[j]))) for j in range(begin, i)])
            off = float(y[i] - (k * int(x[i]) + b))
            if n == 2:
                leaves = abs(off) > alpha * abs(float(k * int(x[i]) + b))
            else:
                squares = sum((int(y[j]) - k * int(x[j]) - b) ** 2 for j in range(begin, i))
                sigma = math.sqrt(squares / (n - 2))
                leaves = abs(off) > n_sigma * sigma
                if sigma > 0:
                    rising = max(0.0, rising + off / sigma - 0.5)
                    falling = max(0.0, falling - off / sigma - 0.5)
                leaves = leaves or max(rising, falling) > limit
            if leaves:
                begin, rising, falling = i - 1, 0.0, 0.0
                starts.append(begin)
    return starts


def bounded_starts(x, y, bound):
    """Greedy: a line ends when no line lies within `bound` of all its samples, tried for every possible slope."""
    starts, begin = [0], 0
    for i in range(len(x)):
        if not _some_line_fits(x[begin : i + 1], y[begin : i + 1], bound):
            begin = i
            starts.append(i)
    return starts


def _some_line_fits(x, y, bound):
    samples = [(int(a), int(b)) for a, b in zip(x, y, strict=True)]
    slopes = {Fraction(d - b, c - a) for a, b in samples for c, d in samples if a < c} or {Fraction(0)}
    for k in slopes:
        levels = [b - k * a for a, b in samples]
        if max(levels) - min(levels) <= 2 * bound:
            return True
    return False
