"""Importance of families of events by its definitions."""

from itertools import permutations

import numpy as np


def rise_by_permutation(added, residuals):
    """Mean over all permutations of the rise of the mean squared error when what one family adds is permuted."""
    before = np.mean([r**2 for r in residuals])
    rises = []
    for order in permutations(range(len(added))):
        after = [
            (r + added[i] - added[j]) ** 2 for i, (r, j) in enumerate(zip(residuals, order, strict=True))
        ]
        rises.append(np.mean(after) - before)
    return np.mean(rises)


def shapley_of_explained_variance(players, target):
    """Mean over all orders of what each player adds to R² when it joins those before it."""
    values, orders = np.zeros(players.shape[1]), list(permutations(range(players.shape[1])))
    for order in orders:
        for place, player in enumerate(order):
            gain = _explained(players[:, order[: place + 1]], target) - _explained(
                players[:, order[:place]], target
            )
            values[player] += gain / len(orders)
    return values


def overlap(rankings, n_first):
    """Mean share of the first entries that two rankings have in common, over all pairs."""
    shares = []
    for i, one in enumerate(rankings):
        for other in rankings[i + 1 :]:
            shares.append(len([name for name in one[:n_first] if name in other[:n_first]]) / n_first)
    return np.mean(shares)


def _explained(columns, target):
    design = np.column_stack([np.ones(len(target)), columns])
    fitted = design @ np.linalg.lstsq(design, target, rcond=None)[0]
    return 1 - np.sum((target - fitted) ** 2) / np.sum((target - target.mean()) ** 2)
