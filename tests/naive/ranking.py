"""Importance, refinement and their errors as the formulas say, row by row and split by split."""

import numpy as np


def trees(model):
    """Trees as nested dicts: event, threshold, left, right; or value (learning rate included)."""
    if hasattr(model, "booster_"):
        frame = model.booster_.trees_to_dataframe().set_index("node_index")
        return [_lightgbm_node(frame, index) for index in frame.index if frame.loc[index, "node_depth"] == 1]
    return [_sklearn_node(model, tree.tree_, 0) for tree in model.estimators_[:, 0]]


def _lightgbm_node(frame, index):
    node = frame.loc[index]
    if not isinstance(node["split_feature"], str):
        return {"value": node["value"]}
    return {
        "event": node["split_feature"],
        "threshold": node["threshold"],
        "left": _lightgbm_node(frame, node["left_child"]),
        "right": _lightgbm_node(frame, node["right_child"]),
    }


def _sklearn_node(model, tree, node):
    if tree.children_left[node] < 0:
        return {"value": model.learning_rate * tree.value[node, 0, 0]}
    return {
        "event": model.feature_names_in_[tree.feature[node]],
        "threshold": tree.threshold[node],
        "left": _sklearn_node(model, tree, tree.children_left[node]),
        "right": _sklearn_node(model, tree, tree.children_right[node]),
    }


def leaf_value(node, row):
    while "event" in node:
        node = node["left"] if row[node["event"]] <= node["threshold"] else node["right"]
    return node["value"]


def splits(node, rows):
    """Every split below a node with the rows that go left and right (rows: list of dicts)."""
    if "event" not in node:
        return
    left = [row for row in rows if row[node["event"]] <= node["threshold"]]
    right = [row for row in rows if row[node["event"]] > node["threshold"]]
    yield node["event"], left, right
    yield from splits(node["left"], left)
    yield from splits(node["right"], right)


def squared_error(values):
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)


def friedman(model, X, y):
    """Percent by event: squared error that its splits take away. For models grown on all rows."""
    rows = X.to_dict("records")
    grown = trees(model)
    start = np.mean(model.predict(X)) - np.mean(
        [sum(leaf_value(tree, row) for tree in grown) for row in rows]
    )
    residual = {id(row): value - start for row, value in zip(rows, y, strict=True)}
    gains = dict.fromkeys(X.columns, 0.0)
    for tree in grown:
        for event, left, right in splits(tree, rows):
            before = squared_error([residual[id(row)] for row in left + right])
            after = sum(squared_error([residual[id(row)] for row in side]) for side in (left, right))
            gains[event] += before - after
        for row in rows:
            residual[id(row)] -= leaf_value(tree, row)
    return percent(gains)


def printed(model, X):
    """Percent by event by CounterMiner's Eq. 10 and 11, as cmlib.rank.importance reads them."""
    rows = X.to_dict("records")
    grown = trees(model)
    total = dict(zip(map(id, rows), model.predict(X), strict=True))
    predicted = {id(row): total[id(row)] - sum(leaf_value(tree, row) for tree in grown) for row in rows}
    of_trees = {event: [] for event in X.columns}
    for tree in grown:
        squares = {}
        for event, left, right in splits(tree, rows):
            node_value = np.mean([leaf_value(tree, row) for row in left + right])
            square = 0.0
            for side in (left, right):
                for row in side:
                    before = predicted[id(row)] + node_value
                    after = predicted[id(row)] + np.mean([leaf_value(tree, other) for other in side])
                    square += ((after - before) / before) ** 2 / len(rows)
            squares.setdefault(event, []).append(square)
        for event, found in squares.items():
            of_trees[event].append(len(found) * sum(found))
        for row in rows:
            predicted[id(row)] += leaf_value(tree, row)
    return percent({event: sum(found) / max(len(found), 1) for event, found in of_trees.items()})


def percent(values):
    total = sum(values.values())
    return {event: 100 * value / total for event, value in values.items()}


def relative_error(measured, predicted):
    """Eq. 14, in percent, mean over rows."""
    return 100 * sum(abs(m - p) / m for m, p in zip(measured, predicted, strict=True)) / len(measured)


def refine(make, X_train, y_train, X_test, y_test, step):
    """Fit, rank, drop `step`, fit again: list of (number of events, error on the test rows, ranking)."""
    events, found = sorted(X_train.columns), []
    while True:
        model = make().fit(X_train[events], y_train)
        error = relative_error(list(y_test), list(model.predict(X_test[events])))
        importance = dict(zip(events, model.feature_importances_, strict=True))
        ranking = sorted(events, key=lambda event: (-importance[event], event))
        found.append((len(events), error, ranking))
        if len(events) <= step:
            return found
        events = sorted(ranking[:-step])


def nested(make, X, y, fold, step):
    """Per fold: the number of events that the others choose among themselves, and the error on it."""
    found = []
    for held in sorted(set(fold)):
        outside = [row for row in range(len(y)) if fold[row] != held]
        totals = None
        for tested in sorted(set(fold) - {held}):
            train = [row for row in outside if fold[row] != tested]
            test = [row for row in outside if fold[row] == tested]
            path = refine(make, X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test], step)
            errors = [len(test) * error for _, error, _ in path]
            totals = errors if totals is None else [a + b for a, b in zip(totals, errors, strict=True)]
        best = min(range(len(totals)), key=lambda i: (totals[i], -i))
        inside = [row for row in range(len(y)) if fold[row] == held]
        path = refine(make, X.iloc[outside], y.iloc[outside], X.iloc[inside], y.iloc[inside], step)
        mean = sum(y.iloc[outside]) / len(outside)
        mean_baseline = relative_error(list(y.iloc[inside]), [mean] * len(inside))
        found.append((len(inside), path[best][0], path[best][1], mean_baseline))
    return found
