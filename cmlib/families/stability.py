"""Whether the first families stay the same from one resampled model to another."""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from cmlib.families.grouping import cut, trees
from cmlib.families.linear import LinearModel, fit

CUTS = tuple(np.arange(1, 8) / 10)
_WITHIN = 0.05  # of the best, within which the cut with more families is taken


@dataclass(frozen=True)
class Resampled:
    """A model of blocks of neighbouring rows drawn with replacement.

    Attributes
    ----------
    trees : dict
        Of the rows drawn (:func:`cmlib.families.trees`).
    model : LinearModel
        Fitted to the rows drawn.
    unseen : ndarray of bool, shape (n_rows,)
        Rows that were not drawn.
    """

    trees: dict
    model: LinearModel
    unseen: np.ndarray


def resample(X, cpi, kinds, penalty, *, seeds, n_blocks=20):
    """Group events and fit models on resampled blocks of rows.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Events per instruction.
    cpi : Series
    kinds : Series of str
        Kind of every event.
    penalty : float
        As of :func:`cmlib.families.fit`.
    seeds : iterable of int
        One draw each.
    n_blocks : int, default 20
        Blocks that the rows are cut into.

    Returns
    -------
    list of Resampled
    """
    blocks = np.array_split(np.arange(len(X)), min(n_blocks, len(X)))
    resampled = []
    for seed in seeds:
        drawn = np.random.default_rng(seed).integers(len(blocks), size=len(blocks))
        rows = np.concatenate([blocks[block] for block in drawn])
        unseen = ~np.isin(np.arange(len(X)), rows)
        model = fit(X.iloc[rows], cpi.iloc[rows], penalty)
        resampled.append(Resampled(trees(X.iloc[rows], kinds), model, unseen))
    return resampled


def choose_cut(X, resampled, *, cuts=CUTS, n_first=5):
    """The distance at which first families are alike though every resample groups events by itself.

    Parameters
    ----------
    X : DataFrame
        What was resampled.
    resampled : list of Resampled
        Others than those by which the ranking is judged afterwards.
    cuts : sequence of float
        Distances tried.
    n_first : int, default 5

    Returns
    -------
    distance : float
        The smallest one that is within 0.05 of the best.
    alike : Series
        Index: distance. How alike the first families of two resamples are, mean over all pairs: their members
        in common as a share of the members of either (Jaccard), families matched so that it is largest.
    """
    alike = {}
    added = [one.model.contributions(X).to_numpy() for one in resampled]
    for distance in cuts:
        labels = [cut(one.trees, distance).reindex(X.columns).to_numpy() for one in resampled]
        firsts = [_first_members(*both, n_first) for both in zip(added, labels, strict=True)]
        alike[distance] = np.mean([_alike(one, other) for one, other in combinations(firsts, 2)])
    alike = pd.Series(alike, name="alike").rename_axis("distance")
    return float(alike.index[alike >= alike.max() - _WITHIN].min()), alike


def overlap(draws, others=None, *, n_first=5):
    """Share of the first families that two models have in common, mean over all pairs of models.

    Parameters
    ----------
    draws : DataFrame
        Importances, a row a model, a column a family.
    others : DataFrame, optional
        Models of another pass; then pairs are of one model of each. By default pairs of `draws`.
    n_first : int, default 5
        All, where there are fewer families.

    Returns
    -------
    float
        0–1.
    """
    n_first = min(n_first, draws.shape[1])
    firsts = _firsts(draws, n_first)
    pairs = combinations(firsts, 2) if others is None else product(firsts, _firsts(others, n_first))
    return float(np.mean([len(one & other) / n_first for one, other in pairs]))


def random_overlap(n_families, n_first=5):
    """What :func:`overlap` of two random rankings is expected to be."""
    return min(n_first, n_families) / n_families


def _firsts(draws, n_first):
    return [set(draw.nlargest(n_first).index) for _, draw in draws.iterrows()]


def _first_members(added, labels, n_first):
    """Which events (as bools) are in each of the first families by what these add."""
    member = labels[:, None] == np.arange(labels.max() + 1)
    largest = np.argsort(-(added @ member.astype(float)).std(axis=0), kind="stable")[:n_first]
    return member[:, largest]


def _alike(one, other):
    common = one.T.astype(float) @ other
    sizes = one.sum(axis=0)[:, None] + other.sum(axis=0)
    shared = common / (sizes - common)
    return shared[linear_sum_assignment(-shared)].sum() / max(shared.shape)
