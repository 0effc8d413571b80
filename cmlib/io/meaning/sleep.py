"""Set uncounted values to 0 in intervals in which the program slept."""

import numpy as np
import pandas as pd

from cmlib.io.events.naming import SOFTWARE_NAMES, base_name
from cmlib.io.meaning.event_names import belongs_to_cores, map_events


def fill_slept(counts: pd.DataFrame) -> pd.DataFrame:
    """Set counts to 0 in intervals in which the program did not run at all.

    perf writes ``<not counted>``, a time on the counter of 0 and a running share of 100 % for an event that was never
    enabled. Events of cores and of software are enabled while the program runs. If none of them was enabled in an
    interval, the program slept, and their counts are 0. Otherwise, they remain unknown (NaN).

    Parameters
    ----------
    counts : DataFrame
        All rows of each interval, with the columns of `Program.counts`.

    Returns
    -------
    DataFrame
        `counts` itself if nothing is changed.
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
    """Return True for events of cores and of software, which are counted only while the program runs."""
    return belongs_to_cores(event) or base_name(event) in SOFTWARE_NAMES
