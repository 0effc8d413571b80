"""Many small autoencoders trained at once: topologies and starts on the same samples, or one topology on many sets.

Models lie in one stack, the deepest first, so that the models with a layer `i` are always the first
``n_i``; layers of different widths are padded to the widest with weights held at zero. A layer of the whole
stack is then one matrix product, where single models would spend their time in overhead. With samples of
their own, those with the most come first, so that the models with a batch `b` are the first as well.
"""

import numpy as np

_AT_ONCE = 48  # models in a stack: what fits into a processor's cache


def train(x, topologies, seeds, *, epochs, batch_size, learning_rate, order_seed):
    """Train one tied-weight sigmoid autoencoder for each pair of topology and seed, on the same samples.

    Loss is the squared reconstruction error of a sample, summed over its counters and averaged over the
    batch (AutoPerf, §3.3); optimizer is Adam.

    Parameters
    ----------
    x : ndarray of float, shape (n_samples, n_features)
        Scaled to [0, 1]. Never modified.
    topologies : sequence of tuple of int
        Widths of the encoding layers, input excluded, strictly falling: (10, 6) is 32-10-6-10-32.
    seeds : sequence of seeds for `numpy.random.default_rng`, same length
        Start of each model: the same topology and seed start alike whatever else is in the stack.
    epochs, batch_size : int
    learning_rate : float
    order_seed : int
        Seed of the order in which samples are visited, common to all models.

    Returns
    -------
    models : list of (list of layers)
        In the order given; a layer is (weight (in, out), bias (out,), back_bias (in,)).
    errors : ndarray of float, shape (n_models,)
        Mean reconstruction error over the last epoch.
    """

    def trained(chosen):
        stack = _Stack(x, [topologies[m] for m in chosen], [seeds[m] for m in chosen], learning_rate)
        rng = np.random.default_rng(order_seed)
        for _ in range(epochs):
            total, order = 0.0, rng.permutation(len(x))
            for first in range(0, len(x), batch_size):
                batch = x[order[first : first + batch_size]][None]
                total = total + stack.step(batch, 1 / batch.shape[1]) * batch.shape[1]
        return stack.models(), total / len(x)

    return _in_stacks(trained, sorted(range(len(topologies)), key=lambda model: -len(topologies[model])))


def train_each(samples, topology, seeds, *, epochs, batch_size, learning_rate, order_seed):
    """Train autoencoders of one topology, each on samples of its own, as `train` would one by one.

    Parameters
    ----------
    samples : sequence of ndarray of float, each of shape (n_samples, n_features)
        Scaled to [0, 1]; n_samples may differ.
    topology : tuple of int
    seeds : sequence of seeds, one a model
    epochs, batch_size, learning_rate, order_seed
        As for `train`.

    Returns
    -------
    models, errors
        As from `train`, in the order given.
    """
    sizes = np.array([len(own) for own in samples])

    def trained(chosen):
        own = sizes[chosen]
        pool, offsets = np.concatenate([samples[m] for m in chosen]), np.cumsum(own) - own
        stack = _Stack(pool, [topology] * len(chosen), [seeds[m] for m in chosen], learning_rate)
        rngs = {size: np.random.default_rng(order_seed) for size in own}
        for _ in range(epochs):
            order = {size: np.resize(rng.permutation(size), own[0]) for size, rng in rngs.items()}
            rows = np.stack([offset + order[size] for offset, size in zip(offsets, own, strict=True)])
            total = np.zeros(len(own))
            for first in range(0, own[0], batch_size):
                counts = np.minimum(own[own > first] - first, batch_size)
                batch = pool[rows[: len(counts), first : first + counts[0]]]
                # Rows beyond a model's own weigh nothing.
                weights = (np.arange(counts[0]) < counts[:, None]) / counts[:, None]
                losses = stack.step(batch, weights[:, :, None].astype(pool.dtype), len(batch))
                total[: len(counts)] += losses * counts
        return stack.models(), total / own

    return _in_stacks(trained, sorted(range(len(samples)), key=lambda model: -sizes[model]))


def reconstruct(parameters, x):
    """Send samples through the stack and back.

    Parameters
    ----------
    parameters : list of ndarray
        ``[weight, bias, back_bias]`` of each layer in turn, shapes (n_i, in, out), (n_i, 1, out), (n_i, 1,
        in).
    x : ndarray, shape (n_samples, n_features)

    Returns
    -------
    ndarray of float, shape (n_models, n_samples, n_features)
    """
    return _forward(parameters, x[None])[0]


