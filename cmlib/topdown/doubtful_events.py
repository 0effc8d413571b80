"""Find events with wrong counts.

Some events do not count what their names say. :func:`find_doubtful_events` finds them by comparing the rates of related
events. It also knows the processors on which perf's generic stall events are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from cmlib.spelling import spelling
from cmlib.topdown.costs import UNKNOWN, Costs

# If there are more L1D misses per cycle than this, some of them must also miss the L2.
_MANY_L1_MISSES = 0.005
# Of two related events, the rarer one is wrong if its rate is below this share of the other rate.
_LEAST_SHARE = 0.005
# On Zen 2 and later, perf before Linux 6.9 takes both events from PMCx087, which these processors do not have. Since
# Linux 6.9 only the first event exists, and it correctly counts cycles without a queued op ("perf/x86/amd/core: Update
# and fix stalled-cycles-* events for Zen 2 and later"). A recording with both events is therefore from an older Linux,
# where both are wrong.
_GENERIC_STALLS = ("stalled-cycles-frontend", "stalled-cycles-backend")
_WITHOUT_GENERIC_STALLS = ("amd_zen2", "amd_zen3", "amd_zen4", "amd_zen5")


def find_doubtful_events(totals: pd.DataFrame, costs: Costs) -> tuple[str, ...]:
    """Find events with wrong counts.

    These events are found:

    - Events of L3 misses, if another event of L3 misses has a much higher rate
    - Perf's two generic events of stalled cycles, if both were counted on Zen 2 or later
    - All events of L2 and L3 misses, if there are many L1D misses and hardly any L2 misses

    On an unknown processor, only the first rule is used.

    Parameters
    ----------
    totals : DataFrame
        One row per event. Column ``rate``: events per cycle.
    costs : cmlib.topdown.costs.Costs
        Costs and kinds of the processor's events.

    Returns
    -------
    tuple of str
        Names of the events. Empty if none was found.
    """
    rates_by_kind: dict[str, dict[str, float]] = {kind: {} for kind in ("L1D miss", "L2 miss", "L3 miss")}
    for event, rate in totals["rate"].items():
        kind = costs.kind(event)
        if kind in rates_by_kind:
            rates_by_kind[kind][event] = rate
    l3_misses = rates_by_kind["L3 miss"]
    rare_l3_misses = [
        event for event, rate in l3_misses.items() if rate < _LEAST_SHARE * max(l3_misses.values())
    ]
    # Perf's last-level misses have the kind "L3 miss" on an unknown processor. If its last level is the L2, they are
    # all L2 misses: they can be compared with each other, but not with the misses of other levels.
    if costs.name == UNKNOWN:
        return tuple(rare_l3_misses)
    stalls = _find_generic_stalls(totals.index, costs.name)
    highest_l1_rate = max(rates_by_kind["L1D miss"].values(), default=np.nan)
    highest_l2_rate = max(rates_by_kind["L2 miss"].values(), default=np.nan)
    if highest_l1_rate > _MANY_L1_MISSES and highest_l2_rate < _LEAST_SHARE * highest_l1_rate:
        return (*stalls, *rates_by_kind["L2 miss"], *l3_misses)
    return (*stalls, *rare_l3_misses)


def _find_generic_stalls(events: Iterable[str], processor: str) -> list[str]:
    """Return perf's two generic stall events if the processor does not have them.

    The list is empty unless both were counted.
    """
    if processor not in _WITHOUT_GENERIC_STALLS:
        return []
    names = {spelling(name) for name in _GENERIC_STALLS}
    stalls = [event for event in events if spelling(event) in names]
    return stalls if len(stalls) >= len(_GENERIC_STALLS) else []
