"""Estimate the cycles that a program would save if it had no misses of a cache.

:func:`savings_without_misses` takes the counts and running shares of its runs (DataFrames, a row an interval, a
column an event), and gives a list of dicts, one for each cache: percent with low and high [% of the cycles], or
None and a reason. Runs without instructions or cycles are left out.
"""

import copy
import re

import numpy as np
from scipy import stats

from cmlib.cost.change import SURE, predict_change, rates_row, reason_unreliable
from cmlib.cost.pooled import default_cost_model
from cmlib.cost.slopes import rates
from cmlib.intervals import MOST_PER_CYCLE
from cmlib.places import yaml_beside

# Caches by the kinds of events that count their misses, and top-down categories that these misses cost.
_MISSES, _PARTS = map(yaml_beside(__file__).get, ("misses", "parts"))
# Names of events that count misses of loads alone, of code as well, of prefetches as well.
_OF_LOADS = re.compile("load|dmnd|rd_blk")
_OF_CODE = re.compile("ic_dc|code|^cache-(misses|references)|longest_lat")
_OF_PREFETCHES = re.compile("ic_dc|pf|prefetch|any_fills|^cache-(misses|references)|longest_lat")
_HARDLY = 1.0  # if misses cost less [% of the cycles] at their full latency, that is the answer


def savings_without_misses(runs, costs, *, ghz=None, shares=None):
    """Estimate the cycles that a program would save without misses of each cache, from its intervals.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Of each run its counts and its running shares (0–1): a row an interval in order, a column an event.
    costs : cmlib.topdown.costs.Costs
        Of the processor (latencies, width, kinds of events): :func:`cmlib.topdown.read_costs`.
    ghz : float, optional
        Clock of the recording [GHz], to convert latencies from ns to cycles. Default: the processor's fastest.
    shares : DataFrame, optional
        Bounds of the slots by category, from :func:`cmlib.topdown.bounds`; the estimates are limited to these.

    Returns
    -------
    list of dict
        An entry for each cache whose misses were counted: ``without`` (such as ``L2 misses``); ``event``, the event
        of its misses that is used, preferably one of loads; ``counts``, what that counts, and ``overstates``, True if
        that is more than loads; ``percent``, ``low`` and ``high``, cycles saved and the ends of the interval [% of all
        cycles], medians over those ``runs`` (of ``of_runs``) from which it could be estimated; or None in all three,
        and in ``reason`` why there is no estimate; ``cut``, True if the account of the slots narrowed the interval.

    Notes
    -----
    :func:`cmlib.cost.predict_change` by ``default_cost_model(other_processor=True)``, as what a miss costs on another
    processor says little; a miss costs no more than its latency on this one.
    """
    readings = {}
    for counts, running in runs:
        for event in counts if {"instructions", "cycles"} <= set(counts) else ():
            if (name := _MISSES.get(costs.kind(event))) is None:
                continue
            possible = counts[event] <= MOST_PER_CYCLE * counts["cycles"]
            usable = counts.loc[possible, ["instructions", "cycles", event]].dropna()
            if usable[["instructions", "cycles"]].sum().all():
                saved = _saved(usable, event, costs.most(event, ghz)) | {"running": running[event].mean()}
                readings.setdefault(name, {}).setdefault(event, []).append(saved)
    names = [name for name in dict.fromkeys(_MISSES.values()) if name in readings]
    return _enforce_cache_inclusion([_combined(name, readings[name], len(runs), shares) for name in names])


def _combined(name, by_event, n_runs, shares):
    """The entry of one cache: medians over the runs for its best event, limited to the bounds in `shares` if given.

    `by_event` has for each event what :func:`_saved` returned of each run, with the running share.
    """

    def quality(event):
        """Sort key: estimable in a run, of loads, in how many runs, mean running share."""
        known = sum(not saved["reason"] for saved in by_event[event])
        loads = bool(_OF_LOADS.search(event.lower()))
        running = np.mean([saved["running"] for saved in by_event[event]])
        return known > 0, loads, known, np.nan_to_num(running)

    event = max(by_event, key=quality)
    known = [saved for saved in by_event[event] if not saved["reason"]]
    code, prefetches = (pattern.search(event.lower()) for pattern in (_OF_CODE, _OF_PREFETCHES))
    what = (f"{name} of code and data" if code else name) + ", prefetches among them" * bool(prefetches)
    entry = {"without": name, "event": event, "counts": what}
    entry |= {"overstates": bool(code or prefetches), "runs": len(known), "of_runs": n_runs}
    if not known:
        return entry | dict.fromkeys(("percent", "low", "high")) | {"reason": by_event[event][0]["reason"]}
    ends = {end: float(np.median([saved[end] for saved in known])) for end in ("percent", "low", "high")}
    held = ends if shares is None else _hold(ends, *_account_of(name, shares, code))
    cut = held["low"] > ends["low"] or held["high"] < ends["high"]
    return entry | held | {"cut": cut, "reason": ""}


def _hold(ends, least, most):
    """Dict of percent, low, high, limited to (least, most); percent is the mean of the truncated normal
    distribution."""
    percent, low, high = ends.values()
    held = {end: float(np.clip(value, least, most)) for end, value in ends.items()}
    sd = (high - low) / (2 * stats.norm.ppf(0.95))
    if sd > 0 and held["high"] > held["low"]:
        cut = ((held[end] - percent) / sd for end in ("low", "high"))
        mean = float(stats.truncnorm.mean(*cut, loc=percent, scale=sd))
        held["percent"] = float(np.clip(mean, held["low"], held["high"]))
    return held


def _account_of(name, shares, code):
    """Least and most slots [%] that misses of a cache, and of those behind it, can cost by the bounds in `shares`."""
    parts, top = _PARTS[name], ["back end"]
    if code:
        parts, top = [*parts, "instruction cache"], [*top, "front end"]
    most = min(shares.loc[parts, "high"].sum(), shares.loc[top, "high"].sum(), 1.0)
    return 100 * min(shares.loc[_PARTS[name], "low"].sum(), most), 100 * most


def _enforce_cache_inclusion(savings):
    """Make entries consistent, in place: a cache's misses are also misses of those before it, and save no more."""
    usable = [row for row in savings if not row["reason"]]
    for inner, outer in zip(usable, usable[1:], strict=False):
        outer["low"] = max(inner["low"], outer["low"])
    for outer, inner in zip(usable[::-1], usable[-2::-1], strict=False):
        outer["high"] = max(outer["high"], outer["low"])
        outer["percent"] = float(np.clip(outer["percent"], outer["low"], outer["high"]))
        inner["high"], inner["percent"] = (min(inner[name], outer[name]) for name in ("high", "percent"))
    return savings


def _saved(counts, event, latency):
    """Dict of percent, low, high and reason from one run's counts; `latency` is the most that a miss can cost
    [cycles]."""
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
