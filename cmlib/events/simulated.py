"""The events that Callgrind simulates, under names that no processor's event has."""

import functools

import pandas as pd

from cmlib.places import events_dir

TABLE = "simulated"
PREFIX = "sim."
EXACT, MODELLED = "exact", "modelled"


@functools.cache
def _table(path):
    return pd.read_csv(path, index_col="event")


def simulated_events():
    """The events of a simulated run, in Callgrind's order.

    Returns
    -------
    DataFrame
        Index: event, such as ``sim.l1d_load_misses``. Columns: ``callgrind`` (Callgrind's short name),
        ``kind`` (``exact`` where the run itself is counted, ``modelled`` where a simulated cache or branch
        predictor decides), ``weight`` (cycles that KCachegrind's estimate charges for one, 0 for none), ``unit``
        and ``description``.

    Examples
    --------
    >>> simulated_events().loc["sim.loads", ["callgrind", "kind"]].tolist()
    ['Dr', 'exact']
    """
    return _table(events_dir() / f"{TABLE}.csv").copy()


def cycle_estimate(counts):
    """KCachegrind's cycle estimate, which is no measurement: Ir + 10 Bm + 10 L1m + 100 LLm.

    Parameters
    ----------
    counts : DataFrame or Series
        Counts of simulated events, as columns or as the index.

    Returns
    -------
    Series or float
        Of each row; of a Series one number.
    """
    weights = simulated_events()["weight"]
    return counts[list(weights.index)] @ weights


def is_simulated(event):
    """Whether an event's name is one of a simulated event."""
    return event.startswith(PREFIX)
