"""Find counts that can't be true, or not together, so that nothing is concluded from them.

:func:`implausible` takes the counts of a program's runs and what the recording tool printed, and gives a dict.
"""

import pandas as pd

from cmlib.spelling import spelling
from cmlib.topdown.bounded_account import LOSSES
from cmlib.topdown.run_levels import totals
from cmlib.topdown.verdict import STALL_KINDS

IPC = "instructions a cycle"
# No core of today begins more than 10 instructions in a cycle; where it is known, two can be fused with a branch.
_MOST_IPC, _FUSED = 10, 2
_MOST_WITH_STALLS = 8  # of the cores that count stalled cycles
_MARGIN = 1.1  # for errors of events that take turns
_FEWEST_LOADS = 1e-4  # loads an instruction


def implausible(runs, printed, costs):
    """What can't be true: a dict from events, and from the IPC if that is so, to clauses that say why.

    `runs` are pairs of counts and running shares (DataFrames), `printed` is a dict, `costs` are those of the processor
    (:func:`cmlib.topdown.read_costs`).
    """
    sums = pd.concat([counts for counts, _ in runs]).sum(min_count=1)
    rates = totals(runs)["rate"]
    most = min(_MOST_IPC, costs.width[1] + _FUSED * costs.fused)
    usual = min(most, _MOST_WITH_STALLS)
    ipc = _measure_ipc([counts for counts, _ in runs], printed.get(IPC, 0.0))

    def side_by_side(event, other):
        return f"{sums[event]:,.0f} {event} beside {sums[other]:,.0f} {other}"

    cycles, odd = ("cycles", IPC), {}
    if ipc > most:
        has_counts = sums.get("instructions", 0) > 0 and sums.get("cycles", 0) > 0
        counted = f"{side_by_side('instructions', 'cycles')}, " if has_counts else ""
        why = f"{counted}an IPC of {ipc:.3g} where {most} is the most"
        odd = dict.fromkeys(("instructions", *cycles) if counted else (IPC,), why)
    for event, rate in rates.items():
        kind = costs.kind(event) or ""
        if rate > _MARGIN and (kind.startswith("cycle ") or kind in STALL_KINDS):
            odd |= dict.fromkeys((event, *cycles), side_by_side(event, "cycles"))
        elif ipc <= most and kind in STALL_KINDS and ipc > _MARGIN * usual * max(1 - rate, 0.0):
            odd[event] = f"{event} in {100 * rate:.0f} % of the cycles at an IPC of {ipc:.3g}"
    for event, other in (("cycles", "instructions"), ("instructions", "cycles")):
        if sums.get(event) == 0 < sums.get(other, 0):
            odd[event] = side_by_side(event, other)
    if sums.get("branches", 0) > _MARGIN * sums.get("instructions", float("inf")):
        odd |= dict.fromkeys(("branches", "instructions", IPC), side_by_side("branches", "instructions"))
    of_all = [name for name, share in printed.items() if share == 1 and name in LOSSES]
    if of_all and printed.get("retired") == 0:
        odd |= dict.fromkeys(
            {*printed} - {IPC, "CPUs"}, f"100 % of all slots lost to one category, {of_all[0]}"
        )
    for event in sums.index[sums < _FEWEST_LOADS * sums.get("instructions", 0.0)]:
        if spelling(event) == "l1dcacheloads":
            of_loads = [name for name in sums.index if spelling(name).startswith("l1dcacheload")]
            odd |= dict.fromkeys(of_loads, side_by_side(event, "instructions"))
    return odd


def _measure_ipc(frames, printed):
    """IPC of all intervals in which both events were counted, none left out; `printed` (float) if there are none."""
    instructions = cycles = 0.0
    for counts in frames:
        if {"instructions", "cycles"} <= set(counts):
            both = counts[["instructions", "cycles"]].dropna()
            instructions += both["instructions"].sum()
            cycles += both["cycles"].sum()
    return instructions / cycles if cycles > 0 else printed
