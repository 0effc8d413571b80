"""Find counts that can't be true, or not together, so that nothing is concluded from them.

:func:`find_impossible` takes the counts of a program's runs and what the recording tool printed. It returns a dict from
events to the reason why they can't be true. To add a rule, write a function like :func:`_check_ipc` and call it there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from cmlib.spelling import spelling
from cmlib.topdown.category_tables import LOSSES
from cmlib.topdown.event_totals import totals
from cmlib.topdown.verdict import STALL_KINDS

if TYPE_CHECKING:
    from cmlib.topdown.costs import Costs

IPC = "instructions a cycle"
# No core of today begins more than 10 instructions in a cycle; where it is known, two can be fused with a branch.
_MOST_IPC, _FUSED = 10, 2
_MOST_WITH_STALLS = 8  # of the cores that count stalled cycles
_MARGIN = 1.1  # for errors of events that take turns
_FEWEST_LOADS = 1e-4  # loads an instruction


def find_impossible(
    runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]], printed: Mapping[str, float], costs: Costs
) -> dict[str, str]:
    """Find the counts that can't be true, or not together.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares of each run.
    printed : dict of str to float
        Shares (0–1) and IPC that the recording tool printed.
    costs : cmlib.topdown.costs.Costs
        Costs of the processor's events, from :func:`cmlib.topdown.read_costs`.

    Returns
    -------
    dict of str to str
        The reason by event, or by :data:`IPC` or printed share; empty if all counts can be true.
    """
    frames = [counts for counts, _ in runs]
    sums = pd.concat(frames).sum(min_count=1)
    rates = totals(runs)["rate"]
    limits = _IpcLimits.of_core(_measure_ipc(frames, printed.get(IPC, 0.0)), costs)
    return {
        **_check_ipc(sums, limits),
        **_check_shares_of_cycles(sums, rates, limits, costs),
        **_check_zeros(sums),
        **_check_branches(sums),
        **_check_printed_shares(printed),
        **_check_loads(sums),
    }


@dataclass(frozen=True)
class _IpcLimits:
    """The IPC of a program, and what is possible.

    Attributes
    ----------
    ipc : float
        Instructions per cycle; 0 if not known.
    most : float
        Most instructions that a core begins per cycle.
    most_with_stalls : float
        The same for cores that count stalled cycles.
    """

    ipc: float
    most: float
    most_with_stalls: float

    @classmethod
    def of_core(cls, ipc, costs):
        """Limit the IPC by the width of the processor."""
        most = min(_MOST_IPC, costs.width[1] + _FUSED * costs.fused)
        return cls(ipc, most, min(most, _MOST_WITH_STALLS))

    def is_exceeded(self):
        """Return True if no core begins so many instructions in a cycle."""
        return self.ipc > self.most

    def is_exceeded_with_stalls(self, stalled):
        """Return True if the cycles that are not `stalled` (share of all) are too few for the IPC."""
        return self.ipc > _MARGIN * self.most_with_stalls * max(1.0 - stalled, 0.0)


def _measure_ipc(frames, printed):
    """Measure the IPC of all intervals in which both events were counted; return `printed` if there are none."""
    instructions = cycles = 0.0
    for counts in frames:
        if {"instructions", "cycles"} <= set(counts):
            both = counts[["instructions", "cycles"]].dropna()
            instructions += both["instructions"].sum()
            cycles += both["cycles"].sum()
    return instructions / cycles if cycles > 0 else printed


def _check_ipc(sums, limits):
    """Check that the IPC is not above that of all cores; without counts, the printed one."""
    if not limits.is_exceeded():
        return {}
    reason = f"an IPC of {limits.ipc:.3g} where {limits.most} is the most"
    if sums.get("instructions", 0) > 0 and sums.get("cycles", 0) > 0:
        reason = f"{_compare_sums(sums, 'instructions', 'cycles')}, {reason}"
        return dict.fromkeys(("instructions", "cycles", IPC), reason)
    return {IPC: reason}


def _check_shares_of_cycles(sums, rates, limits, costs):
    """Check that events of cycles are not above the cycles, and leave cycles enough for the instructions."""
    impossible = {}
    for event, rate in rates.items():
        kind = costs.kind(event) or ""
        is_stall = kind in STALL_KINDS
        if rate > _MARGIN and (is_stall or kind.startswith("cycle ")):
            impossible |= dict.fromkeys((event, "cycles", IPC), _compare_sums(sums, event, "cycles"))
        elif is_stall and not limits.is_exceeded() and limits.is_exceeded_with_stalls(rate):
            impossible[event] = f"{event} in {100 * rate:.0f} % of the cycles at an IPC of {limits.ipc:.3g}"
    return impossible


def _check_zeros(sums):
    """Check that there are no instructions without cycles, and no cycles without instructions."""
    impossible = {}
    for event, other in (("cycles", "instructions"), ("instructions", "cycles")):
        if sums.get(event) == 0 < sums.get(other, 0):
            impossible[event] = _compare_sums(sums, event, other)
    return impossible


def _check_branches(sums):
    """Check that there are not more branches than instructions."""
    if sums.get("branches", 0) > _MARGIN * sums.get("instructions", float("inf")):
        return dict.fromkeys(
            ("branches", "instructions", IPC), _compare_sums(sums, "branches", "instructions")
        )
    return {}


def _check_printed_shares(printed):
    """Check that the printed shares do not give all slots to one loss."""
    takes_all = [name for name, share in printed.items() if share == 1 and name in LOSSES]
    if not takes_all or printed.get("retired") != 0:
        return {}
    shares = {*printed} - {IPC, "CPUs"}
    return dict.fromkeys(shares, f"100 % of all slots lost to one category, {takes_all[0]}")


def _check_loads(sums):
    """Check that the loads are not next to none; their misses are not believed, either."""
    impossible = {}
    for event in sums.index[sums < _FEWEST_LOADS * sums.get("instructions", 0.0)]:
        if spelling(event) == "l1dcacheloads":
            events = [name for name in sums.index if spelling(name).startswith("l1dcacheload")]
            impossible |= dict.fromkeys(events, _compare_sums(sums, event, "instructions"))
    return impossible


def _compare_sums(sums, event, other):
    """Write the counts of two events side by side."""
    return f"{sums[event]:,.0f} {event} beside {sums[other]:,.0f} {other}"
