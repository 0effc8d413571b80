"""Each event of a run predicted from the others, every interval from the other intervals."""

import numpy as np

_PENALTIES = 10.0 ** np.arange(-4, 2, 0.5)
# Residuals beyond so many (robust) standard deviations do not pull harder (Huber).
_LIMIT, _ROUNDS = 2.0, 3
# How often each event is averaged with what the others say about it before it predicts.
_MIXINGS = 4


def predict_left_out(values, groups, seen):
    """Predict groups of columns from all others by ridge regression, leaving out the row itself.

    The columns that predict are noisy as well. Each is first averaged with its own
    prediction from the others, four times over; the group that is to be predicted has
    no part in that, so that its noise does not come back to it.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        No NaN, no constant column; e.g. logarithms of counts.
    groups : list of lists of int
        Columns that were observed in the same slices of time and are predicted
        together, without each other; each column is in one of them.
    seen : ndarray of bool, shape (n, p)
        What was observed; other rows are predicted but not learned from.

    Returns
    -------
    predicted : ndarray of float64, shape (n, p)
        The mean of its column where there is nothing to predict it from.
    freedom : ndarray of float64, shape (n, p)
        1 - leverage: how much of a row's residual would remain if the row had been learned from. Near
        0 the row is unlike all others, and its prediction an extrapolation. 1 for rows not observed.
    """
    means, scale = values.mean(axis=0), values.std(axis=0)
    standard, n_columns = (values - means) / scale, values.shape[1]
    others = [np.setdiff1d(np.arange(n_columns), group) for group in groups]
    known = [seen[:, group].all(axis=1) for group in groups]
    weights = np.zeros((n_columns, n_columns))
    for group, rest, rows in zip(groups, others, known, strict=True):
        weights[np.ix_(rest, group)] = _ridge(standard[:, rest], standard[:, group], rows)[1]
    predicted, freedom = np.zeros_like(standard), np.ones_like(standard)
    for group, rest, rows in zip(groups, others, known, strict=True):
        mixed = _mixed(standard, weights, group)[:, rest]
        predicted[:, group], _, freedom[:, group] = _ridge(mixed, standard[:, group], rows)
    return predicted * scale + means, freedom


def _mixed(standard, weights, group):
    mixing = (np.eye(len(weights)) + weights) / 2
    mixing[group] = 0
    return standard @ np.linalg.matrix_power(mixing, _MIXINGS)


def _ridge(features, targets, rows):
    """Predictions, of known rows each without itself, coefficients, and freedom; the penalty errs least on others."""
    predicted, weights = np.zeros_like(targets), np.zeros((features.shape[1], targets.shape[1]))
    free = np.ones_like(targets)
    if rows.sum() < 3 or not features.size:
        return predicted, weights, free
    centre, n = features[rows].mean(axis=0), rows.sum()
    left, scales, right = np.linalg.svd(features[rows] - centre, full_matrices=False)
    shrunk = scales[:, None] ** 2 / (scales[:, None] ** 2 + n * _PENALTIES)
    freedom = 1 - left**2 @ shrunk - 1 / n
    for column, target in enumerate(targets[rows].T):
        pulled = target
        for _ in range(_ROUNDS + 1):
            along, mean = left.T @ (pulled - pulled.mean()), pulled.mean()
            left_out = pulled[:, None] - (pulled[:, None] - mean - left @ (shrunk * along[:, None])) / freedom
            best = np.abs(pulled[:, None] - left_out).sum(axis=0).argmin()
            prediction = left_out[:, best]
            residual = target - prediction
            limit = _LIMIT * 1.4826 * np.median(np.abs(residual))
            pulled = prediction + np.clip(residual, -limit, limit)
        slopes = scales / (scales**2 + n * _PENALTIES[best])
        weights[:, column] = right.T @ (slopes * along)
        predicted[:, column] = (features - centre) @ weights[:, column] + mean
        predicted[rows, column], free[rows, column] = prediction, freedom[:, best]
    return predicted, weights, free
