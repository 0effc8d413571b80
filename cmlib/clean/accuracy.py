"""Compare cleaned series of multiplexed runs with runs that counted the same events all the time (OCOE).

OCOE is one counter, one event; a Recording has the counts and running shares of one run by interval.
:func:`references` takes runs of both kinds, and returns a dict from event to :class:`Reference`, which compares a
series of counts; :func:`compare_methods` does so for several methods of cleaning, and :func:`noise_floor` for
series that were never multiplexed. Both return a DataFrame of errors. MEASURES names the errors: Eq. 4 of
CounterMiner [%], the ratio of distances, errors of total [%] and distribution. Raises an UnfitRecordingError if no
multiplexed event was counted by two OCOE runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import stats

from cmlib.clean.delayed import redistribute_delayed_counts
from cmlib.clean.distance import dtw, folded_error
from cmlib.clean.series import clean_run
from cmlib.errors import UnfitRecordingError
from cmlib.intervals import lengths_by_ends, whole_intervals

if TYPE_CHECKING:
    from cmlib.io.recording import Recording

__all__ = ["MEASURES", "noise_floor", "references"]

MEASURES = ("eq4_percent", "distance_ratio", "total_error_percent", "distribution_error")


def references(ocoe_runs: Sequence[Recording], mlpx_runs: Sequence[Recording]) -> dict[str, Reference]:
    """Collect for each multiplexed event the OCOE series to compare with.

    Parameters
    ----------
    ocoe_runs : sequence of cmlib.io.recording.Recording
        Runs that counted their events all the time (`counts` and `running`, frames).
    mlpx_runs : sequence of Recording
        Multiplexed runs of the same program.

    Returns
    -------
    dict of str to Reference
        By event; its method ``compare(series)`` gives the errors that `MEASURES` names.

    Raises
    ------
    UnfitRecordingError
        If no multiplexed event was counted by two OCOE runs.
    """
    events = _list_multiplexed(ocoe_runs, mlpx_runs)
    return {event: Reference(_select_runs(event, ocoe_runs), event) for event in events}


def compare_methods(
    references: dict[str, Reference], mlpx_runs: Sequence[Recording], methods: dict[str, str | Callable]
) -> pd.DataFrame:
    """Clean multiplexed runs by several methods, and compare the results with OCOE runs.

    Parameters
    ----------
    references : dict of str to Reference
        By event, as :func:`references` gives it.
    mlpx_runs : sequence of cmlib.io.recording.Recording
        Multiplexed runs of the same program. Runs of other events are left out.
    methods : dict of str to (str or callable)
        Label to the name of a method of :data:`cmlib.clean.METHODS`, or to a function ``method(counts, running)``
        of two DataFrames (a row per interval, a column per event) that returns the cleaned counts as a DataFrame. A
        baseline is a function that ignores `running`.

    Returns
    -------
    DataFrame
        One row for each run, method and event: ``run`` (int, its place among `mlpx_runs`), ``method`` (label),
        ``event``, and the errors that `MEASURES` names. Events without any count after cleaning are left out.

    Raises
    ------
    ValueError
        If a method is unknown, or an event was counted in one or two intervals only.
    """
    rows = []
    for number, run in enumerate(mlpx_runs):
        events = [event for event in references if event in run.counts and run.counts[event].notna().any()]
        if not events:
            continue
        for label, method in methods.items():
            if callable(method):
                cleaned = method(run.counts, run.running)
            else:
                cleaned, _ = clean_run(run.counts, run.running, method=method)
            for event in events:
                if cleaned[event].notna().any():
                    rows.append((number, label, event, *references[event].compare(cleaned[event])))
    return pd.DataFrame(rows, columns=["run", "method", "event", *MEASURES])


def noise_floor(
    ocoe_runs: Sequence[Recording], mlpx_runs: Sequence[Recording], always: str = "instructions"
) -> pd.DataFrame:
    """Compute the errors of series without any error of multiplexing: the smallest that cleaning could reach.

    Parameters
    ----------
    ocoe_runs : sequence of cmlib.io.recording.Recording
        Runs that counted their events all the time.
    mlpx_runs : sequence of Recording
        Multiplexed runs of the same program.
    always : str, default "instructions"
        An event that the multiplexed runs counted all the time.

    Returns
    -------
    DataFrame
        A row for each multiplexed event and series compared: ``event``; ``method``, ``always counted`` (`always` in a
        multiplexed run, compared with the OCOE runs) or ``ocoe`` (the event in one OCOE run, compared with the others,
        if there are three or more); and the errors that `MEASURES` names.

    Raises
    ------
    UnfitRecordingError
        If no multiplexed event was counted by two OCOE runs.
    """
    rows = []
    for event in _list_multiplexed(ocoe_runs, mlpx_runs):
        runs = _select_runs(event, ocoe_runs)
        exact = Reference(runs, always)
        rows += [(event, "always counted", *exact.compare(run.counts[always])) for run in mlpx_runs]
        for left_out in runs if len(runs) > 2 else ():
            other_runs = Reference([run for run in runs if run is not left_out], event)
            rows.append((event, "ocoe", *other_runs.compare(_read_ocoe_series(left_out, event))))
    return pd.DataFrame(rows, columns=["event", "method", *MEASURES])


class Reference:
    """An event's OCOE series, which cleaned series are compared with.

    Parameters
    ----------
    runs : sequence of cmlib.io.recording.Recording
        Runs that counted the event all the time, at least two; UnfitRecordingError if there are fewer.
    event : str
        Name of the event.

    Attributes
    ----------
    series : list of Series
        Counts [events per interval] by the end of the interval [s], one per run, without
        a last interval that was cut short.
    total : float
        Mean over the runs of the sum of all intervals.
    own_distance : float
        Mean distance (:func:`cmlib.clean.distance.dtw`) between two of them, over all pairs: ``dist_ref`` of Eq. 4 of
        CounterMiner (§II-B).
    """

    def __init__(self, runs, event):
        if len(runs) < 2:
            raise UnfitRecordingError(
                f"event {event!r} was counted by {len(runs)} OCOE runs; comparing needs 2. "
                "Record another pass, or name the events to compare."
            )
        everything = [_read_ocoe_series(run, event) for run in runs]
        self.total = np.mean([series.sum() for series in everything])
        self.series = [_drop_partial(series) for series in everything]
        self.own_distance = np.mean([dtw(*pair) for pair in itertools.combinations(self.series, 2)])

    def compare(self, series):
        """Compare a cleaned series with the OCOE series: a tuple of floats, errors in the order of `MEASURES`.

        `series` is a Series of counts [events per interval], index: end of the interval [s]. `eq4_percent`: Eq. 4,
        which is 0 if the series is as far from the OCOE series as these from each other, and grows on both sides;
        `distance_ratio`: the ratio of these distances; `total_error_percent`: difference of totals [% of OCOE's];
        `distribution_error`: the Wasserstein distance between the distributions of values, in standard deviations
        of the OCOE values. A ratio is infinite if only what it is divided by is 0. NaN are left out. Raises a
        ValueError if nothing is left.
        """
        values, pooled = _drop_partial(series), np.concatenate(self.series)
        distance = np.mean([dtw(values, reference) for reference in self.series])
        return (
            folded_error(self.own_distance, distance),
            _divide(distance, self.own_distance, nothing=1.0),
            _divide(abs(series.sum() - self.total), self.total) * 100,
            _divide(stats.wasserstein_distance(pooled, values), pooled.std()),
        )


def _list_multiplexed(ocoe_runs, mlpx_runs):
    """List the events that a multiplexed run did not count all the time, and that at least two OCOE runs counted."""
    counted = ((run, event) for run in mlpx_runs for event in run.counts if run.counts[event].notna().any())
    multiplexed = dict.fromkeys(event for run, event in counted if not run.running[event].ge(1).all())
    events = [event for event in multiplexed if len(_select_runs(event, ocoe_runs)) > 1]
    if not events:
        raise UnfitRecordingError(
            f"none of {len(multiplexed)} multiplexed events was counted by two of {len(ocoe_runs)} OCOE runs: "
            "there is nothing to compare with. Record two OCOE passes of the same events."
        )
    return events


def _select_runs(event, runs):
    """List the runs that counted an event."""
    return [run for run in runs if event in run.counts and run.counts[event].notna().any()]


def _read_ocoe_series(run, event):
    """Return the series of an event in an OCOE run; late readings are divided in proportion to instructions."""
    by = run.counts.get("instructions")
    return redistribute_delayed_counts(run.counts[[event]], run.running[[event]], by=by)[event]


def _drop_partial(series):
    """Return a series as float64, without NaN and without a last interval that was cut short."""
    whole = whole_intervals(lengths_by_ends(series.index))
    return series[whole].dropna().astype(np.float64)


def _divide(part, whole, nothing=0.0):
    """Return part / whole; if the whole is 0, return infinity, or `nothing` if the part is 0 as well."""
    if whole == 0:
        return nothing if part == 0 else math.inf
    return float(part / whole)
