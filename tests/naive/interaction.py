"""Interactions of two events as the formulas say, a prediction at a time."""

import pandas as pd
from sklearn.linear_model import LinearRegression


def predict(model, row):
    return float(model.predict(pd.DataFrame([row]))[0])


def printed(X, ipc, a, b):
    """CounterMiner, Eq. 12: IPC by a linear regression on the pair against observed IPC."""
    scaled = X[[a, b]] / X[[a, b]].std()
    predicted = LinearRegression().fit(scaled, ipc).predict(scaled)
    return sum((p - observed) ** 2 for p, observed in zip(predicted, ipc, strict=True))


def residual_variance(model, X, a, b):
    """The same with the other events at their means and the model's predictions in place of observed IPC."""
    means = X.mean().to_dict()
    predicted = [predict(model, means | {a: row[a], b: row[b]}) for row in X.to_dict("records")]
    plane = LinearRegression().fit(X[[a, b]] / X[[a, b]].std(), predicted)
    fitted = plane.predict(X[[a, b]] / X[[a, b]].std())
    return sum((p - q) ** 2 for p, q in zip(fitted, predicted, strict=True))


def partial_dependence(model, X, events):
    """Mean prediction over all rows with `events` as in one row; for every row; centred."""
    rows = X.to_dict("records")
    values = []
    for point in rows:
        fixed = {event: point[event] for event in events}
        values.append(sum(predict(model, row | fixed) for row in rows) / len(rows))
    mean = sum(values) / len(values)
    return [value - mean for value in values]


def h_statistic(model, X, a, b):
    """Friedman and Popescu (2008), Eq. 44: the part beyond both events, and its share as H."""
    joint = partial_dependence(model, X, [a, b])
    one, other = partial_dependence(model, X, [a]), partial_dependence(model, X, [b])
    beyond = sum((j - p - q) ** 2 for j, p, q in zip(joint, one, other, strict=True))
    return beyond, (beyond / sum(j**2 for j in joint)) ** 0.5
