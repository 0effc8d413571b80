"""List the events that Callgrind simulates, and estimate cycles from them."""

from functools import cache

import pandas as pd

from cmlib.places import shipped

PREFIX = "sim."
MODELLED = "modelled"
# Callgrind simulates two levels of caches. Its last level stands for the processor's last-level cache, or, in a second
# simulation of the same run, for the second-level cache.
LAST_LEVEL, SECOND_LEVEL = "LL", "L2"


def simulated_events(levels: int = 2) -> pd.DataFrame:
    """List the events of a simulated run, in Callgrind's order.

    Parameters
    ----------
    levels : {2, 3}, default 2
        Number of cache levels: 2 for the events of one simulation; 3 for those of a second simulation as well, with
        the processor's second-level cache as its last level.

    Returns
    -------
    DataFrame
        Index: event, such as ``sim.l1d_load_misses``. Columns: ``callgrind`` (Callgrind's short name),
        ``kind`` (``exact`` for counts of what the program executes, ``modelled`` for counts that depend on a simulated
        cache or branch predictor), ``weight`` (cycles per event in KCachegrind's estimate), ``unit`` and
        ``description``.

    Examples
    --------
    >>> simulated_events().loc["sim.loads", ["callgrind", "kind"]].tolist()
    ['Dr', 'exact']
    """
    if levels == 3:
        return _select_events(LAST_LEVEL, SECOND_LEVEL).copy()
    return _select_events(LAST_LEVEL).copy()


def second_level_events() -> pd.DataFrame:
    """Return the events that only the second simulation of a run counts: those of the second-level cache.

    Returns
    -------
    DataFrame
        By event, with the columns of :func:`simulated_events`.
    """
    return _select_events(SECOND_LEVEL).copy()


def cycle_estimate(counts: pd.DataFrame) -> pd.Series:
    """Estimate cycles of simulated counts as KCachegrind does: Ir + 10 Bm + 10 L1m + 100 LLm.

    Parameters
    ----------
    counts : DataFrame
        Columns: all events of :func:`simulated_events`.

    Returns
    -------
    Series
        Cycles of each row.

    Raises
    ------
    KeyError
        If an event is missing.
    """
    weights = simulated_events()["weight"]
    return counts[list(weights.index)] @ weights


def is_simulated(event: str) -> bool:
    """Return whether an event's name is that of a simulated event: it starts with ``sim.``."""
    return event.startswith(PREFIX)


@cache
def _select_events(*last_levels: str) -> pd.DataFrame:
    """Select the simulated events of simulations in which the last level stands for one of these caches."""
    table = pd.read_csv(shipped("events") / "simulated.csv", index_col="event")
    return table[table["last_level"].isin(last_levels)].drop(columns="last_level")
