"""What the report's first page says of a program before any notebook has computed anything."""

import numpy as np

from cmlib import topdown
from cmlib.experiments.targets import CLOCKS
from cmlib.fingerprint.phases import find_phases
from cmlib.io import events
from cmlib.io.imports import import_notes
from cmlib.topdown.answers import format_number

_NAMED = 3  # changes that are named
_CHANGES = 1.25  # ratio of levels from which on a change is named
_HOW = {
    "counted": "every category of the account was counted; multiplexing leaves {:.0f} % at most of one open",
    "decided": "the bounds of the categories do not overlap",
    "likely": "judged by what such counts cost on {known}; the bounds alone leave it open",
    "open": "the counts leave it open",
    "little lost": "the instructions that retired tell so much by themselves",
}


def answer(name, own):
    """What `cmlib summarize` says of a program's measured runs: see :func:`cmlib.topdown.summarize`."""
    runs = []
    for run in own:
        counts, running = run.whole()
        ends = run.interval_s[counts.index].cumsum() if run.holds_totals else counts.index
        runs.append((counts.set_axis(ends, axis=0), running.set_axis(ends, axis=0)))
    first = own[0]
    names = {event for counts, _ in runs for event in counts}
    processor = events.find_processor([first.machine], names)
    how = {"modifier": first.meta.get("modifier") or "", "whole_runs": first.holds_totals}
    how["notes"] = import_notes(run.meta for run in own)
    how["core"] = events.core_pmu([*first.meta.get("names", {}), *names])
    return topdown.summarize(name, runs, processor=processor, **how)


def describe_answer(answered):
    """Sentences for a program's card: what limits it, how sure that is, and what would decide it."""
    account = answered["account"]
    if not account:
        return {}
    level_1 = [row for row in account["categories"] if not row["parent"]]
    widest = max(row["high"] - row["low"] for row in level_1)
    known = ", ".join(account["known_programs"]) or "no program"
    doubt = (
        f"; their counts contradict each other by {account['contradiction']:.0f} %"
        if account["contradiction"]
        else ""
    )
    unused = f"; {', '.join(account['doubtful'])} count too little to be used" if account["doubtful"] else ""
    lacking = f"what would decide it: `{account['decide']}`" if account["decide"] else ""
    if account["how"] == "open" and answered["processor"] in (None, "intel"):
        lacking = "which processor it is: `cmlib import … --machine FILE`, with what `cmlib doctor --json` says there"
        if answered["core"]:
            lacking = f"what events cost on {answered['core']}, which is in no table (`data/topdown/costs`)"
    return {
        "limits": account["text"].rstrip("."),
        "sure": _HOW[account["how"]].format(widest, known=known) + doubt + unused,
        "advice": "; ".join(advised["text"] for advised in account["advice"]),
        "lacking": lacking,
    }


def describe_changes(rates):
    """Which rates change most in a run, when, and from what to what: without IPC, what there is to say of it.

    Parameters
    ----------
    rates : DataFrame
        Events a second. Index: end of each interval [s].
    """
    found = filter(None, (_change(name, rate) for name, rate in rates.items()))
    largest = sorted(found, key=lambda change: -change[0])[:_NAMED]
    return "; ".join(sentence for _, sentence in largest)


def _change(name, rate):
    rate = rate.dropna()
    phases = find_phases(rate) if len(rate) > 10 and rate.any() else []
    if len(phases) < 2:
        return None
    lasting = phases["end"] - phases["start"]
    usual = phases["level"].iloc[int(np.argmax(lasting))]
    if not usual > 0:
        return None
    ratio = (phases["level"] / usual).clip(lower=0.01)
    other = phases.loc[np.log(ratio).abs().idxmax()]
    strength = abs(np.log(ratio).loc[other.name])
    if strength < np.log(_CHANGES):
        return None
    words = _times(other["level"] / usual)
    when = f"from {format_number(other['start'])} to {format_number(other['end'])} s"
    return (
        strength,
        f"`{name}` {words} {when} ({format_number(usual)} to {format_number(other['level'])} a second)",
    )


def _times(ratio):
    if ratio >= 2.5:
        return f"are {ratio:.0f} times as many"
    if ratio >= 1.75:
        return "double"
    if ratio > 1:
        return f"rise by {100 * (ratio - 1):.0f} %"
    return f"fall by {100 * (1 - ratio):.0f} %"


def leading_rates(own):
    """Rates of one run, a column an event that happened, the most frequent first; clocks are levels."""
    rates = own[0].rates().drop(columns=list(CLOCKS), errors="ignore")
    return rates[rates.mean().sort_values(ascending=False).index].loc[:, lambda frame: (frame > 0).any()]
