"""What families of events are: members, direction, cycles, and the category of the account that goes with each."""

import numpy as np
import pandas as pd

from cmlib.families import by_family
from cmlib.study.families.names import family_names

_LISTED = 8
_QUIET, _BUSY = 0.1, 0.9
_FLAT = 0.2  # rank correlation below which nothing is said of a direction


def list_members(fitted):
    """Events of every family, by falling weight.

    Parameters
    ----------
    fitted : FittedFamilies

    Returns
    -------
    DataFrame
        A row an event: ``family`` (from 0), ``event``, ``weight`` (share of its family [%]), ``direction``.
    """
    X, cpi, grouped = fitted.steps.X, fitted.steps.cpi, fitted.grouped
    weights = fitted.model.contributions(X).std(ddof=0)
    frame = pd.DataFrame({"family": grouped, "event": grouped.index, "weight": weights[grouped.index]})
    frame["weight"] *= 100 / frame.groupby("family")["weight"].transform("sum").replace(0.0, np.inf)
    frame["direction"] = directions(X[grouped.index], cpi)
    ordered = frame.sort_values(["family", "weight"], ascending=[True, False], kind="stable")
    return ordered.reset_index(drop=True)


def describe(fitted, members, other, *, what, table, categories):
    """A row a family: its name, importance, direction, cycles and category.

    Parameters
    ----------
    fitted : FittedFamilies
    members : DataFrame
        From :func:`list_members`.
    other : Steps or None
        The pass on which cycles are predicted; without it, steps that were not drawn.
    what : DataFrame
        Kinds, classes and topics of the events (:func:`cmlib.events.kinds`).
    table : DataFrame
        Event table.
    categories : DataFrame, shape (n_steps, n_categories)
        As of :func:`category_of`.

    Returns
    -------
    DataFrame
        As ``table`` of :class:`cmlib.study.Families`. Index: family (from 0).
    """
    draws, events = fitted.draws, members.groupby("family")["event"]
    first = members.drop_duplicates("family").set_index("family")
    cycles = _cycles(fitted, other)
    described = pd.DataFrame(
        {
            "family": draws.columns + 1,
            "name": family_names(members, what, table),
            "kind": first["event"].map(what["kind"]),
            "class": first["event"].map(what["class"]),
            "n_events": events.size(),
            "importance": draws.mean(),
            "low": draws.quantile(0.05),
            "high": draws.quantile(0.95),
            "direction": first["direction"],
            "cycles_per_kilo_instruction": cycles.mean(),
            "cycles_low": cycles.quantile(0.05),
            "cycles_high": cycles.quantile(0.95),
        }
    )
    described = described.join(category_of(by_family(fitted.added, fitted.grouped), categories))
    return described.assign(members=events.agg(_listed))


def directions(X, cpi):
    """Whether there are more or fewer of each event where cycles per instruction are high.

    Returns
    -------
    Series of str
        By event: "more", "fewer", or empty where the rank correlation is weaker than 0.2.
    """
    along = X.rank().corrwith(cpi.rank())
    return pd.Series(np.select([along >= _FLAT, along <= -_FLAT], ["more", "fewer"], ""), index=X.columns)


def category_of(contributions, cycles):
    """The category of an account that goes with each family.

    Parameters
    ----------
    contributions : DataFrame, shape (n_steps, n_families)
        Cycles per instruction that each family adds. Index: progress.
    cycles : DataFrame, shape (n_steps, n_categories)
        Cycles per instruction of the top-down account's categories; without a column where there is no account.

    Returns
    -------
    DataFrame
        Index: family. Columns ``category``, the one whose cycles per instruction are most correlated with the family's,
        and ``category_r``.
    """
    if cycles.empty:
        return pd.DataFrame({"category": "", "category_r": np.nan}, index=contributions.columns)
    along = pd.DataFrame({name: contributions.corrwith(cycles[name]) for name in cycles}).fillna(-1.0)
    return pd.DataFrame({"category": along.idxmax(axis=1), "category_r": along.max(axis=1)})


def quiet_to_busy(cycles):
    """What each column has more in its busy than in its quiet steps (90th and 10th percentile).

    Parameters
    ----------
    cycles : DataFrame
        Cycles per instruction, a row a step.

    Returns
    -------
    Series
        By column, cycles per 1,000 instructions.
    """
    return 1000 * (cycles.quantile(_BUSY) - cycles.quantile(_QUIET)).astype(float)


def _cycles(fitted, other):
    """Cycles per 1,000 instructions from quiet to busy steps, a row a model: on another pass, or on steps not drawn."""
    rows = []
    for one in fitted.judging:
        unseen = fitted.steps.X[one.unseen] if other is None else other.X
        rows.append(quiet_to_busy(by_family(one.model.contributions(unseen), fitted.grouped)))
    return pd.DataFrame(rows)


def _listed(events):
    named = "; ".join(events[:_LISTED])
    return named if len(events) <= _LISTED else f"{named}; and {len(events) - _LISTED} more"
