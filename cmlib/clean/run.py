"""All events of one run in, all cleaned out."""

import numpy as np
import pandas as pd

from cmlib.clean.methods import METHODS, REGISTERED, options_for
from cmlib.clean.series import check_enough, checked_share, clean_series, differs


def clean_run(counts, running=None, *, method="kalman", sums=(), run="this run", **options):
    """Clean all events of one run.

    Parameters
    ----------
    counts : DataFrame of float, shape (n_intervals, n_events)
        Counts as perf prints them, already scaled by 1 / running [events per
        interval]; NaN where perf wrote ``<not counted>``. Never modified.
    running : DataFrame of float, same shape, optional except for "kalman"
        Share of each interval in which each event was counted, 0 to 1.
    method : {"kalman", "counterminer", "counterminer-printed", "interpolate", "scaling"}, default "kalman"
        "kalman" uses all events of the run at once (:func:`cmlib.clean.estimate_counts`,
        which tells standard errors as well); the others go event by event
        (:func:`cmlib.clean.clean_series`). Or another of :data:`cmlib.clean.METHODS`.
    sums
        For "kalman": see :func:`cmlib.clean.estimate_counts`.
    run : str
        Names the run in messages, e.g. ``run 'kmeans-03'``.
    **options
        For the other methods: `n_gaussian`, `n_long_tail`, `k`, `true_zero_max` of
        :func:`cmlib.clean.clean_series`.

    Returns
    -------
    cleaned : DataFrame of float64, shape (n_intervals, n_events)
        Events never counted in this run stay NaN.
    changed : DataFrame of bool, same shape
        Where `cleaned` differs from `counts`.

    Raises
    ------
    ValueError
        If `method` is unknown, "kalman" has no `running`, shapes differ, a share lies
        outside 0 to 1, or an event was counted in 1 or 2 intervals only.

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
        raise ValueError(f"{run}: method is {method!r}; clean_run knows {', '.join(METHODS)}")
    _check(counts, running, run)
    counts = counts.astype(np.float64)
    if REGISTERED[method].whole_run:
        if running is None:
            raise ValueError(
                f"{run}: method {method!r} needs the running shares; without them use 'counterminer'"
            )
        own = options_for(method, options)
        cleaned = REGISTERED[method].clean(counts, running, sums=sums, **own)
    else:
        cleaned = pd.DataFrame(
            {
                event: _clean_event(
                    counts[event], None if running is None else running[event], method, run, options
                )
                for event in counts
            },
            index=counts.index,
        )
        cleaned.columns = counts.columns
    return cleaned, differs(cleaned, counts)


def _check(counts, running, run):
    if running is not None and not (
        counts.columns.equals(running.columns) and counts.index.equals(running.index)
    ):
        raise ValueError(f"{run}: counts {counts.shape} and running {running.shape} differ in rows or events")
    for event in counts:
        values, name = counts[event].to_numpy(dtype=np.float64), f"{run}: event {event!r}"
        checked_share(None if running is None else running[event], values, name)
        if np.isfinite(values).any():
            check_enough(values, name)


def _clean_event(values, running, method, run, options):
    if values.isna().all():
        return values.to_numpy()
    name = f"{run}: event {values.name!r}"
    return clean_series(values, running, method=method, name=name, **options)[0]
