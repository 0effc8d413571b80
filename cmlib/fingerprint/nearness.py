"""Is any of many reference points within a distance? Decided without measuring most of the distances."""

from dataclasses import dataclass

import numpy as np
from numba import njit

_BALLS = 32
_STRIDE = 8


@dataclass(frozen=True)
class Balls:
    """Reference points in balls around some of them.

    Attributes
    ----------
    points : ndarray of float64, shape (n_points, n_features)
        Ball after ball.
    first : ndarray of int64, shape (n_balls + 1,)
        Where each ball's points begin.
    centres : ndarray of float64, shape (n_balls, n_features)
    radii : ndarray of float64, shape (n_balls,)
    """

    points: np.ndarray
    first: np.ndarray
    centres: np.ndarray
    radii: np.ndarray


def make_balls(points, n_balls=_BALLS):
    """Put points into balls: each centre is the point farthest from all centres before.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, n_features)
    n_balls : int, default 32
        Fewer where there are fewer distinct points.

    Returns
    -------
    Balls
    """
    chosen, nearest, ball = [], np.full(len(points), np.inf), np.zeros(len(points), np.int64)
    while len(chosen) < n_balls and nearest.max() > 0:
        centre = points[np.argmax(nearest)]
        distance = np.sqrt(((points - centre) ** 2).sum(axis=1))
        ball[distance < nearest] = len(chosen)
        nearest = np.minimum(nearest, distance)
        chosen.append(centre)
    order = np.argsort(ball, kind="stable")
    first = np.searchsorted(ball[order], np.arange(len(chosen) + 1))
    radii = np.array([nearest[ball == number].max(initial=0.0) for number in range(len(chosen))])
    return Balls(np.ascontiguousarray(points[order]), first, np.array(chosen), radii)


def any_within(points, balls, radius):
    """Whether each point has a reference within `radius`.

    A ball farther away than its own radius and `radius` together holds none (triangle inequality), a sum of
    squares that has grown beyond radius² is not taken to its end, and the reference found for the point
    before is tried first: neighbours are alike.

    Parameters
    ----------
    points : ndarray of float64, shape (n, n_features), C-contiguous
        A few thousand at a time: their squared distances to all centres are held.
    balls : Balls
    radius : float >= 0

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    squared = (points**2).sum(axis=1)[:, None] - 2 * points @ balls.centres.T + (balls.centres**2).sum(axis=1)
    return _search(points, squared, balls.points, balls.first, balls.radii, radius)


@njit(cache=True)
def _search(part, centre_squared, points, first, radii, radius):
    within = np.empty(len(part), np.bool_)
    limit, last = radius * radius, 0
    for row in range(len(part)):
        inside = _is_within(part[row], points[last], limit)
        if not inside:
            nearest = np.argmin(centre_squared[row])
            for turn in range(-1, len(radii)):
                ball = nearest if turn < 0 else turn
                # a rounding error of the squares must not leave out a ball
                reach = (radius + radii[ball]) * (1 + 1e-9) + 1e-9
                if turn == nearest or centre_squared[row, ball] > reach * reach + 1e-9:
                    continue
                for candidate in range(first[ball], first[ball + 1]):
                    if _is_within(part[row], points[candidate], limit):
                        inside, last = True, candidate
                        break
                if inside:
                    break
        within[row] = inside
    return within


@njit(cache=True)
def _is_within(a, b, limit):
    total, n, i = 0.0, len(a), 0
    while i < n:
        end = min(i + _STRIDE, n)
        while i < end:
            total += (a[i] - b[i]) ** 2
            i += 1
        if total > limit:
            return False
    return True
