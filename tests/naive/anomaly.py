"""AutoPerf's formulas in plain loops."""

import math


def average_variance(v, first, last):
    """Algorithm 1, lines 1-11."""
    n = 0.0
    for i in range(first, last):
        n = n + abs(v[i] - v[i + 1])
    return n / (last - first + 1)


def stopping_run(v, *, eps, goal, max_runs):
    """Algorithm 1, lines 13-30, giving the run instead of true; eps may be a list, one an entry."""
    met = 0
    for i in range(1, len(v)):
        if i > max_runs:
            return max_runs
        ave_piece = average_variance(v, i - math.ceil(i / 10), i)
        ave_half = average_variance(v, 0, i) / math.ceil(1 + i / 2)
        if ave_piece < ave_half and ave_piece < (eps[i] if isinstance(eps, list) else eps) and met >= goal:
            return i
        met = met + 1 if ave_piece < ave_half else 0
    return max_runs


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def reconstruct(layers, sample):
    """One sample through tied layers (weight, bias, back_bias), neuron by neuron, and back."""
    values = list(sample)
    for weight, bias, _ in layers:
        values = [
            sigmoid(bias[j] + sum(weight[i][j] * values[i] for i in range(len(values))))
            for j in range(len(bias))
        ]
    for weight, _, back_bias in reversed(layers):
        values = [
            sigmoid(back_bias[i] + sum(weight[i][j] * values[j] for j in range(len(values))))
            for i in range(len(back_bias))
        ]
    return values


def loss(layers, samples):
    """Mean over samples of |X - X'|²."""
    total = 0.0
    for sample in samples:
        total += sum((x - y) ** 2 for x, y in zip(sample, reconstruct(layers, sample), strict=True))
    return total / len(samples)


def majority(rankings):
    """§3.5: counters in the order of how often they come first, then second, …, over anomalous samples."""
    names = sorted(rankings[0])
    votes = {name: [sum(r[place] == name for r in rankings) for place in range(len(names))] for name in names}
    return sorted(names, key=lambda name: [-n for n in votes[name]])
