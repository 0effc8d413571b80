"""Model the cost of a cache miss: a program's slope of cycles on misses, pooled with changes of other programs.

:class:`PooledCost` is a scikit-learn regressor. Its X is a DataFrame, a row a change: program, cycles, misses and
stores per instruction before it, slope and stderr [cycles a miss], and change of misses per instruction; it
predicts the change of cycles per instruction. :func:`default_cost_model` gives one that is fitted to the 29
programs of :func:`changes`. A KeyError if a column of X is missing.
"""

from functools import cache

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from cmlib import places

COSTS = np.geomspace(1, 1e5, 200)[None, :]  # grid of costs [cycles/miss] on which distributions are computed
TINY = 1e-9  # added to or put for what may be 0 and is divided by
FREEDOM = 4  # degrees of freedom of Student's t, so that the few slopes that are far off have little weight
# Log-normal prior of spread_, slope_error_ and store_weight_: logarithms of the medians, and standard deviations.
BELIEFS = np.log([[0.5, 0.3, 0.25], [np.e**0.5] * 3])
# Settings under which the programs of :func:`changes` were measured: sizes of the last-level cache, and the prefetchers
# left on.
LARGER_CACHE = ("3.5 MiB", "7 MiB", "14 MiB", "19.25 MiB")
PREFETCHERS = ("none", "DCUI", "DCUP", "L2A", "L2P")


