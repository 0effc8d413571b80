"""List the events that Callgrind simulates, and estimate cycles from them."""

from functools import cache

import pandas as pd

from cmlib.places import shipped

_PREFIX = "sim."
MODELLED = "modelled"
# Values of the column `last_level` in simulated.csv. Callgrind simulates only two levels of caches. In the first
# simulation of a program, the second of them has the size of the processor's last-level cache. A second simulation of
# the same program uses the size of the processor's second-level cache.
_LAST_LEVEL, _SECOND_LEVEL = "LL", "L2"


def simulated_events(levels: int = 2) -> pd.DataFrame:
    """List the events of a simulated run, in Callgrind's order.

    Parameters
    ----------
    levels : {2, 3}, default 2
        Number of cache levels. A run with 3 levels is simulated twice, and the second simulation adds the misses of the
        second-level cache.

    Returns
    -------
    DataFrame
        One row per event. For example, ``sim.l1d_load_misses``. Columns:

        - ``callgrind`` : Callgrind's short name.
        - ``kind`` : ``exact``, or ``modelled`` if the count depends on a simulated cache or branch predictor.
        - ``weight`` : cycles per event in KCachegrind's estimate.
        - ``unit`` : part of the processor, or type of instructions. For example, ``last-level cache`` or ``branches``.
        - ``description`` : what is counted.

    Examples
    --------
    >>> simulated_events().loc["sim.loads", ["callgrind", "kind"]].tolist()
    ['Dr', 'exact']
    """
    if levels == 3:
        return _select_events(_LAST_LEVEL, _SECOND_LEVEL).copy()
    return _select_events(_LAST_LEVEL).copy()


def second_level_events() -> pd.DataFrame:
    """List the events of the second-level cache, which only a second simulation counts.

    Returns
    -------
    DataFrame
        One row per event. Columns: as in :func:`simulated_events`.
    """
    return _select_events(_SECOND_LEVEL).copy()


def cycle_estimate(counts: pd.DataFrame) -> pd.Series:
    """Estimate cycles from simulated counts.

    The formula is KCachegrind's: instructions + 10 mispredicted branches + 10 first-level misses + 100 last-level
    misses.

    Parameters
    ----------
    counts : DataFrame
        Columns: all events in :func:`simulated_events`.

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
    """Return True if an event is simulated.

    Names of simulated events start with ``sim.``.

    Parameters
    ----------
    event : str

    Returns
    -------
    bool
    """
    return event.startswith(_PREFIX)


@cache
def _select_events(*last_levels: str) -> pd.DataFrame:
    """Select the events with one of the given values in the column ``last_level`` of simulated.csv."""
    table = pd.read_csv(shipped("events") / "simulated.csv", index_col="event")
    return table[table["last_level"].isin(last_levels)].drop(columns="last_level")
