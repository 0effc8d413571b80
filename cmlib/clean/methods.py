"""Register the methods that clean multiplexed counts.

REGISTERED is a dict from name to :class:`Method`. A method added to it is offered by notebooks, panels and
commands; unless it is a variant of another one, by comparisons of methods, too. METHODS has all names, LABELS (a dict)
their labels in tables and figures. Inputs are checked by `clean_series` and `clean_run`, not here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cmlib.clean.distribution import is_gaussian
from cmlib.clean.missing import fill_missing, interpolate, missing_samples
from cmlib.clean.outliers import replace_outliers
from cmlib.clean.shrinkage import clean_by_shrinkage

# Options of CounterMiner's method, as clean_counterminer describes them.
_OF_THE_PAPER = ("n_gaussian", "n_long_tail", "k", "true_zero_max")


@dataclass(frozen=True)
class Method:
    """A cleaning method.

    Attributes
    ----------
    clean : callable
        Cleans one series, ``clean(values, running, **options)``: counts [events per interval] and running shares (0 to
        1), arrays of float64 of shape (n_intervals,); `running` is None if it is not known. If `whole_run`, all events
        at once, ``clean(counts, running, *, sums, **options)``: DataFrames of shape (n_intervals, n_events), and
        `sums`, pairs (whole, parts) of names of events such that the count of `whole` is the sum of those of `parts`.
        It returns the cleaned counts in the same form. The arguments are checked before and must not be modified.
    label : str
        Name in tables and figures.
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
    label: str
    about: str
    options: tuple[str, ...] = ()
    whole_run: bool = False
    variant_of: str = ""


def _interpolate(values, running):
    """Interpolate linearly; without running shares, an interval counts as fully counted or not counted at all."""
    return interpolate(values, np.isfinite(values).astype(float) if running is None else running)


def clean_counterminer(values, running, *, n_gaussian=3.0, n_long_tail=5.0, k=5, true_zero_max=0.01):
    """Replace outliers, then fill missing samples: CounterMiner's cleaning of one series (§III-B, Eq. 6-8).

    Parameters
    ----------
    values : ndarray of float64, shape (n_intervals,)
        Counts [events per interval]; NaN where nothing was counted. Never modified.
    running : ndarray of float64, same shape, or None
        Running shares, 0 to 1: samples are missing where a share is 0, and exact, so that they stay, where it is 1.
        None if they are not known.
    n_gaussian, n_long_tail : float, default 3.0 and 5.0
        Samples above the mean plus so many standard deviations are outliers (Eq. 6): for series that pass the
        Anderson-Darling test of a Gaussian at 5 %, and for others.
    k : int, default 5
        A missing sample becomes the mean of its `k` nearest known neighbors in time.
    true_zero_max : float, default 0.01
        Without running shares: zeros are taken for counts if the whole series is below this count, and for missing
        samples otherwise.

    Returns
    -------
    ndarray of float64, shape (n_intervals,)
        The cleaned counts.
    """
    missing = missing_samples(values, running, true_zero_max=true_zero_max)
    counted = np.where(missing, np.nan, values)
    n_std = n_gaussian if is_gaussian(counted[~missing]) else n_long_tail
    exact = None if running is None else running >= 1
    replaced, _ = replace_outliers(counted, n_std=n_std, exact=exact)
    return fill_missing(replaced, missing, k=k)


def clean_as_printed(values, running, **options):
    """Clean one series as CounterMiner's paper does, without its running shares; return an array.

    `values` is an array of counts, NaN where nothing was counted. Zeros count as missing, unless all values are
    below `true_zero_max`. `running` is ignored; `options` are those of :func:`clean_counterminer`.
    """
    return clean_counterminer(values, None, **options)


REGISTERED = {
    "scaling": Method(lambda values, running: values.copy(), "as perf prints", "nothing is changed"),
    "interpolate": Method(_interpolate, "straight lines", "lines between what was seen"),
    "counterminer": Method(clean_counterminer, "CounterMiner", "outliers and gaps (Eq. 6–8)", _OF_THE_PAPER),
    "shrinkage": Method(clean_by_shrinkage, "shrinkage", "moved to neighbours", whole_run=True),
    "counterminer-printed": Method(
        clean_as_printed,
        "CounterMiner, zeros as gaps",
        "without running shares",
        _OF_THE_PAPER,
        variant_of="counterminer",
    ),
}

METHODS = tuple(REGISTERED)
LABELS = {name: method.label for name, method in REGISTERED.items()}
DISTINCT_METHODS = tuple(name for name, method in REGISTERED.items() if not method.variant_of)


def options_for(method, options):
    """Select from a dict of options those that the method named `method` takes (dict).

    Raises a TypeError for an option that no method takes, and a KeyError if there is no such method.
    """
    known = {option for registered in REGISTERED.values() for option in registered.options}
    if unknown := options.keys() - known:
        raise TypeError(f"no method has an option {min(unknown)!r}; there are {', '.join(sorted(known))}")
    return {name: value for name, value in options.items() if name in REGISTERED[method].options}
