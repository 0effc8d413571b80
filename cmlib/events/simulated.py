"""The events that Callgrind simulates, under names that no processor's event has."""

import functools

import pandas as pd

from cmlib.places import events_dir

TABLE = "simulated"
PREFIX = "sim."
EXACT, MODELLED = "exact", "modelled"
# Callgrind simulates two levels of caches: its last one is the processor's last, or its second.
LAST_LEVEL, SECOND_LEVEL = "LL", "L2"


@functools.cache
def _table(path):
    return pd.read_csv(path, index_col="event")


def simulated_events(levels=2):
    """The events of a simulated run, in Callgrind's order.

    Parameters
    ----------
    levels : {2, 3}
        Of caches: those of one simulation, or of both with what the second adds.

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
    return _of(LAST_LEVEL) if levels == 2 else pd.concat([_of(LAST_LEVEL), second_level_events()])


def second_level_events():
    """What a second simulation adds, in which the second-level cache is the last one.

    Returns
    -------
    DataFrame
        As from :func:`simulated_events`: ``sim.l2_instruction_misses``, ``sim.l2_load_misses`` and
        ``sim.l2_store_misses``.
    """
    return _of(SECOND_LEVEL)


def cycle_estimate(counts):
    """KCachegrind's cycle estimate, which is no measurement: Ir + 10 Bm + 10 L1m + 100 LLm.

    Parameters
    ----------
    counts : DataFrame or Series
        Counts of simulated events, as columns or as the index; misses of a second-level cache weigh nothing.

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


def _of(last_level):
    table = _table(events_dir() / f"{TABLE}.csv")
    return table[table["last_level"] == last_level].drop(columns="last_level")
