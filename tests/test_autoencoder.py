"""Autoencoders: their definition, their gradient, and what they must learn."""

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import check_estimator

from cmlib.anomaly import network
from cmlib.anomaly.autoencoder import Autoencoder, search_space
from cmlib.report import paper
from tests.naive import anomaly as naive

TOPOLOGIES = [(4, 2), (5,), (6, 3, 2), (5, 3)]


def noisy_line(n, width, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, width)) + rng.normal(0, 0.05, (n, width))


def doubled(layers):
    """In double precision."""
    return [[array.astype(float) for array in layer] for layer in layers]


def gradient(layers, x):
    """Mean loss of a batch and its derivative by every parameter, as the compiled loop has them."""
    widths = np.array([x.shape[1], *(len(bias) for _, bias, _ in layers)])
    model = np.concatenate([array.ravel() for layer in layers for array in layer]).astype(np.float32)
    gradient, buffers = np.empty_like(model), network._allocate_buffers(widths, len(x))
    buffers[0][0] = x.T
    loss = network._compute_gradient(model, widths, len(x), *buffers, gradient)
    return loss / len(x), network._split_layers(gradient, widths)


def trained(x, topologies, *, epochs=3):
    return network.train(
        x, topologies, [(7, i) for i in range(len(topologies))], epochs=epochs, batch_size=16,
        learning_rate=0.01, order_seed=1,
    )  # fmt: skip


@given(st.integers(0, 10**6))
def test_reconstruction_neuron_by_neuron(seed):
    x = np.random.default_rng(seed).random((40, 8))
    models, errors = trained(x, TOPOLOGIES)
    assert np.isfinite(errors).all()
    for layers, topology in zip(models, TOPOLOGIES, strict=True):
        assert [weight.shape[1] for weight, _, _ in layers] == list(topology)
        layers = doubled(layers)
        fast = network.reconstruct(layers, x[:3])
        npt.assert_allclose(fast, [naive.reconstruct(layers, sample) for sample in x[:3]], rtol=1e-10)


def test_gradient_is_the_numerical_one():
    x = np.random.default_rng(5).random((12, 7))
    layers = trained(x, [(4, 2)])[0][0]
    loss, slopes = gradient(layers, x)
    exact = doubled(layers)
    assert loss == pytest.approx(naive.loss(exact, x), rel=1e-5)
    for layer, slope_of_layer in zip(exact, slopes, strict=True):
        for array, slope in zip(layer, slope_of_layer, strict=True):
            for place in np.ndindex(array.shape):
                kept = array[place]
                ends = []
                for moved in (kept + 1e-6, kept - 1e-6):
                    array[place] = moved
                    ends.append(naive.loss(exact, x))
                array[place] = kept
                assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(slope[place], rel=1e-4, abs=1e-6)


def test_scikit_learn_accepts_the_estimator():
    results = check_estimator(Autoencoder(n_starts=1, epochs=3, random_state=0), on_skip=None)
    assert sum(result["status"] == "passed" for result in results) > 20


def test_adam_learns_where_plain_descent_would_not():
    X = noisy_line(400, 12)
    model = Autoencoder(n_starts=2, random_state=0).fit(X)
    mean_alone = (0.8 * (X - X.mean(axis=0)) / model.range_) ** 2
    assert -model.score_samples(X).mean() < 0.1 * mean_alone.sum(axis=1).mean()
    best = model.search_.loc[model.search_["error"].idxmin()]
    assert best["epochs"] == 100 and best["topology"] == model.topology_


def test_a_sample_off_the_learned_plane_stands_out_by_its_counter():
    X = noisy_line(400, 12)
    model = Autoencoder(n_starts=2, random_state=0).fit(X)
    odd = X[:20].copy()
    odd[:, 4] += 3 * np.ptp(X[:, 4])
    assert (model.score_samples(odd) < model.score_samples(X).min()).all()
    assert (model.squared_errors(odd).argmax(axis=1) == 4).all()


@given(st.floats(1e-3, 1e3))
def test_the_unit_of_counters_changes_no_error(factor):
    X = noisy_line(60, 6)
    plain = Autoencoder(topologies=[(3,)], n_starts=1, epochs=4, random_state=1).fit(X)
    scaled = Autoencoder(topologies=[(3,)], n_starts=1, epochs=4, random_state=1).fit(X * factor)
    npt.assert_allclose(scaled.squared_errors(X * factor), plain.squared_errors(X), rtol=2e-3, atol=1e-6)
    npt.assert_allclose(
        scaled.reconstruct(X * factor), plain.reconstruct(X) * factor, rtol=2e-3, atol=factor * 1e-3
    )


def test_a_counter_that_never_moved_does_not_shout():
    X = noisy_line(100, 6)
    X[:, 2] = 0.0
    model = Autoencoder(topologies=[(3,)], n_starts=1, epochs=20, smallest_range=1e-3, random_state=0).fit(X)
    nudged = X.copy()
    nudged[:, 2] = 1e-6
    npt.assert_allclose(model.score_samples(nudged), model.score_samples(X), rtol=0.05)


def test_all_topologies_of_table_3_can_be_reached():
    selected = [tuple(hidden[: len(hidden) // 2 + 1]) for hidden, _ in paper("autoperf")["table3"].values()]
    space = search_space(32)
    assert set(selected) <= set(space) and len(space) == 385 == len(set(space))
    assert search_space(1) == [(1,)]
    assert all(topology[0] < 3 for topology in search_space(3))


def test_what_leaves_the_search_early_is_not_chosen():
    X = noisy_line(150, 12)
    model = Autoencoder(n_starts=2, epochs=20, trial_steps=3, finalists=5, random_state=0).fit(X)
    search = model.search_
    final = search[search["epochs"] == 20]
    assert len(search) == 2 * len(search_space(12)) and set(search["epochs"]) == {0, 2, 20}
    assert len(final) == 10 and final["topology"].nunique() == 5
    assert model.topology_ == final.loc[final["error"].idxmin(), "topology"]
    # The second round begins anew: the same as if nothing else had been tried.
    row = final.index[-1]
    alone = Autoencoder(topologies=[search["topology"][row]], n_starts=2, epochs=20, random_state=0).fit(X)
    start = search["start"][row]
    assert alone.search_["error"][start] == pytest.approx(search["error"][row], rel=1e-4)


def test_a_topology_that_widens_is_refused():
    with pytest.raises(ValueError, match="narrower"):
        Autoencoder(topologies=[(3, 3)]).fit(np.eye(6))
    # What the search finds for a single counter may be asked for again.
    assert Autoencoder(topologies=search_space(1), epochs=1).fit(np.ones((4, 1))).topology_ == (1,)
