"""Many small autoencoders trained at once: every topology and every start in one pass.

Models lie in one stack, the deepest first, so that the models with a layer `i` are always the first
``n_i``; layers of different widths are padded to the widest with weights held at zero. A layer of the whole
stack is then one matrix product, where single models would spend their time in overhead.
"""

import numpy as np


def train(x, topologies, seeds, *, epochs, batch_size, learning_rate, order_seed):
    """Train one tied-weight sigmoid autoencoder for each pair of topology and seed.

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
    order = sorted(range(len(topologies)), key=lambda model: -len(topologies[model]))
    parameters, masks = _starts(
        x.shape[1], [topologies[m] for m in order], [seeds[m] for m in order], x.dtype
    )
    adam = _Adam(parameters, learning_rate)
    rng = np.random.default_rng(order_seed)
    for _ in range(epochs):
        errors = _epoch(parameters, masks, adam, x, rng.permutation(len(x)), batch_size)
    places = np.argsort(order)
    models = [
        _cut_out(parameters, place, x.shape[1], topology)
        for place, topology in zip(places, topologies, strict=True)
    ]
    return models, errors[places]


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
    return _forward(parameters, x)[0]


def gradient(parameters, x):
    """Sum of squared errors of each model, and its derivative by every parameter.

    Parameters
    ----------
    parameters : list of ndarray
        As for `reconstruct`.
    x : ndarray, shape (n_samples, n_features)

    Returns
    -------
    losses : ndarray, shape (n_models,)
        Squared error summed over counters, averaged over samples.
    gradients : list of ndarray
        Shapes of `parameters`.
    """
    output, ups, downs = _forward(parameters, x)
    difference = output - x
    losses = np.einsum("msf,msf->m", difference, difference) / len(x)
    gradients = [None] * len(parameters)
    slope = 2 * difference / len(x)
    skipped = []
    for layer in range(len(parameters) // 3):
        weight = parameters[3 * layer]
        slope = slope * _sigmoid_slope(downs[layer])
        code = _code(ups, downs, layer)
        gradients[3 * layer] = np.matmul(slope.transpose(0, 2, 1), code)
        gradients[3 * layer + 2] = slope.sum(axis=1, keepdims=True)
        slope = np.matmul(slope, weight)
        deeper = len(downs[layer + 1]) if layer + 1 < len(downs) else 0
        skipped.append(slope[deeper:])
        slope = slope[:deeper]
    for layer in reversed(range(len(parameters) // 3)):
        slope = np.concatenate([slope, skipped[layer]]) * _sigmoid_slope(ups[layer + 1])
        below = ups[layer][: len(slope)] if layer else x[None]
        gradients[3 * layer] += np.matmul(below.transpose(0, 2, 1), slope)
        gradients[3 * layer + 1] = slope.sum(axis=1, keepdims=True)
        slope = np.matmul(slope, parameters[3 * layer].transpose(0, 2, 1))
    return losses, gradients


def _epoch(parameters, masks, adam, x, order, batch_size):
    total = 0.0
    for first in range(0, len(order), batch_size):
        batch = order[first : first + batch_size]
        losses, gradients = gradient(parameters, x[batch])
        for slope, mask in zip(gradients[::3], masks, strict=True):
            slope *= mask
        adam.step(parameters, gradients)
        total = total + losses * len(batch)
    return total / len(order)


def _forward(parameters, x):
    """Activations: `ups[i]` enters layer i on the way in, `downs[i]` leaves it on the way out."""
    ups, downs = [x[None]], [None] * (len(parameters) // 3)
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
    return 0.5 * np.tanh(0.5 * z) + 0.5


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


def _cut_out(parameters, model, n_features, topology):
    widths = (n_features, *topology)
    layers = []
    for layer, (n_in, n_out) in enumerate(zip(widths, widths[1:], strict=False)):
        weight, bias, back_bias = (array[model] for array in parameters[3 * layer : 3 * layer + 3])
        layers.append((weight[:n_in, :n_out].copy(), bias[0, :n_out].copy(), back_bias[0, :n_in].copy()))
    return layers


class _Adam:
    """Adam (Kingma and Ba 2015) on a list of arrays, in place."""

    def __init__(self, parameters, learning_rate):
        self._learning_rate = learning_rate
        self._means = [np.zeros_like(parameter) for parameter in parameters]
        self._squares = [np.zeros_like(parameter) for parameter in parameters]
        self._steps = 0

    def step(self, parameters, slopes):
        self._steps += 1
        rate = self._learning_rate * (1 - 0.999**self._steps) ** 0.5 / (1 - 0.9**self._steps)
        for parameter, slope, mean, square in zip(
            parameters, slopes, self._means, self._squares, strict=True
        ):
            mean += 0.1 * (slope - mean)
            square += 0.001 * (slope * slope - square)
            parameter -= rate * mean / (np.sqrt(square) + 1e-8)