class PooledCost(RegressorMixin, BaseEstimator):
    """Predict the change of cycles per instruction from a change of misses per instruction.

    Each program has one cost c of a miss. Its logarithm is normal over programs,
    ``log c ~ N(log center + log(1 + store_weight * stores / misses), spread²)``, truncated: c is at most memory's
    latency, and leaves the program 1/width cycles an instruction. The program's slope over intervals is a measurement
    of c, ``slope ~ t(c, stderr² + (slope_error * slope)²)``. The four constants are learned from programs whose misses
    were changed: from the largest change of each, whose error is ``noise`` percent and a tenth of itself.

    Parameters
    ----------
    latency : float, default 300
        Latency of memory [cycles]; no miss of a load costs more, and those of stores are added.
    width : float, default 4
        Most instructions retired in a cycle.
    noise : float, default 1
        Difference of cycles from run to run [%].
    coverage : float in (0, 1), default 0.9
        Share of changes that the prediction intervals are to hold.

    Attributes
    ----------
    center_, spread_, slope_error_, store_weight_ : float
        The constants above.
    quantiles_ : (float, float)
        Half-width of an interval in standard deviations of the posterior, for fewer misses and for more: the quantiles
        `coverage` of the errors of measured changes (conformal prediction).
    """

    def __init__(self, latency=300.0, width=4.0, noise=1.0, coverage=0.9):
        self.latency = latency
        self.width = width
        self.noise = noise
        self.coverage = coverage

    def fit(self, X, y):
        """Learn from programs whose misses were changed.

        Parameters
        ----------
        X : DataFrame
            A row a change: ``program``; ``cycles``, ``misses`` and ``stores`` (0 if not counted) per instruction
            before it; ``slope`` and ``stderr`` (:func:`cmlib.cost.slope`); and ``change`` of misses per instruction.
            For predictions also ``stores_change``, which is in proportion to `change` otherwise.
        y : array-like of float
            Measured change of cycles per instruction.

        Returns
        -------
        self
        """
        y = pd.Series(np.asarray(y, dtype=float), X.index)
        largest = X["change"].abs().groupby(X["program"]).idxmax()
        seen = X.loc[largest]
        caused, saved = (100 * (v / seen["cycles"]).to_numpy()[:, None] for v in (seen["change"], y[largest]))
        misfit = ((saved - COSTS * caused) ** 2) / (self.noise**2 + (0.1 * saved) ** 2)

        def loss(values):
            joint = np.sum(self._joint(seen, *np.exp(values)) * np.exp(-misfit / 2), axis=1)
            surprise = (values[1:] - BELIEFS[0]) / BELIEFS[1]
            return np.sum(surprise**2) / 2 - np.sum(np.log(joint + 1e-300))

        start = np.r_[np.log(100), BELIEFS[0]]
        simplex = np.vstack([start, start + 0.15 * np.eye(4)])
        options = {"initial_simplex": simplex, "xatol": 0.01, "fatol": 0.01}
        fitted = minimize(loss, start, method="Nelder-Mead", options=options)
        self.center_, self.spread_, self.slope_error_, self.store_weight_ = map(float, np.exp(fitted.x))
        return self.calibrate(X, y)

    def calibrate(self, X, y):
        """Set ``quantiles_`` from measured changes, and return self.

        X and y are as of :meth:`fit`: a DataFrame, a row a change, and the measured changes of cycles per
        instruction.
        """
        X = X.drop(columns="stores_change", errors="ignore")
        scores, more = np.abs(np.asarray(y) - self.predict(X)) / self._scale(X), X["change"].to_numpy() > 0
        sides = (scores[side] if side.any() else scores for side in (~more, more))
        n_programs = X["program"].nunique()  # their changes are not independent of each other
        level = min(1.0, np.ceil((n_programs + 1) * self.coverage) / n_programs)
        self.quantiles_ = tuple(float(np.quantile(side, level, method="higher")) for side in sides)
        return self

    def predict(self, X):
        """Predicted change of cycles per instruction of each row of X (as of :meth:`fit`): ndarray, shape (n_rows,).

        At least 1/width cycles an instruction are left.
        """
        return np.maximum(self.posterior(X)["cost"].to_numpy() * self._change(X), self._floor(X))

    def predict_interval(self, X):
        """Lower and upper ends of the prediction interval of each row of X: two ndarrays [cycles per instruction]."""
        fewer, more = self.quantiles_
        middle, half = self.predict(X), np.where(X["change"] > 0, more, fewer) * self._scale(X)
        return np.maximum(middle - half, self._floor(X)), middle + half

    def _floor(self, X):
        """Most that each row's program can save, negative [cycles per instruction]."""
        return np.minimum(1 / self.width - X["cycles"].to_numpy(), 0)

    def posterior(self, X):
        """Posterior distribution of the cost of a miss, for each row's program.

        Parameters
        ----------
        X : DataFrame
            As of :meth:`fit`; ``change`` is not used.

        Returns
        -------
        DataFrame
            ``cost`` and ``sd``, mean and standard deviation [cycles/miss]; ``limit``, the most it can be.
        """
        check_is_fitted(self)
        weights = self._joint(X, self.center_, self.spread_, self.slope_error_, self.store_weight_)
        weights /= weights.sum(axis=1, keepdims=True)
        cost = weights @ COSTS[0]
        sd = np.sqrt(np.maximum(weights @ COSTS[0] ** 2 - cost**2, 0))
        limit = self._limit(X, self.store_weight_)[:, 0]
        return pd.DataFrame({"cost": cost, "sd": sd, "limit": limit}, index=X.index)

    def _joint(self, X, center, spread, slope_error, store_weight):
        """Prior of the cost times the slope's likelihood: (n_rows, len(COSTS))."""
        with_stores = center * (1 + store_weight * _stores_a_miss(X))
        prior = -(((np.log(COSTS) - np.log(with_stores)) / spread) ** 2) / 2
        prior[self._limit(X, store_weight) < COSTS] = -np.inf
        prior = np.exp(prior - prior.max(axis=1, keepdims=True))
        prior /= prior.sum(axis=1, keepdims=True)
        slope, stderr = _column(X, "slope"), np.minimum(_column(X, "stderr"), COSTS.max())
        sd = np.hypot(stderr, slope_error * np.maximum(slope, 0)) + TINY
        far = ((slope - COSTS) / sd) ** 2
        return prior * (1 + far / FREEDOM) ** (-(FREEDOM + 1) / 2) / sd

    def _limit(self, X, store_weight):
        """Most that a miss can cost each row's program [cycles], shape (n_rows, 1), within the grid."""
        latency = self.latency * (1 + store_weight * _stores_a_miss(X))
        left = (_column(X, "cycles") - 1 / self.width) / np.maximum(_column(X, "misses"), TINY)
        return np.clip(np.minimum(latency, left), COSTS[0, 0], COSTS[0, -1])

    def _change(self, X):
        """Change of misses per instruction of each row; with ``stores_change``, as many of loads as cost the same."""
        if "stores_change" not in X:
            return X["change"].to_numpy()
        stores = self.store_weight_ * X["stores_change"]
        return ((X["change"] + stores) / (1 + self.store_weight_ * _stores_a_miss(X)[:, 0])).to_numpy()

    def _scale(self, X):
        """Standard deviation of each row's predicted change, with the noise from run to run."""
        return np.hypot(self.posterior(X)["sd"] * self._change(X), self.noise / 100 * X["cycles"]).to_numpy()


