"""Train small sigmoid autoencoders with tied weights, in compiled loops.

:func:`train` trains models on scaled samples, and :func:`reconstruct` applies a model. In the loops, a model is one
array. It contains for each layer the weights (n_in, n_out), the biases (n_out,) and the biases of the decoder (n_in,).
Samples of a batch are along the last axis, because loops over them are vectorized. Inputs are checked by `Autoencoder`.
"""

import numba
import numpy as np
from scipy.special import expit

# Values are never NaN, and sums may be computed in any order. Without these assumptions, loops are not vectorized.
_compiled = numba.njit(
    cache=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz", "arcp", "nnan", "ninf"}
)


def train(x, topologies, seeds, *, epochs, batch_size, learning_rate, order_seed):
    """Train an autoencoder for each pair of topology and seed, on the same samples.

    Parameters
    ----------
    x : ndarray, shape (n_samples, n_features)
        Samples, scaled to 0-1.
    topologies : list of tuple of int, length n_models
        Widths of the encoding layers without the input.
    seeds : list, length n_models
        Seeds of the initial weights.
    epochs : int
        Passes over the samples.
    batch_size : int
        Samples per change of the weights.
    learning_rate : float
        Learning rate of Adam.
    order_seed : int
        Seed of the order of the samples.

    Returns
    -------
    models : list of list of (weight (n_in, n_out), bias (n_out,), back_bias (n_in,))
        Layers of each model.
    errors : ndarray, shape (n_models,)
        Mean reconstruction error in the last epoch: squared, and summed over features.
    """
    x = np.ascontiguousarray(x, dtype=np.float32)
    rng = np.random.default_rng(order_seed)
    orders = np.stack([rng.permutation(len(x)) for _ in range(epochs)])
    models, errors = [], np.empty(len(topologies))
    for place, (topology, seed) in enumerate(zip(topologies, seeds, strict=True)):
        widths = np.array((x.shape[1], *topology))
        model = _make_model(widths, seed)
        errors[place] = _train_epochs(model, widths, x, orders, batch_size, learning_rate)
        models.append(_split_layers(model, widths))
    return models, errors


def reconstruct(layers, x):
    """Encode and decode samples.

    Parameters
    ----------
    layers : list of (weight (n_in, n_out), bias (n_out,), back_bias (n_in,))
        Encoding layers. The decoder has the transposed weights and `back_bias`.
    x : ndarray, shape (n_samples, n_features)
        Scaled samples.

    Returns
    -------
    ndarray of float, shape (n_samples, n_features)
        Reconstructed samples, between 0 and 1.
    """
    for weight, bias, _ in layers:
        x = expit(x @ weight + bias)
    for weight, _, back_bias in reversed(layers):
        x = expit(x @ weight.T + back_bias)
    return x


def _make_model(widths, seed):
    """Make a model with zero biases and uniform random weights (four times Glorot's range, as usual for sigmoids)."""
    rng, parts = np.random.default_rng(seed), []
    for n_in, n_out in zip(widths, widths[1:], strict=False):
        limit = 4 * np.sqrt(6 / (n_in + n_out))
        parts += [rng.uniform(-limit, limit, n_in * n_out), np.zeros(n_out + n_in)]
    return np.concatenate(parts).astype(np.float32)


def _split_layers(model, widths):
    """Split a model into the list of layers that :func:`reconstruct` takes."""
    layers, first = [], 0
    for n_in, n_out in zip(widths, widths[1:], strict=False):
        weight, bias, back_bias, _ = np.split(model[first:], np.cumsum([n_in * n_out, n_out, n_in]))
        layers.append((weight.reshape(n_in, n_out), bias, back_bias))
        first += n_in * n_out + n_out + n_in
    return layers


@_compiled
def _allocate_buffers(widths, batch_size):
    """Allocate activations of encoder and decoder, (n_layers, n_features, batch_size), and two gradients."""
    shape = (len(widths), widths[0], batch_size)
    activations = np.empty(shape, np.float32), np.empty(shape, np.float32)
    return *activations, np.empty(shape[1:], np.float32), np.empty(shape[1:], np.float32)


