"""The table of cleaning methods: a line here makes one known to notebooks, comparisons, panels and the command line."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cmlib.clean.distribution import is_gaussian
from cmlib.clean.missing import fill_missing, interpolate, missing_samples
from cmlib.clean.outliers import replace_outliers
from cmlib.clean.shrinkage import clean_by_shrinkage

_OF_THE_PAPER = ("n_gaussian", "n_long_tail", "k", "true_zero_max")


@dataclass(frozen=True)
class Method:
    """A way to clean.

    Attributes
    ----------
    clean : callable
        Of one series, ``clean(values, running, **options)``: arrays of float64, `running` None where it is not
        known. If `whole_run`, of all events at once, ``clean(counts, running, *, sums, **options)``: frames.
        Its arguments are checked and are not to be modified; it returns the cleaned ones.
    about : str
        In a few words, for the panel of notebook 02.
    options : tuple of str
        Names of the options it takes.
    whole_run : bool
    variant_of : str
        The method of which it is a reading, if it is to be left out where one of each is compared.
    """

    clean: Callable
    about: str
    options: tuple[str, ...] = ()
    whole_run: bool = False
    variant_of: str = ""


def _scaling(values, running):
    return values.copy()


def _interpolate(values, running):
    return interpolate(values, np.isfinite(values).astype(float) if running is None else running)


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


REGISTERED = {
    "scaling": Method(_scaling, "what perf prints"),
    "interpolate": Method(_interpolate, "lines between what was seen"),
    "counterminer": Method(clean_counterminer, "outliers and gaps (Eq. 6–8)", _OF_THE_PAPER),
    "shrinkage": Method(clean_by_shrinkage, "moved to neighbours", whole_run=True),
    "counterminer-printed": Method(
        clean_as_printed, "without running shares", _OF_THE_PAPER, variant_of="counterminer"
    ),
}

METHODS = tuple(REGISTERED)
DISTINCT_METHODS = tuple(name for name, method in REGISTERED.items() if not method.variant_of)
SERIES_METHODS = tuple(name for name in DISTINCT_METHODS if not REGISTERED[name].whole_run)


def options_for(method, options):
    """Those of the options that a method takes; the others must be another method's."""
    known = {option for registered in REGISTERED.values() for option in registered.options}
    if unknown := options.keys() - known:
        raise TypeError(
            f"no cleaning method has an option {min(unknown)!r}; there are {', '.join(sorted(known))}"
        )
    return {name: value for name, value in options.items() if name in REGISTERED[method].options}
