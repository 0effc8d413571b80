"""CounterMiner's cleaning of one series: outliers replaced, missing samples filled (§III-B)."""

import numpy as np

from cmlib.clean.distribution import is_gaussian
from cmlib.clean.missing import fill_missing, missing_samples
from cmlib.clean.outliers import replace_outliers


def clean_counterminer(values, running, *, n_gaussian=3.0, n_long_tail=5.0, k=5, true_zero_max=0.01):
    """Replace outliers and fill missing samples; `running` tells which are missing and which exact."""
    missing = missing_samples(values, running, true_zero_max=true_zero_max)
    counted = np.where(missing, np.nan, values)
    n_std = n_gaussian if is_gaussian(counted[~missing]) else n_long_tail
    exact = None if running is None else running >= 1
    replaced, _ = replace_outliers(counted, n_std=n_std, exact=exact)
    return fill_missing(replaced, missing, k=k)


def clean_as_printed(values, running, **options):
    """The same without what perf tells of running shares, which the paper does not use."""
    return clean_counterminer(values, None, **options)
