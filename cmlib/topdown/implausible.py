"""Find impossible counts.

:func:`find_impossible` takes the counts of a program's runs and returns the reason for each impossible count. The
summary does not use these counts. To add a rule, write a function like :func:`_check_ipc` and call it there.
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
_MOST_IPC = 10  # no core of today begins more instructions in a cycle
_MOST_FUSED = 2  # instructions per cycle that a core can fuse with branches
_MOST_WITH_STALLS = 8  # largest IPC of the cores that count stalled cycles
_MARGIN = 1.1  # factor that allows for the errors of multiplexed events
_FEWEST_LOADS = 1e-4  # fewest loads per instruction of a program


def find_impossible(
    runs: Sequence[tuple[pd.DataFrame, pd.DataFrame]], printed: Mapping[str, float], costs: Costs
) -> dict[str, str]:
    """Find counts that are impossible or contradict each other.

    Parameters
    ----------
    runs : sequence of (DataFrame, DataFrame)
        Counts and running shares of each run. A running share is the fraction of the time in which the event was
        counted.
    printed : dict of str to float
        Shares of slots (0–1) and IPC that the recording tool printed.
    costs : cmlib.topdown.costs.Costs
        Costs of the processor's events, from :func:`cmlib.topdown.read_costs`.

    Returns
    -------
    dict of str to str
        Reasons, keyed by the name of an event or of a printed figure. Empty if all counts are possible.
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
    """The IPC (instructions per cycle) of a program, and the limits of the processor.

    Attributes
    ----------
    ipc : float
        The IPC. It is 0 if not known.
    most : float
        Largest possible IPC.
    most_with_stalls : float
        Largest possible IPC in the cycles that are not stalled.
    """

    ipc: float
    most: float
    most_with_stalls: float

    @classmethod
    def of_core(cls, ipc, costs):
        """Return the limits of a processor."""
        most = min(_MOST_IPC, costs.width[1] + _MOST_FUSED * costs.fused)
        return cls(ipc, most, min(most, _MOST_WITH_STALLS))

    def is_exceeded(self):
        """Return True if the IPC is higher than a core can reach."""
        return self.ipc > self.most

    def is_exceeded_with_stalls(self, stalled):
        """Return True if a core cannot run the instructions in the cycles without stalls.

        `stalled` is the share of stalled cycles (0–1).
        """
        return self.ipc > _MARGIN * self.most_with_stalls * max(1.0 - stalled, 0.0)


def _measure_ipc(frames, printed):
    """Measure the IPC of all intervals in which both events were counted. Without such intervals, return `printed`."""
    instructions = cycles = 0.0
    for counts in frames:
        if {"instructions", "cycles"} <= set(counts):
            both = counts[["instructions", "cycles"]].dropna()
            instructions += both["instructions"].sum()
            cycles += both["cycles"].sum()
    return instructions / cycles if cycles > 0 else printed


def _check_ipc(sums, limits):
    """Check that a core can reach the IPC."""
    if not limits.is_exceeded():
        return {}
    reason = f"an IPC of {limits.ipc:.3g} where {limits.most} is the most"
    if sums.get("instructions", 0) > 0 and sums.get("cycles", 0) > 0:
        reason = f"{_compare_sums(sums, 'instructions', 'cycles')}, {reason}"
        return dict.fromkeys(("instructions", "cycles", IPC), reason)
    return {IPC: reason}


def _check_shares_of_cycles(sums, rates, limits, costs):
    """Check events that count some of the cycles.

    They must not exceed all cycles. Stalled cycles must leave enough cycles for the instructions.
    """
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
    """Check that instructions and cycles are both 0, or both above 0."""
    impossible = {}
    for event, other in (("cycles", "instructions"), ("instructions", "cycles")):
        if sums.get(event) == 0 < sums.get(other, 0):
            impossible[event] = _compare_sums(sums, event, other)
    return impossible


def _check_branches(sums):
    """Check that branches do not exceed instructions."""
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
    """Check the number of L1D loads. If it is close to 0, the number of their misses is wrong, too."""
    impossible = {}
    for event in sums.index[sums < _FEWEST_LOADS * sums.get("instructions", 0.0)]:
        if spelling(event) == "l1dcacheloads":
            events = [name for name in sums.index if spelling(name).startswith("l1dcacheload")]
            impossible |= dict.fromkeys(events, _compare_sums(sums, event, "instructions"))
    return impossible


def _compare_sums(sums, event, other):
    """Format the counts of two events side by side."""
    return f"{sums[event]:,.0f} {event} beside {sums[other]:,.0f} {other}"
