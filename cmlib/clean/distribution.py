"""How an event's values are distributed: Gaussian or with a long tail, and which tail fits."""

import math

import numba
import numpy as np
import pandas as pd

from cmlib.clean.families import FAMILIES, fit

# Critical value at 5 % with mean and deviation estimated (D'Agostino and Stephens 1986, Table 4.7, case 3).
_CRITICAL = 0.752


def distribution_kinds(frame):
    """Tell Gaussian events from long-tailed ones, and fit families of long tails."""
    rows = {name: _kind(_finite(frame[name].to_numpy(dtype=np.float64), name)) for name in frame}
    columns = ["samples", "kind", "best", "ad_gaussian", *(f"ad_{family}" for family in FAMILIES)]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.rename_axis("event")


def coverage(values, n_std):
    """Percent of an event's samples within Eq. 6's threshold (CounterMiner, Table I).

    Parameters
    ----------
    values : array_like of float
        Counts [events per interval]; NaN is left out.
    n_std : float > 0
        Standard deviations above the mean.

    Returns
    -------
    float
        0 to 100.

    Raises
    ------
    ValueError
        If fewer than 3 values are finite.
    """
    values = _finite(np.asarray(values, dtype=np.float64), "the series")
    return float((values <= values.mean() + n_std * values.std()).mean() * 100)


def is_gaussian(values):
    """Whether finite samples pass Anderson and Darling's test of a Gaussian at 5 %; a constant passes."""
    return len(values) == 0 or gaussian_statistic(np.ascontiguousarray(values, dtype=np.float64)) < _CRITICAL


@numba.njit(cache=True)
def gaussian_statistic(values):
    """Anderson-Darling statistic against a Gaussian of the samples' own mean and deviation."""
    n = len(values)
    ordered = np.sort(values)
    mean = ordered.mean()
    if ordered[0] == ordered[-1]:
        return 0.0
    scale = math.sqrt(((ordered - mean) ** 2).sum() / (n - 1)) * math.sqrt(2.0)
    total = 0.0
    for i in range(n):
        below = math.erfc((mean - ordered[i]) / scale) / 2
        above = math.erfc((ordered[n - 1 - i] - mean) / scale) / 2
        total += (2 * i + 1) * (math.log(max(below, 1e-300)) + math.log(max(above, 1e-300)))
    return (-n - total / n) * (1 + 0.75 / n + 2.25 / n**2)


def anderson_darling(cdf):
    """Anderson-Darling statistic from the fitted distribution function at the ordered samples."""
    n = len(cdf)
    cdf = np.clip(cdf, 1e-300, 1 - 1e-16)
    weights = 2 * np.arange(n) + 1
    return float(-n - (weights * (np.log(cdf) + np.log1p(-cdf[::-1]))).mean())


def _finite(values, name):
    values = values[np.isfinite(values)]
    if len(values) < 3:
        raise ValueError(f"{name} has {len(values)} values; a distribution needs at least 3")
    return values


def _kind(values):
    values = np.sort(values)
    if values[0] == values[-1]:
        return (len(values), "constant", "", 0.0, *(np.nan for _ in FAMILIES))
    gaussian = gaussian_statistic(values)
    statistics = {family: anderson_darling(fit(family, values)(values)) for family in FAMILIES}
    kind = "gaussian" if gaussian < _CRITICAL else "long-tail"
    best = min(statistics, key=statistics.get) if kind == "long-tail" else ""
    return (len(values), kind, best, gaussian, *statistics.values())
