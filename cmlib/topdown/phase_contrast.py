"""Compare the phases of a run: their levels, the bounds of their slots, and the events whose rates changed most.

:func:`compare_phases` takes the phases as :func:`cmlib.topdown.run_levels.phases` cuts them.
"""

import numpy as np
import pandas as pd

from cmlib.templates import template
from cmlib.topdown.bounded_account import LOSSES, bounds
from cmlib.topdown.cycle_costs import format_number
from cmlib.topdown.run_levels import CUT_BY, DIFFERS, totals
from cmlib.topdown.slot_summary import is_bounded
from cmlib.topdown.table_choice import slots_as_cycles

_SENTENCES = template("cmlib.topdown", "sentences.j2").module  # macros that turn numbers into sentences
_STANDS_OUT = 1.1  # ratio between phases of clock, speed or CPUs used above which a sentence compares them
# An event is named if its rates in two phases have at least this ratio, and how many are at most.
_CHANGED, _MOST_NAMED = 2.0, 3
_RARE = 1e-6  # an event is named only if it is more frequent in one of the phases [events per cycle]
_INSTANT = 1e-6  # tolerance of phases' borders [s]
_CLOCKS = ["task-clock", "cpu-clock", "duration_time", "instructions"]  # not named: the levels have them


def compare_phases(rows, run, costs, ghz):
    """Compare phases: (phases with bounds of their lost slots, events that changed most, sentences on the difference).

    `rows` are the phases of the only run, a row each. The phase that differs most is compared with the longest one. If
    the run began with it and never returned to it, the longest one is compared with it, so that the text follows the
    order of time. The list of events and the text are empty if no phase stands out.
    """
    cut_by = [name for name in CUT_BY if name in rows]
    if not cut_by:
        return rows, [], ""
    longest = (rows["end"] - rows["start"]).idxmax()
    ratios = rows[cut_by] / rows.loc[longest, cut_by].astype(float)
    strength = np.log(ratios).abs().max(axis=1)
    most = strength.idxmax()
    by_phase = _totals_by_phase(rows, *slots_as_cycles(*run))
    all_shares = [bounds(phase, costs, ghz=ghz).shares[["low", "high"]] for phase in by_phase]
    shares = [100 * share.loc[list(LOSSES)] for share in all_shares]
    for name in LOSSES:
        if any(is_bounded(share, name) for share in all_shares):
            rows[f"{name} [%]"] = ["{:.0f}–{:.0f}".format(*share.loc[name]) for share in shares]
    if not strength[most] > np.log(_STANDS_OUT):
        return rows, [], ""
    similar = (np.log(ratios / ratios.loc[most]).abs() < strength[most] / 2).all(axis=1)
    described, reference = rows[similar], rows.loc[[longest]]
    described_phase, reference_phase = most, longest
    if similar.iloc[0] and described["end"].max() <= rows.at[longest, "start"] + _INSTANT:
        described, reference = reference, described
        described_phase, reference_phase = longest, most
    change = rows.loc[described_phase, cut_by].astype(float) / rows.loc[reference_phase, cut_by].astype(float)
    changes = [
        (name, 100 * (ratio - 1), *map(format_number, rows.loc[[reference_phase, described_phase], name]))
        for name, ratio in change.items()
        if abs(np.log(ratio)) > np.log(DIFFERS)
    ]
    changed = _changed_events(by_phase[described_phase], by_phase[reference_phase]) if by_phase else []
    accounts = [shares[k].T.to_dict() for k in (reference_phase, described_phase)] if by_phase else []
    slower = change.get("GHz", 1.0) < 1 / _STANDS_OUT
    spans = [part[["start", "end"]].to_dict("records") for part in (described, reference)]
    return rows, changed, _SENTENCES.contrast(*spans, changes, slower, accounts, changed)


def _totals_by_phase(rows, counts, running):
    """Total the counts of each phase: a list of DataFrames; empty if no cycles were counted."""
    spans = rows[["start", "end"]].itertuples(index=False) if "cycles" in counts else ()
    inside = [(counts.index > start + _INSTANT) & (counts.index < end + _INSTANT) for start, end in spans]
    return [totals([(counts[within], running[within])]) for within in inside]


def _changed_events(phase, reference):
    """Find the events whose rates per cycle differ most between two phases, by more than their errors.

    Returns a list of dicts of event and times (the ratio of the rates).
    """
    rates, errors = (pd.DataFrame({"phase": phase[key], "of": reference[key]}) for key in ("rate", "error"))
    rates = rates[(rates > 0).all(axis=1) & (rates.max(axis=1) > _RARE)].drop(_CLOCKS, errors="ignore")
    times = rates["phase"] / rates["of"]
    significant = np.log(times).abs() > np.maximum(np.log(_CHANGED), errors.loc[times.index].sum(axis=1))
    most = np.log(times[significant]).abs().nlargest(_MOST_NAMED).index
    return [{"event": event, "times": float(times[event])} for event in most]
