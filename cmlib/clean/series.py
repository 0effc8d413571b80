"""Clean the series of one event, or of all events of a run, by one of the registered methods.

:func:`clean_series` takes and returns an array of counts by interval, :func:`clean_run` a DataFrame, a row per
interval, a column per event; both return with it a mask of the counts that changed. Raises a ValueError if shapes
differ, a share is outside 0 to 1, or an event has fewer than three samples; in a run, events without any stay NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cmlib.clean.methods import METHODS, REGISTERED, options_for
from cmlib.errors import InputError, UnfitRecordingError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FEWEST_SAMPLES"]

FEWEST_SAMPLES = 3  # of finite samples of an event, to be cleaned


def clean_series(
    values: ArrayLike,
    running: ArrayLike | None = None,
    *,
    method: str = "counterminer",
    name: str = "the series",
    **options: object,
) -> tuple[np.ndarray, np.ndarray]:
    """Clean one event's series of one run.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        Counts as perf prints them, already scaled by 1 / running [events per
        interval]; NaN where perf wrote ``<not counted>``. Never modified.
    running : array_like of float, shape (n,), optional
        Running shares (share of the interval in which the event was counted), 0 to 1. What a method does with
        them, with NaN and with zeros:

        ============== ============================ ========================== ====================
        method         running share                NaN                        zero
        ============== ============================ ========================== ====================
        scaling        none: perf has divided by it stays NaN                  stays
        interpolate    length of the seen stretch   line between neighbors     stays as seen
        counterminer   1: the sample is exact;      mean of k nearest in time  as
                       0: it is missing                                        `missing_samples`
        ============== ============================ ========================== ====================

        "counterminer-printed" leaves it unused, as the paper does: zeros count as
        missing wherever the series reaches `true_zero_max`, and no sample is exact.
    method : {"counterminer", "counterminer-printed", "interpolate", "scaling"}, default "counterminer"
        Outliers replaced and missing samples filled (CounterMiner, §III-B), with or
        without the running shares · :func:`cmlib.clean.missing.interpolate` · what perf prints;
        or another of :data:`cmlib.clean.METHODS` that cleans event by event.
    name : str
        Name of the series in messages, e.g. ``run 'kmeans-03': event 'ls_stlf'``.
    **options
        Options of the method, as its function describes them; those of other methods are ignored. Of "counterminer",
        `n_gaussian`, `n_long_tail`, `k` and `true_zero_max`: :func:`cmlib.clean.methods.clean_counterminer`.

    Returns
    -------
    cleaned : ndarray of float64, shape (n,)
        The series without outliers and gaps [events per interval].
    changed : ndarray of bool, shape (n,)
        Where `cleaned` differs from `values`.

    Raises
    ------
    ValueError
        If `method` is unknown, shapes differ, a share lies outside 0 to 1, or fewer
        than 3 samples were counted.
    TypeError
        If no method has an option of that name.

    Notes
    -----
    With `running` given, a sample that was counted all the time comes back as it is
    by every method but "counterminer-printed", whatever its value. Eq. 6 takes mean and deviation over the
    samples that are not missing.

    Examples
    --------
    An interval in which perf counted nothing takes the mean of its neighbors in time:

    >>> values = [10.0, 12.0, float("nan"), 11.0, 9.0]
    >>> cleaned, changed = clean_series(values, running=[1, 1, 0, 1, 1], k=2)
    >>> cleaned.tolist(), changed.tolist()
    ([10.0, 12.0, 11.5, 11.0, 9.0], [False, False, True, False, False])
    """
    known = [name for name, registered in REGISTERED.items() if not registered.whole_run]
    if method not in known:
        raise InputError(f"{name}: method is {method!r}; clean_series knows {', '.join(known)}")
    values = np.array(values, dtype=np.float64)
    running = _check_shares(values, running, name)
    cleaned = REGISTERED[method].clean(values, running, **options_for(method, options))
    return cleaned, changed_mask(cleaned, values)


def _check_shares(values, running, name):
    """Check the values and running shares of one event, and return the shares.

    Returns an array, 0 where nothing was counted; None if the running shares are not known. Raises the errors of
    :func:`clean_series` for both inputs.
    """
    finite = np.isfinite(values)
    if finite.sum() < FEWEST_SAMPLES:
        raise UnfitRecordingError(
            f"{name} has {finite.sum()} finite samples of {len(values)}; cleaning needs at least {FEWEST_SAMPLES}. "
            "Collect fewer events at a time, use longer intervals, or leave this event out."
        )
    if running is None:
        return None
    if np.shape(running) != values.shape:
        raise InputError(f"{name}: running has shape {np.shape(running)}, and the values {values.shape}")
    share = np.where(finite, np.asarray(running, dtype=np.float64), 0.0)
    if not ((share >= 0) & (share <= 1)).all():
        wrong = share[~((share >= 0) & (share <= 1))][0]
        raise InputError(f"{name}: a running share is {wrong}; shares lie between 0 and 1 (percent / 100)")
    return share


def changed_mask(cleaned, values):
    """Mask (bool) of the places where `cleaned` and `values` differ, two arrays or DataFrames of one shape.

    NaN equals NaN.
    """
    return (cleaned != values) & ~(np.isnan(cleaned) & np.isnan(values))


def clean_run(
    counts: pd.DataFrame,
    running: pd.DataFrame | None = None,
    *,
    method: str = "shrinkage",
    sums: Iterable[tuple[str, Sequence[str]]] = (),
    run: str = "this run",
    **options: object,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Clean all events of one run.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        Counts as perf prints them, already scaled by 1 / running [events per
        interval]; NaN where perf wrote ``<not counted>``. Never modified.
    running : DataFrame of float, same shape, optional except for "shrinkage"
        Share of each interval in which each event was counted, 0 to 1.
    method : {"shrinkage", "counterminer", "counterminer-printed", "interpolate", "scaling"}, default "shrinkage"
        "shrinkage" uses all events of the run at once (:func:`cmlib.clean.estimate_counts`,
        which also returns standard errors); the others go event by event
        (:func:`cmlib.clean.clean_series`). Or another of :data:`cmlib.clean.METHODS`.
    sums : iterable of (whole, (part, ...)), optional
        Sums between events that are to hold, for "shrinkage": see :func:`cmlib.clean.estimate_counts`.
    run : str
        Name of the run in messages, e.g. ``run 'kmeans-03'``.
    **options
        Options of the method, as of :func:`cmlib.clean.clean_series`; those of other methods are ignored.

    Returns
    -------
    cleaned : DataFrame of float64, shape (n_intervals, n_events)
        Cleaned counts [events per interval]; events never counted in this run stay NaN.
    changed : DataFrame of bool, same shape
        Where `cleaned` differs from `counts`.

    Raises
    ------
    ValueError
        If `method` is unknown, "shrinkage" has no `running`, shapes differ, a share lies
        outside 0 to 1, or an event was counted in 1 or 2 intervals only.
    TypeError
        If no method has an option of that name.

    Examples
    --------
    >>> from pathlib import Path
    >>> from cmlib.io import perf
    >>> text = Path("tests/golden/perf-6.1-zen5/mlpx.csv").read_text()
    >>> counts, running = perf.series(perf.parse_stat(text))
    >>> cleaned, changed = clean_run(counts, running, method="interpolate")
    >>> int(changed.to_numpy().sum()), changed.size
    (36, 42)
    """
    if method not in METHODS:
        raise InputError(f"{run}: method is {method!r}; clean_run knows {', '.join(METHODS)}")
    chosen, known = REGISTERED[method], options_for(method, options)
    if running is None and chosen.whole_run:
        raise InputError(f"{run}: method {method!r} needs the running shares; else use 'counterminer'")
    if running is not None and any(not a.equals(b) for a, b in zip(counts.axes, running.axes, strict=True)):
        raise InputError(f"{run}: counts {counts.shape} and running {running.shape} differ in rows or events")
    counts = counts.astype(np.float64)
    cleaned = counts.copy()
    for event in counts.columns[counts.notna().any()]:
        values = counts[event].to_numpy()
        share = _check_shares(values, None if running is None else running[event], f"{run}: event {event!r}")
        if not chosen.whole_run:
            cleaned[event] = chosen.clean(values, share, **known)
    if chosen.whole_run:
        cleaned = chosen.clean(counts, running, sums=sums, **known)
    return cleaned, changed_mask(cleaned, counts)
