"""Compute the rate of each event per cycle, and the error of the rate.

:func:`totals` takes the counts of all runs of a program and returns one row per event. Several events can share one
counter. Each of them is then counted only for a part of the time, which causes the error.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.intervals import MOST_PER_CYCLE

# Relative error of a count if one or two intervals were counted for half of the time.
_SHORT_RUN_ERROR = 0.1


class _RunTotal(NamedTuple):
    """Total of one event in one run. Each interval is weighted by its running share.

    Attributes
    ----------
    event_sum : float
        Sum of the event's counts. NaN if it was never counted.
    cycles : float
        Sum of the cycles over the same intervals.
    error : float
        Relative error of the rate.
    n_dropped : int
        Number of intervals with impossible counts. They are not included.
    """

    event_sum: float
    cycles: float
    error: float
    n_dropped: int


def totals(runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]]) -> pd.DataFrame:
    """Compute the rate of each event per cycle over several runs of a program.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares of each run. Both have one row per interval and one column per event. A running share
        is the fraction of the interval in which the event was counted (0–1). Unknown shares and missing counts are NaN.
        Runs without a column ``cycles`` are ignored.

    Returns
    -------
    DataFrame
        One row per event, without cycles. Columns:

        - ``rate``: events per cycle. Each interval is weighted by the running share.
        - ``error``: relative error of the rate, which is twice the standard error. It is estimated from the differences
          between neighboring intervals, or from the differences between runs if these are larger. It is 0 if there is
          only one run and the event was counted all the time.
        - ``dropped``: number of intervals that were ignored, because no core can count so many events per cycle.
    """
    totals_by_event = {}
    for counts, running in runs:
        if "cycles" not in counts:
            continue
        cycles = counts["cycles"].to_numpy(float)
        cycles_error = _estimate_error(cycles, running["cycles"].to_numpy(float), cycles)
        for event in counts.columns.drop("cycles"):
            values = counts[event].to_numpy(float)
            shares = running[event].to_numpy(float)
            run_total = _total_run(values, cycles, shares, cycles_error)
            totals_by_event.setdefault(event, []).append(run_total)
    rows = {event: _combine_runs(run_totals) for event, run_totals in totals_by_event.items()}
    return pd.DataFrame(rows, index=["rate", "error", "dropped"]).T.dropna(subset="rate")


def _total_run(values, cycles, shares, cycles_error):
    """Return the total of an event in one run.

    `values`, `cycles` and `shares` have the counts, the cycles and the running share of each interval.
    """
    is_possible = ~(values > MOST_PER_CYCLE * cycles)
    is_counted = np.isfinite(values) & np.isfinite(cycles) & is_possible & ~(shares == 0)
    weights = np.where(np.isnan(shares), 1.0, shares)[is_counted]
    event_sum = (weights * values[is_counted]).sum()
    cycle_sum = (weights * cycles[is_counted]).sum()
    if not cycle_sum:
        return _RunTotal(np.nan, 0.0, 0.0, 0)
    residuals = values[is_counted] - event_sum / cycle_sum * cycles[is_counted]
    # The event was not counted at all in the other intervals with cycles, so their running share is 0.
    counted_shares = np.where(is_counted, shares, 0.0)[np.isfinite(cycles)]
    error = _estimate_error(residuals, counted_shares, values[is_counted])
    return _RunTotal(event_sum, cycle_sum, float(np.hypot(error, cycles_error)), int((~is_possible).sum()))


def _estimate_error(residuals, shares, counts):
    """Estimate the relative error of the sum of `counts`, which is twice the standard error.

    The variance is estimated from the differences of neighboring `residuals`. These are the counts without their trend.
    `shares` are the running shares of the intervals.
    """
    knows_shares = np.isfinite(shares).any()
    missing_share = 1 - np.nanmean(shares) if knows_shares else 1.0
    count_sum = np.nansum(counts)
    if missing_share <= 0 or not count_sum:
        return 0.0
    differences = np.diff(residuals)
    differences = differences[np.isfinite(differences)]
    if len(differences) < 2:
        return _SHORT_RUN_ERROR * min(1.0, float(np.sqrt(2 * missing_share))) if knows_shares else 0.0
    variance = np.mean(differences**2) / 2
    return float(2 * np.sqrt(missing_share * len(residuals) * variance) / count_sum)


def _combine_runs(run_totals):
    """Combine the totals of an event in several runs to a dict of rate, error and dropped intervals."""
    counted = [total for total in run_totals if np.isfinite(total.event_sum)]
    event_sum = sum(total.event_sum for total in counted)
    cycle_sum = sum(total.cycles for total in counted)
    if not cycle_sum:
        return {"rate": np.nan, "error": 0.0, "dropped": 0}
    error_within_runs = error_between_runs = 0.0
    if event_sum:
        error_within_runs = (
            np.sqrt(sum((total.event_sum * total.error) ** 2 for total in counted)) / event_sum
        )
    if event_sum and len(counted) > 1:
        rates = [total.event_sum / total.cycles for total in counted]
        error_between_runs = 2 * np.std(rates, ddof=1) / np.sqrt(len(rates)) / np.mean(rates)
    return {
        "rate": event_sum / cycle_sum,
        "error": max(error_within_runs, error_between_runs),
        "dropped": sum(total.n_dropped for total in counted),
    }
