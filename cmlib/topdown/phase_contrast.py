"""Describe how the phases of a run differ.

:func:`compare_phases` takes the phases from :func:`cmlib.topdown.phase_cuts.phases` and returns a :class:`Contrast`. It
compares levels (for example the clock), the bounds of lost slots, and the rates of events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cmlib.topdown.bounded_account import bounds
from cmlib.topdown.category_tables import LOSSES
from cmlib.topdown.cycle_costs import format_number
from cmlib.topdown.event_totals import totals
from cmlib.topdown.phase_cuts import CUT_LEVELS, LEAST_RATIO
from cmlib.topdown.sentences import describe_contrast
from cmlib.topdown.slot_summary import is_bounded
from cmlib.topdown.table_choice import slots_as_cycles

if TYPE_CHECKING:
    from cmlib.topdown.costs import Costs

_STANDS_OUT = 1.1  # phases are compared if the clock, speed or CPUs used differ by more than this factor
_CHANGED = 2.0  # an event is named if its rates differ by this factor or more
_MOST_NAMED = 3  # most events that are named
_RARE = 1e-6  # rate [events per cycle] up to which an event is too rare to be named
_TIME_TOLERANCE = 1e-6  # tolerance for the start and end of phases [s]
# These events are not named, because levels contain them.
_CLOCKS = [
    "task-clock",
    "cpu-clock",
    "duration_time",
    "instructions",
]


@dataclass(frozen=True)
class Contrast:
    """The phases of a run, and how two of them differ.

    Attributes
    ----------
    rows : DataFrame
        One row per phase. Columns: ``start`` and ``end`` [s], levels of the phase (for example the clock), and the lost
        slots in each category as text.
    changed : list of dict
        Events with the largest change of their rate. Keys: ``event`` and ``times`` (ratio of the rates). Empty if all
        phases are similar.
    text : str
        Sentences on the difference. Empty if all phases are similar.
    """

    rows: pd.DataFrame
    changed: list = field(default_factory=list)
    text: str = ""


@dataclass(frozen=True)
class _Pair:
    """Two phases that are compared. Each may have several similar phases.

    Attributes
    ----------
    described, reference : int
        Row labels of the two phases.
    described_rows, reference_rows : DataFrame
        Rows of each phase and of its similar phases.
    """

    described: int
    reference: int
    described_rows: pd.DataFrame
    reference_rows: pd.DataFrame


def compare_phases(
    rows: pd.DataFrame, run: tuple[pd.DataFrame, pd.DataFrame], costs: Costs, ghz: float | None
) -> Contrast:
    """Compare the phase that differs most with the longest phase.

    Parameters
    ----------
    rows : DataFrame
        One row per phase, from :func:`cmlib.topdown.phase_cuts.phases`.
    run : (DataFrame, DataFrame)
        Counts and running shares of the run.
    costs : cmlib.topdown.costs.Costs
        Costs of the processor's events.
    ghz : float or None
        Clock [GHz]. None if not known.

    Returns
    -------
    Contrast
    """
    cut_by = [name for name in CUT_LEVELS if name in rows]
    if not cut_by:
        return Contrast(rows)
    totals_by_phase = _total_phases(rows, *slots_as_cycles(*run))
    shares_by_phase = [bounds(total, costs, ghz=ghz).shares[["low", "high"]] for total in totals_by_phase]
    rows = _add_losses(rows, shares_by_phase)
    pair = _choose_pair(rows, cut_by)
    if pair is None:
        return Contrast(rows)
    changed = []
    losses = []
    if totals_by_phase:
        changed = _find_changed_events(totals_by_phase[pair.described], totals_by_phase[pair.reference])
        shares = [shares_by_phase[phase] for phase in (pair.reference, pair.described)]
        losses = [(100 * share.loc[list(LOSSES)]).T.to_dict() for share in shares]
    return Contrast(rows, changed, _describe_pair(rows, cut_by, pair, losses, changed))


def _total_phases(rows: pd.DataFrame, counts: pd.DataFrame, running: pd.DataFrame) -> list[pd.DataFrame]:
    """Compute the rates of all events in each phase.

    Returns one DataFrame per phase, from :func:`cmlib.topdown.totals`. The list is empty if cycles were not counted.
    """
    if "cycles" not in counts:
        return []
    totals_by_phase = []
    for start, end in rows[["start", "end"]].itertuples(index=False):
        within = (counts.index > start + _TIME_TOLERANCE) & (counts.index < end + _TIME_TOLERANCE)
        totals_by_phase.append(totals([(counts[within], running[within])]))
    return totals_by_phase


def _add_losses(rows: pd.DataFrame, shares_by_phase: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Add a column for each loss with known bounds. For example, it contains the text ``10–20`` [%]."""
    rows = rows.copy()
    for name in LOSSES:
        if any(is_bounded(shares, name) for shares in shares_by_phase):
            percent = [100 * shares.loc[name] for shares in shares_by_phase]
            rows[f"{name} [%]"] = [f"{ends['low']:.0f}–{ends['high']:.0f}" for ends in percent]
    return rows