def _stores_a_miss(X):
    """Misses of stores for each miss of loads, of each row: (n_rows, 1)."""
    return _column(X, "stores") / np.maximum(_column(X, "misses"), TINY)


def _column(X, name):
    """A column of X as an array (n_rows, 1)."""
    return X[name].to_numpy(dtype=float)[:, None]


def changes(settings=LARGER_CACHE):
    """Load the measured effect of changed misses on 29 programs of SPEC CPU2006 (20) and CPU2017 (9).

    Parameters
    ----------
    settings : sequence of str
        Changed settings; the one before is a last-level cache of 1.75 MiB with all prefetchers on. Sizes of the cache,
        or the only prefetcher left on: ``none``, ``DCUI``, ``DCUP``, ``L2A``, ``L2P``.

    Returns
    -------
    X : DataFrame
        What :meth:`PooledCost.fit` takes; ``suite``, ``setting``; and ``stores_change`` of misses of stores per
        instruction.
    y : Series
        Measured change of cycles per instruction.
    """
    folder = places.shipped("cost")
    table = pd.read_csv(folder / "changes.csv").merge(pd.read_csv(folder / "programs.csv"), on="program")
    table = table[table["setting"].isin(list(settings))].reset_index(drop=True)
    return table.drop(columns="cycles_change"), table["cycles_change"]


@cache
def default_cost_model(*, other_processor=False):
    """Fit a model of the cost of misses to all programs and changes of :func:`changes`.

    Parameters
    ----------
    other_processor : bool, default False
        True for another processor or another kind of misses: then the costs in these programs are not used, and the
        prior is uniform in the logarithm of the cost, from a cycle to memory's latency.

    Returns
    -------
    PooledCost
        Fitted; kept for the next call.
    """
    return _learn(*changes((*LARGER_CACHE, *PREFETCHERS)), other_processor)


def _learn(X, y, other_processor):
    """A PooledCost with constants fitted to the changes by larger caches, and intervals calibrated on all changes."""
    larger = X["setting"].isin(LARGER_CACHE)
    model = PooledCost().fit(X[larger].drop(columns="stores_change", errors="ignore"), y[larger])
    if other_processor:
        model.spread_ = np.inf
    return model.calibrate(X, y)


def held_out(X, y, *, by="suite", other_processor=False):
    """Predict the changes of each suite (or program) by a model that learned from the others.

    Parameters
    ----------
    X : DataFrame
        The first result of :func:`changes`, a row a change; without its column ``stores_change``, misses of stores
        are assumed to change in proportion.
    y : Series
        Measured change of cycles per instruction.
    by : {"suite", "program"}, default "suite"
        Column whose values are left out one after the other.
    other_processor : bool, default False
        True if the costs in the other programs are not to be used, as for another processor.

    Returns
    -------
    DataFrame
        A row for each of X: ``program``, ``suite``, ``setting``; ``measured``, ``predicted``, ``low`` and ``high`` in
        percent of the cycles before the change, positive where cycles are saved; and ``cost`` of a miss [cycles].
    """
    parts = []
    for _, rows in X.groupby(by, sort=False):
        rest = X.index.difference(rows.index)
        model = _learn(X.loc[rest], y[rest], other_processor)
        (low, high), scale = model.predict_interval(rows), -100 / rows["cycles"]
        table = {"measured": y[rows.index], "predicted": model.predict(rows), "low": high, "high": low}
        predicted = pd.DataFrame(table, rows.index).mul(scale, axis=0)
        names = rows[["program", "suite", "setting"]]
        parts.append(names.join(predicted).assign(cost=model.posterior(rows)["cost"]))
    return pd.concat(parts).sort_index()