def gradient(parameters, x, weights):
    """Weighted sum of squared errors of each model, and its derivative by every parameter.

    Parameters
    ----------
    parameters : list of ndarray
        As for `reconstruct`.
    x : ndarray, shape (1 or n_models, n_samples, n_features)
    weights : float, or ndarray of shape (n_models, n_samples, 1)
        Of each sample.

    Returns
    -------
    losses : ndarray, shape (n_models,)
        Squared error summed over counters, weighted sum over samples.
    gradients : list of ndarray
        Shapes of `parameters`.
    """
    output, ups, downs = _forward(parameters, x)
    difference = output - x
    slope = difference * weights
    losses = np.einsum("msf,msf->m", difference, slope)
    slope *= 2
    gradients = [None] * len(parameters)
    skipped = []
    for layer in range(len(parameters) // 3):
        weight = parameters[3 * layer]
        slope *= _sigmoid_slope(downs[layer])
        code = _code(ups, downs, layer)
        gradients[3 * layer] = np.matmul(slope.transpose(0, 2, 1), code)
        gradients[3 * layer + 2] = slope.sum(axis=1, keepdims=True)
        slope = np.matmul(slope, weight)
        deeper = len(downs[layer + 1]) if layer + 1 < len(downs) else 0
        skipped.append(slope[deeper:])
        slope = slope[:deeper]
    for layer in reversed(range(len(parameters) // 3)):
        slope = np.concatenate([slope, skipped[layer]]) * _sigmoid_slope(ups[layer + 1])
        below = ups[layer][: len(slope)] if layer else x
        gradients[3 * layer] += np.matmul(below.transpose(0, 2, 1), slope)
        gradients[3 * layer + 1] = slope.sum(axis=1, keepdims=True)
        slope = np.matmul(slope, parameters[3 * layer].transpose(0, 2, 1))
    return losses, gradients


class _Stack:
    """Parameters of models, the deepest first, and what Adam (Kingma and Ba 2015) remembers of them."""

    def __init__(self, x, topologies, seeds, learning_rate):
        self._n_features, self._topologies = x.shape[1], topologies
        self._parameters, self._masks = _starts(x.shape[1], topologies, seeds, x.dtype)
        self._means = [np.zeros_like(parameter) for parameter in self._parameters]
        self._squares = [np.zeros_like(parameter) for parameter in self._parameters]
        self._learning_rate, self._steps = learning_rate, np.zeros(len(topologies))

    def step(self, x, weights, n=None):
        """Descend by a batch, the first `n` models only or all of them: losses of these."""
        n = n or len(self._topologies)
        first, means, squares = (
            [array[:n] for array in arrays] for arrays in (self._parameters, self._means, self._squares)
        )
        losses, slopes = gradient(first, x, weights)
        for slope, mask in zip(slopes[::3], self._masks, strict=True):
            slope *= mask[:n]
        self._steps[:n] += 1
        steps = self._steps[:n, None, None]
        rates = self._learning_rate * np.sqrt(1 - 0.999**steps) / (1 - 0.9**steps)
        rates = rates.astype(x.dtype)
        for parameter, slope, mean, square in zip(first, slopes, means, squares, strict=True):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            parameter -= rates[: len(parameter)] * mean / (np.sqrt(square) + 1e-8)
        return losses

    def models(self):
        """Layers of each model, without the padding."""
        models = []
        for model, topology in enumerate(self._topologies):
            widths = (self._n_features, *topology)
            layers = []
            for layer, (n_in, n_out) in enumerate(zip(widths, widths[1:], strict=False)):
                weight, bias, back = (array[model] for array in self._parameters[3 * layer : 3 * layer + 3])
                layers.append((weight[:n_in, :n_out].copy(), bias[0, :n_out].copy(), back[0, :n_in].copy()))
            models.append(layers)
        return models


def _in_stacks(trained, order):
    """Models and errors in the order they were asked for, trained some at a time."""
    parts = -(-len(order) // _AT_ONCE)
    chunks = [chunk.tolist() for chunk in np.array_split(order, parts)]
    models, errors = zip(*map(trained, chunks), strict=True)
    models, places = [model for part in models for model in part], np.argsort(order)
    return [models[place] for place in places], np.concatenate(errors)[places]


def _forward(parameters, x):
    """Activations: `ups[i]` enters layer i on the way in, `downs[i]` leaves it on the way out."""
    ups, downs = [x], [None] * (len(parameters) // 3)
    for layer in range(len(downs)):
        weight, bias, _ = parameters[3 * layer : 3 * layer + 3]
        below = ups[layer][: len(weight)] if layer else ups[0]
        ups.append(_sigmoid(np.matmul(below, weight) + bias))
    for layer in reversed(range(len(downs))):
        weight, _, back_bias = parameters[3 * layer : 3 * layer + 3]
        downs[layer] = _sigmoid(np.matmul(_code(ups, downs, layer), weight.transpose(0, 2, 1)) + back_bias)
    return downs[0], ups, downs


def _code(ups, downs, layer):
    """What enters `layer` on the way out: from the deeper layer, or this one's own code where it is the last."""
    if layer + 1 == len(downs):
        return ups[layer + 1]
    deeper = downs[layer + 1]
    return np.concatenate([deeper, ups[layer + 1][len(deeper) :]])


def _sigmoid(z):
    """In place of its argument."""
    z *= 0.5
    np.tanh(z, out=z)
    z *= 0.5
    z += 0.5
    return z


def _sigmoid_slope(activation):
    return activation * (1 - activation)


def _starts(n_features, topologies, seeds, dtype):
    """Glorot-uniform weights (four times as wide, as sigmoids need), zero biases, and masks of what is real."""
    rngs = [np.random.default_rng(seed) for seed in seeds]
    parameters, masks, entering = [], [], n_features
    for layer in range(max(len(topology) for topology in topologies)):
        held = [topology for topology in topologies if len(topology) > layer]
        inputs = [topology[layer - 1] if layer else n_features for topology in held]
        outputs = [topology[layer] for topology in held]
        weight = np.zeros((len(held), entering, max(outputs)), dtype=dtype)
        mask = np.zeros_like(weight)
        for model, (n_in, n_out) in enumerate(zip(inputs, outputs, strict=True)):
            limit = 4 * np.sqrt(6 / (n_in + n_out))
            weight[model, :n_in, :n_out] = rngs[model].uniform(-limit, limit, (n_in, n_out))
            mask[model, :n_in, :n_out] = 1
        biases = [np.zeros((len(held), 1, width), dtype=dtype) for width in (max(outputs), entering)]
        parameters += [weight, *biases]
        masks.append(mask)
        entering = max(outputs)
    return parameters, masks