def _choose_pair(rows: pd.DataFrame, cut_by: list[str]) -> _Pair | None:
    """Choose the longest phase and the phase that differs most from it.

    The longest phase is the reference. But if the run begins with the other phase and never returns to it, the other
    phase is the reference, so that the text follows the order of time. Returns None if all phases are similar.
    """
    longest = (rows["end"] - rows["start"]).idxmax()
    ratios = rows[cut_by] / rows.loc[longest, cut_by].astype(float)
    strength = np.log(ratios).abs().max(axis=1)
    strongest = strength.idxmax()
    if not strength[strongest] > np.log(_STANDS_OUT):
        return None
    is_similar = (np.log(ratios / ratios.loc[strongest]).abs() < strength[strongest] / 2).all(axis=1)
    similar = rows[is_similar]
    if is_similar.iloc[0] and similar["end"].max() <= rows.at[longest, "start"] + _TIME_TOLERANCE:
        return _Pair(longest, strongest, rows.loc[[longest]], similar)
    return _Pair(strongest, longest, similar, rows.loc[[longest]])


def _find_changed_events(phase: pd.DataFrame, reference: pd.DataFrame) -> list[dict[str, Any]]:
    """Find the events with the largest difference between two phases.

    The rates per cycle must differ by more than their errors. Returns a list of dicts with ``event`` and ``times``
    (ratio of the rates).
    """
    rates = pd.DataFrame({"phase": phase["rate"], "reference": reference["rate"]})
    errors = pd.DataFrame({"phase": phase["error"], "reference": reference["error"]})
    rates = rates[(rates > 0).all(axis=1) & (rates.max(axis=1) > _RARE)].drop(_CLOCKS, errors="ignore")
    times = rates["phase"] / rates["reference"]
    is_changed = np.log(times).abs() > np.maximum(np.log(_CHANGED), errors.loc[times.index].sum(axis=1))
    strongest = np.log(times[is_changed]).abs().nlargest(_MOST_NAMED).index
    return [{"event": event, "times": float(times[event])} for event in strongest]


def _describe_pair(
    rows: pd.DataFrame, cut_by: list[str], pair: _Pair, losses: list[dict], changed: list[dict]
) -> str:
    """Describe how the levels, the lost slots and the events of two phases differ."""
    change = rows.loc[pair.described, cut_by].astype(float) / rows.loc[pair.reference, cut_by].astype(float)
    changes = []
    for name, ratio in change.items():
        if abs(np.log(ratio)) > np.log(LEAST_RATIO):
            before, after = rows.loc[[pair.reference, pair.described], name]
            changes.append((name, 100 * (ratio - 1), format_number(before), format_number(after)))
    is_slower = change.get("GHz", 1.0) < 1 / _STANDS_OUT
    described_spans = pair.described_rows[["start", "end"]].to_dict("records")
    reference_spans = pair.reference_rows[["start", "end"]].to_dict("records")
    return describe_contrast(described_spans, reference_spans, changes, is_slower, losses, changed)
