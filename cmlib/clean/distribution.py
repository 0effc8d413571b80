"""The distribution of an event's values: Gaussian or with a long tail, and which tail fits."""

import math

import numba
import numpy as np
import pandas as pd
from scipy import optimize, stats

# Critical value at 5 % with mean and deviation estimated (D'Agostino and Stephens 1986, Table 4.7, case 3).
_CRITICAL = 0.752
FAMILIES = ("gumbel", "logistic", "gev")


def distribution_kinds(frame):
    """Tell which distribution each event's values have: Gaussian or with a long tail (CounterMiner, §III-B).

    Parameters
    ----------
    frame : DataFrame of float, shape (n_intervals, n_events)
        Counts [events per interval]; NaN is left out.

    Returns
    -------
    DataFrame
        A row an event: samples, kind (``gaussian``, ``long-tail`` or ``constant``), best (the family of long tails
        that fits best), ``ad_gaussian`` and ``ad_…`` of each family (Anderson and Darling's statistic; the smaller the
        better).
    """
    rows = {name: _kind(frame[name].to_numpy(dtype=np.float64), name) for name in frame}
    columns = ["samples", "kind", "best", "ad_gaussian", *(f"ad_{family}" for family in FAMILIES)]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.rename_axis("event")


def is_gaussian(values):
    """Whether finite samples pass Anderson and Darling's test of a Gaussian at 5 %; a constant passes."""
    return len(values) == 0 or gaussian_statistic(values) < _CRITICAL


@numba.njit(cache=True)
def gaussian_statistic(values):
    """Anderson-Darling statistic against a Gaussian of the samples' own mean and deviation.

    Compiled, as a run is tested event by event: SciPy takes longer for its calls than for the samples.
    """
    n, ordered = len(values), np.sort(values)
    if ordered[0] == ordered[-1]:
        return 0.0
    mean = ordered.mean()
    width = math.sqrt(2 * ((ordered - mean) ** 2).sum() / (n - 1))
    total = 0.0
    for i in range(n):
        below = math.erfc((mean - ordered[i]) / width) / 2
        above = math.erfc((ordered[n - 1 - i] - mean) / width) / 2
        total += (2 * i + 1) * (math.log(max(below, 1e-300)) + math.log(max(above, 1e-300)))
    return (-n - total / n) * (1 + 0.75 / n + 2.25 / n**2)


def _kind(values, name):
    values = np.sort(values[np.isfinite(values)])
    if len(values) < 3:
        raise ValueError(f"{name} has {len(values)} values; a distribution needs at least 3")
    if values[0] == values[-1]:
        return (len(values), "constant", "", 0.0, *(np.nan for _ in FAMILIES))
    gaussian, fitted = gaussian_statistic(values), {family: fit(family, values) for family in FAMILIES}
    n, weights, statistics = len(values), 2 * np.arange(len(values)) + 1, {}
    for family, drawn in fitted.items():
        below = np.clip(drawn.cdf(values), 1e-300, 1 - 1e-16)
        statistics[family] = float(-n - (weights * (np.log(below) + np.log1p(-below[::-1]))).mean())
    kind = "gaussian" if gaussian < _CRITICAL else "long-tail"
    best = min(statistics, key=statistics.get) if kind == "long-tail" else ""
    return (len(values), kind, best, gaussian, *statistics.values())


def fit(family, values):
    """Fit a family to samples by maximum likelihood: a frozen distribution of SciPy.

    Nelder and Mead's search starts from L-moments, which SciPy's own does not; a Gumbel distribution is the generalized
    extreme-value distribution of shape 0.
    """
    centre, width = np.median(values), values.std()
    x = (values - centre) / width
    l1, l2, l3 = stats.lmoment(x, order=[1, 2, 3])
    if family == "logistic":
        location, scale = _minimize(_logistic_cost, x, (l1, l2))
        return stats.logistic(centre + width * location, width * scale)
    spread = l2 / math.log(2)
    location, scale = _minimize(_gev_cost, x, (l1 - np.euler_gamma * spread, spread))
    shape = 0.0
    if family == "gev":
        location, scale, shape = _minimize(_gev_cost, x, _gev_start(l1, l2, l3), (location, scale, 1e-3))
    return stats.genextreme(shape, centre + width * location, width * scale)


def _minimize(cost, x, *starts):
    tries = [
        optimize.minimize(lambda p: cost(p, x), _feasible_start(cost, x, start), method="Nelder-Mead")
        for start in starts
    ]
    return min(tries, key=lambda result: result.fun).x


def _feasible_start(cost, x, start):
    """Widen the scale, and draw a shape towards Gumbel's, until no sample is impossible."""
    start = np.array(start)
    while not np.isfinite(cost(start, x)):
        start[1] *= 2
        start[2:] /= 2
    return start


def _gev_start(l1, l2, l3):
    """Hosking's approximation; the shape has SciPy's sign: below 0 for a heavy upper tail."""
    c = 2 / (3 + l3 / l2) - math.log(2) / math.log(3)
    shape = np.clip(7.8590 * c + 2.9554 * c**2, -0.9, 0.9) or 1e-6
    gamma = math.gamma(1 + shape)
    scale = l2 * shape / ((1 - 2**-shape) * gamma)
    return l1 - scale * (1 - gamma) / shape, scale, shape


@numba.njit(cache=True)
def _logistic_cost(p, x):
    if p[1] <= 0:
        return np.inf
    z = np.abs(x - p[0]) / p[1]
    return len(x) * math.log(p[1]) + (z + 2 * np.log1p(np.exp(-z))).sum()


@numba.njit(cache=True)
def _gev_cost(p, x):
    """Minus log likelihood; the shape, 0 where none is given, stays below 1, where the likelihood has no bound."""
    shape = p[2] if len(p) > 2 else 0.0
    if p[1] <= 0 or shape >= 1:
        return np.inf
    total = len(x) * math.log(p[1])
    for value in x:
        z = (value - p[0]) / p[1]
        if abs(shape) > 1e-8:
            inside = 1 - shape * z
            if inside <= 0:
                return np.inf
            z = -math.log(inside) / shape
        total += (1 - shape) * z + math.exp(-z)
    return total
