"""Ways of cleaning judged by exact truth: multiplexing replayed on a simulated run, which counts all at once."""

import pandas as pd

from cmlib import clean, store
from cmlib.archive.runs import VALGRIND

# Simulated slots are short enough for a rotation to be replayed in an interval of several.
_FEWEST_SLOTS = 100
_HAPPENS_IN = 0.5


def simulated_run(url):
    """Name of the first simulated run in the store that has at least 100 intervals; None without one.

    Parameters
    ----------
    url : str

    Returns
    -------
    str or None
        Such as ``simulated-bzip2/sim-p0-00``.
    """
    runs = store.runs(url)
    long = runs[(runs["source"] == VALGRIND) & (runs["n_intervals"] >= _FEWEST_SLOTS)]
    return long["run_id"].iloc[0] if len(long) else None


def replayed_errors(url, run_id, methods, *, group_counts=(2, 3, 4, 6), slots=5):
    """Errors of ways of cleaning where groups of events take turns, and every count is known.

    The intervals of the run are the slots of a rotation (:func:`cmlib.clean.replay`): in each, one group is seen
    and the others are hidden. Instructions are counted all the time, as on hardware.

    Parameters
    ----------
    url, run_id : str
    methods : sequence of str
        Of :data:`cmlib.clean.METHODS`.
    group_counts : sequence of int
        Numbers of groups, among which the events are dealt out.
    slots : int, default 5
        Of an interval.

    Returns
    -------
    DataFrame
        A row an event, number of groups and method: ``event``, ``groups``, ``method`` and ``error`` [%], the sum of
        distances from the true counts of the intervals, as a share of the true sum; a gap that a method leaves
        is 0. Events that happened in less than half of the slots are left out.
    """
    run = store.load(url, run_id)
    pinned = run.meta["pinned"]
    happens = (run.counts > 0).mean() >= _HAPPENS_IN
    events = [event for event in run.counts if happens[event] and event not in pinned]
    rows = []
    for n in group_counts:
        groups = [group for group in (events[k::n] for k in range(n)) if group]
        seen = clean.replay(run.counts[[*pinned, *events]], groups, slots=slots)
        for method in methods:
            cleaned, _ = clean.clean_run(seen.counts, seen.running, method=method, run=f"run {run_id!r}")
            errors = 100 * (cleaned.fillna(0.0) - seen.truth).abs().sum() / seen.truth.sum()
            rows += [
                {"event": event, "groups": n, "method": method, "error": errors[event]} for event in events
            ]
    return pd.DataFrame(rows)
