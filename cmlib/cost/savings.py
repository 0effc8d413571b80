"""Estimate the cycles that a program would save if it had no misses of a cache.

:func:`savings_without_misses` takes the counts of a program's runs, and returns one entry (dict) per cache.
:func:`range_over_latencies` returns the savings at several latencies of memory.
"""

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
    estimates = {}
    for counts, running in runs:
        for event in _list_miss_events(counts, costs):
            usable = _select_usable(counts, event)
            if usable[["instructions", "cycles"]].sum().all():
                estimate = _estimate_from_run(usable, event, costs.most(event, ghz))
                estimate["running"] = running[event].mean()
                misses = _MISSES[costs.kind(event)]
                estimates.setdefault(misses, {}).setdefault(event, []).append(estimate)
    savings = [
        _combine_runs(misses, estimates[misses], len(runs), shares)
        for misses in dict.fromkeys(_MISSES.values())
        if misses in estimates
    ]
    return _enforce_cache_inclusion(savings)


def _list_miss_events(counts, costs):
    """List the events of a run that count misses of a cache; none without instructions and cycles."""
    if not {"instructions", "cycles"} <= set(counts):
        return []
    return [event for event in counts if costs.kind(event) in _MISSES]


def _select_usable(counts, event):
    """Select the intervals in which an event, cycles and instructions have possible counts."""
    is_possible = counts[event] <= MOST_PER_CYCLE * counts["cycles"]
    return counts.loc[is_possible, ["instructions", "cycles", event]].dropna()


def _combine_runs(misses, estimates_by_event, n_runs, shares):
    """Combine the estimates of all runs for one cache: an entry of :func:`savings_without_misses`.

    Its numbers are medians over the runs for the best event, limited to the bounds in `shares` (None if not known).
    `estimates_by_event` has for each event what :func:`_estimate_from_run` returned, with the mean running share.
    """
    event = max(estimates_by_event, key=lambda event: _rate_event(event, estimates_by_event[event]))
    estimates = estimates_by_event[event]
    reliable = [estimate for estimate in estimates if not estimate["reason"]]
    counts_code = bool(_OF_CODE.search(event.lower()))
    counts_prefetches = bool(_OF_PREFETCHES.search(event.lower()))
    entry = {
        "without": misses,
        "event": event,
        "counts": _describe_misses(misses, counts_code, counts_prefetches),
        "overstates": counts_code or counts_prefetches,
        "runs": len(reliable),
        "of_runs": n_runs,
    }
    if not reliable:
        return entry | {"percent": None, "low": None, "high": None, "reason": estimates[0]["reason"]}
    limit = 100.0 if shares is None else _limit_loss(shares, counts_code)
    for key in ("percent", "low", "high"):
        entry[key] = min(float(np.median([estimate[key] for estimate in reliable])), limit)
    return entry | {"reason": ""}


def _rate_event(event, estimates):
    """Rate an event by its estimates: a tuple, larger for a better event.

    It compares whether any run has an estimate, whether the event counts loads, the number of runs with an estimate,
    and the mean running share.
    """
    n_reliable = sum(not estimate["reason"] for estimate in estimates)
    counts_loads = bool(_OF_LOADS.search(event.lower()))
    running = np.mean([estimate["running"] for estimate in estimates])
    return n_reliable > 0, counts_loads, n_reliable, np.nan_to_num(running)


def _describe_misses(misses, counts_code, counts_prefetches):
    """Describe what an event counts, such as ``L2 misses of code and data, prefetches among them``."""
    text = f"{misses} of code and data" if counts_code else misses
    if counts_prefetches:
        text += ", prefetches among them"
    return text


def _limit_loss(shares, code):
    """Return the most slots [%] that data misses (and misses of code) can cost, by the bounds in `shares`."""
    share = shares.at["back end", "high"]
    if code:
        share += shares.at["front end", "high"]
    return 100 * min(share, 1.0)


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
    upper_limit = 100 * longest * row["misses"] / row["cycles"]
    if upper_limit < _HARDLY:
        return {"percent": 0.0, "low": 0.0, "high": float(upper_limit), "reason": ""}
    reason = reason_unreliable(row)
    if not reason and row["slope"] - SURE * row["stderr"] > longest:
        reason = "more cycles come with a miss than it can cost"
    if reason:
        without_numbers = reason.partition(":")[0]
        return {"percent": None, "low": None, "high": None, "reason": without_numbers}
    nominal = float(np.clip(latency, shortest, longest)) if np.isfinite(latency) else longest
    rows = rows.assign(change=-row["misses"])
    saved = range_over_latencies(default_cost_model(other_processor=True), rows, nominal).iloc[0]
    return {name: float(np.clip(saved[name], 0, upper_limit)) for name in ("percent", "low", "high")} | {
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
    shortest, longest = (_copy_with_latency(model, latency) for latency in PLAUSIBLE_LATENCY)
    percent_per_cycle = -100 / rows["cycles"]
    return pd.DataFrame(
        {
            "percent": _copy_with_latency(model, nominal).predict(rows) * percent_per_cycle,
            "low": shortest.predict_interval(rows)[1] * percent_per_cycle,
            "high": longest.predict_interval(rows)[0] * percent_per_cycle,
        }
    )


def _copy_with_latency(model, latency):
    """Return a copy of a model with another latency of memory [cycles]."""
    changed = copy.copy(model)
    changed.latency = latency
    return changed
