"""How many runs an autoencoder needs: Algorithm 1 of the AutoPerf paper, and the variances it reads."""

import itertools
import json
import math

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from cmlib.anomaly import network
from cmlib.anomaly.samples import usual_range


def stopping_run(variances, *, eps=0.05, goal=1, max_runs=100):
    """Number of training runs after which the reconstruction error has settled (Algorithm 1, as printed).

    At entry i the mean change of variance over the last tenth of the entries is compared with the one over
    all of them, divided by 1 + i/2. Training stops where it is below that and below `eps`, and was below the
    former in the `goal` entries before.

    Parameters
    ----------
    variances : sequence of float, shape (n_runs,)
        Of the reconstruction errors after training on 1, 2, … runs.
    eps : float > 0 or array of it, shape (n_runs,), default 0.05
        Smallest change of variance that matters [that of the variances], the same at all entries or one each.
        The text names none; 0.05 is in the program that the authors published.
    goal : int >= 0, default 1
        Consecutive entries that must have settled before. The text names none; with 1 the published series
        stop where the paper says (with 0 one entry earlier).
    max_runs : int >= 1, default 100
        Where training ends in any case.

    Returns
    -------
    int
        The stopping entry, counted from 0, or `max_runs` if the series never settles: more than were given
        means record more. This is the paper's number of runs to train on (MySQL's 58 is the 59th value of the
        published series, whose figure begins at 0), although entry i has seen i + 1 runs.

    Raises
    ------
    ValueError
        If a variance isn't finite, or `goal` or `max_runs` is out of range.

    Examples
    --------
    The variances that AutoPerf's authors published for MySQL:

    >>> import numpy as np
    >>> stopping_run(np.loadtxt("tests/golden/autoperf/variance_mysql.txt"))
    58
    """
    v = np.asarray(variances, dtype=float)
    if v.ndim != 1 or not np.isfinite(v).all():
        raise ValueError(
            f"variances: expected one finite number a run, received shape {v.shape} with "
            f"{np.count_nonzero(~np.isfinite(v))} that are not finite. Leave out runs without samples."
        )
    if goal < 0 or max_runs < 1:
        raise ValueError(f"goal must be >= 0 and max_runs >= 1, received {goal} and {max_runs}")
    eps = np.broadcast_to(eps, v.shape)
    changes = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(v)))])
    met = 0
    for i in range(1, min(len(v), max_runs + 1)):
        window = math.ceil(i / 10)
        piece = (changes[i] - changes[i - window]) / (window + 1)
        half = changes[i] / (i + 1) / math.ceil(1 + i / 2)
        if piece < half and piece < eps[i] and met >= goal:
            return i
        met = met + 1 if piece < half else 0
    return max_runs


def error_variances(autoencoder, runs):
    """Variance of the reconstruction errors after training on the first 1, 2, … runs (§3.3.1)."""
    samples = [np.asarray(run, dtype=float) for run in runs]
    seen = [np.concatenate(samples[: n + 1]) for n in range(len(samples))]
    models = fit_each(autoencoder, seen)
    errors = [-model.score_samples(own) for model, own in zip(models, seen, strict=True)]
    return np.array([own.var() for own in errors]), np.array([own.mean() for own in errors])


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
        (:func:`cmlib.anomaly.samples.smallest_range`).
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
    """Fit a clone of a model to each of several sets of samples; autoencoders of one topology in one pass."""
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
    """Topologies that are tried."""
    widths = sorted({max(1, width * n_features // 32) for width in WIDTHS_OF_32}, reverse=True)
    return [
        topology
        for depth in range(1, MOST_LAYERS + 1)
        for topology in itertools.combinations(widths, depth)
        if topology[0] < n_features or n_features == 1
    ]
