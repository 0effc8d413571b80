"""One series in, one cleaned series out."""

import numpy as np

from cmlib.clean.methods import REGISTERED, options_for
from cmlib.errors import UnfitRecordingError

FEWEST_SAMPLES = 3


def clean_series(values, running=None, *, method="counterminer", name="the series", **options):
    """Clean one event's series of one run.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        Counts as perf prints them, already scaled by 1 / running [events per
        interval]; NaN where perf wrote ``<not counted>``. Never modified.
    running : array_like of float, shape (n,), optional
        Share of each interval in which the event was counted, 0 to 1. What a method
        does with it, with NaN and with zeros:

        ============== ============================ ========================== ====================
        method         running share                NaN                        zero
        ============== ============================ ========================== ====================
        scaling        none: perf has divided by it stays NaN                  stays
        interpolate    length of the seen stretch   line between neighbours    stays as seen
        counterminer   1: the sample is exact;      mean of k nearest in time  as
                       0: it is missing                                        `missing_samples`
        ============== ============================ ========================== ====================

        "counterminer-printed" leaves it unused, as the paper does: zeros count as
        missing wherever the series reaches `true_zero_max`, and no sample is exact.
    method : {"counterminer", "counterminer-printed", "interpolate", "scaling"}, default "counterminer"
        Outliers replaced and missing samples filled (CounterMiner, §III-B), with or
        without the running shares · :func:`cmlib.clean.interpolate` · what perf prints;
        or another of :data:`cmlib.clean.METHODS` that cleans event by event.
    name : str
        Names the series in messages, e.g. ``run 'kmeans-03': event 'ls_stlf'``.
    n_gaussian, n_long_tail : float > 0, default 3.0 and 5.0
        Threshold of Eq. 6 [standard deviations] if the samples pass the
        Anderson-Darling test of a Gaussian at 5 %, and if they don't.
    k : int, default 5
        Neighbours that fill a missing sample.
    true_zero_max : float, default 0.01
        A series that never reaches it is truly zero where it is zero. These four are
        options of "counterminer", and leave the other methods alone.

    Returns
    -------
    cleaned : ndarray of float64, shape (n,)
    changed : ndarray of bool, shape (n,)
        Where `cleaned` differs from `values`.

    Raises
    ------
    ValueError
        If `method` is unknown, shapes differ, a share lies outside 0 to 1, or fewer
        than 3 samples were counted.

    Notes
    -----
    With `running` given, a sample that was counted all the time comes back as it is
    by every method but "counterminer-printed", whatever its value. Eq. 6 takes mean and deviation over the
    samples that are not missing.

    Examples
    --------
    An interval in which perf counted nothing takes the mean of its neighbours in time:

    >>> values = [10.0, 12.0, float("nan"), 11.0, 9.0]
    >>> cleaned, changed = clean_series(values, running=[1, 1, 0, 1, 1], k=2)
    >>> cleaned.tolist(), changed.tolist()
    ([10.0, 12.0, 11.5, 11.0, 9.0], [False, False, True, False, False])
    """
    values = np.array(values, dtype=np.float64)
    running = checked_share(running, values, name)
    check_enough(values, name)
    known = [one for one, registered in REGISTERED.items() if not registered.whole_run]
    if method not in known:
        raise ValueError(f"{name}: method is {method!r}; clean_series knows {', '.join(known)}")
    cleaned = REGISTERED[method].clean(values, running, **options_for(method, options))
    return cleaned, differs(cleaned, values)


def checked_share(running, values, name):
    """Running shares as floats, 0 where nothing was counted; None stays None."""
    if running is None:
        return None
    running = np.asarray(running, dtype=np.float64)
    if running.shape != values.shape:
        raise ValueError(
            f"{name}: running has shape {running.shape}, the values {values.shape}; they must agree"
        )
    share = np.where(np.isfinite(values), running, 0.0)
    if not ((share >= 0) & (share <= 1)).all():
        wrong = share[~((share >= 0) & (share <= 1))][0]
        raise ValueError(f"{name}: a running share is {wrong}; shares lie between 0 and 1 (percent / 100)")
    return share


def check_enough(values, name):
    finite = int(np.isfinite(values).sum())
    if finite < FEWEST_SAMPLES:
        raise UnfitRecordingError(
            f"{name} has {finite} finite samples of {len(values)}; cleaning needs at least {FEWEST_SAMPLES}. "
            "Collect fewer events at a time, use longer intervals, or leave this event out."
        )


def differs(cleaned, values):
    """Where two arrays or frames differ; NaN equals NaN."""
    return (cleaned != values) & ~(np.isnan(cleaned) & np.isnan(values))
