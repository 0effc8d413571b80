"""Estimate how many cycles a program would save if a cache had no misses.

:func:`savings_without_misses` takes the counts of a program's runs and returns one entry per cache.
:func:`range_over_latencies` computes the savings for several latencies of memory.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cmlib.cost.change import LEAST_STANDARD_ERRORS, rates_row, reason_unreliable
from cmlib.cost.pooled import default_cost_model
from cmlib.cost.slopes import rates
from cmlib.intervals import MOST_PER_CYCLE
from cmlib.places import yaml_beside

if TYPE_CHECKING:
    from cmlib.topdown.costs import Costs

_MISSES = yaml_beside(__file__)  # name of the misses of a cache, by the kind of event that counts them
# Patterns in the names of events that count only misses of loads, also misses of code, or also prefetches.
_OF_LOADS = re.compile("load|dmnd|rd_blk")
_OF_CODE = re.compile("ic_dc|code|^cache-(misses|references)|longest_lat")
_OF_PREFETCHES = re.compile("ic_dc|pf|prefetch|any_fills|^cache-(misses|references)|longest_lat")
_NEGLIGIBLE = 1.0  # no estimate is needed if all misses cost less [% of the cycles] at the longest latency
# Plausible latencies of DRAM [cycles]: from idle memory of a desktop (50 ns at 4 GHz) to busy or remote memory of a
# server (200 ns).
_PLAUSIBLE_LATENCIES = (200.0, 790.0)


def savings_without_misses(
    runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]],
    costs: Costs,
    *,
    ghz: float | None = None,
    shares: pd.DataFrame | None = None,
) -> list[dict]:
    """Estimate how many cycles a program would save if a cache had no misses.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares of each run. Both have one row per time interval and one column per event. A running
        share is the fraction of the interval in which the event was counted (0–1). Runs without instructions or cycles
        are ignored.
    costs : cmlib.topdown.costs.Costs
        Latencies and kinds of the processor's events, from :func:`cmlib.topdown.read_costs`.
    ghz : float, optional
        Clock [GHz] that converts latencies from ns to cycles. Default: the processor's fastest clock.
    shares : DataFrame, optional
        Lower and upper bound of the lost slots by category, from :func:`cmlib.topdown.bounds`. A saving is at most the
        upper bound of the back end. If the event also counts misses of code, the upper bound of the front end is added.

    Returns
    -------
    list of dict
        One entry per cache with counted misses. Numbers are medians over the runs. Keys:

        - ``without``: the misses, for example ``L2 misses``
        - ``event``: event that counts the misses
        - ``counts``: description of this event
        - ``overstates``: True if the event counts more than misses of loads
        - ``percent``: cycles saved [% of all cycles] at the processor's typical latency. None if not known.
        - ``low`` and ``high``: smallest and largest saving for latencies of memory from 200 to 790 cycles. This is not
          a confidence interval. None if not known.
        - ``reason``: why no estimate is possible. Empty if there is an estimate.
        - ``runs``: number of runs with an estimate
        - ``of_runs``: number of all runs
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
    """List the events that count misses of a cache. Empty without instructions and cycles."""
    if not {"instructions", "cycles"} <= set(counts):
        return []
    return [event for event in counts if costs.kind(event) in _MISSES]


def _select_usable(counts, event):
    """Select the intervals with possible counts of an event, cycles and instructions."""
    is_possible = counts[event] <= MOST_PER_CYCLE * counts["cycles"]
    return counts.loc[is_possible, ["instructions", "cycles", event]].dropna()


def _combine_runs(misses, estimates_by_event, n_runs, shares):
    """Return the entry of :func:`savings_without_misses` for one cache.

    `estimates_by_event` has the results of :func:`_estimate_from_run` for each event of the cache, with the mean
    running share. The best event is used.
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
    """Return a tuple that is larger for a better event.

    These properties are compared in this order:

    - True if any run has an estimate
    - True if the event counts only loads
    - number of runs with an estimate
    - mean running share (fraction of the time in which the event was counted)
    """
    n_reliable = sum(not estimate["reason"] for estimate in estimates)
    counts_loads = bool(_OF_LOADS.search(event.lower()))
    running = np.mean([estimate["running"] for estimate in estimates])
    return n_reliable > 0, counts_loads, n_reliable, np.nan_to_num(running)


def _describe_misses(misses, counts_code, counts_prefetches):
    """Describe what an event counts. For example, ``L2 misses of code and data, prefetches among them``."""
    text = f"{misses} of code and data" if counts_code else misses
    if counts_prefetches:
        text += ", prefetches among them"
    return text


def _limit_loss(shares, counts_code):
    """Return the largest loss of slots [%] that the misses of an event can cause.

    `counts_code` is True if the event also counts misses of code.
    """
    share = shares.at["back end", "high"]
    if counts_code:
        share += shares.at["front end", "high"]
    return 100 * min(share, 1.0)


def _enforce_cache_inclusion(savings):
    """Make the savings of several caches consistent.

    A miss of the last-level cache is also a miss of the L2. Without L2 misses, at least as much is therefore saved. The
    entries are changed in place.
    """
    usable = [row for row in savings if not row["reason"]]
    # The caches come in the order LLC, L2, L1D.
    for farther, nearer in itertools.pairwise(usable):
        nearer["low"] = max(farther["low"], nearer["low"])
    for nearer, farther in itertools.pairwise(reversed(usable)):
        _limit_to_own_range(nearer)
        farther["high"] = min(farther["high"], nearer["high"])
        farther["percent"] = min(farther["percent"], nearer["percent"])
    return savings


def _limit_to_own_range(saving):
    """Change the upper bound and the estimate of a saving so that both are at least the lower bound."""
    saving["high"] = max(saving["high"], saving["low"])
    saving["percent"] = float(np.clip(saving["percent"], saving["low"], saving["high"]))


def _estimate_from_run(counts, event, latency):
    """Estimate how many cycles one run would save without the misses of an event.

    `latency` is the typical latency of a miss [cycles]. Returns a dict of ``percent``, ``low`` and ``high`` [% of the
    cycles] and ``reason``. If there is a reason against an estimate, the other three values are None.
    """
    rows = rates_row(rates(counts, counts, misses=event))
    row = rows.iloc[0]
    shortest, longest = _PLAUSIBLE_LATENCIES
    upper_limit = 100 * longest * row["misses"] / row["cycles"]
    if upper_limit < _NEGLIGIBLE:
        return {"percent": 0.0, "low": 0.0, "high": float(upper_limit), "reason": ""}
    reason = reason_unreliable(row)
    if not reason and row["slope"] - LEAST_STANDARD_ERRORS * row["stderr"] > longest:
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
    """Compute savings for several latencies of memory.

    Parameters
    ----------
    model : PooledCost
        Usually ``default_cost_model(other_processor=True)``. It is not changed.
    rows : DataFrame
        One row per program, as for :meth:`PooledCost.fit`.
    nominal : float
        Typical latency [cycles].

    Returns
    -------
    DataFrame
        One row per row of `rows`, in percent of the cycles. Columns:

        - ``percent``: saving at the typical latency
        - ``low``: lower end of the prediction interval at the shortest latency (200 cycles)
        - ``high``: upper end of the prediction interval at the longest latency (790 cycles)
    """
    shortest, longest = (_copy_with_latency(model, latency) for latency in _PLAUSIBLE_LATENCIES)
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
