"""Growing of a C4.5 tree: which attribute to split on, and where."""

import copy
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from scipy.special import ndtri

# What J48 calls equal: gains closer than _EQUAL tie, and an attribute counts as of average gain down to
# _BELOW_AVERAGE below it.
_EQUAL = 1e-6
_BELOW_AVERAGE = 1e-3
# A value in the very middle of a gap must not fall out of it by rounding: 14.97 between 14.96 and 14.98.
_ROUNDING = 1e-9


@dataclass
class Tree:
    """A tree under construction: one entry a node, in order of creation; node 0 is the root.

    `feature` is -1 in a leaf; `rows` are the training samples that reach the node and `counts` their
    classes.
    """

    feature: list = field(default_factory=list)
    threshold: list = field(default_factory=list)
    left: list = field(default_factory=list)
    right: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    counts: list = field(default_factory=list)

    def add_leaf(self, rows, counts):
        """Append a leaf and return its number."""
        for values, value in (
            (self.feature, -1),
            (self.threshold, np.nan),
            (self.left, -1),
            (self.right, -1),
            (self.rows, rows),
            (self.counts, counts),
        ):
            values.append(value)
        return len(self.feature) - 1

    def to_arrays(self):
        """Return feature, threshold, left, right and counts of the nodes below the root, in preorder."""
        order, pending = [], [0]
        while pending:
            node = pending.pop()
            order.append(node)
            if self.feature[node] >= 0:
                pending += [self.right[node], self.left[node]]
        number = {node: i for i, node in enumerate(order)} | {-1: -1}
        return (
            np.array([self.feature[node] for node in order], np.int64),
            np.array([self.threshold[node] for node in order], np.float64),
            np.array([number[self.left[node]] for node in order], np.int64),
            np.array([number[self.right[node]] for node in order], np.int64),
            np.array([self.counts[node] for node in order], np.int64),
        )


def grow(X, codes, n_classes, *, min_leaf=2, min_gap=0.0, midpoints=False):
    """Grow an unpruned C4.5 tree."""
    columns = np.ascontiguousarray(X.T)
    order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    sorted_columns = np.take_along_axis(columns, order, axis=1)
    n_log_n = _n_log_n(len(codes))
    tree = Tree()
    pending = [(tree.add_leaf(np.arange(len(codes)), np.bincount(codes, minlength=n_classes)), order)]
    while pending:
        node, order = pending.pop()
        feature, middle = _best_split(columns, codes, order, tree.counts[node], n_log_n, min_leaf, min_gap)
        if feature < 0:
            continue
        threshold = middle if midpoints else _largest_below(sorted_columns[feature], middle)
        goes_left = columns[feature] <= threshold
        tree.feature[node], tree.threshold[node] = int(feature), float(threshold) + 0.0  # no -0
        orders = _divide(order, goes_left)
        rows = [np.sort(part[0]) for part in orders]
        sons = [tree.add_leaf(r, np.bincount(codes[r], minlength=n_classes)) for r in rows]
        tree.left[node], tree.right[node] = sons
        pending += zip(reversed(sons), reversed(orders), strict=True)
    return tree


def _largest_below(values, middle):
    """C4.5 names a value that occurs: the largest of the whole training set below the middle."""
    return values[np.searchsorted(values, middle, "right") - 1]


def _n_log_n(n):
    counts = np.arange(n + 1, dtype=np.float64)
    return counts * np.log2(np.maximum(counts, 1.0))


@njit(cache=True)
def _best_split(columns, codes, order, counts, n_log_n, min_leaf, min_gap):
    """Return the attribute and the middle of the gap to split at, or (-1, nan) where nothing is gained."""
    n_features, n = order.shape
    if n < 2 * min_leaf or counts.max() == n:
        return -1, np.nan
    gains = np.empty(n_features)
    ratios = np.empty(n_features)
    middles = np.empty(n_features)
    for feature in range(n_features):
        gains[feature], ratios[feature], middles[feature] = _best_threshold(
            columns[feature], codes, order[feature], counts, n_log_n, min_leaf, min_gap
        )
    if gains.max() <= 0:
        return -1, np.nan
    enough = gains[gains > 0].mean() - _BELOW_AVERAGE
    best, best_ratio = -1, 0.0
    for feature in range(n_features):
        if gains[feature] > 0 and gains[feature] >= enough and ratios[feature] > best_ratio + _EQUAL:
            best, best_ratio = feature, ratios[feature]
    return (best, middles[best]) if best >= 0 else (-1, np.nan)


@njit(cache=True)
def _best_threshold(column, codes, order, counts, n_log_n, min_leaf, min_gap):
    """Return gain less the threshold's price, gain ratio and middle of the best gap; gain 0 for none."""
    n = len(order)
    smallest = min(max(0.1 * n / len(counts), min_leaf), max(25, min_leaf))
    left = np.zeros_like(counts)
    right = counts.copy()
    class_terms = n_log_n[counts].sum()
    information = n_log_n[n] - class_terms
    best_gain, cut, n_tried = 0.0, -1, 0
    for i in range(n - 1):
        code = codes[order[i]]
        class_terms -= n_log_n[left[code]] + n_log_n[right[code]]
        left[code] += 1
        right[code] -= 1
        class_terms += n_log_n[left[code]] + n_log_n[right[code]]
        n_left = i + 1
        if n_left + _EQUAL < smallest or n - n_left + _EQUAL < smallest:
            continue
        if not column[order[i]] + min_gap < column[order[i + 1]]:
            continue
        n_tried += 1
        gain = (information - (n_log_n[n_left] + n_log_n[n - n_left] - class_terms)) / n
        if gain > best_gain + _EQUAL:
            best_gain, cut = gain, i
    if cut < 0:
        return 0.0, 0.0, np.nan
    gain = best_gain - np.log2(n_tried) / n
    if gain <= _EQUAL:
        return 0.0, 0.0, np.nan
    split_information = (n_log_n[n] - n_log_n[cut + 1] - n_log_n[n - cut - 1]) / n
    below, above = column[order[cut]], column[order[cut + 1]]
    middle = below * (0.5 - _ROUNDING) + above * (0.5 + _ROUNDING)
    return gain, gain / split_information, middle if below <= middle < above else below


@njit(cache=True)
def _divide(order, goes_left):
    n_features, n = order.shape
    n_left = 0
    for row in order[0]:
        n_left += goes_left[row]
    left = np.empty((n_features, n_left), order.dtype)
    right = np.empty((n_features, n - n_left), order.dtype)
    for feature in range(n_features):
        i = j = 0
        for row in order[feature]:
            if goes_left[row]:
                left[feature, i] = row
                i += 1
            else:
                right[feature, j] = row
                j += 1
    return left, right


# J48 prefers the simpler tree even where it is expected to make this many errors more.
_TOLERATED = 0.1
_TOLERATED_IN_TRAINING = 1e-3


def prune(tree, X, codes, *, confidence=0.25, subtree_raising=True):
    """Prune a grown tree as C4.5 does."""
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
    """Upper confidence limit of the errors of a leaf that predicts its most frequent class."""
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