@_compiled
def _train_epochs(model, widths, x, orders, batch_size, learning_rate):
    """Train a model in place by Adam; return its mean error over the last epoch."""
    encoded, decoded, grad, grad_next = _allocate_buffers(widths, batch_size)
    gradient, means, squares = np.empty_like(model), np.zeros_like(model), np.zeros_like(model)
    n_steps, total = 0, 0.0
    for order in orders:
        total = 0.0
        for first in range(0, len(x), batch_size):
            rows = order[first : first + batch_size]
            _copy_samples(x, rows, encoded[0])
            total += _compute_gradient(model, widths, len(rows), encoded, decoded, grad, grad_next, gradient)
            n_steps += 1
            _update_weights(model, gradient, means, squares, n_steps, learning_rate)
    return total / len(x)


@_compiled
def _copy_samples(x, rows, batch):
    """Copy some rows of `x` to the columns of `batch`."""
    for sample in range(len(rows)):
        for feature in range(x.shape[1]):
            batch[feature, sample] = x[rows[sample], feature]


@_compiled
def _update_weights(model, gradient, means, squares, n_steps, learning_rate):
    """Change the weights by one step of Adam, and its moving averages of the gradient and of its square."""
    rate = np.float32(learning_rate * np.sqrt(1 - 0.999**n_steps) / (1 - 0.9**n_steps))
    for k in range(len(model)):
        means[k] += np.float32(0.1) * (gradient[k] - means[k])
        squares[k] += np.float32(0.001) * (gradient[k] * gradient[k] - squares[k])
        model[k] -= rate * means[k] / (np.sqrt(squares[k]) + np.float32(1e-8))


@_compiled
def _compute_gradient(model, widths, count, encoded, decoded, grad, grad_next, gradient):
    """Write the derivative of the mean loss by the weights to `gradient`; return the summed loss."""
    starts = _find_layers(widths)
    _encode(model, widths, starts, encoded, count)
    decoded[-1] = encoded[-1]
    _decode(model, widths, starts, decoded, count)
    loss = _compute_loss(encoded[0], decoded[0], widths[0], count, grad)
    grad, grad_next = _differentiate_decoder(model, widths, starts, decoded, count, grad, grad_next, gradient)
    _differentiate_encoder(model, widths, starts, encoded, count, grad, grad_next, gradient)
    return loss


@_compiled
def _find_layers(widths):
    """Return the position of the first weight of each layer in a model."""
    starts = np.zeros(len(widths), np.int64)
    for layer in range(len(widths) - 1):
        n_in, n_out = widths[layer], widths[layer + 1]
        starts[layer + 1] = starts[layer] + n_in * n_out + n_out + n_in
    return starts


@_compiled
def _encode(model, widths, starts, encoded, count):
    """Compute the activations of all encoding layers from those of the input, `encoded[0]`."""
    for layer in range(len(widths) - 1):
        n_in, n_out, weight = widths[layer], widths[layer + 1], model[starts[layer] :]
        _multiply(weight, n_in, n_out, n_out, 1, encoded[layer], encoded[layer + 1], count)
        _activate(encoded[layer + 1], weight[n_in * n_out :], n_out, count)


@_compiled
def _decode(model, widths, starts, decoded, count):
    """Compute the activations of all decoding layers from those of the innermost layer, `decoded[-1]`."""
    for layer in range(len(widths) - 2, -1, -1):
        n_in, n_out, weight = widths[layer], widths[layer + 1], model[starts[layer] :]
        _multiply(weight, n_out, n_in, 1, n_out, decoded[layer + 1], decoded[layer], count)
        _activate(decoded[layer], weight[n_in * n_out + n_out :], n_in, count)


@_compiled
def _compute_loss(x, reconstructed, n_features, count, grad):
    """Return the summed squared error; write its derivative by the reconstruction, per sample, to `grad`."""
    loss, weight = np.float32(0), np.float32(2.0 / count)
    for feature in range(n_features):
        for sample in range(count):
            difference = reconstructed[feature, sample] - x[feature, sample]
            loss += difference * difference
            grad[feature, sample] = weight * difference
    return loss


