"""Grow and prune the tree of C45Classifier, with the rules and tolerances of Weka's J48.

:func:`grow` takes samples and classes (arrays), and returns the root :class:`Node`; :func:`prune` changes it in
place. Inputs are checked by C45Classifier, not here.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.special import ndtri

# Tolerances of J48: gains closer than _EQUAL are equal, and a gain is average down to _BELOW_AVERAGE below the mean.
_EQUAL = 1e-6
_BELOW_AVERAGE = 1e-3
# The middle of a gap is moved up by this share, so that rounding does not put an equal value above it.
_ROUNDING = 1e-9
# J48 prefers the simpler tree if it is expected to make no more than this many errors more; or makes, in training.
_TOLERATED = 0.1
_TOLERATED_IN_TRAINING = 1e-3


@dataclass
class Node:
    """A node of the tree; a leaf if it has no sons.

    Attributes
    ----------
    rows : ndarray of int
        Numbers of the training samples that reach it.
    counts : ndarray, shape (n_classes,)
        Number of these samples by class.
    feature : int
        Number of the column that it splits on; -1 in a leaf.
    threshold : float
        Largest value that goes to the left son; NaN in a leaf.
    sons : tuple of Node
        The left and the right node; empty in a leaf.
    """

    rows: np.ndarray
    counts: np.ndarray
    feature: int = -1
    threshold: float = np.nan
    sons: tuple = ()

    @property
    def wrong(self):
        """Number (int) of its samples that are not of the most frequent class."""
        return int(self.counts.sum() - self.counts.max())

    def below(self):
        """List the node and all nodes below it, in preorder."""
        return [self, *(node for son in self.sons for node in son.below())]

    def split(self, rows, X):
        """Divide rows of X: the positions of the rows of the left son, and of the rows of the right son.

        `rows` are positions of rows, X an array (n_samples, n_features).
        """
        goes_left = X[rows, self.feature] <= self.threshold
        return rows[goes_left], rows[~goes_left]

    def make_leaf(self):
        """Make the node a leaf, in place."""
        self.feature, self.threshold, self.sons = -1, np.nan, ()


def grow(X, codes, n_classes, *, min_leaf=2, midpoints=False):
    """Grow an unpruned C4.5 tree, and return its root Node.

    `X` is an array (n_samples, n_features), all finite; `codes` are the classes as numbers from 0 to `n_classes` -
    1. `min_leaf` is the fewest samples on either side of a split; with `midpoints` a threshold is half-way between
    the values that it separates, else the largest value of X below that point.
    """
    columns = np.require(X.T, requirements="CW")  # a type of array for which the loops are compiled
    order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    sorted_columns = np.take_along_axis(columns, order, axis=1)
    n = np.arange(len(codes) + 1.0)
    n_log_n = n * np.log2(np.maximum(n, 1.0))

    def node_of(order):
        rows = np.sort(order[0])
        node = Node(rows, np.bincount(codes[rows], minlength=n_classes))
        feature, middle = _best_split(columns, codes, order, node.counts, n_log_n, min_leaf)
        if feature >= 0:
            # C4.5 names a value that occurs: the largest of the whole training set below the middle.
            below = np.searchsorted(sorted_columns[feature], middle, "right") - 1
            threshold = middle if midpoints else sorted_columns[feature][below]
            node.feature, node.threshold = int(feature), float(threshold) + 0.0  # no -0
            left = (columns[feature] <= threshold)[order]
            node.sons = tuple(node_of(order[side].reshape(len(order), -1)) for side in (left, ~left))
        return node

    return node_of(order)


@njit(cache=True)
def _best_split(columns, codes, order, counts, n_log_n, min_leaf):
    """Return the attribute and the middle of the gap to split at, or (-1, nan) where nothing is gained."""
    n_features, n = order.shape
    if n < 2 * min_leaf or counts.max() == n:
        return -1, np.nan
    gains = np.empty(n_features)
    ratios = np.empty(n_features)
    middles = np.empty(n_features)
    for feature in range(n_features):
        gains[feature], ratios[feature], middles[feature] = _best_threshold(
            columns[feature], codes, order[feature], counts, n_log_n, min_leaf
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
def _best_threshold(column, codes, order, counts, n_log_n, min_leaf):
    """Find the best threshold of an attribute: return its gain, gain ratio and value; gain 0 if none gains.

    As in C4.5, the gain is reduced by the logarithm of the number of gaps that were tried.
    """
    n = len(order)
    best_gain, cut, n_tried = _best_gap(column, codes, order, counts, n_log_n, min_leaf)
    if cut < 0:
        return 0.0, 0.0, np.nan
    gain = best_gain - np.log2(n_tried) / n
    if gain <= _EQUAL:
        return 0.0, 0.0, np.nan
    split_information = (n_log_n[n] - n_log_n[cut + 1] - n_log_n[n - cut - 1]) / n
    threshold = _middle_of_gap(column[order[cut]], column[order[cut + 1]])
    return gain, gain / split_information, threshold


@njit(cache=True)
def _best_gap(column, codes, order, counts, n_log_n, min_leaf):
    """Find the gap between sorted values with the largest gain.

    Returns the gain, the position of the value below the gap (-1 if no gap gains) and the number of gaps tried.
    """
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
        if min(n_left, n - n_left) + _EQUAL >= smallest and column[order[i]] < column[order[i + 1]]:
            n_tried += 1
            gain = (information - (n_log_n[n_left] + n_log_n[n - n_left] - class_terms)) / n
            if gain > best_gain + _EQUAL:
                best_gain, cut = gain, i
    return best_gain, cut, n_tried


@njit(cache=True)
def _middle_of_gap(below, above):
    """Return the middle of the gap between two values, or the lower value if rounding leaves no middle."""
    middle = below * (0.5 - _ROUNDING) + above * (0.5 + _ROUNDING)
    return middle if below <= middle < above else below


def prune(node, X, codes, *, confidence=0.25):
    """Prune a grown tree in place, as C4.5 does.

    `node` is its root, `X` and `codes` are those that it was grown from, `confidence` (0-0.5) is the confidence
    level of the pessimistic errors: smaller prunes more.
    """
    _collapse(node)
    _prune(node, X, codes, confidence)


def _prune(node, X, codes, confidence):
    """Prune in place below a node; return the pessimistic errors of what is left."""
    as_leaf = pessimistic_errors(node.counts, confidence)
    if not node.sons:
        return as_leaf
    errors = sum(_prune(son, X, codes, confidence) for son in node.sons)
    bound = errors + _TOLERATED + _EQUAL
    left, right = node.sons
    branch = left if len(left.rows) > len(right.rows) else right
    as_branch = _errors_of(branch, node.rows, X, codes, confidence)
    if as_leaf <= min(bound, as_branch + _TOLERATED + _EQUAL):
        node.make_leaf()
        return as_leaf
    if as_branch > bound:
        return errors
    node.feature, node.threshold, node.sons = branch.feature, branch.threshold, branch.sons
    _send_down(node, node.rows, X, codes)
    return _prune(node, X, codes, confidence)


def pessimistic_errors(counts, confidence):
    """Compute the upper confidence limit (float) of the number of errors of a leaf.

    `counts` are the leaf's rows by class (array of int); `confidence` (0-0.5) is the probability of more errors.
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


def _collapse(node):
    """Replace subtrees that make as many training errors as a leaf would by a leaf; return the errors that are left."""
    wrong = sum(map(_collapse, node.sons)) if node.sons else node.wrong
    if node.sons and wrong >= node.wrong - _TOLERATED_IN_TRAINING:
        node.make_leaf()
    return wrong


def _errors_of(node, rows, X, codes, confidence):
    """Compute the pessimistic errors of a subtree if these rows reached it."""
    if node.sons:
        parts = zip(node.sons, node.split(rows, X), strict=True)
        return sum(_errors_of(son, part, X, codes, confidence) for son, part in parts)
    return pessimistic_errors(np.bincount(codes[rows], minlength=len(node.counts)), confidence)


def _send_down(node, rows, X, codes):
    """Set rows and counts of a node and of all below it, if these rows reach it."""
    node.rows, node.counts = rows, np.bincount(codes[rows], minlength=len(node.counts))
    if node.sons:
        for son, part in zip(node.sons, node.split(rows, X), strict=True):
            _send_down(son, part, X, codes)
