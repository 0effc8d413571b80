"""C4.5, discretization and feature selection as their authors define them, in plain loops."""

from collections import Counter
from math import log2, sqrt
from statistics import NormalDist


def entropy(labels):
    """Entropy of a list of labels [bits]."""
    n = len(labels)
    return -sum(c / n * log2(c / n) for c in Counter(labels).values())


def gain(labels, parts):
    """Information gained about the labels by a division of them into parts [bits]."""
    return entropy(labels) - sum(len(part) / len(labels) * entropy(part) for part in parts)


# ---- C4.5 (Quinlan 1993; the price of a threshold: Quinlan 1996) ----


def c45(rows, labels, n_classes):
    """Grown and pruned tree: a label (leaf) or (feature, threshold, left, right)."""
    tree = grow(rows, labels, n_classes, rows)
    tree = collapse(tree, rows, labels)
    return prune(tree, rows, labels)


def majority(labels):
    """Most frequent label; the smallest of several."""
    return min(set(labels), key=lambda label: (-labels.count(label), label))


def split(rows, labels, feature, threshold):
    """Rows and labels at most and above the threshold."""
    low = [i for i, row in enumerate(rows) if row[feature] <= threshold]
    high = [i for i, row in enumerate(rows) if row[feature] > threshold]
    return [([rows[i] for i in part], [labels[i] for i in part]) for part in (low, high)]


def grow(rows, labels, n_classes, all_rows):
    """Unpruned tree."""
    n = len(rows)
    if n < 4 or len(set(labels)) == 1:
        return majority(labels)
    smallest = max(2, min(25, 0.1 * n / n_classes))
    candidates = []
    for feature in range(len(rows[0])):
        values = sorted({row[feature] for row in rows})
        best, best_middle, tried = 0.0, None, 0
        for low, high in zip(values[:-1], values[1:], strict=True):
            parts = [part for _, part in split(rows, labels, feature, low)]
            if min(map(len, parts)) < smallest:
                continue
            tried += 1
            if gain(labels, parts) > best + 1e-6:
                best, best_middle, best_parts = gain(labels, parts), (low + high) / 2, parts
        if best_middle is None or best - log2(tried) / n <= 1e-6:
            continue
        sides = [0] * len(best_parts[0]) + [1] * len(best_parts[1])
        price = best - log2(tried) / n
        candidates.append((feature, best_middle, price, price / entropy(sides)))
    if not candidates:
        return majority(labels)
    average = sum(candidate[2] for candidate in candidates) / len(candidates)
    chosen = (None, None, None, 0.0)
    for candidate in candidates:
        if candidate[2] >= average - 1e-3 and candidate[3] > chosen[3] + 1e-6:
            chosen = candidate
    feature, middle = chosen[:2]
    threshold = max(row[feature] for row in all_rows if row[feature] <= middle)
    sons = [grow(*part, n_classes, all_rows) for part in split(rows, labels, feature, threshold)]
    return (feature, threshold, *sons)


def wrong(labels):
    """Errors of a leaf."""
    return len(labels) - labels.count(majority(labels)) if labels else 0


def leaves(tree, rows, labels):
    """Labels that reach each leaf."""
    if not isinstance(tree, tuple):
        return [labels]
    left, right = split(rows, labels, *tree[:2])
    return leaves(tree[2], *left) + leaves(tree[3], *right)


def collapse(tree, rows, labels):
    """Subtrees without fewer training errors than a leaf become one."""
    if not isinstance(tree, tuple):
        return tree
    if sum(map(wrong, leaves(tree, rows, labels))) >= wrong(labels):
        return majority(labels)
    left, right = split(rows, labels, *tree[:2])
    return (*tree[:2], collapse(tree[2], *left), collapse(tree[3], *right))


def upper_errors(labels, confidence=0.25):
    """Upper confidence limit of a leaf's errors."""
    n, e = len(labels), wrong(labels)
    if n == 0:
        return 0.0
    if e == 0:
        return n * (1 - confidence ** (1 / n))
    if e + 0.5 >= n:
        return n
    z = NormalDist().inv_cdf(1 - confidence)
    f = (e + 0.5) / n
    return n * (f + z * z / (2 * n) + z * sqrt(f / n - f * f / n + z * z / (4 * n * n))) / (1 + z * z / n)


def relabel(tree, rows, labels):
    """Leaves named after the labels that reach them."""
    if not isinstance(tree, tuple):
        return majority(labels)
    left, right = split(rows, labels, *tree[:2])
    return (*tree[:2], relabel(tree[2], *left), relabel(tree[3], *right))


