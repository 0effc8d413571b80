"""An autoencoder that knows what good samples look like, and says how far a sample is from them."""

import itertools
import json

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from cmlib.anomaly import batched
from cmlib.anomaly.scaling import usual_range

LAYER_SHARES = (1 / 2, 3 / 8, 1 / 4, 1 / 8)


class Autoencoder(BaseEstimator):
    """Sigmoid autoencoder with tied weights whose topology is searched (AutoPerf, §4.2, §5.5, Table 3).

    All topologies are trained from several starts in one pass; the model with the smallest mean
    reconstruction error is kept. Samples are scaled by the range that nine tenths of each counter's values in
    training lie in, to 0.1-0.9, as a sigmoid never reaches 0 or 1. A value outside is not cut off, and far
    outside can't be reconstructed.

    Parameters
    ----------
    topologies : sequence of tuple of int, optional
        Widths of the encoding layers without the input, e.g. ``[(10, 6), (16, 8, 4)]``. Default: all those of
        `search_space`.
    n_starts : int, default 4
        Initial weights tried for each topology: error varies more by start than by topology.
    epochs, batch_size : int, default 100
    learning_rate : float, default 0.01
        Of Adam. Plain gradient descent at this rate learns nothing in 100 epochs.
    smallest_range : float >= 0, optional
        Counters that varied less in training are scaled by this instead of that range [their own unit].
        Default: 1e-6, an event in a million instructions; within `AutoPerf`, what the samples say
        (:func:`cmlib.anomaly.scaling.smallest_range`).
    random_state : int, RandomState or None

    Attributes
    ----------
    topology_ : tuple of int
    layers_ : list of (weight, bias, back_bias)
    low_, range_ : ndarray, shape (n_features,)
    search_ : DataFrame
        Columns topology, start, error (mean reconstruction error in the last epoch; Fig. 10).
    """

    def __init__(
        self,
        *,
        topologies=None,
        n_starts=4,
        epochs=100,
        batch_size=100,
        learning_rate=0.01,
        smallest_range=None,
        random_state=None,
    ):
        self.topologies = topologies
        self.n_starts = n_starts
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.smallest_range = smallest_range
        self.random_state = random_state

    def fit(self, X, y=None):
        """Learn good samples.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X holds NaN, or a topology isn't strictly falling from below n_features.
        """
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.low_, self.range_ = usual_range(X, self.smallest_range)
        candidates = [
            (topology, start)
            for topology in self._checked_topologies(X.shape[1])
            for start in range(self.n_starts)
        ]
        seed = check_random_state(self.random_state).randint(2**31)
        models, errors = batched.train(
            self._scale(X).astype(np.float32),
            [topology for topology, _ in candidates],
            [(seed, start) for _, start in candidates],
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            order_seed=seed,
        )
        best = int(np.argmin(errors))
        self.topology_ = candidates[best][0]
        self.layers_ = [
            tuple(np.asarray(array, dtype=np.float64) for array in layer) for layer in models[best]
        ]
        self.search_ = pd.DataFrame(candidates, columns=["topology", "start"]).assign(error=errors)
        return self

    def squared_errors(self, X):
        """Squared difference of each counter from its reconstruction, in units of its scaled range.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float, shape (n_samples, n_features)
            The sum over a row is the sample's reconstruction error |X - X'|² (§3.3), a single one RE_i
            (§3.5).
        """
        x = self._scaled(X)
        return (x - self._through(x)) ** 2

    def reconstruct(self, X):
        """What the autoencoder makes of the samples, in their own units.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float, shape (n_samples, n_features)
        """
        return (self._through(self._scaled(X)) - 0.1) / 0.8 * self.range_ + self.low_

    def length_change(self, X):
        """By which part the length of a sample's vector changes on its way through (§5.7's fixed thresholds).

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float, shape (n_samples,)
            abs(|X'| - |X|) / |X| of the scaled sample; 0.1 is the paper's 10 %.
        """
        x = self._scaled(X)
        before, after = np.linalg.norm(x, axis=1), np.linalg.norm(self._through(x), axis=1)
        return np.abs(after - before) / before

    def score_samples(self, X):
        """Minus the reconstruction error: higher is more normal, as scikit-learn has it.

        Parameters
        ----------
        X : array-like of float, shape (n_samples, n_features)

        Returns
        -------
        ndarray of float, shape (n_samples,)
        """
        return -self.squared_errors(X).sum(axis=1)

    def save(self, path):
        """Write the fitted autoencoder to an ``.npz`` of plain arrays and one JSON text; nothing is pickled.

        Parameters
        ----------
        path : path-like
        """
        check_is_fitted(self)
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        settings = {"parameters": self.get_params(), "topology": self.topology_, "names": names}
        if not isinstance(self.random_state, int | None):
            settings["parameters"]["random_state"] = None
        arrays = {
            f"{kind}_{depth}": array
            for depth, layer in enumerate(self.layers_)
            for kind, array in zip(("weight", "bias", "back_bias"), layer, strict=True)
        }
        with open(path, "wb") as file:
            np.savez(file, settings=json.dumps(settings), low=self.low_, range=self.range_, **arrays)

    @classmethod
    def load(cls, path):
        """Read what `save` wrote; reconstructions are the same to the last bit.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        Autoencoder
            Fitted, without its `search_`.
        """
        with np.load(path, allow_pickle=False) as saved:
            settings = json.loads(str(saved["settings"]))
            model = cls(**settings["parameters"])
            model.topology_ = tuple(settings["topology"])
            model.low_, model.range_ = saved["low"], saved["range"]
            model.layers_ = [
                tuple(saved[f"{kind}_{depth}"] for kind in ("weight", "bias", "back_bias"))
                for depth in range(len(model.topology_))
            ]
        model.n_features_in_ = len(model.low_)
        if settings["names"]:
            model.feature_names_in_ = np.array(settings["names"], dtype=object)
        return model

    def _scale(self, X):
        return 0.1 + 0.8 * (X - self.low_) / self.range_

    def _scaled(self, X):
        check_is_fitted(self)
        return self._scale(validate_data(self, X, dtype=np.float64, reset=False))

    def _through(self, x):
        stack = [
            array[None] if array.ndim == 2 else array[None, None] for layer in self.layers_ for array in layer
        ]
        return batched.reconstruct(stack, x)[0]

    def _checked_topologies(self, n_features):
        if self.topologies is None:
            return search_space(n_features)
        for topology in self.topologies:
            # One counter's can't be narrower than it.
            if tuple(topology) in search_space(n_features):
                continue
            widths = (n_features, *topology)
            if len(widths) < 2 or widths[-1] < 1 or any(b >= a for a, b in itertools.pairwise(widths)):
                raise ValueError(
                    f"topology {tuple(topology)} of an autoencoder for {n_features} counters: every layer must be "
                    "narrower than the one before it and at least 1 wide. Give smaller widths, or more counters."
                )
        return [tuple(topology) for topology in self.topologies]


def search_space(n_features):
    """Topologies that are tried: up to five layers with the input, each narrower than the one before.

    Widths are a half, three eighths, a quarter and an eighth of the input, so that 32 counters give those the
    paper selected most (16, 12, 8, 4; Table 3).

    Parameters
    ----------
    n_features : int

    Returns
    -------
    list of tuple of int
        15 topologies where all four widths differ.
    """
    widths = sorted({max(1, int(share * n_features)) for share in LAYER_SHARES}, reverse=True)
    return [
        topology
        for depth in range(1, len(widths) + 1)
        for topology in itertools.combinations(widths, depth)
        if topology[0] < n_features or n_features == 1
    ]
