"""Decide which counts of ``<not counted>`` are 0, because the program slept."""

import numpy as np
import pandas as pd

from cmlib.io.events.naming import SOFTWARE_NAMES, base_name
from cmlib.io.meaning.event_names import belongs_to_cores, map_events


def fill_slept(counts: pd.DataFrame) -> pd.DataFrame:
    """Set counts to 0 in intervals in which the program did not run at all.

    perf writes ``<not counted>`` with a time on the counter of 0 and a running share of 100 % if an event was never
    enabled. The count is 0 if the same holds for all events of the interval that are counted only while the program
    runs: those of cores and of software. If any other of them was counted or waited for a counter, the program ran,
    and the count is unknown.

    Parameters
    ----------
    counts : DataFrame
        As of `Program.counts`, with all rows of each interval.

    Returns
    -------
    DataFrame
        The same object if nothing is filled.
    """
    supported = counts["supported"].to_numpy(bool)
    never_enabled = (
        np.isnan(counts["value"].to_numpy())
        & supported
        & (counts["running"].to_numpy() == 1)
        & (counts["on_counter_s"].to_numpy() == 0)
    )
    if not never_enabled.any():
        return counts
    needs_program = map_events(counts["event"], _is_counted_only_while_running).astype(bool)
    shows_that_it_ran = needs_program & supported & ~never_enabled
    interval = counts.groupby(["run", "time_s", "place"], sort=False, dropna=False, observed=True).ngroup()
    interval = interval.to_numpy()
    ran = np.zeros(interval.max() + 1, bool)
    ran[interval[shows_that_it_ran]] = True
    slept = never_enabled & ~ran[interval]
    if not slept.any():
        return counts
    return counts.assign(value=counts["value"].mask(slept, 0.0))


def _is_counted_only_while_running(event: str) -> bool:
    """Return whether an event is counted for a program only while it runs, unlike events of other units."""
    return belongs_to_cores(event) or base_name(event) in SOFTWARE_NAMES