def prune(tree, rows, labels):
    """Bottom-up replacement of subtrees by leaves or by their largest branch."""
    if not isinstance(tree, tuple):
        return tree
    left, right = split(rows, labels, *tree[:2])
    tree = (*tree[:2], prune(tree[2], *left), prune(tree[3], *right))
    branch = tree[2] if len(left[0]) > len(right[0]) else tree[3]
    as_tree = sum(map(upper_errors, leaves(tree, rows, labels)))
    as_branch = sum(map(upper_errors, leaves(branch, rows, labels)))
    as_leaf = upper_errors(labels)
    if as_leaf <= as_tree + 0.1 + 1e-6 and as_leaf <= as_branch + 0.1 + 1e-6:
        return majority(labels)
    if as_branch <= as_tree + 0.1 + 1e-6:
        return prune(relabel(branch, rows, labels), rows, labels)
    return tree


# ---- Discretization (Fayyad & Irani 1993) and CFS (Hall 2000) ----


def mdl_cuts(values, labels):
    """Cut points of one attribute, ascending."""
    distinct = sorted(set(values))
    gaps = list(zip(distinct[:-1], distinct[1:], strict=True))
    best, cut, best_parts = 0.0, None, None
    for low, high in gaps:
        parts = [
            [label for value, label in zip(values, labels, strict=True) if (value <= low) == below]
            for below in (True, False)
        ]
        if gain(labels, parts) > best:
            best, cut, best_parts = gain(labels, parts), (low + high) / 2, parts
    if cut is None:
        return []
    k, k_parts = len(set(labels)), [len(set(part)) for part in best_parts]
    delta = log2(3**k - 2) - (
        k * entropy(labels) - sum(kp * entropy(part) for kp, part in zip(k_parts, best_parts, strict=True))
    )
    if best <= (log2(len(gaps)) + delta) / len(values):
        return []
    sides = []
    for below in (True, False):
        part = [(v, c) for v, c in zip(values, labels, strict=True) if (v <= cut) == below]
        sides.append(mdl_cuts([v for v, _ in part], [c for _, c in part]))
    return [*sides[0], cut, *sides[1]]


def intervals(values, cuts):
    """Number of the interval of each value."""
    return [sum(value > cut for cut in cuts) for value in values]


def information(a, b):
    """Information two lists of discrete values share [bits]."""
    return entropy(a) + entropy(b) - entropy(list(zip(a, b, strict=True)))


def uncertainty(a, b):
    """Symmetric uncertainty."""
    total = entropy(a) + entropy(b)
    return 2 * information(a, b) / total if total > 0 else 0.0


def cfs_merit(subset, attributes, labels):
    """Merit of a subset of attributes."""
    with_class = [uncertainty(attributes[i], labels) for i in subset]
    between = [uncertainty(attributes[i], attributes[j]) for i in subset for j in subset if i < j]
    return round(sum(with_class) / sqrt(len(subset) + 2 * sum(between)), 12)


def cfs_search(attributes, labels, max_stale=5):
    """Best-first search with a list of at most `max_stale` open subsets; attributes in order of addition."""
    opened, closed = [((), 0.0)], {frozenset()}
    best, best_merit, stale = (), 0.0, 0
    while opened and stale < max_stale:
        subset, _ = opened.pop(0)
        for i in range(len(attributes)):
            child = (*subset, i)
            if i not in subset and frozenset(child) not in closed:
                opened.append((child, cfs_merit(child, attributes, labels)))
        opened = sorted(opened, key=lambda entry: -entry[1])[:max_stale]
        closed |= {frozenset(child) for child, _ in opened}
        stale += 1
        if opened and opened[0][1] > best_merit + 1e-5:
            best, best_merit = opened[0]
            stale = 0
    return list(best)


def eliminate(columns, labels):
    """Names of the attributes in order of removal; `columns` maps names to values."""
    discrete = {name: intervals(values, mdl_cuts(values, labels)) for name, values in columns.items()}

    def ratio(name):
        own = entropy(discrete[name])
        return round(information(discrete[name], labels) / own, 12) if own > 0 else 0.0

    left = sorted(columns, key=lambda name: -ratio(name))
    removed = []
    while left:
        subset = cfs_search([discrete[name] for name in left], labels)
        cfs_rank = [subset.index(i) + 1 if i in subset else len(left) for i in range(len(left))]
        average = [(i + 1 + cfs_rank[i]) / 2 for i in range(len(left))]
        removed.append(left.pop(max(range(len(left)), key=lambda i: (average[i], i))))
    return removed


# ---- Time slices (Yoo et al. 2012, §3.1) ----


def slice_rates(counts, running, length, cycles):
    """Events per cycle of each slice but the last; `counts` and `running` map events to lists."""
    n = len(counts[cycles])
    start = next(i for i in range(n) if counts[cycles][i] is not None)
    slices = []
    while start + length < n:
        part = {}
        for event in counts:
            up = down = 0.0
            for i in range(start, start + length):
                if counts[event][i] is not None:
                    up += counts[event][i] * running[event][i]
                    down += (counts[cycles][i] or 0.0) * running[event][i]
            part[event] = up / down if down else None
        if part[cycles] is not None:
            slices.append({event: rate for event, rate in part.items() if event != cycles})
        start += length
    return slices