@_compiled
def _differentiate_decoder(model, widths, starts, decoded, count, grad, grad_next, gradient):
    """Write the derivatives by the decoder to `gradient`.

    Returns the array with the derivative by the innermost layer, and the other buffer.
    """
    for layer in range(len(widths) - 1):
        n_in, n_out, start = widths[layer], widths[layer + 1], starts[layer]
        _propagate_back(grad, decoded[layer], gradient[start + n_in * n_out + n_out :], n_in, count)
        gradient[start : start + n_in * n_out] = 0
        _add_products(grad, n_in, decoded[layer + 1], n_out, gradient[start:], count)
        _multiply(model[start:], n_in, n_out, n_out, 1, grad, grad_next, count)
        grad, grad_next = grad_next, grad
    return grad, grad_next


@_compiled
def _differentiate_encoder(model, widths, starts, encoded, count, grad, grad_next, gradient):
    """Add the derivatives by the encoder to `gradient`, because encoder and decoder have the same weights."""
    for layer in range(len(widths) - 2, -1, -1):
        n_in, n_out, start = widths[layer], widths[layer + 1], starts[layer]
        _propagate_back(grad, encoded[layer + 1], gradient[start + n_in * n_out :], n_out, count)
        _add_products(encoded[layer], n_in, grad, n_out, gradient[start:], count)
        if layer:
            _multiply(model[start:], n_out, n_in, 1, n_out, grad, grad_next, count)
            grad, grad_next = grad_next, grad


@_compiled
def _multiply(weight, n_from, n_to, from_step, to_step, x, z, count):
    """Write ``z[j] = sum over i of weight[i * from_step + j * to_step] * x[i]``.

    It is the product with a matrix or with its transpose, depending on the steps.
    """
    for j in range(n_to):
        for s in range(count):
            z[j, s] = 0
        for i in range(n_from):
            factor = weight[i * from_step + j * to_step]
            for s in range(count):
                z[j, s] += factor * x[i, s]


@_compiled
def _add_products(x, n_x, y, n_y, gradient, count):
    """Add ``x[i] @ y[j]`` to the gradient of each weight (i, j)."""
    for i in range(n_x):
        for j in range(n_y):
            total = np.float32(0)
            for s in range(count):
                total += x[i, s] * y[j, s]
            gradient[i * n_y + j] += total


@_compiled
def _propagate_back(grad, activation, gradient, n, count):
    """Propagate a gradient back through a sigmoid, in place.

    At first `grad` is the derivative by the output of the sigmoid, afterwards by its input. The sums over the samples
    are the derivative by the biases and are written to `gradient`.
    """
    for i in range(n):
        total = np.float32(0)
        for s in range(count):
            grad[i, s] *= activation[i, s] * (np.float32(1) - activation[i, s])
            total += grad[i, s]
        gradient[i] = total


@_compiled
def _activate(z, bias, n, count):
    """Add biases and apply the sigmoid, in place, by a rational approximation of tanh in single precision."""
    for i in range(n):
        for s in range(count):
            x = min(max(np.float32(0.5) * (z[i, s] + bias[i]), np.float32(-7.9)), np.float32(7.9))
            q = x * x
            numerator = np.float32(-2.76076847742355e-16)
            numerator = numerator * q + np.float32(2.00018790482477e-13)
            numerator = numerator * q + np.float32(-8.60467152213735e-11)
            numerator = numerator * q + np.float32(5.12229709037114e-08)
            numerator = numerator * q + np.float32(1.48572235717979e-05)
            numerator = numerator * q + np.float32(6.37261928875436e-04)
            numerator = numerator * q + np.float32(4.89352455891786e-03)
            denominator = np.float32(1.19825839466702e-06)
            denominator = denominator * q + np.float32(1.18534705686654e-04)
            denominator = denominator * q + np.float32(2.26843463243900e-03)
            denominator = denominator * q + np.float32(4.89352518554385e-03)
            z[i, s] = np.float32(0.5) * (x * numerator / denominator) + np.float32(0.5)
