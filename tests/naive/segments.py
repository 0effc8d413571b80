"""The cheapest cut of a short series into segments, by trying all of them."""

import itertools


def segment_starts(X, weights, penalty):
    """First samples of the segments with the smallest cost, and that cost."""
    n = len(X)
    best = None
    for size in range(n):
        for cuts in itertools.combinations(range(1, n), size):
            starts = (0, *cuts)
            total = sum(cost(X[a:b], weights[a:b]) + penalty for a, b in zip(starts, (*cuts, n), strict=True))
            if best is None or total < best[1]:
                best = starts, total
    return best


def cost(rows, weights):
    total = 0.0
    for column in range(len(rows[0])):
        mean = sum(w * row[column] for row, w in zip(rows, weights, strict=True)) / sum(weights)
        for row, w in zip(rows, weights, strict=True):
            total += w * (row[column] - mean) ** 2
    return total
