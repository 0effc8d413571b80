"""An autoencoder that knows what good samples look like, and says how far a sample is from them."""

import itertools
import json

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from cmlib.anomaly import network
from cmlib.anomaly.scaling import usual_range

WIDTHS_OF_32 = (16, 12, 11, 10, 9, 8, 7, 6, 5, 4)  # of all layers in Table 3
MOST_LAYERS = 4


class Autoencoder(BaseEstimator):
    """Sigmoid autoencoder with tied weights whose topology is searched (AutoPerf, §4.2, §5.5, Table 3).

    Topologies are searched in two rounds: each is trained for some batches from one start, and those with the
    smallest error are trained from several, to the end; the model with the smallest mean reconstruction error
    is kept. Samples are scaled by the range that nine tenths of each counter's values in training lie in, to
    0.1-0.9, as a sigmoid never reaches 0 or 1. A value outside is not cut off, and far outside can't be
    reconstructed.

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
    trial_steps : int, default 200
        Batches after which the first round ends.
    finalists : int, default 4
        Topologies that reach the second round: on recorded counters the best of all was always among them.
        Where there are no more, or where the first round would not be shorter, the second is the only one.
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
        A row a topology and start: epochs that it was trained, and error (mean reconstruction error in the
        last of these).
    models_ : list of (list of layers or None)
        Of each row of `search_`; None if it was not trained to the end.
    """

    def __init__(
        self,
        *,
        topologies=None,
        n_starts=4,
        epochs=100,
        batch_size=100,
        learning_rate=0.01,
        trial_steps=200,
        finalists=4,
        smallest_range=None,
        random_state=None,
    ):
        self.topologies = topologies
        self.n_starts = n_starts
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.trial_steps = trial_steps
        self.finalists = finalists
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
        x = self._prepared(X)
        seed = check_random_state(self.random_state).randint(2**31)
        candidates = self._candidates()
        search = pd.DataFrame(candidates, columns=["topology", "start"]).assign(epochs=0, error=np.nan)
        trial = -(-self.trial_steps // -(-len(x) // self.batch_size))
        last = search.index
        if search["topology"].nunique() > self.finalists and trial < self.epochs:
            first = search.index[search["start"] == 0]
            search.loc[first, "error"] = self._trained(x, search.loc[first], seed, trial)[1]
            search.loc[first, "epochs"] = trial
            best = search.nsmallest(self.finalists, "error")["topology"]
            last = search.index[search["topology"].isin(best)]
        models, search.loc[last, "error"] = self._trained(x, search.loc[last], seed, self.epochs)
        search.loc[last, "epochs"] = self.epochs
        by_row = dict(zip(last, models, strict=True))
        return self._chosen(search, [by_row.get(row) for row in search.index])

    def candidate(self, row):
        """Another model that the search trained to the end.

        Parameters
        ----------
        row : int
            Of `search_`, where its epochs are those of the second round.

        Returns
        -------
        Autoencoder
            A fitted copy with the topology and layers of that row.
        """
        check_is_fitted(self)
        other = clone(self)
        other.low_, other.range_, other.n_features_in_ = self.low_, self.range_, self.n_features_in_
        other.search_, other.models_ = self.search_, self.models_
        other.topology_, other.layers_ = self.search_["topology"][row], self.models_[row]
        return other

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
        return network.reconstruct(self.layers_, x)

    def _prepared(self, X):
        """Samples as they are learned."""
        X = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        self.low_, self.range_ = usual_range(X, self.smallest_range)
        return self._scale(X).astype(np.float32)

    def _trained(self, x, candidates, seed, epochs):
        return network.train(
            x,
            list(candidates["topology"]),
            [(seed, start) for start in candidates["start"]],
            epochs=epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            order_seed=seed,
        )

    def _chosen(self, search, models):
        """Keep the model with the smallest error of those that were trained to the end."""
        self.models_ = [
            model and [tuple(np.asarray(array, dtype=np.float64) for array in layer) for layer in model]
            for model in models
        ]
        self.search_ = search
        best = search.loc[search["epochs"] == self.epochs, "error"].idxmin()
        self.topology_, self.layers_ = search["topology"][best], self.models_[best]
        return self

    def _candidates(self):
        """Pairs of topology and start."""
        space = search_space(self.n_features_in_)
        for topology in self.topologies or ():
            widths = (self.n_features_in_, *topology)
            falling = (
                len(widths) > 1 and widths[-1] >= 1 and all(b < a for a, b in itertools.pairwise(widths))
            )
            # One counter's can't be narrower than it.
            if not falling and tuple(topology) not in space:
                raise ValueError(
                    f"topology {tuple(topology)} of an autoencoder for {self.n_features_in_} counters: every layer "
                    "must be narrower than the one before it and at least 1 wide. Give smaller widths, or more "
                    "counters."
                )
        topologies = space if self.topologies is None else [tuple(topology) for topology in self.topologies]
        return list(itertools.product(topologies, range(self.n_starts)))


def fit_each(model, samples):
    """Fit a clone of a model to each of several sets of samples; autoencoders of one topology in one pass.

    Parameters
    ----------
    model : estimator
        `Autoencoder` with a single topology is trained in one pass, anything else one by one.
    samples : sequence of array-like of float, each of shape (n_samples, n_features)

    Returns
    -------
    list of estimators
        Each as if it had been fitted alone.
    """
    clones = [clone(model) for _ in samples]
    if not isinstance(model, Autoencoder) or model.topologies is None or len(model.topologies) != 1:
        return [one.fit(own) for one, own in zip(clones, samples, strict=True)]
    prepared = [one._prepared(own) for one, own in zip(clones, samples, strict=True)]
    seed = check_random_state(clone(model).random_state).randint(2**31)
    candidates = clones[0]._candidates()
    models, errors = network.train_each(
        [x for x in prepared for _ in candidates],
        candidates[0][0],
        [(seed, start) for _ in clones for _, start in candidates],
        epochs=model.epochs,
        batch_size=model.batch_size,
        learning_rate=model.learning_rate,
        order_seed=seed,
    )
    search = pd.DataFrame(candidates, columns=["topology", "start"]).assign(epochs=model.epochs)
    width = len(candidates)
    return [
        one._chosen(search.assign(error=errors[first : first + width]), models[first : first + width])
        for one, first in zip(clones, range(0, len(models), width), strict=True)
    ]


def search_space(n_features):
    """Topologies that are tried: up to five layers with the input, each narrower than the one before (§5.5).

    Widths are those of the paper's Table 3 as shares of its 32 counters, so that with 32 all topologies that
    it selected are among those tried.

    Parameters
    ----------
    n_features : int

    Returns
    -------
    list of tuple of int
        385 topologies of 32 counters; fewer of fewer, where widths coincide.
    """
    widths = sorted({max(1, width * n_features // 32) for width in WIDTHS_OF_32}, reverse=True)
    return [
        topology
        for depth in range(1, MOST_LAYERS + 1)
        for topology in itertools.combinations(widths, depth)
        if topology[0] < n_features or n_features == 1
    ]
