"""The table of cleaning methods: a method added here is offered by notebooks, comparisons, panels and commands."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cmlib.clean.distribution import is_gaussian
from cmlib.clean.missing import fill_missing, interpolate, missing_samples
from cmlib.clean.outliers import replace_outliers
from cmlib.clean.shrinkage import clean_by_shrinkage

# Options of CounterMiner's method.
_OF_THE_PAPER = ("n_gaussian", "n_long_tail", "k", "true_zero_max")


@dataclass(frozen=True)
class Method:
    """A cleaning method.

    Attributes
    ----------
    clean : callable
        Cleans one series, ``clean(values, running, **options)``: arrays of float64, `running` None if it is not
        known. If `whole_run`, all events at once, ``clean(counts, running, *, sums, **options)``: frames.
        The arguments are checked before and must not be modified; it returns the cleaned values.
    about : str
        Description of a few words, for the panel of notebook 02.
    options : tuple of str
        Names of the options it takes.
    whole_run : bool
        True if it cleans all events of a run at once.
    variant_of : str
        Name of another method of which it is a variant; such methods are left out of comparisons. Empty for others.
    """

    clean: Callable
    about: str
    options: tuple[str, ...] = ()
    whole_run: bool = False
    variant_of: str = ""


def _scaling(values, running):
    """The counts as perf prints them."""
    return values.copy()


def _interpolate(values, running):
    """Linear interpolation; without running shares, an interval was either counted all the time or not at all."""
    return interpolate(values, np.isfinite(values).astype(float) if running is None else running)


def clean_counterminer(values, running, *, n_gaussian=3.0, n_long_tail=5.0, k=5, true_zero_max=0.01):
    """Replace outliers, then fill missing samples: CounterMiner's cleaning of one series; returns an array.

    Running shares, if known, tell which samples are missing (0) and which are exact (1) and stay.
    """
    missing = missing_samples(values, running, true_zero_max=true_zero_max)
    counted = np.where(missing, np.nan, values)
    n_std = n_gaussian if is_gaussian(counted[~missing]) else n_long_tail
    exact = None if running is None else running >= 1
    replaced, _ = replace_outliers(counted, n_std=n_std, exact=exact)
    return fill_missing(replaced, missing, k=k)


def clean_as_printed(values, running, **options):
    """CounterMiner's cleaning of one series without running shares, which the paper does not use; returns an array."""
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


def options_for(method, options):
    """Dict of those options that the method of that name takes; a TypeError for an option that no method takes."""
    known = {option for registered in REGISTERED.values() for option in registered.options}
    if unknown := options.keys() - known:
        raise TypeError(
            f"no cleaning method has an option {min(unknown)!r}; there are {', '.join(sorted(known))}"
        )
    return {name: value for name, value in options.items() if name in REGISTERED[method].options}
