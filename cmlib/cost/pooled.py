"""Model the cost of a cache miss.

:class:`PooledCost` combines the counts of a program with the costs that were measured for other programs.
:func:`default_cost_model` returns a fitted model.
"""

from __future__ import annotations

from functools import cache
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from cmlib import places
from cmlib.errors import InputError

COSTS = np.geomspace(1, 1e5, 200)[None, :]  # grid of costs [cycles/miss] on which distributions are computed
_TINY = 1e-9  # added to denominators, so that they are above 0
_DEGREES_OF_FREEDOM = 4  # of Student's t, so that a few slopes that are far off have little weight
# The constants spread_, slope_error_ and store_weight_ have log-normal priors with these medians and this standard
# deviation of the logarithms.
_PRIOR_LOG_MEDIANS = np.log([0.5, 0.3, 0.25])
_PRIOR_LOG_STD = 0.5
# Start of the search for the constant center_ [cycles per miss]. Any plausible latency is suitable.
_FIRST_CENTER = 100.0
_FIRST_STEP = 0.15  # first step of the search, in the logarithms of the constants
_RELATIVE_ERROR = 0.1  # relative error of a measured change of cycles
_FITTED = ("center_", "spread_", "slope_error_", "store_weight_", "half_width_")


class PooledCost:
    """Predict how the cycles of a program change if the number of cache misses changes.

    Parameters
    ----------
    latency : float, default 300
        Latency of memory [cycles]. A miss of a load costs no more than this.
    width : float, default 4
        Largest number of instructions that retire in a cycle.
    noise : float, default 1
        Standard deviation of the cycles between runs [% of the cycles].
    min_std : float, default 4
        Smallest standard deviation of a prediction [% of the cycles]. It is above 0 because prefetches and misses of
        stores change the cycles, too.

    Attributes
    ----------
    center_, spread_, slope_error_, store_weight_ : float
        Constants of the model, explained in Notes. :meth:`fit` sets them.
    half_width_ : float
        Half-width of the prediction intervals [standard deviations]. Only :func:`cmlib.cost.learn` sets it.

    Notes
    -----
    Each program has one cost c of a miss of a load [cycles]. Over all programs, the logarithm of c is normally
    distributed::

        log c ~ N(log(center * (1 + store_weight * s)), spread²)

    Here s is the number of misses of stores per miss of a load. The cost of these misses is included in c.

    The cost c has two upper limits. It is at most the latency of memory, times ``1 + store_weight * s``. And without
    misses, the program still takes at least 1/width cycles per instruction.

    The slope of the program (additional cycles per additional miss in its time intervals) is a measurement of c. It has
    Student's t-distribution with location c and scale sqrt(stderr² + (slope_error * slope)²).
    """

    half_width_: float

    def __init__(
        self, latency: float = 300.0, width: float = 4.0, noise: float = 1.0, min_std: float = 4.0
    ) -> None:
        self.latency = latency
        self.width = width
        self.noise = noise
        self.min_std = min_std

    def fit(self, X: pd.DataFrame, y: ArrayLike) -> Self:
        """Fit the constants to measurements of programs with changed misses.

        Only the largest change of each program is used.

        Parameters
        ----------
        X : DataFrame
            One row per change, from :func:`cmlib.cost.changes`. Columns:

            - ``program``: name of the program
            - ``cycles``, ``misses`` and ``stores``: numbers per instruction before the change. ``stores`` is 0 if not
              counted.
            - ``slope`` and ``stderr``: results of :func:`cmlib.cost.slope`
            - ``change``: change of misses per instruction
            - ``stores_change`` (optional, only for predictions): change of the misses of stores per instruction
        y : array-like of float
            Measured change of cycles per instruction.

        Returns
        -------
        self

        Notes
        -----
        The constants maximize their posterior density. The prior of ``center_`` is flat. The priors of the other
        constants are log-normal. The likelihood is the probability of each program's slope and measured change. The
        standard deviation of a measured change combines `noise` and a tenth of the change.
        """
        from scipy.optimize import minimize  # slow to import, and not needed for predictions

        y = pd.Series(np.asarray(y, dtype=float), X.index)
        largest = X["change"].abs().groupby(X["program"]).idxmax()
        largest_changes = X.loc[largest]
        likelihood_of_change = self._compute_change_likelihood(largest_changes, y[largest])

        def compute_loss(log_constants):
            """Return the negative logarithm of the posterior density of the constants."""
            likelihood_by_cost = (
                self._weigh_costs(largest_changes, *np.exp(log_constants)) * likelihood_of_change
            )
            likelihood = np.sum(likelihood_by_cost, axis=1)
            deviation = (log_constants[1:] - _PRIOR_LOG_MEDIANS) / _PRIOR_LOG_STD
            return np.sum(deviation**2) / 2 - np.sum(np.log(likelihood + 1e-300))  # never the logarithm of 0

        # Logarithms, because all constants are above 0. Nelder-Mead, because the loss is not smooth: costs on the grid
        # are cut off at a limit that depends on store_weight.
        start = np.r_[np.log(_FIRST_CENTER), _PRIOR_LOG_MEDIANS]
        simplex = np.vstack([start, start + _FIRST_STEP * np.eye(4)])
        options = {"initial_simplex": simplex, "xatol": 0.01, "fatol": 0.01}
        fitted = minimize(compute_loss, start, method="Nelder-Mead", options=options)
        self.center_, self.spread_, self.slope_error_, self.store_weight_ = map(float, np.exp(fitted.x))
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """Predict the change of cycles per instruction.

        The cycles after the change are at least 1/width per instruction.

        Parameters
        ----------
        X : DataFrame
            One row per change, as for :meth:`fit`.

        Returns
        -------
        ndarray of float, shape (n_rows,)
        """
        predicted = self.posterior(X)["cost"].to_numpy() * self._convert_change(X)
        return np.maximum(predicted, self._find_lowest_change(X))

    def predict_interval(self, X: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Return a prediction interval for each change of cycles per instruction.

        The prediction intervals are made for 90 % of the programs. `data/cost/coverage.csv` shows for how many measured
        changes they were right. If prefetchers are switched off, they are mostly right for less than 90 %.

        Parameters
        ----------
        X : DataFrame
            One row per change, as for :meth:`fit`.

        Returns
        -------
        low, high : ndarray of float, shape (n_rows,)

        Raises
        ------
        ValueError
            If `half_width_` is not set.
        """
        if not hasattr(self, "half_width_"):
            raise InputError(
                "the width of prediction intervals is not set, because PooledCost.fit does not calibrate it. "
                "Fit the model with cmlib.cost.learn(X, y), or use cmlib.cost.default_cost_model()."
            )
        predicted = self.predict(X)
        half_width = self.half_width_ * self.scale(X)
        return np.maximum(predicted - half_width, self._find_lowest_change(X)), predicted + half_width

    def scale(self, X: pd.DataFrame) -> np.ndarray:
        """Return the standard deviation of each prediction [cycles per instruction].

        It combines the standard deviation of the cost of a miss with `min_std`.

        Parameters
        ----------
        X : DataFrame
            One row per change, as for :meth:`fit`.

        Returns
        -------
        ndarray of float, shape (n_rows,)
        """
        std_by_cost = self.posterior(X)["sd"] * self._convert_change(X)
        return np.hypot(std_by_cost, self.min_std / 100 * X["cycles"]).to_numpy()

    def posterior(self, X: pd.DataFrame) -> pd.DataFrame:
        """Estimate the cost of a miss of each program.

        Parameters
        ----------
        X : DataFrame
            One row per program or change, as for :meth:`fit`. The column ``change`` is not needed.

        Returns
        -------
        DataFrame
            One row per row of X, in cycles per miss. Columns:

            - ``cost``: mean of the posterior distribution
            - ``sd``: standard deviation of the posterior distribution
            - ``limit``: largest possible cost
        """
        weights = self._weigh_costs(X, self.center_, self.spread_, self.slope_error_, self.store_weight_)
        weights /= weights.sum(axis=1, keepdims=True)
        cost = weights @ COSTS[0]
        sd = np.sqrt(np.maximum(weights @ COSTS[0] ** 2 - cost**2, 0))
        limit = self._limit_costs(X, self.store_weight_)[:, 0]
        return pd.DataFrame({"cost": cost, "sd": sd, "limit": limit}, index=X.index)

    def _compute_change_likelihood(self, X, measured):
        """Compute the likelihood of each measured change for each cost, up to a constant factor.

        `measured` is the change of cycles per instruction. Returns an array of shape (n_rows, n_costs).
        """
        misses_per_100_cycles = 100 * (X["change"] / X["cycles"]).to_numpy()[:, None]
        measured_percent = 100 * (measured / X["cycles"]).to_numpy()[:, None]
        predicted_percent = COSTS * misses_per_100_cycles
        variance = self.noise**2 + (_RELATIVE_ERROR * measured_percent) ** 2
        return np.exp(-((measured_percent - predicted_percent) ** 2) / variance / 2)

    def _weigh_costs(self, X, center, spread, slope_error, store_weight):
        """Multiply the prior of each cost by the likelihood of the slope.

        Returns an array of shape (n_rows, n_costs).
        """
        prior = self._compute_prior(X, center, spread, store_weight)
        slope = _column(X, "slope")
        stderr = np.minimum(_column(X, "stderr"), COSTS.max())
        scale = np.hypot(stderr, slope_error * np.maximum(slope, 0)) + _TINY
        deviation = ((slope - COSTS) / scale) ** 2
        # Density of Student's t without its constant factor.
        exponent = -(_DEGREES_OF_FREEDOM + 1) / 2
        return prior * (1 + deviation / _DEGREES_OF_FREEDOM) ** exponent / scale

    def _compute_prior(self, X, center, spread, store_weight):
        """Compute the prior probability of each cost. Returns an array of shape (n_rows, n_costs)."""
        median = center * (1 + store_weight * _stores_per_miss(X))
        log_prior = -(((np.log(COSTS) - np.log(median)) / spread) ** 2) / 2
        log_prior[self._limit_costs(X, store_weight) < COSTS] = -np.inf
        # Subtracted, so that the largest is exp(0): far from the median all would be rounded to 0.
        prior = np.exp(log_prior - log_prior.max(axis=1, keepdims=True))
        return prior / prior.sum(axis=1, keepdims=True)

    def _limit_costs(self, X, store_weight):
        """Return the largest possible cost of a miss [cycles]. The result has the shape (n_rows, 1)."""
        limit_by_latency = self.latency * (1 + store_weight * _stores_per_miss(X))
        cycles_of_misses = _column(X, "cycles") - 1 / self.width
        limit_by_cycles = cycles_of_misses / np.maximum(_column(X, "misses"), _TINY)
        return np.clip(np.minimum(limit_by_latency, limit_by_cycles), COSTS[0, 0], COSTS[0, -1])

    def _find_lowest_change(self, X):
        """Return the lowest possible change of cycles per instruction, which is 0 or negative."""
        return np.minimum(1 / self.width - X["cycles"].to_numpy(), 0)

    def _convert_change(self, X):
        """Return the change of misses that is multiplied by the cost of a miss.

        Without the column ``stores_change``, it is the change of the misses of loads. Otherwise both changes are added
        with their weights, in units of one miss of a load with the misses of stores that accompany it.
        """
        change = X["change"]
        if "stores_change" not in X:
            return change.to_numpy()
        weighted_change = change + self.store_weight_ * X["stores_change"]
        return (weighted_change / (1 + self.store_weight_ * _stores_per_miss(X)[:, 0])).to_numpy()


@cache
def default_cost_model(*, other_processor: bool = False) -> PooledCost:
    """Return a model that was fitted to all programs of :func:`cmlib.cost.changes`.

    The constants are in `data/cost/models.csv`. The program ``tools/make_cost_tables.py`` computes them.

    Parameters
    ----------
    other_processor : bool, default False
        False for the processor and the cache of the measured programs. True for any other processor or cache. The costs
        of the measured programs are then not used: the prior is log-uniform up to the latency of memory.

    Returns
    -------
    PooledCost
        The same object in each call.
    """
    constants_by_model = pd.read_csv(places.shipped("cost") / "models.csv", index_col="model")
    constants = constants_by_model.loc["other processor" if other_processor else "this processor"]
    model = PooledCost()
    for name in _FITTED:
        setattr(model, name, float(constants[name]))
    return model


def _stores_per_miss(X):
    """Return the misses of stores per miss of a load. The result has the shape (n_rows, 1)."""
    return _column(X, "stores") / np.maximum(_column(X, "misses"), _TINY)


def _column(X, name):
    """Return a column of X with the shape (n_rows, 1)."""
    return X[name].to_numpy(dtype=float)[:, None]
