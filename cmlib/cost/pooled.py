"""Model the cost of a cache miss from a program's own intervals and from measurements of other programs.

:class:`PooledCost` combines the slope of cycles over misses in a program's intervals with the costs that were measured
for other programs. :func:`default_cost_model` returns the model that cmlib comes with.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cmlib import places

COSTS = np.geomspace(1, 1e5, 200)[None, :]  # grid of costs [cycles/miss] on which distributions are computed
TINY = 1e-9  # keeps denominators above 0
FREEDOM = 4  # degrees of freedom of Student's t, so that a few slopes that are far off have little weight
# Log-normal prior of spread_, slope_error_ and store_weight_: logarithms of the medians, and standard deviations.
BELIEFS = np.log([[0.5, 0.3, 0.25], [math.exp(0.5)] * 3])
_FITTED = ("center_", "spread_", "slope_error_", "store_weight_", "quantile_")


class PooledCost:
    """Predict the change of cycles per instruction from a change of misses per instruction.

    Each program has one cost c of a miss. Over programs, its logarithm is normally distributed: ``log c ~ N(log
    center + log(1 + store_weight * stores / misses), spread²)``. Two limits truncate the distribution. The cost is
    at most the latency of memory, and the program must keep 1/width cycles per instruction. The slope of cycles
    over misses in a program's intervals is a measurement of c: ``slope ~ t(c, stderr² + (slope_error * slope)²)``.

    The constants center, spread, slope_error and store_weight are learned from programs with changed misses. Only
    the largest change of each program is used. Its variance is assumed to be ``noise²`` plus a tenth of the change,
    squared.

    Parameters
    ----------
    latency : float, default 300
        Latency of memory [cycles]. No miss of a load costs more; misses of stores are added.
    width : float, default 4
        Most instructions that retire in a cycle.
    noise : float, default 1
        Difference of cycles between runs [% of the cycles].
    floor : float, default 4
        Standard deviation that a prediction has at least [% of the cycles]. A prediction of no change is not certain
        either: a prefetched stream or a store can save cycles without a load that misses.

    Attributes
    ----------
    center_, spread_, slope_error_, store_weight_ : float
        The constants above.
    quantile_ : float
        Half-width of a prediction interval in standard deviations. :func:`cmlib.cost.learn` sets it from programs that
        the model did not learn from.
    """

    quantile_: float

    def __init__(
        self, latency: float = 300.0, width: float = 4.0, noise: float = 1.0, floor: float = 4.0
    ) -> None:
        self.latency = latency
        self.width = width
        self.noise = noise
        self.floor = floor

    def fit(self, X: pd.DataFrame, y: ArrayLike) -> Self:
        """Learn the constants from programs with changed misses.

        Parameters
        ----------
        X : DataFrame
            One row per change, as :func:`cmlib.cost.changes` returns it: ``program``; ``cycles``, ``misses`` and
            ``stores`` (0 if not counted) per instruction before the change; ``slope`` and ``stderr``
            (:func:`cmlib.cost.slope`); and ``change`` of misses per instruction. Predictions also use
            ``stores_change`` if there is such a column.
        y : array-like of float
            Measured change of cycles per instruction.

        Returns
        -------
        self
        """
        from scipy.optimize import minimize  # slow to import, and not needed for predictions

        y = pd.Series(np.asarray(y, dtype=float), X.index)
        largest = X["change"].abs().groupby(X["program"]).idxmax()
        largest_changes = X.loc[largest]
        caused = 100 * (largest_changes["change"] / largest_changes["cycles"]).to_numpy()[:, None]
        saved = 100 * (y[largest] / largest_changes["cycles"]).to_numpy()[:, None]
        misfit = ((saved - COSTS * caused) ** 2) / (self.noise**2 + (0.1 * saved) ** 2)

        def loss(values):
            joint = np.sum(self._joint(largest_changes, *np.exp(values)) * np.exp(-misfit / 2), axis=1)
            surprise = (values[1:] - BELIEFS[0]) / BELIEFS[1]
            return np.sum(surprise**2) / 2 - np.sum(np.log(joint + 1e-300))

        start = np.r_[np.log(100), BELIEFS[0]]
        simplex = np.vstack([start, start + 0.15 * np.eye(4)])
        options = {"initial_simplex": simplex, "xatol": 0.01, "fatol": 0.01}
        fitted = minimize(loss, start, method="Nelder-Mead", options=options)
        self.center_, self.spread_, self.slope_error_, self.store_weight_ = map(float, np.exp(fitted.x))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Predict the change of cycles per instruction of each row of X: ndarray, shape (n_rows,).

        X is a DataFrame as :meth:`fit` takes it. At least 1/width cycles per instruction remain.
        """
        return np.maximum(self.posterior(X)["cost"].to_numpy() * self._change(X), self._floor(X))

    def predict_interval(self, X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper ends of each row's prediction interval: two ndarrays [cycles per instruction].

        X is a DataFrame as :meth:`fit` takes it. `data/cost/coverage.csv` has the share of measured changes that lie
        in these intervals. It is high for larger caches, and low for other prefetchers.
        """
        middle = self.predict(X)
        half = self.quantile_ * self.scale(X)
        return np.maximum(middle - half, self._floor(X)), middle + half

    def scale(self, X: pd.DataFrame) -> np.ndarray:
        """Return the standard deviation of each row's prediction: ndarray [cycles per instruction].

        X is a DataFrame as :meth:`fit` takes it. The deviation is that of the posterior distribution and `floor`
        percent of the cycles, added as squares.
        """
        cost_deviation = self.posterior(X)["sd"] * self._change(X)
        return np.hypot(cost_deviation, self.floor / 100 * X["cycles"]).to_numpy()

    def posterior(self, X: pd.DataFrame) -> pd.DataFrame:
        """Compute the posterior distribution of the cost of a miss, for each row's program.

        Parameters
        ----------
        X : DataFrame
            As :meth:`fit` takes it; ``change`` is not used.

        Returns
        -------
        DataFrame
            ``cost`` and ``sd``, mean and standard deviation [cycles/miss]; ``limit``, the most it can be.
        """
        weights = self._joint(X, self.center_, self.spread_, self.slope_error_, self.store_weight_)
        weights /= weights.sum(axis=1, keepdims=True)
        cost = weights @ COSTS[0]
        sd = np.sqrt(np.maximum(weights @ COSTS[0] ** 2 - cost**2, 0))
        limit = self._limit(X, self.store_weight_)[:, 0]
        return pd.DataFrame({"cost": cost, "sd": sd, "limit": limit}, index=X.index)

    def _floor(self, X):
        """Return the most that each row's program can save, a negative number [cycles per instruction]."""
        return np.minimum(1 / self.width - X["cycles"].to_numpy(), 0)

    def _joint(self, X, center, spread, slope_error, store_weight):
        """Multiply the prior of the cost by the likelihood of the slope: ndarray, shape (n_rows, len(COSTS))."""
        with_stores = center * (1 + store_weight * _stores_per_miss(X))
        prior = -(((np.log(COSTS) - np.log(with_stores)) / spread) ** 2) / 2
        prior[self._limit(X, store_weight) < COSTS] = -np.inf
        prior = np.exp(prior - prior.max(axis=1, keepdims=True))
        prior /= prior.sum(axis=1, keepdims=True)
        slope = _column(X, "slope")
        stderr = np.minimum(_column(X, "stderr"), COSTS.max())
        sd = np.hypot(stderr, slope_error * np.maximum(slope, 0)) + TINY
        deviation = ((slope - COSTS) / sd) ** 2
        return prior * (1 + deviation / FREEDOM) ** (-(FREEDOM + 1) / 2) / sd

    def _limit(self, X, store_weight):
        """Return the most that a miss can cost each row's program [cycles], shape (n_rows, 1), within the grid."""
        latency = self.latency * (1 + store_weight * _stores_per_miss(X))
        left = (_column(X, "cycles") - 1 / self.width) / np.maximum(_column(X, "misses"), TINY)
        return np.clip(np.minimum(latency, left), COSTS[0, 0], COSTS[0, -1])

    def _change(self, X):
        """Return the change of misses per instruction; ``stores_change`` is converted to misses of loads."""
        if "stores_change" not in X:
            return X["change"].to_numpy()
        stores = self.store_weight_ * X["stores_change"]
        return ((X["change"] + stores) / (1 + self.store_weight_ * _stores_per_miss(X)[:, 0])).to_numpy()


@cache
def default_cost_model(*, other_processor: bool = False) -> PooledCost:
    """Return the model of the cost of misses that cmlib comes with.

    It was learned from all programs of :func:`cmlib.cost.changes` by ``tools/make_cost_tables.py``.

    Parameters
    ----------
    other_processor : bool, default False
        True for another processor or another kind of misses. Then the costs in these programs are not used: the prior
        is uniform in the logarithm of the cost, from one cycle to the latency of memory.

    Returns
    -------
    PooledCost
        Fitted; kept for the next call.
    """
    stored = pd.read_csv(places.shipped("cost") / "models.csv", index_col="model")
    model = PooledCost()
    for name, value in stored.loc[
        "other processor" if other_processor else "this processor", [*_FITTED]
    ].items():
        setattr(model, name, float(value))
    return model


def _stores_per_miss(X):
    """Return misses of stores per miss of loads, for each row: ndarray, shape (n_rows, 1)."""
    return _column(X, "stores") / np.maximum(_column(X, "misses"), TINY)


def _column(X, name):
    """Return a column of X as an array of shape (n_rows, 1)."""
    return X[name].to_numpy(dtype=float)[:, None]
