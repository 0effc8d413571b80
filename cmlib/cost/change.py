"""Predict what a change of misses would change in a program's cycles."""

import copy
import re
from typing import NamedTuple

import numpy as np
import pandas as pd

from cmlib.clean.missing import MOST_PER_CYCLE
from cmlib.cost.pooled import default_cost_model
from cmlib.cost.slopes import rates, slope

SURE = 2.0  # standard errors of the slope above nothing
OTHERS = 2.0  # misses of stores for one of loads, beyond which the loads' tell little


class Prediction(NamedTuple):
    """What a change of misses per instruction changes.

    Attributes
    ----------
    change, low, high : float
        Of cycles per instruction, and the ends of its interval.
    cost : float
        Of a miss [cycles].
    known : bool
        Whether the program's own intervals tell it. If not, the numbers are what other programs would show.
    reason : str
        Why not; else empty.
    """

    change: float
    low: float
    high: float
    cost: float
    known: bool
    reason: str


def predict_change(cycles_run, misses_run, change, *, stores_change=None, misses=None, model=None):
    """Predict what cycles per instruction change by, if misses per instruction change.

    Parameters
    ----------
    cycles_run, misses_run : DataFrame
        Intervals of a run with cycles and of one with misses (of loads), which may be the same; as
        :func:`cmlib.cost.rates` takes them.
    change : float
        Of misses per instruction; negative where there will be fewer.
    stores_change : float, optional
        Of the misses of stores; in proportion to `change` by default.
    misses : str, optional
        Column of the misses, if they are not the last-level cache's.
    model : fitted PooledCost, optional
        By default learned from 29 programs of SPEC CPU2006 and CPU2017 on a Xeon Gold 5120
        (:func:`cmlib.cost.default_cost_model`); ``default_cost_model(other_processor=True)`` for another processor or
        other misses than of loads in the last level.

    Returns
    -------
    Prediction
        `change`, `low` and `high` [cycles per instruction], `cost` of a miss [cycles], and whether the program's own
        intervals tell it (`known`; if not, the `reason`).

    Raises
    ------
    ValueError
        As of :func:`cmlib.cost.rates`.

    Notes
    -----
    On these programs, each suite left out while the other is learned from, with 2, 4, 8 and 11 times the cache: half of
    the errors are below 1.1, 1.0, 1.7 and 2.0 % of all cycles, and 98 % of the 90 % intervals hold.
    """
    row = rates_row(rates(cycles_run, misses_run, misses=misses)).assign(change=float(change))
    if stores_change is not None:
        row["stores_change"] = float(stores_change)
    model = model or default_cost_model()
    (low,), (high,) = model.predict_interval(row)
    reason = reason_unreliable(row.iloc[0])
    cost = float(model.posterior(row)["cost"].iloc[0])
    return Prediction(float(model.predict(row)[0]), float(low), float(high), cost, not reason, reason)


def rates_row(intervals):
    """What :class:`PooledCost` takes of a program, but for changes, by its intervals (:func:`cmlib.cost.rates`)."""
    steepness, stderr = slope(intervals["cycles"], intervals["misses"])
    means = intervals.mean().reindex(["cycles", "misses", "stores"], fill_value=0.0)
    return pd.DataFrame([means]).assign(slope=steepness, stderr=stderr, intervals=len(intervals))


def reason_unreliable(row):
    """Say why a program's intervals don't tell what its misses cost.

    Parameters
    ----------
    row : Series or dict
        A row of :func:`changes`: cycles, misses and stores per instruction, slope, stderr, number of intervals.

    Returns
    -------
    str
        The reason; empty if they do tell.
    """
    if row["misses"] <= 0:
        return "no miss was counted"
    if not np.isfinite(row["stderr"]):
        return f"misses don't vary, or there are too few intervals ({row['intervals']:.0f})"
    if row["slope"] < SURE * row["stderr"]:
        return (
            f"cycles don't follow misses alike on all time scales: {row['slope']:.0f} cycles a miss, "
            f"standard error {row['stderr']:.0f}"
        )
    if "stores_change" not in row and row["stores"] > OTHERS * row["misses"]:
        return f"stores miss {row['stores'] / row['misses']:.0f} times as often as loads, and their change isn't told"
    return ""


# By what an event counts (:meth:`cmlib.topdown.costs.Costs.kind`), the nearest to memory first.
_MISSES = {
    "L3 miss": "LLC misses",
    "line from memory": "LLC misses",
    "L2 miss": "L2 misses",
    "L1D miss": "L1D misses",
}
# What misses of a cache cost in the account: the nearest to memory first.
_PARTS = {"LLC misses": ("memory and other caches",), "L2 misses": ("memory and other caches", "L3 hits")}
_PARTS["L1D misses"] = (*_PARTS["L2 misses"], "L2 hits")
_OF_LOADS = re.compile("load|dmnd|rd_blk")
_OF_CODE = re.compile("ic_dc|code|^cache-(misses|references)|longest_lat")
_OF_PREFETCHES = re.compile("ic_dc|pf|prefetch|any_fills|^cache-(misses|references)|longest_lat")
_HARDLY = 1.0  # percent of the cycles, that is known without any interval


