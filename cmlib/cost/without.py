"""What a program would do without each kind of miss, as its own intervals tell it."""

import copy
import re

import numpy as np

from cmlib.cost.change import SURE, doubt, predict_change, rates_row
from cmlib.cost.population import learned
from cmlib.cost.rates import rates

# By what an event counts (:meth:`cmlib.topdown.costs.Costs.kind`), the nearest to memory first.
_MISSES = {
    "L3 miss": "LLC misses",
    "line from memory": "LLC misses",
    "L2 miss": "L2 misses",
    "L1D miss": "L1D misses",
}
_OF_LOADS = re.compile("load|dmnd|rd_blk")
_MOST_A_CYCLE = 128  # no core counts more
_HARDLY = 1.0  # percent of the cycles, that is known without any interval


def without_misses(runs, costs, *, ghz=None):
    """Cycles that a program would save without misses of each cache, where its intervals tell it.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Counts of each run, a row an interval in order, and running shares, as of :func:`cmlib.topdown.summarize`.
    costs : Costs
        Of the processor: :func:`cmlib.topdown.read_costs`.
    ghz : float, optional
        Clock of the recording, by which latencies of memory become cycles.

    Returns
    -------
    list of dict
        An entry a cache of which misses were counted: ``without``; ``event``, that of loads before others, counted for
        the largest share of the time; ``percent``, ``low`` and ``high`` of all cycles, and ``reason`` where they are
        None: why the intervals don't tell.

    Notes
    -----
    :func:`cmlib.cost.predict_change` by ``learned(elsewhere=True)``, as what a miss costs on another processor says
    little; a miss costs no more than its latency on this one.
    """
    chosen = {}
    for counts, running in runs:
        for event in counts if {"instructions", "cycles"} <= set(counts) else ():
            name = _MISSES.get(costs.kind(event))
            possible = counts[event] <= _MOST_A_CYCLE * counts["cycles"]
            told = counts.loc[possible, ["instructions", "cycles", event]].dropna()
            fit = bool(_OF_LOADS.search(event.lower())), np.nan_to_num(running[event].mean()), len(told)
            if name and len(told) and told["cycles"].sum() and fit > chosen.get(name, [()])[0]:
                chosen[name] = fit, event, told
    found = [
        {"without": name, "event": event, **_saved(told, event, costs.most(event, ghz))}
        for name in dict.fromkeys(_MISSES.values())
        if name in chosen
        for _, event, told in [chosen[name]]
    ]
    return _nested(found)


def _nested(found):
    """What misses a cache misses those before it, too, and saves no more than they do."""
    told = [row for row in found if not row["reason"]]
    for inner, outer in zip(told, told[1:], strict=False):
        outer["low"] = max(inner["low"], outer["low"])
    for outer, inner in zip(told[::-1], told[-2::-1], strict=False):
        outer["high"] = max(outer["high"], outer["low"])
        inner["high"], inner["percent"] = (min(inner[name], outer[name]) for name in ("high", "percent"))
    return found


def _saved(counts, event, latency):
    intervals = rates(counts, counts, misses=event)
    row, percent = rates_row(intervals).iloc[0], -100 / intervals["cycles"].mean()
    most = -percent * latency * row["misses"]
    if most < _HARDLY:
        return {"percent": 0.0, "low": 0.0, "high": float(most), "reason": ""}
    reason = doubt(row)
    if not reason and row["slope"] - SURE * row["stderr"] > latency:
        reason = "more cycles come with a miss than it can cost"
    if reason:  # without its numbers
        return {"percent": None, "low": None, "high": None, "reason": reason.partition(":")[0]}
    model = copy.copy(learned(elsewhere=True))
    model.latency = latency
    found = predict_change(counts, counts, -row["misses"], misses=event, model=model)
    ends = {"percent": found.change, "low": found.high, "high": found.low}
    return {name: float(np.clip(percent * end, 0, most)) for name, end in ends.items()} | {"reason": ""}
