"""Bound the share of slots in each top-down category.

A slot is an opportunity to begin one operation in a cycle. A category is one use or loss of slots, for example "back
end".

:func:`bounds` takes the rates of the counted events. It returns :class:`Bounds`, a lower and an upper bound for each
category. If every category was counted, the bounds differ only by the errors of the counts. If few events were counted,
the bounds are wide. The bounds are computed in three steps:

- :mod:`cmlib.topdown.doubtful_events` finds events that cannot be used.
- :mod:`cmlib.topdown.event_bounds` computes the bounds that each event sets.
- :mod:`cmlib.topdown.tightening` narrows these bounds, because the shares add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd

from cmlib.topdown.category_tables import LOSSES, OTHER_THREAD
from cmlib.topdown.doubtful_events import find_doubtful_events
from cmlib.topdown.event_bounds import SHARE_TOLERANCE, Bound, bound_mispredictions, compute_event_bounds
from cmlib.topdown.tightening import map_parents, tighten

if TYPE_CHECKING:
    from cmlib.topdown.costs import Costs

_LEVEL_1 = (*LOSSES, "retired")
# Largest rounding error of a printed share, with a margin of 0.0001: perf prints percent with or without one decimal.
_ROUNDING_OF_ONE_DECIMAL = 0.0006
_ROUNDING_OF_WHOLE_PERCENT = 0.0051


@dataclass(frozen=True)
class Bounds:
    """Lower and upper bound of the slots in each top-down category.

    A slot is an opportunity to begin one operation in a cycle. A category is one use or loss of slots, for example
    "back end". The categories of level 1 divide all slots.

    Attributes
    ----------
    shares : DataFrame
        One row per category, parents before their parts. Columns:

        - ``parent``: category that contains this one
        - ``low`` and ``high``: lower and upper bound of the share of all slots (0–1)
        - ``events``: events that bound this category directly
    exact : bool
        True if every category of level 1 was counted or printed.
    gap : float
        Sum of the counted shares of level 1, minus 1. It is 0 if some category was not counted, or if the difference is
        within the errors of the counts.
    contradiction : float
        Largest difference between two bounds that contradict each other. It is 0 if no bounds do.
    doubtful : tuple of str
        Events that are not used. They do not count what their names say.
    printed : bool
        True if shares that the recording tool printed are used.
    printed_gap : float
        Sum of the printed shares of level 1, minus 1. It is 0 if the sum is plausible.
    disputed : dict of str to float
        Printed shares that are ignored because they contradict the counts or do not add up, keyed by category. Empty if
        no such shares were printed, or if every category of level 1 was counted.
    """

    shares: pd.DataFrame
    exact: bool
    gap: float
    contradiction: float
    doubtful: tuple
    printed: bool = False
    printed_gap: float = 0.0
    disputed: dict = field(default_factory=dict)


def bounds(
    totals: pd.DataFrame,
    costs: Costs,
    *,
    ghz: float | None = None,
    printed: dict[str, float] | None = None,
    savings: Sequence[dict] = (),
) -> Bounds:
    """Bound each category's share of the slots.

    Parameters
    ----------
    totals : DataFrame
        One row per event, from :func:`cmlib.topdown.totals`. Column ``rate``: events per cycle. Column ``error``:
        relative error of the rate.
    costs : cmlib.topdown.costs.Costs
        Costs of the processor's events, from :func:`cmlib.topdown.read_costs`.
    ghz : float, optional
        Clock of the recording [GHz]. It converts the latency of memory to cycles. Default: the processor's fastest
        clock.
    printed : dict of str to float, optional
        Shares (0–1) that the recording tool printed, by category. They are ignored if every category of level 1 was
        counted. They are also ignored if they contradict the counts, or if their sum is not 1.
    savings : sequence of dict, optional
        Cycles that the program would save if a cache had no misses, from :func:`cmlib.cost.savings_without_misses`.
        They are used as lower bounds of the back end.

    Returns
    -------
    Bounds
        The bounds, and the contradictions between the counts.

    Notes
    -----
    Each event sets a linear inequality for one category or for a sum of categories. Further inequalities follow from
    the sums: all shares of level 1 add up to 1, and parts add up to their category. The bounds are narrowed with one
    inequality after the other until they no longer change.
    """
    doubtful = find_doubtful_events(totals, costs)
    totals = totals.drop(index=list(doubtful))
    counted, event_bounds = compute_event_bounds(totals, costs, savings, ghz)
    ranges = tighten(event_bounds, largest_gap=abs(counted.gap))
    if counted.exact:
        return Bounds(
            shares=_make_frame(ranges, event_bounds),
            exact=True,
            gap=_ignore_small_gap(counted.gap, counted.error),
            contradiction=ranges.contradiction,
            doubtful=doubtful,
        )
    printed_shares = _PrintedShares.select(printed or {}, ranges)
    if printed_shares.can_be_used():
        return _bound_by_printed_shares(printed_shares, event_bounds, doubtful)
    ranges = _tighten_by_mispredictions(
        ranges, event_bounds, bound_mispredictions(totals, costs), abs(counted.gap)
    )
    return Bounds(
        shares=_make_frame(ranges, event_bounds),
        exact=False,
        gap=_ignore_small_gap(counted.gap, counted.error),
        contradiction=ranges.contradiction,
        doubtful=doubtful,
        printed_gap=-printed_shares.missing,
        disputed=printed_shares.level_1 | printed_shares.contradicting,
    )


def _ignore_small_gap(gap, error):
    """Return the gap, or 0 if it is small or within the errors of the counts."""
    return 0.0 if abs(gap) <= max(SHARE_TOLERANCE, error) else gap


def _make_frame(ranges, event_bounds):
    """Return a DataFrame of the bounds, with the parent of each category and the events that bound it."""
    parents = map_parents()
    events_by_category = {name: () for name in parents}
    for bound in event_bounds:
        if len(bound.categories) == 1:
            (name,) = bound.categories
            events_by_category[name] = tuple(dict.fromkeys([*events_by_category[name], *bound.events]))
    columns = {"parent": parents, "low": ranges.low, "high": ranges.high, "events": events_by_category}
    return pd.DataFrame(columns).loc[list(parents)]


def _tighten_by_mispredictions(ranges, event_bounds, misprediction_bounds, largest_gap):
    """Narrow the ranges by the lower bounds that mispredictions set.

    The cost of a misprediction is only a typical value. If it contradicts the counts, the ranges are returned
    unchanged.
    """
    if not misprediction_bounds:
        return ranges
    narrower = tighten([*event_bounds, *misprediction_bounds], largest_gap=largest_gap)
    return narrower if narrower.contradiction <= ranges.contradiction else ranges


@dataclass(frozen=True)
class _PrintedShares:
    """Shares of the slots that the recording tool printed.

    Attributes
    ----------
    shares : dict of str to float
        All printed shares of categories.
    level_1 : dict of str to float
        The printed shares of level 1.
    missing : float
        1 minus the sum of level 1, or 0 if the sum is plausible.
    contradicting : dict of str to float
        Printed shares that lie outside the bounds of the counts.
    """

    shares: dict
    level_1: dict
    missing: float
    contradicting: dict

    @classmethod
    def select(cls, printed, ranges):
        """Select the shares of categories from the printed values, and find contradictions."""
        shares = {name: share for name, share in printed.items() if name in ranges.low}
        level_1 = {name: printed[name] for name in _LEVEL_1 if name in printed}
        missing = _find_missing_share(level_1, printed.get(OTHER_THREAD, 0.0))
        contradicting = {}
        for name, share in shares.items():
            if not ranges.low[name] - SHARE_TOLERANCE <= share <= ranges.high[name] + SHARE_TOLERANCE:
                contradicting[name] = share
        return cls(shares, level_1, missing, contradicting)

    def can_be_used(self):
        """Return True if a share of level 1 was printed, and if nothing contradicts the printed shares."""
        return bool(self.level_1) and not self.missing and not self.contradicting

    def is_complete(self):
        """Return True if all four shares of level 1 were printed."""
        return len(self.level_1) == len(_LEVEL_1)

    def rounding(self):
        """Return the largest rounding error of the printed shares."""
        percents = [100 * share for share in self.shares.values()]
        if all(abs(percent - round(percent)) < 1e-6 for percent in percents):
            return _ROUNDING_OF_WHOLE_PERCENT
        return _ROUNDING_OF_ONE_DECIMAL


def _find_missing_share(level_1, other_thread_share):
    """Return 1 minus the sum of the printed shares of level 1, or 0 if the sum is plausible.

    A sum above 1 is not plausible. A sum below 1 is plausible if some of the four shares were not printed. It is also
    plausible if the other thread of the core took the remaining slots.
    """
    missing = 1 - sum(level_1.values())
    is_too_high = missing <= -SHARE_TOLERANCE
    is_complete = len(level_1) == len(_LEVEL_1)
    is_too_low = is_complete and missing - other_thread_share >= SHARE_TOLERANCE
    return missing if is_too_high or is_too_low else 0.0


def _bound_by_printed_shares(printed_shares, event_bounds, doubtful):
    """Return bounds from the printed shares and from the counts."""
    rounding = printed_shares.rounding()
    printed_bounds = [
        Bound((name,), share - rounding, share + rounding, ())
        for name, share in printed_shares.shares.items()
    ]
    all_bounds = [*printed_bounds, *event_bounds]
    # If a share was not printed, the sum of level 1 is not known exactly.
    gap = sum(printed_shares.level_1.values()) - 1 if printed_shares.is_complete() else SHARE_TOLERANCE
    ranges = tighten(all_bounds, largest_gap=abs(gap))
    return Bounds(
        shares=_make_frame(ranges, all_bounds),
        exact=printed_shares.is_complete(),
        gap=0.0,
        contradiction=ranges.contradiction,
        doubtful=doubtful,
        printed=True,
    )