def savings_without_misses(runs, costs, *, ghz=None, shares=None):
    """Estimate the cycles that a program would save without misses of each cache, where its intervals tell it.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Counts of each run, a row an interval in order, and running shares, as of :func:`cmlib.topdown.summarize`.
    costs : Costs
        Of the processor: :func:`cmlib.topdown.read_costs`.
    ghz : float, optional
        Clock of the recording, by which latencies of memory become cycles.
    shares : DataFrame, optional
        Of the account, as :func:`cmlib.topdown.bounds` has them: what is saved is held to what is lost there.

    Returns
    -------
    list of dict
        An entry a cache of which misses were counted: ``without``; ``event``, that of loads before others, which most
        runs tell; ``counts``, what it counts, and ``overstates``, whether that is more than loads; ``percent``, ``low``
        and ``high`` of all cycles, medians over the ``runs`` that tell it, of all (``of_runs``), and
        ``reason`` where they are None: why the intervals don't tell.

    Notes
    -----
    :func:`cmlib.cost.predict_change` by ``default_cost_model(other_processor=True)``, as what a miss costs on another
    processor says little; a miss costs no more than its latency on this one.
    """
    readings = {}
    for counts, running in runs:
        for event in counts if {"instructions", "cycles"} <= set(counts) else ():
            name = _MISSES.get(costs.kind(event))
            possible = counts[event] <= MOST_PER_CYCLE * counts["cycles"]
            usable = counts.loc[possible, ["instructions", "cycles", event]].dropna()
            if name and len(usable) and usable["cycles"].sum():
                saved = _saved(usable, event, costs.most(event, ghz)) | {"running": running[event].mean()}
                readings.setdefault(name, {}).setdefault(event, []).append(saved)
    savings = [
        _combined(name, readings[name], len(runs), shares)
        for name in dict.fromkeys(_MISSES.values())
        if name in readings
    ]
    return _enforce_cache_inclusion(savings)


def _combined(name, by_event, n_runs, shares):
    """The median of all readings of the event that tells most surely what loads miss, held to the account."""

    def quality(event):
        known = sum(not saved["reason"] for saved in by_event[event])
        loads = bool(_OF_LOADS.search(event.lower()))
        return (
            known > 0,
            loads,
            known,
            np.nan_to_num(np.mean([saved["running"] for saved in by_event[event]])),
        )

    event = max(by_event, key=quality)
    known = [saved for saved in by_event[event] if not saved["reason"]]
    code, prefetches = (pattern.search(event.lower()) for pattern in (_OF_CODE, _OF_PREFETCHES))
    what = f"{name} of code and data" if code else name
    entry = {
        "without": name,
        "event": event,
        "counts": what + (", prefetches among them" if prefetches else ""),
    }
    entry |= {"overstates": bool(code or prefetches), "runs": len(known), "of_runs": n_runs}
    if not known:
        return entry | dict.fromkeys(("percent", "low", "high")) | {"reason": by_event[event][0]["reason"]}
    ends = {end: float(np.median([saved[end] for saved in known])) for end in ("percent", "low", "high")}
    if shares is not None:
        least, most = _account_of(name, shares, code)
        ends = {end: float(np.clip(value, least, most)) for end, value in ends.items()}
    return entry | ends | {"reason": ""}


def _account_of(name, shares, code):
    """Least and most that misses of a cache, and of those behind it, cost by the account [% of the slots]."""
    parts, top = list(_PARTS[name]), ["back end"]
    if code:
        parts, top = [*parts, "instruction cache"], [*top, "front end"]
    most = min(shares.loc[parts, "high"].sum(), shares.loc[top, "high"].sum(), 1.0)
    return 100 * min(shares.loc[list(_PARTS[name]), "low"].sum(), most), 100 * most


def _enforce_cache_inclusion(savings):
    """What misses a cache misses those before it, too, and saves no more than they do."""
    usable = [row for row in savings if not row["reason"]]
    for inner, outer in zip(usable, usable[1:], strict=False):
        outer["low"] = max(inner["low"], outer["low"])
    for outer, inner in zip(usable[::-1], usable[-2::-1], strict=False):
        outer["high"] = max(outer["high"], outer["low"])
        inner["high"], inner["percent"] = (min(inner[name], outer[name]) for name in ("high", "percent"))
    return savings


def _saved(counts, event, latency):
    intervals = rates(counts, counts, misses=event)
    row, percent = rates_row(intervals).iloc[0], -100 / intervals["cycles"].mean()
    most = -percent * latency * row["misses"]
    if most < _HARDLY:
        return {"percent": 0.0, "low": 0.0, "high": float(most), "reason": ""}
    reason = reason_unreliable(row)
    if not reason and row["slope"] - SURE * row["stderr"] > latency:
        reason = "more cycles come with a miss than it can cost"
    if reason:  # without its numbers
        return {"percent": None, "low": None, "high": None, "reason": reason.partition(":")[0]}
    model = copy.copy(default_cost_model(other_processor=True))
    model.latency = latency
    predicted = predict_change(counts, counts, -row["misses"], misses=event, model=model)
    ends = {"percent": predicted.change, "low": predicted.high, "high": predicted.low}
    return {name: float(np.clip(percent * end, 0, most)) for name, end in ends.items()} | {"reason": ""}
