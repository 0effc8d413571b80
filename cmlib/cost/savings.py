"""Estimate the cycles that a program would save if it had no misses of a cache."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cmlib.cost.change import SURE, rates_row, reason_unreliable
from cmlib.cost.pooled import default_cost_model
from cmlib.cost.slopes import rates
from cmlib.intervals import MOST_PER_CYCLE
from cmlib.places import yaml_beside

if TYPE_CHECKING:
    from cmlib.topdown.costs import Costs

# Caches by the kinds of events that count their misses.
_MISSES = yaml_beside(__file__)
# Names of events that count misses of loads alone, of code as well, of prefetches as well.
_OF_LOADS = re.compile("load|dmnd|rd_blk")
_OF_CODE = re.compile("ic_dc|code|^cache-(misses|references)|longest_lat")
_OF_PREFETCHES = re.compile("ic_dc|pf|prefetch|any_fills|^cache-(misses|references)|longest_lat")
_HARDLY = 1.0  # if all misses at the longest latency cost less [% of the cycles], that is the answer
# Plausible latencies of DRAM [cycles]: from idle memory of a desktop (50 ns at 4 GHz) to busy or remote memory of a
# server (200 ns).
PLAUSIBLE_LATENCY = (200.0, 790.0)


def savings_without_misses(
    runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]],
    costs: Costs,
    *,
    ghz: float | None = None,
    shares: pd.DataFrame | None = None,
) -> list[dict]:
    """Estimate the cycles that a program would save without misses of each cache, from its intervals.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares (0–1) of each run: one row per interval in order, one column per event. Runs without
        instructions or cycles are left out.
    costs : cmlib.topdown.costs.Costs
        Latencies and kinds of events of the processor, from :func:`cmlib.topdown.read_costs`.
    ghz : float, optional
        Clock of the recording [GHz], which converts latencies from ns to cycles. Default: the processor's fastest.
    shares : DataFrame, optional
        Bounds of the slots by category, from :func:`cmlib.topdown.bounds`. Misses save no more than the upper bound of
        the back end (and of the front end, for events that also count misses of code).

    Returns
    -------
    list of dict
        One entry for each cache with counted misses:

        - ``without``: the misses, such as ``L2 misses``;
        - ``event``: the event that is used, preferably one of loads;
        - ``counts``: what the event counts, and ``overstates``: True if that is more than loads;
        - ``percent``: cycles saved [% of all cycles], at the processor's nominal latency; None if not known;
        - ``low`` and ``high``: a range over plausible latencies of memory, 200 to 790 cycles. It is no confidence
          interval: nobody has measured how often it holds on the recorded processor;
        - ``reason``: why there is no estimate, or empty;
        - ``runs`` and ``of_runs``: runs that give an estimate, and all runs. The numbers are medians over the former.

    Notes
    -----
    The model is ``default_cost_model(other_processor=True)``, as the cost of a miss on another processor says little.
    """
    readings = {}
    for counts, running in runs:
        for event in counts if {"instructions", "cycles"} <= set(counts) else ():
            if (name := _MISSES.get(costs.kind(event))) is None:
                continue
            possible = counts[event] <= MOST_PER_CYCLE * counts["cycles"]
            usable = counts.loc[possible, ["instructions", "cycles", event]].dropna()
            if usable[["instructions", "cycles"]].sum().all():
                saved = _estimate_from_run(usable, event, costs.most(event, ghz)) | {
                    "running": running[event].mean()
                }
                readings.setdefault(name, {}).setdefault(event, []).append(saved)
    names = [name for name in dict.fromkeys(_MISSES.values()) if name in readings]
    return _enforce_cache_inclusion([_combined(name, readings[name], len(runs), shares) for name in names])


def _combined(name, by_event, n_runs, shares):
    """Return the entry of one cache: medians over the runs for its best event, limited to the bounds in `shares`.

    `by_event` has for each event what :func:`_estimate_from_run` returned for each run, with the running share.
    `shares` may be None.
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
    most = 100.0 if shares is None else _most_lost(shares, code)
    medians = {end: float(np.median([saved[end] for saved in known])) for end in ("percent", "low", "high")}
    return entry | {end: min(value, most) for end, value in medians.items()} | {"reason": ""}


def _most_lost(shares, code):
    """Return the most slots [%] that data misses (and misses of code) can cost, by the bounds in `shares`."""
    most = shares.at["back end", "high"]
    if code:
        most += shares.at["front end", "high"]
    return 100 * min(most, 1.0)


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


def _estimate_from_run(counts, event, latency):
    """Estimate what one run would save without the misses that `event` counts.

    `latency` is the processor's nominal latency of such a miss [cycles]. Returns a dict of percent, low, high [% of
    the cycles] and reason; the first three are None if there is a reason against an estimate.
    """
    rows = rates_row(rates(counts, counts, misses=event))
    row = rows.iloc[0]
    shortest, longest = PLAUSIBLE_LATENCY
    most = 100 * longest * row["misses"] / row["cycles"]
    if most < _HARDLY:
        return {"percent": 0.0, "low": 0.0, "high": float(most), "reason": ""}
    reason = reason_unreliable(row)
    if not reason and row["slope"] - SURE * row["stderr"] > longest:
        reason = "more cycles come with a miss than it can cost"
    if reason:
        without_numbers = reason.partition(":")[0]
        return {"percent": None, "low": None, "high": None, "reason": without_numbers}
    nominal = float(np.clip(latency, shortest, longest)) if np.isfinite(latency) else longest
    rows = rows.assign(change=-row["misses"])
    saved = range_over_latencies(default_cost_model(other_processor=True), rows, nominal).iloc[0]
    return {name: float(np.clip(saved[name], 0, most)) for name in ("percent", "low", "high")} | {
        "reason": ""
    }


def range_over_latencies(model, rows, nominal):
    """Return the savings that plausible latencies of memory allow.

    Parameters
    ----------
    model : PooledCost
        Usually ``default_cost_model(other_processor=True)``. Not modified.
    rows : DataFrame
        As :meth:`PooledCost.fit` takes it.
    nominal : float
        Latency for the estimate [cycles].

    Returns
    -------
    DataFrame
        ``percent``, the estimate at the nominal latency; ``low``, the lower end of the model's interval at the
        shortest plausible latency; and ``high``, its upper end at the longest [% of the cycles that are saved].
    """
    shortest, longest = (_with_latency(model, latency) for latency in PLAUSIBLE_LATENCY)
    percent_per_cycle = -100 / rows["cycles"]
    return pd.DataFrame(
        {
            "percent": _with_latency(model, nominal).predict(rows) * percent_per_cycle,
            "low": shortest.predict_interval(rows)[1] * percent_per_cycle,
            "high": longest.predict_interval(rows)[0] * percent_per_cycle,
        }
    )


def _with_latency(model, latency):
    """Return a copy of a model with another latency of memory [cycles]."""
    changed = copy.copy(model)
    changed.latency = latency
    return changed
