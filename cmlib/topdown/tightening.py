"""Narrow the bounds of top-down categories by their sums.

The shares of level 1 add up to 1. The parts of a category add up to the category. :func:`tighten` takes bounds of
single categories and of sums, and returns the :class:`Ranges` of all categories. The parts of each category are listed
in `data/topdown/costs/common.yaml`.
"""

from typing import NamedTuple

from cmlib.topdown.costs import common
from cmlib.topdown.event_bounds import Bound

_MOST_ROUNDS = 60  # the iteration stops after this number of passes over all inequalities
_SMALLEST_CHANGE = 1e-6  # the iteration stops if the bounds change by less in one pass
_NEGLIGIBLE = 0.01  # contradictions up to this share of the slots are not reported


class Ranges(NamedTuple):
    """Lower and upper bound of each category.

    Attributes
    ----------
    low, high : dict of str to float
        Lower and upper bound of each category's share of the slots (0–1).
    contradiction : float
        Largest difference between two bounds that contradict each other. It is 0 if no bounds do.
    """

    low: dict
    high: dict
    contradiction: float


class _Inequality(NamedTuple):
    """The inequality ``least <= sum of factor * share <= most``.

    Attributes
    ----------
    factors : dict of str to float
        Factor of each category's share: 1 or -1.
    least, most : float
        Lower and upper limit of the sum.
    """

    factors: dict
    least: float
    most: float


def map_parents():
    """Return the parent of every category as a dict.

    The parent is "" for level 1.
    """
    parts_by_category = common()["parts"] | common()["more"]
    parent_by_category = {}
    for category, parts in parts_by_category.items():
        for part in parts:
            parent_by_category[part] = "" if category == "all" else category
    return parent_by_category


def tighten(bounds, *, largest_gap):
    """Compute the range of each category that satisfies all bounds and sums.

    Parameters
    ----------
    bounds : list of Bound
        Bounds of single categories or of sums of categories.
    largest_gap : float
        Largest allowed difference between the sum of level 1 and 1.

    Returns
    -------
    Ranges

    Notes
    -----
    The ranges start at 0 to 1. Each inequality narrows them in turn, until they no longer change. SciPy's linear
    programs give the same result in 80 times the time (105 against 1.3 ms), if a solution exists.
    """
    rare = _bound_rare_categories(bounds)
    inequalities = _list_inequalities([*bounds, *rare], largest_gap)
    low = dict.fromkeys(map_parents(), 0.0) | {"all": 1.0}
    high = dict.fromkeys(low, 1.0)
    contradiction = 0.0
    for _ in range(_MOST_ROUNDS):
        total_change = 0.0
        for inequality in inequalities:
            for name in inequality.factors:
                change, excess = _narrow(name, inequality, low, high)
                total_change += change
                contradiction = max(contradiction, excess)
        if total_change < _SMALLEST_CHANGE:
            break
    _reset_lower_bounds(low, bounds, rare)
    return Ranges(low, high, contradiction if contradiction > _NEGLIGIBLE else 0.0)


def _bound_rare_categories(bounds):
    """Return an upper bound for each rare category that no event bounds.

    The upper bounds are assumptions, listed in `data/topdown/costs/common.yaml`.
    """
    bounded = {name for bound in bounds for name in bound.categories}
    return [Bound((name,), 0.0, most, ()) for name, most in common()["rare"].items() if name not in bounded]


def _list_inequalities(bounds, largest_gap):
    """List the inequalities of all sums and of all bounds."""
    inequalities = []
    for category, parts in common()["parts"].items():
        factors = {category: 1.0} | dict.fromkeys(parts, -1.0)
        least, most = (-largest_gap, largest_gap) if category == "all" else (0.0, 0.0)
        inequalities.append(_Inequality(factors, least, most))
    # These parts do not make up the complete category.
    for category, parts in common()["more"].items():
        factors = {category: 1.0} | dict.fromkeys(parts, -1.0)
        inequalities.append(_Inequality(factors, 0.0, 1.0))
    for bound in bounds:
        inequalities.append(_Inequality(dict.fromkeys(bound.categories, 1.0), bound.low, bound.high))
    return inequalities


def _narrow(name, inequality, low, high):
    """Narrow the range of one category in the dicts `low` and `high` with an inequality.

    If the inequality contradicts the range, nothing is changed.

    Returns
    -------
    change : float
        By how much the range became narrower.
    excess : float
        By how much the inequality contradicts the range.
    """
    new_low, new_high = _solve_for(name, inequality, low, high)
    new_low = max(new_low, low[name])
    new_high = min(new_high, high[name])
    if new_low > new_high:
        return 0.0, new_low - new_high
    change = new_low - low[name] + high[name] - new_high
    low[name] = new_low
    high[name] = new_high
    return change, 0.0


def _solve_for(name, inequality, low, high):
    """Return the range of one category that an inequality allows, given the ranges of the other categories."""
    smallest = 0.0
    largest = 0.0
    for other, factor in inequality.factors.items():
        if other == name:
            continue
        ends = (factor * low[other], factor * high[other])
        smallest += min(ends)
        largest += max(ends)
    sign = inequality.factors[name]
    ends = (sign * (inequality.least - largest), sign * (inequality.most - smallest))
    return min(ends), max(ends)


def _reset_lower_bounds(low, bounds, rare):
    """Remove lower bounds that only follow from an assumption.

    The upper bounds of rare categories are assumptions. For example, pipeline restarts are assumed to take at most 2 %
    of the slots. The rest of bad speculation would then be mispredicted branches, even if no event shows it. Rare
    categories and their siblings therefore get the lower bounds that events set directly.
    """
    rare_names = {bound.categories[0] for bound in rare}
    for parts in common()["parts"].values():
        if not rare_names & set(parts):
            continue
        for part in parts:
            low[part] = max((bound.low for bound in bounds if bound.categories == (part,)), default=0.0)
