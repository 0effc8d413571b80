"""A linear model of cycles per instruction from events per instruction."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

PENALTIES = np.logspace(-1, 5, 25)


@dataclass(frozen=True)
class LinearModel:
    """Cycles per instruction as a sum of what each event adds.

    Attributes
    ----------
    slopes : Series
        Cycles an event costs beside all others, by event; shrunk by the penalty.
    means : Series
        Events per instruction, mean of the rows that the model was fitted to.
    cpi : float
        Their mean cycles per instruction.
    """

    slopes: pd.Series
    means: pd.Series
    cpi: float

    def contributions(self, X):
        """Cycles per instruction that each event adds in each row, above those of the mean.

        These are the Shapley values of a linear model (Lundberg and Lee 2017, Corollary 1); a
        family's are the sum of its events'.

        Parameters
        ----------
        X : DataFrame, shape (n_rows, n_events)

        Returns
        -------
        DataFrame, shape (n_rows, n_events)
        """
        return (X[self.slopes.index] - self.means) * self.slopes

    def predict(self, X):
        """Cycles per instruction in each row."""
        return self.cpi + self.contributions(X).sum(axis=1)


def fit(X, cpi, penalty):
    """Fit by ridge regression.

    Of events that go together, ridge regression gives each a share; none hides behind another as in a
    tree, where the first to be split upon takes all.

    Parameters
    ----------
    X : DataFrame, shape (n_rows, n_events)
        Events per instruction, each in units of its spread over the whole run: in a part of the run a rare event
        may hardly vary, and its slope would then be anything.
    cpi : Series
        Cycles per instruction.
    penalty : float > 0
        On the squared slopes; as scikit-learn's `Ridge.alpha`.

    Returns
    -------
    LinearModel
    """
    means, (slopes,) = X.mean(), _slopes(X, cpi, [penalty])
    return LinearModel(pd.Series(slopes, index=X.columns), means, float(cpi.mean()))


def choose_penalty(X, cpi, fold, *, penalties=PENALTIES):
    """The penalty with the least squared error on held-out folds.

    Parameters
    ----------
    X, cpi
        As of :func:`fit`.
    fold : ndarray of int, shape (n_rows,)
        Such as :func:`cmlib.rank.blocks` modulo the number of folds.
    penalties : sequence of float

    Returns
    -------
    float
    """
    squared = np.zeros(len(penalties))
    for held in np.unique(fold):
        seen = fold != held
        slopes = _slopes(X[seen], cpi[seen], penalties)
        moved = (X[~seen] - X[seen].mean()).to_numpy() @ slopes.T
        missed = (cpi[~seen] - cpi[seen].mean()).to_numpy()[:, None] - moved
        squared += (missed**2).sum(axis=0)
    return float(penalties[squared.argmin()])


def contributions_held_out(X, cpi, fold):
    """What each event adds in each row, by models of the other folds, whose penalty was chosen among them.

    Parameters
    ----------
    X, cpi, fold
        As of :func:`choose_penalty`; three folds or more.

    Returns
    -------
    contributions : DataFrame, shape (n_rows, n_events)
    predicted : Series, shape (n_rows,)
        Cycles per instruction.
    """
    contributions, predicted = [], []
    for held in np.unique(fold):
        seen = fold != held
        model = fit(X[seen], cpi[seen], choose_penalty(X[seen], cpi[seen], fold[seen]))
        contributions.append(model.contributions(X[~seen]))
        predicted.append(model.predict(X[~seen]))
    return pd.concat(contributions).loc[X.index], pd.concat(predicted).loc[X.index]


def _slopes(X, cpi, penalties):
    """Slopes by penalty, shape (n_penalties, n_events), from one decomposition."""
    centred = X.to_numpy() - X.to_numpy().mean(axis=0)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    along = left.T @ (cpi.to_numpy() - cpi.mean())
    return (sizes * along / (sizes**2 + np.asarray(penalties, dtype=float)[:, None])) @ right
