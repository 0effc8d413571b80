"""The slope of cycles over misses, and the posterior of a miss's cost, in plain loops."""

import math


def slope(cycles, misses, *, fewest=6):
    """Least squares over differences of neighbouring stretches of 1, 2, 4, … intervals by r², and its jackknife."""
    scales = []
    length = 1
    while len(cycles) // length >= 2 * fewest:
        product = square = of_cycles = 0.0
        for first in range(0, len(cycles) // length // 2 * 2 * length, 2 * length):
            change = [
                (sum(v[first + length : first + 2 * length]) - sum(v[first : first + length]))
                / math.sqrt(2 * length)
                for v in (cycles, misses)
            ]
            product += change[0] * change[1]
            square += change[1] ** 2
            of_cycles += change[0] ** 2
        weight = product**2 / (square * of_cycles)
        scales.append((weight * product, weight * square))
        length *= 2
    total = sum(p for p, _ in scales) / sum(s for _, s in scales)
    without = []
    for left in range(len(scales)):
        rest = [scale for number, scale in enumerate(scales) if number != left]
        without.append(sum(p for p, _ in rest) / sum(s for _, s in rest))
    mean = sum(without) / len(without)
    n = len(scales)
    return total, math.sqrt((n - 1) / n * sum((value - mean) ** 2 for value in without))


def posterior(row, *, center, spread, slope_error, store_weight, costs, latency, width):
    """Mean and standard deviation of the cost of a miss, over given costs."""
    stores = row["stores"] / row["misses"]
    limit = min(latency * (1 + store_weight * stores), (row["cycles"] - 1 / width) / row["misses"])
    sd = math.sqrt(row["stderr"] ** 2 + (slope_error * max(row["slope"], 0)) ** 2)
    weights = []
    for cost in costs:
        far = (math.log(cost) - math.log(center * (1 + store_weight * stores))) / spread
        missed = (row["slope"] - cost) / sd
        student = (1 + missed**2 / 4) ** -2.5
        weights.append(math.exp(-(far**2) / 2) * student if cost <= limit else 0.0)
    mean = sum(w * c for w, c in zip(weights, costs, strict=True)) / sum(weights)
    variance = sum(w * (c - mean) ** 2 for w, c in zip(weights, costs, strict=True)) / sum(weights)
    return mean, math.sqrt(variance)
