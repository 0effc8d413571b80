"""How much each family of events matters to cycles per instruction, by four definitions."""

from itertools import chain, combinations
from math import factorial

import numpy as np
import pandas as pd

_ALONE = 8  # families that take part in Shapley values each by itself; the rest takes part as one


def shares(contributions, families):
    """Share of each family in what the model adds and takes away over the rows.

    Parameters
    ----------
    contributions : DataFrame, shape (n_rows, n_events)
        Cycles per instruction that each event adds (:meth:`cmlib.families.LinearModel.contributions`).
    families : Series of int
        Family of every event.

    Returns
    -------
    Series
        Index: family; the standard deviation of its contribution as a share of the sum of all families' [%].
    """
    return _percent(by_family(contributions, families).std(ddof=0))


def by_influence(influence, families):
    """Influence of a boosted model's events, summed by family.

    Parameters
    ----------
    influence : Series
        By event, such as :func:`cmlib.rank.influence` gives it.
    families : Series of int

    Returns
    -------
    Series
        By family [%].
    """
    return _percent(
        influence.groupby(families.reindex(influence.index)).sum().reindex(range(families.max() + 1))
    )


def by_permutation(contributions, families, residuals):
    """Rise of the mean squared error when the rows of a whole family are permuted.

    The mean over all permutations, which a linear model needs not draw: 2 Var(c) + 2 Cov(c, r), where c is
    what the family adds and r what the model misses.

    Parameters
    ----------
    contributions : DataFrame, shape (n_rows, n_events)
        On held-out rows.
    families : Series of int
    residuals : Series, shape (n_rows,)
        Measured less predicted.

    Returns
    -------
    Series
        By family [%], never below zero.
    """
    added = by_family(contributions, families)
    along = added.sub(added.mean()).mul(residuals - residuals.mean(), axis=0).mean()
    return _percent((2 * added.var(ddof=0) + 2 * along).clip(lower=0.0))


def conditional_shapley(contributions, families, cpi):
    """Shapley values of families for the share of variance that they explain, each set fitted anew.

    A family that goes along with another gets its part of what both explain, also where the model gave all
    of it to one of them (Shapley effects: Owen 2014; for least squares: Lindeman, Merenda and Gold 1980).
    The first eight families by :func:`shares` take part each by itself, the rest as one; the values are exact.

    Parameters
    ----------
    contributions : DataFrame, shape (n_rows, n_events)
        On held-out rows.
    families : Series of int
    cpi : Series, shape (n_rows,)
        Cycles per instruction.

    Returns
    -------
    Series
        By family [%] of what all explain together; NaN for those of the rest.
    """
    added = by_family(contributions, families)
    alone = list(shares(contributions, families).nlargest(_ALONE).index)
    players = added[alone]
    if len(alone) < added.shape[1]:
        players = players.assign(rest=added.drop(columns=alone).sum(axis=1))
    values = _shapley(players.to_numpy(), cpi.to_numpy())
    return pd.Series(100 * values[: len(alone)] / values.sum(), index=alone).reindex(added.columns)


def by_family(contributions, families):
    """Contributions summed by family: shape (n_rows, n_families)."""
    labels = families.reindex(contributions.columns).to_numpy()
    member = (labels[:, None] == np.arange(families.max() + 1)).astype(float)
    return pd.DataFrame(contributions.to_numpy() @ member, index=contributions.index)


def _shapley(players, target):
    count = players.shape[1]
    explained = _explained_by_sets(players, target)
    values = np.zeros(count)
    for chosen, gain in explained.items():
        for player in chosen:
            weight = factorial(len(chosen) - 1) * factorial(count - len(chosen)) / factorial(count)
            values[player] += weight * (gain - explained[chosen - {player}])
    return values


def _explained_by_sets(players, target):
    """R² of least squares on every set of players."""
    centred = players - players.mean(axis=0)
    moved = target - target.mean()
    gram, along, whole = centred.T @ centred, centred.T @ moved, moved @ moved
    explained = {frozenset(): 0.0}
    for chosen in _subsets(range(players.shape[1])):
        if chosen:
            rows = list(chosen)
            slopes = np.linalg.lstsq(gram[np.ix_(rows, rows)], along[rows], rcond=1e-12)[0]
            explained[frozenset(chosen)] = float(slopes @ along[rows] / whole)
    return explained


def _subsets(players):
    players = list(players)
    return chain.from_iterable(combinations(players, size) for size in range(len(players) + 1))


def _percent(values):
    total = values.sum()
    return 100 * values / total if total > 0 else values
