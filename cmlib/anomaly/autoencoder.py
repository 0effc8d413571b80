"""Train autoencoders on samples of good runs (AutoPerf).

:class:`Autoencoder` is a scikit-learn estimator. It is fitted to normalized counts of good samples and computes the
reconstruction error of other samples. :func:`stopping_run` finds the number of runs that are enough for training
(Algorithm 1). :class:`PrincipalComponents` is a simpler model for comparison.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from cmlib.anomaly import network
from cmlib.anomaly.samples import usual_range
from cmlib.errors import InputError

__all__ = ["PrincipalComponents", "search_space"]


def stopping_run(variances: Sequence[float], *, eps: float = 0.05, goal: int = 1, max_runs: int = 100) -> int:
    """Find the number of runs after which a series of variances has settled (AutoPerf, Algorithm 1).

    At entry i, A is the mean change between entries over the last ceil(i/10) entries. B is the mean change over all
    entries so far, divided by ceil(1 + i/2). Training stops at the first entry with A < B and A < `eps` that follows
    `goal` entries with A < B.

    Parameters
    ----------
    variances : sequence of float, shape (n_runs,)
        Variance of the reconstruction errors after training on 1, 2, … runs.
    eps : float > 0 or array of float, shape (n_runs,), default 0.05
        Smallest change of variance that matters. The default is from the authors' program; the paper has no value.
    goal : int >= 0, default 1
        Number of settled entries before the stopping entry. The paper has no value. With 1, the published series stop
        where the paper says; with 0, one entry earlier.
    max_runs : int >= 1, default 100
        Largest number of runs.

    Returns
    -------
    int
        The stopping entry, counted from 0. `max_runs` if the series does not settle before; then record more runs.
        The paper uses it as the number of runs, although entry i was trained on i + 1 runs.

    Raises
    ------
    ValueError
        If a variance is not finite, or `goal` or `max_runs` is out of range.

    Examples
    --------
    The variances that AutoPerf's authors published for MySQL:

    >>> import numpy as np
    >>> stopping_run(np.loadtxt("tests/golden/autoperf/variance_mysql.txt"))
    58
    """
    v = np.asarray(variances, dtype=float)
    if v.ndim != 1 or not np.isfinite(v).all():
        raise InputError(
            f"variances: expected one finite number a run, received shape {v.shape} with "
            f"{np.count_nonzero(~np.isfinite(v))} that are not finite. Leave out runs without samples."
        )
    if goal < 0 or max_runs < 1:
        raise InputError(f"goal must be >= 0 and max_runs >= 1, received {goal} and {max_runs}")
    thresholds = np.broadcast_to(eps, v.shape)
    changes = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(v)))])
    met = 0
    for i in range(1, min(len(v), max_runs + 1)):
        window = math.ceil(i / 10)
        piece = (changes[i] - changes[i - window]) / (window + 1)
        half = changes[i] / (i + 1) / math.ceil(1 + i / 2)
        if piece < half and piece < thresholds[i] and met >= goal:
            return i
        met = met + 1 if piece < half else 0
    return max_runs


WIDTHS_OF_32 = (16, 12, 11, 10, 9, 8, 7, 6, 5, 4)  # widths of layers for 32 counters (Table 3)
MOST_LAYERS = 4


@dataclass(kw_only=True, eq=False, repr=False)
class Autoencoder(BaseEstimator):
    """Sigmoid autoencoder with tied weights and a search for its topology (AutoPerf, §4.2, §5.5, Table 3).

    A topology is the widths of the layers. The search has two rounds. First, each topology is trained for some
    batches from one start. Then the topologies with the smallest error are trained to the end from several starts.
    The model with the smallest mean reconstruction error is selected.

    Samples are scaled: the 5 % and 95 % quantiles of each counter become 0.1 and 0.9, because a sigmoid never reaches
    0 or 1. Values outside are not clipped.

    Parameters
    ----------
    topologies : sequence of tuple of int, optional
        Widths of the encoding layers without the input. For example, ``[(10, 6), (16, 8, 4)]``. The default is
        `search_space`.
    n_starts : int, default 4
        Number of initial weights per topology. The error varies more by start than by topology.
    epochs : int, default 100
        Passes over the samples in training.
    batch_size : int, default 100
        Samples per change of the weights.
    learning_rate : float, default 0.01
        Learning rate of Adam. Plain gradient descent at this rate learns nothing in 100 epochs.
    trial_steps : int, default 200
        Number of batches in the first round.
    finalists : int, default 4
        Number of topologies in the second round. On recorded counters the best topology was always among four. The
        first round is skipped if it selects nothing or is not shorter.
    smallest_range : float >= 0, optional
        Smallest range between the two quantiles for scaling [unit of the samples]. The default is 1e-6, one event per
        million instructions. `AutoPerf` sets it to :func:`cmlib.anomaly.samples.smallest_range`.
    random_state : int, RandomState or None
        Seed of the initial weights and of the order of the samples.

    Attributes
    ----------
    topology_ : tuple of int
        Widths of the encoding layers of the selected model.
    layers_ : list of (weight, bias, back_bias)
        Weights of the selected model.
    low_, range_ : ndarray, shape (n_features,)
        5 % quantile of each counter, and the range to the 95 % quantile [unit of the samples].
    search_ : DataFrame
        One row per topology and start. Columns: ``topology``, ``start``, ``epochs`` of training, and ``error``, the
        mean reconstruction error in the last epoch.
    """

    topologies: list | None = None
    n_starts: int = 4
    epochs: int = 100
    batch_size: int = 100
    learning_rate: float = 0.01
    trial_steps: int = 200
    finalists: int = 4
    smallest_range: float | None = None
    random_state: object = None

    def fit(self, X: ArrayLike, y: object | None = None) -> Self:
        """Search the topology and train the model.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Normalized counts of good samples.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X contains NaN, or if a layer of a topology is not narrower than the layer before it.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.low_, self.range_ = usual_range(X, self.smallest_range)
        x = self._scale(X).astype(np.float32)
        seed = check_random_state(self.random_state).randint(2**31)
        candidates = list(itertools.product(self._checked_topologies(), range(self.n_starts)))
        search = pd.DataFrame(candidates, columns=["topology", "start"]).assign(epochs=0, error=np.nan)
        trial = -(-self.trial_steps // -(-len(x) // self.batch_size))
        last = search.index
        if search["topology"].nunique() > self.finalists and trial < self.epochs:
            first = search.index[search["start"] == 0]
            self._train(x, search, first, seed, trial)
            best = search.nsmallest(self.finalists, "error")["topology"]
            last = search.index[search["topology"].isin(best)]
        models = self._train(x, search, last, seed, self.epochs)
        best = search.loc[last, "error"].idxmin()
        self.search_, self.topology_ = search, search["topology"][best]
        layers = models[last.get_loc(best)]
        self.layers_ = [tuple(array.astype(np.float64) for array in layer) for layer in layers]
        return self

    def squared_errors(self, X: ArrayLike) -> np.ndarray:
        """Compute the squared difference of each scaled counter from its reconstruction.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Normalized counts.

        Returns
        -------
        ndarray of float, shape (n_samples, n_features)
            A value is RE_i of the paper (§3.5). The sum of a row is the reconstruction error ``|X - X'|²`` (§3.3).
        """
        x = self._scaled(X)
        return (x - network.reconstruct(self.layers_, x)) ** 2

    def reconstruct(self, X: ArrayLike) -> np.ndarray:
        """Encode and decode samples.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Normalized counts.

        Returns
        -------
        ndarray of float, shape (n_samples, n_features)
            Reconstructed samples [unit of X].
        """
        decoded = network.reconstruct(self.layers_, self._scaled(X))
        return (decoded - 0.1) / 0.8 * self.range_ + self.low_

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the negative reconstruction error of each sample.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Normalized counts.

        Returns
        -------
        ndarray of float, shape (n_samples,)
            Higher is more normal, as in scikit-learn.
        """
        return -self.squared_errors(X).sum(axis=1)

    def length_change(self, X: ArrayLike) -> np.ndarray:
        """Compute the relative change of the length of each sample by the reconstruction (§5.7).

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Normalized counts.

        Returns
        -------
        ndarray of float, shape (n_samples,)
            Change of the Euclidean norm of the scaled sample, as a share of the norm.
        """
        scaled = self._scaled(X)
        before = np.linalg.norm(scaled, axis=1)
        after = np.linalg.norm(network.reconstruct(self.layers_, scaled), axis=1)
        return np.abs(after - before) / before

    def _scale(self, X):
        """Scale the usual range of each counter to 0.1-0.9."""
        return 0.1 + 0.8 * (X - self.low_) / self.range_

    def _scaled(self, X):
        """Check samples and scale them as in training."""
        check_is_fitted(self)
        return self._scale(validate_data(self, X, dtype=np.float64, reset=False))

    def _train(self, x, search, rows, seed, epochs):
        """Train the candidates in some rows of `search`, write their errors to it, and return the models."""
        topologies, seeds = list(search.loc[rows, "topology"]), [(seed, k) for k in search.loc[rows, "start"]]
        settings = {"epochs": epochs, "batch_size": self.batch_size, "learning_rate": self.learning_rate}
        models, errors = network.train(x, topologies, seeds, order_seed=seed, **settings)
        search.loc[rows, "error"], search.loc[rows, "epochs"] = errors, epochs
        return models

    def _checked_topologies(self):
        """Return the topologies to try.

        Raises a ValueError if a layer is not narrower than the layer before it.
        """
        space = search_space(self.n_features_in_)
        topologies = space if self.topologies is None else list(map(tuple, self.topologies))
        for topology in topologies:
            widths = itertools.pairwise((self.n_features_in_, *topology))
            falling = bool(topology) and all(1 <= after < before for before, after in widths)
            # With one counter, no layer can be narrower than the input.
            if not falling and topology not in space:
                raise InputError(
                    f"topology {topology} of an autoencoder for {self.n_features_in_} counters: every layer must be "
                    "narrower than the one before it and at least 1 wide. Give smaller widths, or more counters."
                )
        return topologies


def search_space(n_features: int) -> list[tuple[int, ...]]:
    """List the topologies that are tried by default (AutoPerf, Table 3).

    Parameters
    ----------
    n_features : int
        Number of counters. The widths of the paper are for 32 counters and are scaled to this number.

    Returns
    -------
    list of tuple of int
        Widths of one to four encoding layers, each narrower than the layer before it.
    """
    widths = sorted({max(1, width * n_features // 32) for width in WIDTHS_OF_32}, reverse=True)
    by_depth = (itertools.combinations(widths, depth) for depth in range(1, MOST_LAYERS + 1))
    topologies = itertools.chain.from_iterable(by_depth)
    return [topology for topology in topologies if topology[0] < n_features or n_features == 1]


@dataclass(kw_only=True, eq=False, repr=False)
class PrincipalComponents(BaseEstimator):
    """Reconstruction from principal components that explain 95 % of the variance.

    It can replace `Autoencoder` in `AutoPerf`.

    Parameters
    ----------
    smallest_range : float >= 0, optional
        Smallest range of a counter for scaling, as in `Autoencoder`.
    random_state : object
        Ignored.

    Attributes
    ----------
    low_, range_ : ndarray, shape (n_features,)
        5 % quantile of each counter, and the range to the 95 % quantile [unit of the samples].
    pca_ : PCA
        Components, fitted to the scaled samples.
    """

    smallest_range: float | None = None
    random_state: object = None

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Fit the components to good samples.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Normalized counts.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X has fewer than two rows, or a value that is not finite.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.low_, self.range_ = usual_range(X, self.smallest_range)
        self.pca_ = PCA(0.95, svd_solver="full").fit((X - self.low_) / self.range_)
        return self

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the negative reconstruction error of each sample.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
            Normalized counts.

        Returns
        -------
        ndarray of float, shape (n_samples,)
            Higher is more normal, as in scikit-learn.
        """
        check_is_fitted(self)
        x = (validate_data(self, X, dtype=np.float64, reset=False) - self.low_) / self.range_
        return -((x - self.pca_.inverse_transform(self.pca_.transform(x))) ** 2).sum(axis=1)
