"""Pruning of a C4.5 tree by the upper confidence limit of its errors."""

import copy

import numpy as np
from scipy.special import ndtri

# J48 prefers the simpler tree even where it is expected to make this many errors more.
_TOLERATED = 0.1
_TOLERATED_IN_TRAINING = 1e-3
_EQUAL = 1e-6


def prune(tree, X, codes, *, confidence=0.25, subtree_raising=True):
    """Prune a grown tree as C4.5 does.

    First every subtree that makes no fewer training errors than a leaf becomes one. Then, bottom-up,
    the pessimistic errors of three forms are compared: the subtree, a leaf, and (with
    `subtree_raising`) the largest branch with all of the node's samples sent down it.

    Parameters
    ----------
    tree : Tree
        Never modified.
    X : ndarray of float64, shape (n_samples, n_features)
    codes : ndarray of int64, shape (n_samples,)
        What the tree was grown from.
    confidence : float in (0, 0.5]
    subtree_raising : bool

    Returns
    -------
    Tree
        With nodes no longer reachable from the root left in its lists.
    """
    tree = copy.deepcopy(tree)
    _collapse(tree)
    errors = {}
    pending = [(0, False)]
    while pending:
        node, sons_are_pruned = pending.pop()
        as_leaf = pessimistic_errors(tree.counts[node], confidence)
        errors[node] = as_leaf
        if tree.feature[node] < 0:
            continue
        left, right = tree.left[node], tree.right[node]
        if not sons_are_pruned:
            pending += [(node, True), (left, False), (right, False)]
            continue
        errors[node] = errors[left] + errors[right]
        bound = errors[node] + _TOLERATED + _EQUAL
        branch = left if len(tree.rows[left]) > len(tree.rows[right]) else right
        as_branch = _errors_as_branch(tree, node, branch, X, codes, confidence) if subtree_raising else np.inf
        if as_leaf <= min(bound, as_branch + _TOLERATED + _EQUAL):
            _make_leaf(tree, node)
            errors[node] = as_leaf
        elif as_branch <= bound:
            _raise(tree, node, branch, X, codes)
            pending.append((node, False))
    return tree


def pessimistic_errors(counts, confidence):
    """Upper confidence limit of the errors of a leaf that predicts its most frequent class.

    The limit of a binomial share by the normal approximation with continuity correction; exact for
    no error, and interpolated between none and one (Quinlan 1993, §4.2).

    Parameters
    ----------
    counts : ndarray of int, shape (n_classes,)
        Samples in the leaf by class.
    confidence : float in (0, 0.5]

    Returns
    -------
    float
        Errors [samples], at least those seen.
    """
    n = int(counts.sum())
    wrong = n - int(counts.max())
    if n == 0:
        return 0.0
    if wrong == 0:
        return n * (1 - confidence ** (1 / n))
    if wrong + 0.5 >= n:
        return float(n)
    z = ndtri(1 - confidence)
    share = (wrong + 0.5) / n
    spread = z * np.sqrt(share / n - share**2 / n + z**2 / (4 * n**2))
    return float(n * (share + z**2 / (2 * n) + spread) / (1 + z**2 / n))


def _collapse(tree):
    wrong = [int(counts.sum() - counts.max()) for counts in tree.counts]
    below = list(wrong)
    for node in reversed(range(len(wrong))):  # sons come after their parents
        if tree.feature[node] >= 0:
            below[node] = below[tree.left[node]] + below[tree.right[node]]
    for node in range(len(wrong)):
        if tree.feature[node] >= 0 and below[node] >= wrong[node] - _TOLERATED_IN_TRAINING:
            _make_leaf(tree, node)


def _make_leaf(tree, node):
    tree.feature[node], tree.threshold[node], tree.left[node], tree.right[node] = -1, np.nan, -1, -1


def _errors_as_branch(tree, node, branch, X, codes, confidence):
    n_classes = len(tree.counts[node])
    return sum(
        pessimistic_errors(np.bincount(codes[rows], minlength=n_classes), confidence)
        for reached, rows in _route(tree, branch, tree.rows[node], X)
        if tree.feature[reached] < 0
    )


def _route(tree, node, rows, X):
    """Send `rows` down from `node`; yield every node passed with the rows that reach it."""
    pending = [(node, rows)]
    while pending:
        node, rows = pending.pop()
        yield node, rows
        if tree.feature[node] >= 0:
            goes_left = X[rows, tree.feature[node]] <= tree.threshold[node]
            pending += [(tree.left[node], rows[goes_left]), (tree.right[node], rows[~goes_left])]


def _raise(tree, node, branch, X, codes):
    n_classes = len(tree.counts[node])
    for values in (tree.feature, tree.threshold, tree.left, tree.right):
        values[node] = values[branch]
    for reached, rows in _route(tree, node, tree.rows[node], X):
        tree.rows[reached] = rows
        tree.counts[reached] = np.bincount(codes[rows], minlength=n_classes)
