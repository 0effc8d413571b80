"""Exact dynamic time warping against NumPy and SciPy. By hand: python benchmarks/dtw.py

Two plain versions: the recurrence in loops over SciPy's table of local costs, as it is usually written; and
the fastest we could write in NumPy alone, diagonal by diagonal.
"""

import argparse

import numpy as np
from interleave import ratio
from scipy.spatial.distance import cdist

from cmlib.clean.distance import dtw

TOLERANCE = 1e-12


def in_loops(a, b):
    costs = cdist(a[:, None], b[:, None], "cityblock")
    table = np.full((len(a) + 1, len(b) + 1), np.inf)
    table[0, 0] = 0
    for i in range(len(a)):
        for j in range(len(b)):
            table[i + 1, j + 1] = costs[i, j] + min(table[i, j], table[i, j + 1], table[i + 1, j])
    return table[-1, -1]


def by_diagonals(a, b):
    n, m = len(a), len(b)
    last, current = np.full(n + 1, np.inf), np.full(n + 1, np.inf)
    last[1] = abs(a[0] - b[0])
    before_last = np.full(n + 1, np.inf)
    for diagonal in range(1, n + m - 1):
        low, high = max(0, diagonal - m + 1), min(n, diagonal + 1)
        current[:] = np.inf
        best = np.minimum(np.minimum(last[low:high], last[low + 1 : high + 1]), before_last[low:high])
        costs = np.abs(a[low:high] - b[diagonal - high + 1 : diagonal - low + 1][::-1])
        current[low + 1 : high + 1] = costs + best
        before_last, last, current = last, current, before_last
    return last[n]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    for n, m, versions in [(180, 190, (in_loops, by_diagonals)), (1200, 1150, (by_diagonals,))]:
        a, b = (1e6 * rng.lognormal(0, 0.3, size).cumsum() for size in (n, m))
        for version in versions:
            times = 50 if n < 1000 else 10
            speed = ratio(
                lambda a=a, b=b, times=times: [dtw(a, b) for _ in range(times)],
                lambda a=a, b=b, version=version: version(a, b),
                options.rounds,
            )
            worst = abs(dtw(a, b) / version(a, b) - 1)
            same = "the same" if worst <= TOLERANCE else "NOT THE SAME"
            print(
                f"{n} x {m} samples against {version.__name__}: {speed.median * times:.0f} times as fast "
                f"({speed.least * times:.0f} to {speed.most * times:.0f}); relative difference {worst:.0e}: {same}",
                flush=True,
            )


if __name__ == "__main__":
    main()
